// The token ledger against every interleaving: one worker of quota 0 to 2, which changes, the switch's half as an obvious
// model, a network that may lose, repeat and reorder every packet of its levels, a switch that may restart or raise the
// epoch, a worker that may restart. All states within a number of steps are visited, and from each of them the network
// heals.
//
// Checked in every state: tasks held + tokens out <= quota, or after it was lowered, <= what they were and never rising;
// no dispatch is accepted twice (unless switch and worker were both restarted while a copy of it was under way); the
// first copy of a dispatch to arrive is answered for (unless a restart made the numbers ambiguous), and accepted unless
// it was under way for an interval. Checked from every state after healing: the tokens of the quota and no others are
// filed at the switch within kHealRounds sync intervals, and the worker knows it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rpc/token_ledger.h"

namespace rain::rpc {
namespace {

constexpr unsigned kLevels = 2;
constexpr Nanos kInterval = milliseconds(1);
constexpr unsigned kHealRounds = 4;
constexpr std::size_t kMaxInFlight = 5;

/// A packet on its way; 16 bytes without padding, so that states can be compared as bytes.
struct Packet {
  enum Kind : std::uint8_t { kToken, kSync, kDispatch, kAck };
  std::uint8_t kind;
  std::uint8_t level;
  std::uint8_t epoch;
  std::uint8_t boot;  // kAck
  std::uint16_t sequence;
  std::uint16_t task;  // kDispatch: names it; kSync: 1: recall; kAck: 1: recalled
  std::uint32_t generation;
  std::uint32_t consumed;
};
static_assert(sizeof(Packet) == 16);

/// The switch's half, as the program `rain` does it: seen, consumed, and at most one filed token per level.
struct Switch {
  std::uint32_t seen[kLevels] = {};
  std::uint32_t consumed[kLevels] = {};
  std::uint32_t filed[kLevels] = {};  // 0: none
  std::uint8_t epoch = 1;
  std::uint8_t boot = 1;
  std::uint16_t next_task = 0;
};

struct State {
  TokenLedger ledger{{.worker = {1}, .quota = kLevels, .sync_interval = kInterval}};
  Switch at_switch;
  Nanos now{};
  unsigned held = 0;
  std::uint64_t accepted = 0;  // bit per dispatch
  std::uint64_t answered = 0;
  std::uint64_t late = 0;    // dispatches that an interval has passed over
  unsigned bound = kLevels;  // of the capacity
  unsigned faults_left = 0;
  unsigned quota_changes_left = 0;
  bool may_ask_now = false;
  bool may_restart_switch = false, may_raise_epoch = false, may_restart_worker = false;
  unsigned forgeries_left = 0;
  bool ambiguous = false;       // a restart happened, or a forgery
  bool both_restarted = false;  // nobody remembers the old numbers
  bool epoch_raised = false;    // an answer of the new one may overtake a dispatch of the old one
  std::vector<Packet> network;

  /// Takes what the ledger sends.
  void send(const wire::Message& message, const Endpoint&) {
    const wire::TokenFields& token = message.token;
    network.push_back({.kind = message.type == wire::MessageType::kSync ? Packet::kSync : Packet::kToken,
                       .level = token.level.value,
                       .epoch = static_cast<std::uint8_t>(token.epoch.value),
                       .boot = 0,
                       .sequence = message.request_id.value,
                       .task = token.recall,
                       .generation = token.generation.value,
                       .consumed = 0});
  }

  void dispatch(unsigned level) {
    Switch& sw = at_switch;
    const std::uint32_t token = std::exchange(sw.filed[level], 0u);
    if (!Generation{token}.newer_than({sw.consumed[level]})) return;  // dead
    sw.consumed[level] = token;
    network.push_back({.kind = Packet::kDispatch,
                       .level = static_cast<std::uint8_t>(level),
                       .epoch = 0,
                       .boot = 0,
                       .sequence = 0,
                       .task = sw.next_task++,
                       .generation = sw.consumed[level],
                       .consumed = 0});
  }

  /// Somebody who knows key and address sends a token or a recall.
  void forge(std::uint32_t leap, bool recall) {
    ambiguous = true;
    deliver({.kind = recall ? Packet::kSync : Packet::kToken,
             .level = 0,
             .epoch = at_switch.epoch,
             .boot = 0,
             .sequence = 0,
             .task = recall,
             .generation = at_switch.seen[0] + leap,
             .consumed = 0});
    if (recall) network.pop_back();  // the answer is not for the worker
  }

  void deliver(const Packet& packet) {
    Switch& sw = at_switch;
    switch (packet.kind) {
      case Packet::kToken:
        if (packet.epoch != sw.epoch) return;
        if (!Generation{packet.generation}.newer_than({sw.seen[packet.level]})) return;
        if (Generation{packet.generation}.leaps_from({sw.seen[packet.level]})) return;
        sw.seen[packet.level] = packet.generation;
        sw.filed[packet.level] = packet.generation;
        return;
      case Packet::kSync: {
        const Generation generation{packet.generation};
        const bool recall = packet.task != 0 && !generation.leaps_from({sw.seen[packet.level]});
        const bool recalled = recall && generation.newer_than({sw.consumed[packet.level]});
        if (recall && generation.newer_than({sw.seen[packet.level]}))
          sw.seen[packet.level] = generation.value;
        if (recalled) sw.consumed[packet.level] = generation.value;
        if (recalled && sw.filed[packet.level] == generation.value) sw.filed[packet.level] = 0;
        network.push_back({.kind = Packet::kAck,
                           .level = packet.level,
                           .epoch = sw.epoch,
                           .boot = sw.boot,
                           .sequence = packet.sequence,
                           .task = recalled,
                           .generation = sw.seen[packet.level],
                           .consumed = sw.consumed[packet.level]});
        return;
      }
      case Packet::kAck: {
        hear(packet);
        return answer_above();
      }
      case Packet::kDispatch:
        return arrive(packet);
    }
  }

  void arrive(const Packet& packet) {
    const std::uint64_t bit = std::uint64_t{1} << packet.task;
    const TokenLedger::Spend spend = ledger.spend({packet.level}, {packet.generation});
    if (spend != TokenLedger::Spend::kRepeated) {
      answered |= bit;
    } else if (!ambiguous) {
      EXPECT_NE(answered & bit, 0u) << "the first copy of a dispatch was not answered for";
    }
    if (spend == TokenLedger::Spend::kRefused && !ambiguous && !epoch_raised) {
      EXPECT_NE(late & bit, 0u) << "a dispatch that came in time was refused";
    }
    if (spend != TokenLedger::Spend::kAccepted) return;
    if (!both_restarted) {
      EXPECT_EQ(accepted & bit, 0u) << "a dispatch was accepted twice";
    }
    accepted |= bit;
    ++held;
  }

  void finish() { ledger.refund(--held, now, *this); }
  void set_quota(unsigned quota) {
    bound = std::max(quota, ledger.capacity());
    ledger.set_quota(quota, held, now, *this);
  }
  void ask_now() {
    ledger.ask_now(now);
    poll();
  }
  void pass_interval() {
    for (const Packet& packet : network) {
      if (packet.kind == Packet::kDispatch) late |= std::uint64_t{1} << packet.task;
    }
    now += kInterval;
    poll();
  }
  void poll() {
    ledger.poll(held, now, *this);
    answer_above();
  }
  /// A worker that had an earlier life asks after every level above its quota. Nothing was ever filed above kLevels,
  /// and the answer comes at once: six more packets on their way would hide what happens to the others.
  void answer_above() {
    const auto above = [](const Packet& packet) { return packet.level >= kLevels; };
    std::vector<Packet> questions;
    std::copy_if(network.begin(), network.end(), std::back_inserter(questions), above);
    std::erase_if(network, above);
    for (const Packet& packet : questions) {
      hear({.kind = Packet::kAck,
            .level = packet.level,
            .epoch = at_switch.epoch,
            .boot = at_switch.boot,
            .sequence = packet.sequence,
            .task = 0,
            .generation = 0,
            .consumed = 0});
    }
  }
  void hear(const Packet& answer) {
    wire::Message ack;
    ack.request_id = {answer.sequence};
    ack.sync_ack = {.worker = {1},
                    .epoch = {answer.epoch},
                    .boot_id = {answer.boot},
                    .seen = {answer.generation},
                    .consumed = {answer.consumed},
                    .level = {answer.level},
                    .recalled = answer.task != 0};
    ledger.on_sync_ack(ack, held, now, *this);
  }
  void restart_switch() {
    const std::uint8_t boot = at_switch.boot;
    const std::uint16_t task = at_switch.next_task;
    at_switch = {};
    at_switch.boot = static_cast<std::uint8_t>(boot + 1);
    at_switch.next_task = task;
    both_restarted = !may_restart_worker;
    ambiguous = true;
  }
  /// Tokens of the old epoch count as consumed from now on.
  void raise_epoch() {
    ++at_switch.epoch;
    epoch_raised = true;
    for (unsigned level = 0; level < kLevels; ++level) {
      at_switch.consumed[level] = at_switch.seen[level];
      at_switch.filed[level] = 0;
    }
  }
  void restart_worker() {
    ledger = TokenLedger{{.worker = {1}, .quota = ledger.quota(), .sync_interval = kInterval}};
    bound = ledger.quota();
    held = 0;
    both_restarted = !may_restart_switch;
    ambiguous = true;
  }

  void check() {
    EXPECT_EQ(held, ledger.spent());
    EXPECT_LE(ledger.spent() + ledger.outstanding(), ledger.capacity());
    EXPECT_LE(ledger.capacity(), bound);
    bound = std::max(ledger.quota(), ledger.capacity());
    EXPECT_LE(bound, kLevels);
  }

  /// The faults are over and no further task comes: every token must come home.
  void heal() {
    const auto settle = [this] {
      while (!network.empty() || held > 0) {
        if (network.empty()) {
          finish();
          continue;
        }
        const Packet packet = network.front();
        network.erase(network.begin());
        deliver(packet);
      }
    };
    settle();
    for (unsigned round = 0; round < kHealRounds; ++round) {
      pass_interval();
      settle();
    }
    for (unsigned level = 0; level < ledger.quota(); ++level) {
      EXPECT_NE(at_switch.filed[level], 0u) << "level " << level << " leaked";
      EXPECT_TRUE(Generation{at_switch.filed[level]}.newer_than({at_switch.consumed[level]}))
          << "level " << level << " is dead for good";
      EXPECT_EQ(ledger.generation({static_cast<std::uint8_t>(level)}).value, at_switch.filed[level]);
    }
    // What an earlier life of the worker had filed above the quota of the present one is not asked after.
    for (unsigned level = ledger.quota(); level < kLevels && !ambiguous; ++level) {
      EXPECT_EQ(at_switch.filed[level], 0u) << "level " << level << " was not taken back";
    }
    EXPECT_EQ(ledger.outstanding(), ledger.quota());
    EXPECT_EQ(ledger.capacity(), ledger.quota());
    EXPECT_TRUE(ledger.settled());
  }

  std::string key() const {
    static_assert(std::is_trivially_copyable_v<TokenLedger> && std::is_trivially_copyable_v<Switch>);
    std::string bytes;
    const auto add = [&bytes](const void* from, std::size_t size) {
      bytes.append(static_cast<const char*>(from), size);
    };
    add(&ledger, sizeof(ledger));
    add(&at_switch, sizeof(at_switch));
    add(&now, sizeof(now));
    add(&accepted, sizeof(accepted));
    add(&answered, sizeof(answered));
    add(&late, sizeof(late));
    const unsigned flags = held * 100'000 + bound * 10'000 + quota_changes_left * 1000 + faults_left * 32 +
                           may_ask_now * 16u + may_restart_switch * 8u + may_raise_epoch * 4u +
                           may_restart_worker * 2u +
                           ambiguous;  // both_restarted and epoch_raised follow from these
    add(&flags, sizeof(flags));
    add(&forgeries_left, sizeof(forgeries_left));
    add(network.data(), network.size() * sizeof(Packet));
    return bytes;
  }
};

class Explorer {
 public:
  void explore(const State& start, unsigned depth) {
    std::vector<State> frontier{start};
    for (unsigned step = 0; step < depth; ++step) {
      std::vector<State> next;
      for (const State& state : frontier) expand(state, next);
      frontier = std::move(next);
      if (testing::Test::HasFailure()) return;
    }
  }
  std::size_t visited() const { return seen_.size(); }

 private:
  void expand(const State& state, std::vector<State>& next) {
    const auto step = [&](auto act) {
      State after = state;
      act(after);
      if (after.network.size() > kMaxInFlight) return;
      if (!seen_.insert(std::hash<std::string>{}(after.key())).second) return;
      after.check();
      State healed = after;
      healed.heal();
      if (!testing::Test::HasFailure()) next.push_back(std::move(after));
    };
    for (std::size_t i = 0; i < state.network.size(); ++i) {
      const Packet packet = state.network[i];
      const auto remove = [i](State& s) {
        s.network.erase(s.network.begin() + static_cast<std::ptrdiff_t>(i));
      };
      step([&](State& s) { remove(s), s.deliver(packet); });
      if (state.faults_left == 0) continue;
      step([&](State& s) { --s.faults_left, remove(s); });
      step([&](State& s) { --s.faults_left, s.deliver(packet); });  // and it will come once more
    }
    for (unsigned level = 0; level < kLevels; ++level) {
      if (state.at_switch.filed[level] != 0) step([&](State& s) { s.dispatch(level); });
    }
    if (state.held > 0) step([](State& s) { s.finish(); });
    step([](State& s) { s.pass_interval(); });
    for (unsigned quota = 0; quota <= kLevels && state.quota_changes_left > 0; ++quota) {
      if (quota != state.ledger.quota()) {
        step([quota](State& s) { --s.quota_changes_left, s.set_quota(quota); });
      }
    }
    for (const std::uint32_t leap : {1u, kMaxGenerationLeap, kMaxFirstGeneration, 0x7FFF'FFFFu}) {
      if (state.forgeries_left == 0) break;
      step([leap](State& s) { --s.forgeries_left, s.forge(leap, false); });
      step([leap](State& s) { --s.forgeries_left, s.forge(leap, true); });
    }
    if (state.may_ask_now) step([](State& s) { s.may_ask_now = false, s.ask_now(); });
    if (state.may_restart_switch) step([](State& s) { s.may_restart_switch = false, s.restart_switch(); });
    if (state.may_raise_epoch) step([](State& s) { s.may_raise_epoch = false, s.raise_epoch(); });
    if (state.may_restart_worker) step([](State& s) { s.may_restart_worker = false, s.restart_worker(); });
  }

  std::unordered_set<std::size_t> seen_;
};

/// Both tokens filed, nothing on its way; so many were issued before.
State established(std::uint32_t before = 0) {
  State state;
  for (unsigned level = 0; level < kLevels; ++level) {
    state.at_switch.seen[level] = state.at_switch.consumed[level] = before;
  }
  state.pass_interval();
  while (!state.network.empty()) {
    const Packet packet = state.network.front();
    state.network.erase(state.network.begin());
    state.deliver(packet);
  }
  EXPECT_EQ(state.ledger.outstanding(), kLevels);
  return state;
}

void explore(const State& from, unsigned depth) {
  Explorer explorer;
  explorer.explore(from, depth);
  EXPECT_GT(explorer.visited(), 5'000u);
  testing::Test::RecordProperty("states", static_cast<int>(explorer.visited()));
}

TEST(TokenLedgerExhaustive, start__every_interleaving_with_two_faults) {
  State state;
  state.faults_left = 2;
  explore(state, 8);
}

TEST(TokenLedgerExhaustive, steady__every_interleaving_with_two_faults) {
  State state = established();
  state.faults_left = 2;
  explore(state, 7);
}

TEST(TokenLedgerExhaustive, restarts__every_interleaving_with_a_fault) {
  State state = established();
  state.faults_left = 1;
  state.may_restart_switch = state.may_raise_epoch = state.may_restart_worker = true;
  explore(state, 7);
}

/// What is forged may be low, after the switch has restarted, or high.
TEST(TokenLedgerExhaustive, forgeries__every_interleaving_with_two_and_a_restart) {
  State state = established(1'000'000'000);
  state.forgeries_left = 2;
  state.may_restart_switch = true;
  explore(state, 7);
}

TEST(TokenLedgerExhaustive, quota__every_interleaving_with_a_fault_and_two_changes) {
  State state = established();
  state.faults_left = 1;
  state.quota_changes_left = 2;
  explore(state, 7);
}

TEST(TokenLedgerExhaustive, quota__every_interleaving_from_the_start) {
  State state;
  state.faults_left = 1;
  state.quota_changes_left = 2;
  explore(state, 7);
}

TEST(TokenLedgerExhaustive, quota__every_interleaving_with_restarts_and_a_move) {
  State state = established();
  state.faults_left = 1;
  state.quota_changes_left = 2;
  state.may_ask_now = true;
  state.may_restart_switch = state.may_raise_epoch = state.may_restart_worker = true;
  explore(state, 5);
}

}  // namespace
}  // namespace rain::rpc
