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
// How often: after sync_interval; each answer that all is well doubles the pause, up to longest_sync_pause(). So an
// idle worker asks a few times a second, and a switch that has restarted is noticed within half a second. A question
// that is not answered is asked again after sync_interval, as often as it takes. But a level that stays without an answer
// while others get one, kUnansweredLimit times, is one that the switch does not have: it is asked after every
// kSilentLevelPause only.
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
//
// A dispatch that is not accepted either was given up (its client must hear DROP), or repeats one that was
// answered before (silence: its task may have run). A bit per recent generation tells them apart. Tolerated:
// when switch and worker are both restarted while a copy of a dispatch is under way, its number may match a
// new token, and it takes that token's place.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/assert.h"
#include "base/ids.h"
#include "base/time.h"
#include "rpc/sink.h"
#include "wire/message.h"

namespace rain::rpc {

inline constexpr Nanos kLongestSyncPause = milliseconds(500);
inline constexpr std::int64_t kSyncPauseGrowth = 4;  ///< times sync_interval, at most
/// The pause that the questions of a silent worker grow to.
constexpr Nanos longest_sync_pause(Nanos sync_interval) {
  return std::max(sync_interval, std::min(sync_interval * kSyncPauseGrowth, kLongestSyncPause));
}
inline constexpr unsigned kUnansweredLimit = 32;
inline constexpr Nanos kSilentLevelPause = seconds(10);

struct TokenLedgerOptions {
  WorkerId worker{};
  unsigned quota = 1;  ///< levels; 0..kMaxQuota
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
  enum class State : std::uint8_t {
    kHome,         // no token of the level is out: spent, given up, taken back, or never used
    kUnknown,      // the switch may have one filed
    kOutstanding,  // `generation` is out, and its dispatch is accepted
  };

  struct LevelState {
    State state = State::kHome;
    bool numbered = false;          // `generation` is ours: a token of this level was out in this life
    bool recalling = false;         // not kHome: it is to come home, and is not issued again
    bool asked = false;             // a SYNC_ACK with `sequence` is awaited
    bool overtaken = false;         // the generation has changed since: the answer tells epoch and boot alone
    bool probing = false;           // ask even though it is home
    bool foreign = false;           // probing: for a token of an earlier life, which is to be taken back
    std::uint8_t unanswered = 0;    // questions, while other levels had answers; up to kUnansweredLimit
    std::uint32_t others_before{};  // answers_ when it was asked
    std::uint16_t sequence = 0;
    Generation generation{};     // newest one that this level has or had out
    std::uint64_t answered = 0;  // bit i: the dispatch of `generation - i` was accepted or refused
    Nanos due{INT64_MIN};        // when to ask next
    Nanos pause{};               // after the last good answer; 0: there was none
    Nanos give_up_at =
        Nanos::max();  // the last answer said that the token is spent, and no dispatch has come
  };
  static constexpr std::uint32_t kAnsweredWindow = 64;

  void leave_home(LevelState& level, State state) {
    if (level.state == State::kHome) ++away_;
    level.state = state;
  }
  void bring_home(LevelState& level) {
    if (level.state != State::kHome) --away_;
    level.state = State::kHome;
    level.recalling = false;
    level.give_up_at = Nanos::max();
  }
  static void renumber(LevelState& level, Generation generation);
  void forget_boot(Nanos now);
  void all_is_well(LevelState& level, Nanos now);
  void missed(LevelState& level);
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
  std::array<LevelState, kMaxQuota> levels_{};
  Epoch epoch_{};
  BootId boot_id_{};
  bool met_switch_ = false;
  bool retired_ = false;
  std::uint16_t next_sequence_ = 0;
  std::uint32_t answers_ = 0;  // to questions of any level
};

inline TokenLedger::Spend TokenLedger::spend(Level level, Generation generation) {
  if (level.value >= kMaxQuota) return Spend::kRefused;
  LevelState& at = levels_[level.value];
  if (generation.newer_than(at.generation)) return Spend::kRefused;
  const std::uint32_t age = at.generation.value - generation.value;
  if (age >= kAnsweredWindow) return Spend::kRepeated;
  const std::uint64_t bit = std::uint64_t{1} << age;
  if ((at.answered & bit) != 0) return Spend::kRepeated;
  // After a change of boot nobody knows what is out, but what was answered before stays answered.
  if (at.state == State::kUnknown || !at.numbered) return Spend::kRefused;
  at.answered |= bit;
  if (age != 0 || at.state != State::kOutstanding) return Spend::kRefused;
  bring_home(at);
  ++spent_;
  return Spend::kAccepted;
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
    if (levels_[i].state != State::kHome && !levels_[i].recalling) recall(i, held, now, sink);
  }
  top_up(held, now, sink);
}

template <Sink S>
bool TokenLedger::on_sync_ack(const wire::Message& message, unsigned held, Nanos now, S& sink) {
  const wire::SyncAckFields& ack = message.sync_ack;
  if (retired_ || ack.level.value >= kMaxQuota) return false;
  LevelState& level = levels_[ack.level.value];
  if (!level.asked || level.sequence != message.request_id.value) return false;
  level.asked = level.probing = false;
  ++answers_;
  level.unanswered = 0;

  const bool new_boot = met_switch_ && ack.boot_id != boot_id_;
  const bool new_epoch = met_switch_ && ack.epoch != epoch_;
  met_switch_ = true;
  boot_id_ = ack.boot_id;
  epoch_ = ack.epoch;
  if (new_boot) {
    forget_boot(now);
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

/// The switch that filed our tokens is gone. Answers under way were its own.
inline void TokenLedger::forget_boot(Nanos now) {
  for (LevelState& level : levels_) {
    level.asked = false;
    level.pause = {};
    level.unanswered = 0;
    level.give_up_at = Nanos::max();
    if (level.state == State::kHome) continue;
    level.state = State::kUnknown;
    level.due = now;
  }
}

/// Our tokens are dead. Answers under way may be older than the epoch.
template <Sink S>
void TokenLedger::begin_epoch(unsigned held, Nanos now, S& sink) {
  for (unsigned i = 0; i < kMaxQuota; ++i) {
    LevelState& level = levels_[i];
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
  LevelState& level = levels_[index];
  // Ours is newer only after a change of boot. What is filed of it then was sent by this life, and may be a
  // repeat of a token whose task ran here: it is left to be refused.
  const bool ours_is_newer = level.numbered && level.generation.follows(ack.seen);
  const bool had_earlier_life = !level.numbered && ack.seen != Generation{};
  if (!ours_is_newer && level.generation != ack.seen) renumber(level, ack.seen);
  level.numbered = true;
  if (had_earlier_life) ask_above_quota(now);
  if (ours_is_newer || !ack.seen.newer_than(ack.consumed)) return bring_home(level);
  leave_home(level, State::kOutstanding);
  level.give_up_at = Nanos::max();
  if (level.recalling) recall(index, held, now, sink);
}

template <Sink S>
void TokenLedger::compare(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now, S& sink) {
  LevelState& level = levels_[index];
  if (level.generation.follows(ack.seen)) {
    level.give_up_at = Nanos::max();
    if (!level.recalling) send(wire::MessageType::kFeedback, index, held, sink);
  } else if (ack.seen != level.generation) {
    establish(index, ack, held, now, sink);
  } else if (level.recalling && ack.recalled) {
    bring_home(level);
  } else if (ack.consumed != level.generation) {
    level.give_up_at = Nanos::max();
    if (!level.recalling) all_is_well(level, now);
  } else if (now >= level.give_up_at) {
    bring_home(level);
  } else if (level.give_up_at == Nanos::max()) {
    level.give_up_at = now + options_.sync_interval;
  }
}

/// The token is filed: the next question has time.
inline void TokenLedger::all_is_well(LevelState& level, Nanos now) {
  const Nanos last = std::max(level.pause, options_.sync_interval);
  level.pause = std::min(last * 2, longest_sync_pause(options_.sync_interval));
  level.due = now + level.pause;
}

/// The question before was not answered. That nobody else's was either says nothing about this level.
inline void TokenLedger::missed(LevelState& level) {
  level.pause = {};
  if (answers_ == level.others_before || level.unanswered == kUnansweredLimit) return;
  if (++level.unanswered < kUnansweredLimit || !level.foreign) return;
  level.foreign = level.probing = false;  // the switch cannot have filed one
}

/// An earlier life of this worker had tokens out, perhaps more than the quota is now: the next poll() asks.
inline void TokenLedger::ask_above_quota(Nanos now) {
  for (unsigned i = quota_; i < kMaxQuota; ++i) {
    LevelState& level = levels_[i];
    if (level.state != State::kHome || level.numbered || level.foreign) continue;
    level.foreign = level.probing = true;
    level.due = now;
  }
}

/// A level above the quota, answered for. The token is not ours to spend: it stays home while it is recalled.
template <Sink S>
void TokenLedger::take_back(unsigned index, const wire::SyncAckFields& ack, unsigned held, Nanos now,
                            S& sink) {
  LevelState& level = levels_[index];
  if (level.generation != ack.seen) renumber(level, ack.seen);
  level.numbered = true;
  level.foreign = level.probing = ack.seen.newer_than(ack.consumed);
  if (level.foreign) ask(index, held, now, sink);
}

/// The level is not home, and is to come there. Where nothing is known of it, that is asked first: only a number
/// can be recalled.
template <Sink S>
void TokenLedger::recall(unsigned index, unsigned held, Nanos now, S& sink) {
  LevelState& level = levels_[index];
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
      levels_[index].foreign = levels_[index].probing = false;
      ask(index, held, now, sink);
    }
  }
}

/// Fewer than `quota_` levels are out or unknown or paid for a task held. While tokens paid for all tasks, more
/// than `held` levels are home and only `held` lie below level `held`: the search upwards finds one. Pushed tasks
/// raise `held` further; then the highest below is the nearest.
inline unsigned TokenLedger::next_level(unsigned held) const {
  unsigned index = held < quota_ ? held : quota_;
  while (index < quota_ && levels_[index].state != State::kHome) ++index;
  if (index < quota_) return index;
  while (index > 0 && levels_[index - 1].state != State::kHome) --index;
  RAIN_ASSERT(index > 0);
  return index - 1;
}

/// Makes `generation` the level's newest and moves the window of answered dispatches along.
inline void TokenLedger::renumber(LevelState& level, Generation generation) {
  const std::uint32_t step = generation.value - level.generation.value;
  level.answered = step < kAnsweredWindow ? level.answered << step : 0;
  level.generation = generation;
  level.numbered = level.overtaken = true;
}

template <Sink S>
void TokenLedger::issue(unsigned index, unsigned held, Nanos now, S& sink) {
  LevelState& level = levels_[index];
  renumber(level, level.generation.next());
  leave_home(level, State::kOutstanding);
  level.foreign = level.probing = false;
  level.pause = {};
  level.give_up_at = Nanos::max();
  level.due = now + options_.sync_interval;
  send(wire::MessageType::kFeedback, index, held, sink);
}

template <Sink S>
void TokenLedger::poll(unsigned held, Nanos now, S& sink) {
  if (retired_) return;
  for (unsigned i = 0; i < kMaxQuota; ++i) {
    const LevelState& level = levels_[i];
    if ((level.state != State::kHome || level.probing) && level.due <= now) ask(i, held, now, sink);
  }
}

inline void TokenLedger::ask_now(Nanos now) {
  for (LevelState& level : levels_) {
    if (level.state != State::kHome) level.due = now;
  }
  if (away_ > 0) return;
  levels_[0].probing = true;
  levels_[0].due = now;
}

inline Nanos TokenLedger::next_due() const {
  Nanos due = Nanos::max();
  if (retired_) return due;
  for (const LevelState& level : levels_) {
    if ((level.state != State::kHome || level.probing) && level.due < due) due = level.due;
  }
  return due;
}

template <Sink S>
void TokenLedger::ask(unsigned index, unsigned held, Nanos now, S& sink) {
  if (retired_) return;
  LevelState& level = levels_[index];
  if (level.asked) missed(level);
  const bool silent = level.unanswered == kUnansweredLimit;
  level.due = now + (silent ? std::max(options_.sync_interval, kSilentLevelPause) : options_.sync_interval);
  level.asked = true;
  level.others_before = answers_;
  level.overtaken = false;
  level.sequence = next_sequence_++;
  send(wire::MessageType::kSync, index, held, sink);
}

template <Sink S>
void TokenLedger::send(wire::MessageType type, unsigned index, unsigned held, S& sink) const {
  const LevelState& level = levels_[index];
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
  for (const LevelState& level : levels_) found += level.state == State::kOutstanding ? 1u : 0u;
  return found;
}

inline unsigned TokenLedger::recalling() const {
  unsigned found = 0;
  for (const LevelState& level : levels_)
    found += level.recalling || (level.foreign && level.numbered) ? 1u : 0u;
  return found;
}

inline unsigned TokenLedger::silent_levels() const {
  unsigned found = 0;
  for (const LevelState& level : levels_)
    found += level.state != State::kHome && level.unanswered == kUnansweredLimit ? 1u : 0u;
  return found;
}

}  // namespace rain::rpc
