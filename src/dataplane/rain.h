// Program `rain`: levelled tokens with a spill threshold. Freestanding.
//
// The paper's bidirectional queue keeps one FIFO of tokens, so it hands a task to a busy worker while an idle
// one stands further back, and its users choose between quota 1, which idles for a token round trip between
// tasks, and a larger one, which blocks short tasks behind long ones. Here a token says how many tasks its
// worker still holds (its level): the switch takes the lowest level that has one, FIFO among equals, which is
// exact JBSQ(n). And a task is bound to a busy worker only while at least `spill` others already wait; below
// that it waits here for the next idle worker.
//
// One register pair per slice, the gate, decides everything in one access:
//   balance = tokens of idle workers - waiting tasks   (the two never coexist)
//   spare   = tokens of busy workers
//   task         if balance > -spill or spare == 0: balance -= 1, and
//                   it was > 0: take an idle token;  it was > -capacity: wait;  else: full, unchanged
//                else: spare -= 1, take a spare token, lowest level first
//   idle token   balance += 1; it was < 0: serve the head, else file
//   spare token  balance < -spill: balance += 1, serve the head;  else: spare += 1, file
//                every `drain`-th spare token reads spill as 0, so that a few waiting tasks cannot starve
//                while no worker ever becomes idle
//
// STICKY tasks of a slice, the host, have a slice of their own, the master slice, whose one worker is the master. So that
// it also takes part in the rest, a token of it that no sticky task waits for looks for a task in the host, and a task
// whose slice has neither an idle token nor a queue asks there for one. Each costs such a packet a second pass, and a third
// if it was in vain.
//
// Rejected: scanning the levels first and deciding afterwards (two accesses of the counts); a count per level
// in the gate (more than one stateful unit can hold). Tolerated: the gate counts tokens whose worker has left or
// recalled them meanwhile, or whose FIFO was full. A task that takes one passes once more, and the count has gone
// down by the one that was missing. A token passes once more when its FIFO is full of dead ones, which are
// forgotten first, and for each expired task that it finds at the head. There is no other recirculation in a slice
// without a master.
//
// Stages: 0 token_seen; 1 drain; 2 gate; 3 task head and tail, rings of levels 0 and 1; then one stage for
// the ring of each further level, every ring's cells in the stage after it; token_consumed two stages after
// the last cells. Task entries lie in stages 4..11 beside them.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "dataplane/ledger.h"
#include "dataplane/program.h"
#include "dataplane/task_queue.h"
#include "dataplane/token_fifo.h"

namespace rain::dataplane {

/// The gate's state for one slice.
struct Gate {
  std::int32_t balance = 0;
  std::uint32_t spare = 0;
};

/// `kLevels`: the largest quota of a worker, 1..kMaxQuota.
template <typename M, unsigned kLevels>
class RainProgram {
  static_assert(Memory<M>);
  static_assert(kLevels >= 1 && kLevels <= kMaxQuota);

  static constexpr std::uint8_t kSeenStage = 0, kDrainStage = 1, kGateStage = 2, kQueueStage = 3;
  /// Level 0 and level 1 exclude each other (the gate chose), so they share a stage; each further level needs
  /// the outcome of the one before.
  static constexpr std::uint8_t ring_stage(unsigned level) {
    return static_cast<std::uint8_t>(level == 0 ? kQueueStage : kQueueStage + level - 1);
  }
  /// After the last token cell, with a stage between for the worker table that says whether the token is
  /// alive.
  static constexpr std::uint8_t kConsumedStage = ring_stage(kLevels - 1) + 3;

  struct DrainSpec {
    static constexpr RegisterSpec value{"drain", 0, kDrainStage, 1, Extent::kSlices, 16, 2, false};
  };
  struct GateSpec {
    static constexpr RegisterSpec value{"gate", 1, kGateStage, 1, Extent::kSlices, 64, sizeof(Gate), false};
  };
  using DrainCount = Register<std::uint16_t, DrainSpec>;
  using GateState = Register<Gate, GateSpec>;
  using Tasks = TaskQueue<2, kQueueStage>;
  using Tokens = Ledger<5, kSeenStage, kConsumedStage>;
  template <unsigned kLevel>
  using Fifo = TokenFifo<7 + 2 * kLevel, ring_stage(kLevel)>;

 public:
  static constexpr std::array<RegisterSpec, 7 + 2 * kLevels> kRegisters = [] {
    std::array<RegisterSpec, 7 + 2 * kLevels> list{
        DrainSpec::value,        GateSpec::value,         Tasks::HeadSpec::value,     Tasks::TailSpec::value,
        Tasks::EntrySpec::value, Tokens::SeenSpec::value, Tokens::ConsumedSpec::value};
    [&]<unsigned... kLevel>(std::integer_sequence<unsigned, kLevel...>) {
      ((list[7 + 2 * kLevel] = Fifo<kLevel>::RingSpec::value,
        list[8 + 2 * kLevel] = Fifo<kLevel>::CellSpec::value),
       ...);
    }
    (std::make_integer_sequence<unsigned, kLevels>{});
    return list;
  }();

  explicit RainProgram(M& memory) : memory_(memory) {}

  Verdict pass(const PacketView& packet, Nanos now) {
    switch (packet.message.type) {
      case wire::MessageType::kRequest:
        return task(packet, now);
      case wire::MessageType::kFeedback:
        return token(packet, now);
      case wire::MessageType::kSync:
        return sync(packet);
      default:
        return ignore(DropReason::kUnexpectedMessage);
    }
  }

  /// Control plane, between passes: takes the dead tokens out of the slice's FIFOs. The gate, which may count
  /// more than are filed, never less, is set to what is left.
  void forget_dead_tokens(SliceId slice) {
    const auto dead = [&](const TokenCell& cell) { return Tokens::consume_if_dead(memory_, slice, cell); };
    Gate& gate = *memory_.template cell<Gate>(GateSpec::value.id, slice.value);
    const auto idle = static_cast<std::int32_t>(Fifo<0>::remove_if(memory_, slice, dead));
    if (gate.balance > idle) gate.balance = idle;
    gate.spare = 0;
    [&]<unsigned... kLevel>(std::integer_sequence<unsigned, kLevel...>) {
      ((gate.spare += Fifo<kLevel + 1>::remove_if(memory_, slice, dead)), ...);
    }
    (std::make_integer_sequence<unsigned, kLevels - 1>{});
  }

  /// Control plane, between packets: takes the waiting tasks out, for `take(const TaskEntry&)`, whose hold is the
  /// caller's to release.
  template <typename Take>
  void remove_tasks(SliceId slice, Take&& take) {
    Tasks::remove_all(memory_, slice, take);
    Gate& gate = *memory_.template cell<Gate>(GateSpec::value.id, slice.value);
    if (gate.balance < 0) gate.balance = 0;
  }

  /// The gate as it stands, for counters and tests.
  const Gate& gate(SliceId slice) { return *memory_.template cell<Gate>(GateSpec::value.id, slice.value); }

 private:
  enum class Choice : std::uint8_t { kIdleToken, kSpareToken, kWait, kFull };

  Verdict task(const PacketView& packet, Nanos now) {
    SliceId id{};
    const SliceEntry* slice = nullptr;
    const DropReason reason = match_task(memory_, packet.message, id, slice);
    if (reason != DropReason::kNone) return refuse_task(id, reason);

    Pass pass;
    const Lending lending = packet.carried.lending;
    if (lending == Lending::kAway) return borrow(pass, packet, id, slice->master_slice);
    const bool can_wait = packet.message.payload.size() <= kInlinePayloadBytes || memory_.free_holds() > 0;
    Gate& gate = GateState::at(pass, memory_, id.value);
    if (gate.balance == 0 && slice->master_slice != kNoSlice && lending == Lending::kHome)
      return pass_on(id, packet.carried, Lending::kAway);
    const Choice choice = can_wait ? admit(gate, *slice) : admit_unbuffered(gate, *slice);
    const std::uint16_t queue_length = waiting(gate);
    if (choice == Choice::kWait) {
      Tasks::push(pass, memory_, id, packet, now);
      return buffered(id, queue_length);
    }
    if (choice == Choice::kFull) {
      return reply_drop(id, can_wait ? DropReason::kQueueFull : DropReason::kPayloadStoreFull, queue_length);
    }
    return spend(pass, id, id, choice, queue_length);
  }

  /// A task of slice `id`, which has nothing for it and where nobody waits, asks for an idle token of the master.
  Verdict borrow(Pass& pass, const PacketView& packet, SliceId id, SliceId master_slice) {
    if (memory_.slice(master_slice) == nullptr) return pass_on(id, packet.carried, Lending::kReturn);
    Gate& gate = GateState::at(pass, memory_, master_slice.value);
    if (gate.balance <= 0) return pass_on(id, packet.carried, Lending::kReturn);
    --gate.balance;
    return spend(pass, id, master_slice, Choice::kIdleToken, 0);
  }

  static Choice admit(Gate& gate, const SliceEntry& slice) {
    if (gate.spare > 0 && gate.balance <= -static_cast<std::int32_t>(slice.spill)) {
      --gate.spare;
      return Choice::kSpareToken;
    }
    if (gate.balance <= -static_cast<std::int32_t>(slice.queue_capacity)) return Choice::kFull;
    return gate.balance-- > 0 ? Choice::kIdleToken : Choice::kWait;
  }

  /// A payload that cannot be held is forwarded at once or not at all. Besides the token that any task would
  /// get, it takes a spare one rather than wait where no other task waits: it overtakes nobody.
  static Choice admit_unbuffered(Gate& gate, const SliceEntry& slice) {
    if (gate.balance > 0) return --gate.balance, Choice::kIdleToken;
    const bool may_spill = gate.balance == 0 || gate.balance <= -static_cast<std::int32_t>(slice.spill);
    if (may_spill && gate.spare > 0) return --gate.spare, Choice::kSpareToken;
    return Choice::kFull;
  }

  /// Takes the token that the gate of slice `from` promised and gives it the packet, a task of slice `id`.
  Verdict spend(Pass& pass, SliceId id, SliceId from, Choice choice, std::uint16_t queue_length) {
    TokenCell token{};
    const bool found = choice == Choice::kIdleToken ? Fifo<0>::pop(pass, memory_, from, token)
                                                    : pop_lowest_spare<1>(pass, from, token);
    const bool fresh = found && Tokens::consume(pass, memory_, token);
    if (!fresh || !token_alive(memory_, from, token)) return pass_again(from);
    return forward(id, token, queue_length);
  }

  template <unsigned kLevel>
  bool pop_lowest_spare(Pass& pass, SliceId id, TokenCell& token) {
    if constexpr (kLevel < kLevels) {
      return Fifo<kLevel>::pop(pass, memory_, id, token) || pop_lowest_spare<kLevel + 1>(pass, id, token);
    } else {
      return false;
    }
  }

  Verdict token(const PacketView& packet, Nanos now) {
    const wire::TokenFields& token = packet.message.token;
    const WorkerEntry* worker = nullptr;
    const DropReason reason = match_token(memory_, packet, kLevels, worker);
    if (reason != DropReason::kNone) return ignore(reason);

    Pass pass;
    const SliceId id = worker->slice;
    const SliceEntry& slice = *memory_.slice(id);
    bool drain = packet.carried.drains;
    if (packet.carried.passes == 0) {
      const DropReason unseen = Tokens::see(pass, memory_, token);
      if (unseen != DropReason::kNone) return ignore(unseen);
      drain = token.level.value > 0 && drains(pass, id, slice);
    }
    const TokenCell cell{token.worker, token.epoch, token.generation, token.level};
    const Lending lending = packet.carried.lending;
    if (lending == Lending::kAway) return lend(pass, packet, slice.host, cell, drain, now);
    Gate& gate = GateState::at(pass, memory_, id.value);
    if (finds_task(gate, slice, cell, drain)) return serve_head(pass, packet, id, gate, cell, drain, now);
    if (slice.host != kNoSlice && lending == Lending::kHome)
      return pass_on(id, carry(packet, drain), Lending::kAway);
    if (token.level.value == 0) {
      ++gate.balance;
    } else {
      ++gate.spare;
    }
    const std::uint16_t queue_length = waiting(gate);
    if (file<0>(pass, id, cell)) return consumed(id, queue_length);
    if (!packet.carried.swept) return sweep_and_pass_again(id, carry(packet, drain));
    Tokens::consume(pass, memory_, cell);
    return ignore(DropReason::kTokenQueueFull);
  }

  /// What a token takes along to its next pass. Made when there is one: few tokens have any.
  static Carried carry(const PacketView& packet, bool drain) {
    Carried carried = packet.carried;
    carried.drains = drain;
    return carried;
  }

  /// An idle worker's token serves whatever waits, a busy one's what waits beyond the spill threshold.
  static bool finds_task(const Gate& gate, const SliceEntry& slice, const TokenCell& token, bool drain) {
    const bool any = token.level.value == 0 || drain;
    return gate.balance < (any ? 0 : -static_cast<std::int32_t>(slice.spill));
  }

  Verdict serve_head(Pass& pass, const PacketView& packet, SliceId id, Gate& gate, const TokenCell& token,
                     bool drain, Nanos now) {
    ++gate.balance;
    const std::uint16_t queue_length = waiting(gate);
    const TaskEntry& head = Tasks::pop(pass, memory_, id);
    if (expired(head, now, packet.carried)) return expire(id, head, carry(packet, drain), queue_length);
    Tokens::consume(pass, memory_, token);
    return dispatch(id, token, head, now, queue_length);
  }

  /// A master's token, for which no sticky task waits, serves a task of the host if one waits there for it.
  Verdict lend(Pass& pass, const PacketView& packet, SliceId host, const TokenCell& token, bool drain,
               Nanos now) {
    if (const SliceEntry* const entry = memory_.slice(host)) {
      Gate& gate = GateState::at(pass, memory_, host.value);
      if (finds_task(gate, *entry, token, drain))
        return serve_head(pass, packet, host, gate, token, drain, now);
    }
    return pass_on(host, carry(packet, drain), Lending::kReturn);
  }

  /// True for every `drain`-th spare token of the slice.
  bool drains(Pass& pass, SliceId id, const SliceEntry& slice) {
    std::uint16_t& count = DrainCount::at(pass, memory_, id.value);
    if (slice.drain == 0) return false;
    count = static_cast<std::uint16_t>(count + 1 >= slice.drain ? 0 : count + 1);
    return count == 0;
  }

  template <unsigned kLevel>
  bool file(Pass& pass, SliceId id, const TokenCell& cell) {
    if constexpr (kLevel < kLevels) {
      if (cell.level.value == kLevel) return Fifo<kLevel>::push(pass, memory_, id, cell);
      return file<kLevel + 1>(pass, id, cell);
    } else {
      return false;
    }
  }

  Verdict sync(const PacketView& packet) {
    const WorkerEntry* worker = nullptr;
    const DropReason reason = match_token(memory_, packet, kLevels, worker);
    if (reason != DropReason::kNone) return ignore(reason);
    Pass pass;
    return Tokens::report(pass, memory_, packet.message.token, *worker);
  }

  static std::uint16_t waiting(const Gate& gate) {
    return saturate_to_u16(gate.balance < 0 ? static_cast<std::uint32_t>(-gate.balance) : 0);
  }

  M& memory_;
};

}  // namespace rain::dataplane
