// The worker's half of the token ledger: which tokens are out, which are spent, what to do about lost ones.
//
// A worker of quota n that holds k tasks has tokens of n-k levels outstanding. Every token is numbered per
// level, a dispatch names the one it consumed and is accepted only for the very generation that is out, so at
// every moment (outstanding levels) + (tasks held) <= n, whatever the network does. Lost packets are found by
// asking (SYNC), and this is done with the answer, per level:
//
//   the level is unknown, the switch's `seen` is newer than its `consumed`
//     the token of an earlier life is filed: it is outstanding
//   the level is unknown, else (or our own generation is newer than `seen`)
//     issue the generation after the newer of `seen` and ours
//   it is outstanding, `seen` older than ours
//     the token was lost: send the same one again (a repeat is harmless)
//   it is outstanding, `seen` ours, `consumed` older
//     it is filed, all is well
//   it is outstanding, `seen` and `consumed` ours
//     a dispatch is under way or lost; at the second such answer, one sync_interval later, it is given up:
//     issue ours + 1
//   it is outstanding, `seen` newer than ours
//     somebody else used our id: as unknown
//   another boot id
//     the switch's ledger is empty: all outstanding levels become unknown and are asked after at once
//   another epoch
//     our tokens are dead there: issue ours + 1 on every outstanding level
//
// Levels are unknown at the start, so processes may start in any order and either side may be restarted.
// Rejected: the same generation again after a change of epoch or boot (the switch would take it for a repeat,
// or a late dispatch of the old life would spend the new token); time stamps instead of generations (they
// would need one clock).
//
// A dispatch that is not accepted either was given up (its client must hear DROP), or repeats one that was
// answered before (silence: its task may have run). A bit per recent generation tells them apart. Tolerated:
// when switch and worker are both restarted while a copy of a dispatch is under way, its number may match a
// new token, and it takes that token's place.
#pragma once

#include <array>
#include <cstdint>

#include "base/assert.h"
#include "base/ids.h"
#include "base/time.h"
#include "rpc/sink.h"
#include "wire/message.h"

namespace rain::rpc {

struct TokenLedgerOptions {
  WorkerId worker{};
  unsigned quota = 1;  ///< levels; 1..kMaxQuota
  std::uint32_t token_key = 0;
  Nanos sync_interval = milliseconds(100);
  Endpoint switch_address{};
};

class TokenLedger {
 public:
  /// What becomes of a dispatch.
  enum class Spend : std::uint8_t {
    kAccepted,  ///< it consumed the token that was out; the worker owes one refund()
    kRefused,   ///< its token was given up or never issued: it did not run here, its client should hear so
    kRepeated,  ///< it was answered for before, or so long ago that nobody knows: say nothing
  };

  explicit TokenLedger(const TokenLedgerOptions& options) : options_(options) {
    RAIN_ASSERT(options.quota >= 1 && options.quota <= kMaxQuota);
  }

  Spend spend(Level level, Generation generation);

  /// A task that spend() accepted has ended and `held` tasks are left: issues the token of level `held` if
  /// that one is not out, else of the lowest level above that is not (which happens only when a dispatch
  /// crossed a token).
  template <Sink S>
  void refund(unsigned held, Nanos now, S& sink);

  /// False: the answer is to no question we still ask, and was ignored.
  template <Sink S>
  bool on_sync_ack(const wire::Message& ack, unsigned held, Nanos now, S& sink);

  /// Asks after every level that is unknown, or silent for sync_interval.
  template <Sink S>
  void poll(unsigned held, Nanos now, S& sink);

  /// When poll() has something to do next; Nanos::max() after retire().
  Nanos next_due() const;

  /// From now on nothing is issued or asked; what is out may still be spent.
  void retire() { retired_ = true; }

  bool outstanding(Level level) const {
    return level.value < options_.quota && levels_[level.value].state == State::kOutstanding;
  }
  unsigned outstanding() const { return count(State::kOutstanding); }
  unsigned spent() const { return count(State::kSpent); }
  Generation generation(Level level) const { return levels_[level.value].generation; }
  Epoch epoch() const { return epoch_; }

 private:
  enum class State : std::uint8_t { kUnknown, kOutstanding, kSpent };

  struct LevelState {
    State state = State::kUnknown;
    bool numbered = false;  // `generation` is ours: a token of this level was out in this life
    bool asked = false;     // a SYNC_ACK with `sequence` is awaited
    bool suspect = false;   // the last answer said that the token is spent, and no dispatch has come
    std::uint16_t sequence = 0;
    Generation generation{};     // newest one that this level has or had out
    std::uint64_t answered = 0;  // bit i: the dispatch of `generation - i` was accepted or refused
    Nanos due{INT64_MIN};        // when to ask next
  };
  static constexpr std::uint32_t kAnsweredWindow = 64;

  unsigned count(State state) const;
  static void adopt(LevelState& level, Generation generation);
  void forget_boot(Nanos now);

  template <Sink S>
  void establish(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now, S& sink);
  template <Sink S>
  void compare(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now, S& sink);
  template <Sink S>
  void issue(unsigned index, Generation generation, unsigned held, Nanos now, S& sink);
  template <Sink S>
  void send(wire::MessageType type, unsigned index, unsigned held, S& sink) const;

  TokenLedgerOptions options_;
  std::array<LevelState, kMaxQuota> levels_{};
  Epoch epoch_{};
  BootId boot_id_{};
  bool met_switch_ = false;
  bool retired_ = false;
  std::uint16_t next_sequence_ = 0;
};

inline TokenLedger::Spend TokenLedger::spend(Level level, Generation generation) {
  if (level.value >= options_.quota) return Spend::kRefused;
  LevelState& at = levels_[level.value];
  if (generation.newer_than(at.generation)) return Spend::kRefused;
  const std::uint32_t age = at.generation.value - generation.value;
  if (age >= kAnsweredWindow) return Spend::kRepeated;
  const std::uint64_t bit = std::uint64_t{1} << age;
  if ((at.answered & bit) != 0) return Spend::kRepeated;
  // After a change of boot nobody knows what is out, but what was answered before stays answered.
  if (at.state == State::kUnknown) return Spend::kRefused;
  at.answered |= bit;
  if (age != 0) return Spend::kRefused;
  RAIN_ASSERT(at.state == State::kOutstanding);  // a spent level has bit 0 set
  at.state = State::kSpent;
  at.asked = at.suspect = false;
  return Spend::kAccepted;
}

template <Sink S>
void TokenLedger::refund(unsigned held, Nanos now, S& sink) {
  if (retired_) return;
  // While all tasks held were paid with tokens, held + 1 levels are spent and only `held` levels lie below
  // `held`: the search upwards finds one. Pushed tasks raise `held` further; then the highest spent level
  // below is the nearest.
  unsigned index = held < options_.quota ? held : options_.quota;
  while (index < options_.quota && levels_[index].state != State::kSpent) ++index;
  if (index == options_.quota) {
    while (index > 0 && levels_[index - 1].state != State::kSpent) --index;
    RAIN_ASSERT(index > 0);  // more refunds than accepted dispatches
    --index;
  }
  issue(index, levels_[index].generation.next(), held, now, sink);
}

template <Sink S>
bool TokenLedger::on_sync_ack(const wire::Message& message, unsigned held, Nanos now, S& sink) {
  const wire::SyncAckFields& ack = message.sync_ack;
  if (retired_ || ack.level.value >= options_.quota) return false;
  const unsigned index = ack.level.value;
  LevelState& level = levels_[index];
  if (!level.asked || level.sequence != message.request_id.value) return false;
  level.asked = false;
  level.due = now + options_.sync_interval;

  const bool new_boot = met_switch_ && ack.boot_id != boot_id_;
  const bool new_epoch = met_switch_ && ack.epoch != epoch_;
  met_switch_ = true;
  boot_id_ = ack.boot_id;
  epoch_ = ack.epoch;
  if (new_boot) {
    forget_boot(now);
  } else if (new_epoch) {
    for (unsigned i = 0; i < options_.quota; ++i) {
      if (levels_[i].state != State::kOutstanding) continue;
      issue(i, levels_[i].generation.next(), held, now, sink);
    }
  }
  if (level.state == State::kUnknown) {
    establish(index, ack, held, now, sink);
  } else if (!new_epoch) {
    compare(index, ack, held, now, sink);
  }
  if (new_boot) poll(held, now, sink);
  return true;
}

/// The switch that filed our tokens is gone. Answers under way were its own.
inline void TokenLedger::forget_boot(Nanos now) {
  for (unsigned i = 0; i < options_.quota; ++i) {
    LevelState& level = levels_[i];
    level.asked = level.suspect = false;
    if (level.state == State::kSpent) continue;
    level.state = State::kUnknown;
    level.due = now;
  }
}

template <Sink S>
void TokenLedger::establish(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now,
                            S& sink) {
  // Ours is newer only after a change of boot. What is filed of it then was sent by this life, and may be a
  // repeat of a token whose task ran here: it is left to be refused.
  const Generation ours = levels_[index].generation;
  if (levels_[index].numbered && ours.newer_than(ack.seen)) {
    issue(index, ours.next(), held, now, sink);
  } else if (ack.seen.newer_than(ack.consumed)) {
    adopt(levels_[index], ack.seen);
    levels_[index].due = now + options_.sync_interval;
  } else {
    issue(index, ack.seen.next(), held, now, sink);
  }
}

template <Sink S>
void TokenLedger::compare(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now, S& sink) {
  LevelState& level = levels_[index];
  if (ack.seen.newer_than(level.generation)) {
    establish(index, ack, held, now, sink);
  } else if (level.generation.newer_than(ack.seen)) {
    level.suspect = false;
    send(wire::MessageType::kFeedback, index, held, sink);
  } else if (ack.consumed != level.generation) {
    level.suspect = false;
  } else if (level.suspect) {
    issue(index, level.generation.next(), held, now, sink);
  } else {
    level.suspect = true;
  }
}

/// Makes `generation` the level's outstanding token and moves the window of answered dispatches along.
inline void TokenLedger::adopt(LevelState& level, Generation generation) {
  const std::uint32_t step = generation.value - level.generation.value;
  level.answered = step < kAnsweredWindow ? level.answered << step : 0;
  level.generation = generation;
  level.numbered = true;
  level.state = State::kOutstanding;
  level.asked = level.suspect = false;
}

template <Sink S>
void TokenLedger::issue(unsigned index, Generation generation, unsigned held, Nanos now, S& sink) {
  adopt(levels_[index], generation);
  levels_[index].due = now + options_.sync_interval;
  send(wire::MessageType::kFeedback, index, held, sink);
}

template <Sink S>
void TokenLedger::poll(unsigned held, Nanos now, S& sink) {
  if (retired_) return;
  for (unsigned i = 0; i < options_.quota; ++i) {
    LevelState& level = levels_[i];
    if (level.state == State::kSpent || level.due > now) continue;
    level.due = now + options_.sync_interval;
    level.asked = true;
    level.sequence = next_sequence_++;
    send(wire::MessageType::kSync, i, held, sink);
  }
}

inline Nanos TokenLedger::next_due() const {
  Nanos due = Nanos::max();
  for (unsigned i = 0; i < options_.quota && !retired_; ++i) {
    if (levels_[i].state != State::kSpent && levels_[i].due < due) due = levels_[i].due;
  }
  return due;
}

template <Sink S>
void TokenLedger::send(wire::MessageType type, unsigned index, unsigned held, S& sink) const {
  const LevelState& level = levels_[index];
  wire::Message message;
  message.type = type;
  message.first = message.last = true;
  message.packet = 1;
  message.request_id = {type == wire::MessageType::kSync ? level.sequence : std::uint16_t{0}};
  message.has_extension = true;
  message.token = {.worker = options_.worker,
                   .epoch = epoch_,
                   .token_key = options_.token_key,
                   .generation = level.generation,
                   .level = Level{static_cast<std::uint8_t>(index)},
                   .queue_length = static_cast<std::uint16_t>(held)};
  sink.send(message, options_.switch_address);
}

inline unsigned TokenLedger::count(State state) const {
  unsigned found = 0;
  for (unsigned i = 0; i < options_.quota; ++i) found += levels_[i].state == state ? 1u : 0u;
  return found;
}

}  // namespace rain::rpc
