// The worker's half of the token ledger: which tokens are out, which are spent, what to do about lost ones, and
// how to take some back when the quota falls.
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
//   (newer, but by more than kMaxGenerationLeap, is not: the switch would refuse ours, so its number is taken)
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
//   it is above the quota, not used in this life, and `seen` newer than `consumed`
//     a token of an earlier life with a higher quota: taken back, and what is bound to it until then is refused
//
// How often each level is asked after, and which dispatches are refused, says token_level.h.
//
// Levels are unknown at the start, so processes may start in any order and either side may be restarted.
//
// When the quota falls to m, the tokens of levels m and above are recalled: their SYNC asks the switch to count
// the generation as seen and consumed, wherever it is. The answer `recalled` says that no task was bound to it
// and none will be; else a dispatch is under way, and it is accepted when it comes, or given up as above. What
// a recalled level had is not issued again, nor is a token for a task that ends while more is out and held
// than the new quota allows. So outstanding + unknown levels + tasks held, the capacity(), never grows above
// the quota, and falls to a lower one. A quota of 0 drains the worker. When the quota rises, tokens are issued
// as capacity is missing; a level that was never used is asked after first. A recall that is under way ends
// first, because its question cannot be taken back.
//
// Rejected: the same generation again after a change of epoch or boot (the switch would take it for a repeat,
// or a late dispatch of the old life would spend the new token); time stamps instead of generations (they
// would need one clock); to recall "whatever is filed" instead of a generation (a late copy of the question
// would kill a newer token).
#pragma once

#include <array>
#include <cstdint>

#include "base/assert.h"
#include "base/ids.h"
#include "base/time.h"
#include "rpc/sink.h"
#include "rpc/token_level.h"
#include "wire/message.h"

namespace rain::rpc {

struct TokenLedgerOptions {
  WorkerId worker{};
  unsigned quota = 1;  ///< levels; 0..kMaxQuota
  std::uint32_t token_key = 0;
  Nanos sync_interval = milliseconds(100);
  Endpoint switch_address{};
};

class TokenLedger {
 public:
  using Spend = rpc::Spend;

  explicit TokenLedger(const TokenLedgerOptions& options) : options_(options), quota_(options.quota) {
    RAIN_ASSERT(options.quota <= kMaxQuota);
    for (unsigned i = 0; i < quota_; ++i) leave_home(levels_[i], State::kUnknown);
  }

  Spend spend(Level level, Generation generation);

  /// A task that spend() accepted has ended and `held` tasks are left: issues the token of level `held` if
  /// that one is not out, else of the lowest level above that is not (which happens only when a dispatch
  /// crossed a token). Issues none while the quota is exceeded.
  template <Sink S>
  void refund(unsigned held, Nanos now, S& sink);

  /// The quota from now on, 0..kMaxQuota: recalls tokens or issues more.
  template <Sink S>
  void set_quota(unsigned quota, unsigned held, Nanos now, S& sink);

  /// False: the answer is to no question we still ask, and was ignored.
  template <Sink S>
  bool on_sync_ack(const wire::Message& ack, unsigned held, Nanos now, S& sink);

  /// Asks after every level that is unknown, or silent for sync_interval.
  template <Sink S>
  void poll(unsigned held, Nanos now, S& sink);

  /// Makes poll() ask after all levels at once, and after one if none is out: a worker that was moved learns
  /// its new epoch in one round trip.
  void ask_now(Nanos now);

  /// When poll() has something to do next; Nanos::max() after retire().
  Nanos next_due() const;

  /// From now on nothing is issued, recalled or asked; what is out may still be spent.
  void retire() { retired_ = true; }

  unsigned quota() const { return quota_; }
  /// The most tasks that the worker could come to hold: tasks held that tokens paid for, levels outstanding,
  /// levels unknown. Once it is at most the quota it stays so, and while it is above it never grows.
  unsigned capacity() const { return away_ + spent_; }
  /// Whether the quota is in force: the capacity does not exceed it, and no token is being recalled.
  bool settled() const { return capacity() <= quota_ && recalling() == 0; }

  bool outstanding(Level level) const {
    return level.value < kMaxQuota && levels_[level.value].state == State::kOutstanding;
  }
  /// Tokens that are out, those being recalled included.
  unsigned outstanding() const;
  unsigned recalling() const;
  /// Levels of the quota that the switch does not answer for, though it answers for others: it has fewer levels.
  unsigned silent_levels() const;
  /// Tasks that spend() accepted and refund() has not seen yet.
  unsigned spent() const { return spent_; }
  Generation generation(Level level) const { return levels_[level.value].generation; }
  Epoch epoch() const { return epoch_; }

 private:
  using State = TokenLevel::State;

  void leave_home(TokenLevel& level, State state) {
    if (level.is_home()) ++away_;
    level.state = state;
  }
  void bring_home(TokenLevel& level) {
    if (!level.is_home()) --away_;
    level.state = State::kHome;
    level.recalling = false;
    level.give_up_at = Nanos::max();
  }
  void ask_above_quota(Nanos now);
  template <Sink S>
  void take_back(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now, S& sink);

  template <Sink S>
  void begin_epoch(unsigned held, Nanos now, S& sink);
  template <Sink S>
  void establish(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now, S& sink);
  template <Sink S>
  void compare(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now, S& sink);
  template <Sink S>
  void recall(unsigned index, unsigned held, Nanos now, S& sink);
  template <Sink S>
  void top_up(unsigned held, Nanos now, S& sink);
  unsigned next_level(unsigned held) const;
  template <Sink S>
  void issue(unsigned index, unsigned held, Nanos now, S& sink);
  template <Sink S>
  void ask(unsigned index, unsigned held, Nanos now, S& sink);
  template <Sink S>
  void send(wire::MessageType type, unsigned index, unsigned held, S& sink) const;

  TokenLedgerOptions options_;
  unsigned quota_;
  unsigned away_ = 0;   // levels that are not kHome
  unsigned spent_ = 0;  // tasks that tokens paid for
  std::array<TokenLevel, kMaxQuota> levels_{};
  Epoch epoch_{};
  BootId boot_id_{};
  bool met_switch_ = false;
  bool retired_ = false;
  std::uint16_t next_sequence_ = 0;
  std::uint32_t answers_ = 0;  // to questions of any level
};

inline TokenLedger::Spend TokenLedger::spend(Level level, Generation generation) {
  if (level.value >= kMaxQuota) return Spend::kRefused;
  TokenLevel& at = levels_[level.value];
  const Spend spend = at.spend(generation);
  if (spend != Spend::kAccepted) return spend;
  bring_home(at);
  ++spent_;
  return spend;
}

template <Sink S>
void TokenLedger::refund(unsigned held, Nanos now, S& sink) {
  RAIN_ASSERT(spent_ > 0);  // more refunds than accepted dispatches
  --spent_;
  top_up(held, now, sink);
}

template <Sink S>
void TokenLedger::set_quota(unsigned quota, unsigned held, Nanos now, S& sink) {
  RAIN_ASSERT(quota <= kMaxQuota);
  quota_ = quota;
  for (unsigned i = quota; i < kMaxQuota; ++i) {
    if (!levels_[i].is_home() && !levels_[i].recalling) recall(i, held, now, sink);
  }
  top_up(held, now, sink);
}

template <Sink S>
bool TokenLedger::on_sync_ack(const wire::Message& message, unsigned held, Nanos now, S& sink) {
  const wire::SyncAckFields& ack = message.sync_ack;
  if (retired_ || ack.level.value >= kMaxQuota) return false;
  TokenLevel& level = levels_[ack.level.value];
  if (!level.asked || level.sequence != message.request_id.value) return false;
  level.hear();
  ++answers_;

  const bool new_boot = met_switch_ && ack.boot_id != boot_id_;
  const bool new_epoch = met_switch_ && ack.epoch != epoch_;
  met_switch_ = true;
  boot_id_ = ack.boot_id;
  epoch_ = ack.epoch;
  if (new_boot) {
    for (TokenLevel& one : levels_) one.forget_boot(now);
  } else if (new_epoch) {
    begin_epoch(held, now, sink);
  }
  if (!level.overtaken) {
    level.due = now + options_.sync_interval;
    if (level.state == State::kUnknown) {
      establish(ack.level.value, ack, held, now, sink);
    } else if (level.state == State::kOutstanding) {
      compare(ack.level.value, ack, held, now, sink);
    } else if (level.foreign) {
      take_back(ack.level.value, ack, held, now, sink);
    }
  }
  top_up(held, now, sink);
  if (new_boot || new_epoch) poll(held, now, sink);
  return true;
}

/// Our tokens are dead. Answers under way may be older than the epoch.
template <Sink S>
void TokenLedger::begin_epoch(unsigned held, Nanos now, S& sink) {
  for (unsigned i = 0; i < kMaxQuota; ++i) {
    TokenLevel& level = levels_[i];
    level.asked = false;
    if (level.state == State::kUnknown) {
      level.due = now;
    } else if (level.recalling) {
      bring_home(level);
    } else if (level.state == State::kOutstanding) {
      issue(i, held, now, sink);
    }
  }
}

template <Sink S>
void TokenLedger::establish(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now,
                            S& sink) {
  TokenLevel& level = levels_[index];
  // Ours is newer only after a change of boot. What is filed of it then was sent by this life, and may be a
  // repeat of a token whose task ran here: it is left to be refused.
  const bool ours_is_newer = level.numbered && level.generation.follows(ack.seen);
  const bool had_earlier_life = !level.numbered && ack.seen != Generation{};
  if (!ours_is_newer && level.generation != ack.seen) level.renumber(ack.seen);
  level.numbered = true;
  if (had_earlier_life) ask_above_quota(now);
  if (ours_is_newer || !ack.seen.newer_than(ack.consumed)) return bring_home(level);
  leave_home(level, State::kOutstanding);
  level.give_up_at = Nanos::max();
  if (level.recalling) recall(index, held, now, sink);
}

template <Sink S>
void TokenLedger::compare(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now, S& sink) {
  TokenLevel& level = levels_[index];
  if (level.generation.follows(ack.seen)) {
    level.give_up_at = Nanos::max();
    if (!level.recalling) send(wire::MessageType::kFeedback, index, held, sink);
  } else if (ack.seen != level.generation) {
    establish(index, ack, held, now, sink);
  } else if (level.recalling && ack.recalled) {
    bring_home(level);
  } else if (ack.consumed != level.generation) {
    level.give_up_at = Nanos::max();
    if (!level.recalling) level.all_is_well(now, options_.sync_interval);
  } else if (now >= level.give_up_at) {
    bring_home(level);
  } else if (level.give_up_at == Nanos::max()) {
    level.give_up_at = now + options_.sync_interval;
  }
}

/// An earlier life of this worker had tokens out, perhaps more than the quota is now: the next poll() asks.
inline void TokenLedger::ask_above_quota(Nanos now) {
  for (unsigned i = quota_; i < kMaxQuota; ++i) {
    TokenLevel& level = levels_[i];
    if (!level.is_home() || level.numbered || level.foreign) continue;
    level.look_for_foreign(true);
    level.due = now;
  }
}

/// A level above the quota, answered for. The token is not ours to spend: it stays home while it is recalled.
template <Sink S>
void TokenLedger::take_back(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now,
                            S& sink) {
  TokenLevel& level = levels_[index];
  if (level.generation != ack.seen) level.renumber(ack.seen);
  level.numbered = true;
  level.look_for_foreign(ack.seen.newer_than(ack.consumed));
  if (level.foreign) ask(index, held, now, sink);
}

/// The level is not home, and is to come there. Where nothing is known of it, that is asked first: only a number
/// can be recalled.
template <Sink S>
void TokenLedger::recall(unsigned index, unsigned held, Nanos now, S& sink) {
  TokenLevel& level = levels_[index];
  level.recalling = true;
  level.give_up_at = Nanos::max();
  if (level.numbered) ask(index, held, now, sink);
}

/// Issues tokens until the capacity is the quota.
template <Sink S>
void TokenLedger::top_up(unsigned held, Nanos now, S& sink) {
  while (capacity() < quota_ && !retired_) {
    const unsigned index = next_level(held);
    if (levels_[index].numbered) {
      issue(index, held, now, sink);
    } else {
      leave_home(levels_[index], State::kUnknown);
      levels_[index].look_for_foreign(false);
      ask(index, held, now, sink);
    }
  }
}

/// Fewer than `quota_` levels are out or unknown or paid for a task held. While tokens paid for all tasks, more
/// than `held` levels are home and only `held` lie below level `held`: the search upwards finds one. Pushed tasks
/// raise `held` further; then the highest below is the nearest.
inline unsigned TokenLedger::next_level(unsigned held) const {
  unsigned index = held < quota_ ? held : quota_;
  while (index < quota_ && !levels_[index].is_home()) ++index;
  if (index < quota_) return index;
  while (index > 0 && !levels_[index - 1].is_home()) --index;
  RAIN_ASSERT(index > 0);
  return index - 1;
}

template <Sink S>
void TokenLedger::issue(unsigned index, unsigned held, Nanos now, S& sink) {
  TokenLevel& level = levels_[index];
  level.renumber(level.generation.next());
  leave_home(level, State::kOutstanding);
  level.look_for_foreign(false);
  level.pause = {};
  level.give_up_at = Nanos::max();
  level.due = now + options_.sync_interval;
  send(wire::MessageType::kFeedback, index, held, sink);
}

template <Sink S>
void TokenLedger::poll(unsigned held, Nanos now, S& sink) {
  if (retired_) return;
  for (unsigned i = 0; i < kMaxQuota; ++i) {
    const TokenLevel& level = levels_[i];
    if (level.is_asked_after() && level.due <= now) ask(i, held, now, sink);
  }
}

inline void TokenLedger::ask_now(Nanos now) {
  for (TokenLevel& level : levels_) {
    if (!level.is_home()) level.due = now;
  }
  if (away_ > 0) return;
  levels_[0].probing = true;
  levels_[0].due = now;
}

inline Nanos TokenLedger::next_due() const {
  Nanos due = Nanos::max();
  if (retired_) return due;
  for (const TokenLevel& level : levels_) {
    if (level.is_asked_after() && level.due < due) due = level.due;
  }
  return due;
}

template <Sink S>
void TokenLedger::ask(unsigned index, unsigned held, Nanos now, S& sink) {
  if (retired_) return;
  levels_[index].ask(next_sequence_++, answers_, now, options_.sync_interval);
  send(wire::MessageType::kSync, index, held, sink);
}

template <Sink S>
void TokenLedger::send(wire::MessageType type, unsigned index, unsigned held, S& sink) const {
  const TokenLevel& level = levels_[index];
  const bool question = type == wire::MessageType::kSync;
  wire::Message message;
  message.type = type;
  message.first = message.last = true;
  message.packet = 1;
  message.request_id = {question ? level.sequence : std::uint16_t{0}};
  message.has_extension = true;
  message.token = {.worker = options_.worker,
                   .epoch = epoch_,
                   .token_key = options_.token_key,
                   .generation = level.generation,
                   .level = Level{static_cast<std::uint8_t>(index)},
                   .queue_length = static_cast<std::uint16_t>(held),
                   .recall = question && (level.recalling || level.foreign) && level.numbered};
  sink.send(message, options_.switch_address);
}

inline unsigned TokenLedger::outstanding() const {
  unsigned found = 0;
  for (const TokenLevel& level : levels_) found += level.state == State::kOutstanding ? 1u : 0u;
  return found;
}

inline unsigned TokenLedger::recalling() const {
  unsigned found = 0;
  for (const TokenLevel& level : levels_) found += level.is_recalled() ? 1u : 0u;
  return found;
}

inline unsigned TokenLedger::silent_levels() const {
  unsigned found = 0;
  for (const TokenLevel& level : levels_) found += !level.is_home() && level.is_silent() ? 1u : 0u;
  return found;
}

}  // namespace rain::rpc
