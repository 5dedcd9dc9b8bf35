// One level of a worker's token ledger: where its token is, which dispatches of it have been answered for, and when the
// switch is asked after it. token_ledger.h has one for each level.
//
// How often it is asked after: after sync_interval; each answer that all is well doubles the pause, up to
// longest_sync_pause(). So an idle worker asks a few times a second, and a switch that has restarted is noticed within half
// a second. A question that is not answered is asked again after sync_interval, as often as it takes. But a level that stays
// without an answer while others get one, kUnansweredLimit times, is one that the switch does not have: it is asked after
// every kSilentLevelPause only.
//
// A dispatch that is not accepted either was given up (its client must hear DROP), or repeats one that was answered before
// (silence: its task may have run). A bit per recent generation tells them apart. Tolerated: when switch and worker are both
// restarted while a copy of a dispatch is under way, its number may match a new token, and it takes that token's place.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ids.h"
#include "base/time.h"

namespace rain::rpc {

inline constexpr Nanos kLongestSyncPause = milliseconds(500);
inline constexpr std::int64_t kSyncPauseGrowth = 4;  ///< times sync_interval, at most
/// The pause that the questions of a silent worker grow to.
constexpr Nanos longest_sync_pause(Nanos sync_interval) {
  return std::max(sync_interval, std::min(sync_interval * kSyncPauseGrowth, kLongestSyncPause));
}
inline constexpr unsigned kUnansweredLimit = 32;
inline constexpr Nanos kSilentLevelPause = seconds(10);

/// What becomes of a dispatch.
enum class Spend : std::uint8_t {
  kAccepted,  ///< it consumed the token that was out; the worker owes one refund()
  kRefused,   ///< its token was given up or never issued: it did not run here, its client should hear so
  kRepeated,  ///< it was answered for before, or so long ago that nobody knows: say nothing
};

/// The ledger reads and writes it; what concerns one level alone is done here.
struct TokenLevel {
  enum class State : std::uint8_t {
    kHome,         // no token of the level is out: spent, given up, taken back, or never used
    kUnknown,      // the switch may have one filed
    kOutstanding,  // `generation` is out, and its dispatch is accepted
  };
  static constexpr std::uint32_t kAnsweredWindow = 64;

  State state = State::kHome;
  bool numbered = false;          // `generation` is ours: a token of this level was out in this life
  bool recalling = false;         // not kHome: it is to come home, and is not issued again
  bool asked = false;             // a SYNC_ACK with `sequence` is awaited
  bool overtaken = false;         // the generation has changed since: the answer tells epoch and boot alone
  bool probing = false;           // ask even though it is home
  bool foreign = false;           // probing: for a token of an earlier life, which is to be taken back
  std::uint8_t unanswered = 0;    // questions, while other levels had answers; up to kUnansweredLimit
  std::uint32_t others_before{};  // answers to all levels when it was asked
  std::uint16_t sequence = 0;
  Generation generation{};          // newest one that this level has or had out
  std::uint64_t answered = 0;       // bit i: the dispatch of `generation - i` was accepted or refused
  Nanos due{INT64_MIN};             // when to ask next
  Nanos pause{};                    // after the last good answer; 0: there was none
  Nanos give_up_at = Nanos::max();  // the last answer said that the token is spent, and no dispatch has come

  bool is_home() const { return state == State::kHome; }
  bool is_asked_after() const { return !is_home() || probing; }
  /// The switch answers for others, and not for this one.
  bool is_silent() const { return unanswered == kUnansweredLimit; }
  bool is_recalled() const { return recalling || (foreign && numbered); }

  /// A dispatch of this level has come. Accepted: the level is still to be brought home.
  Spend spend(Generation of) {
    if (of.newer_than(generation)) return Spend::kRefused;
    const std::uint32_t age = generation.value - of.value;
    if (age >= kAnsweredWindow) return Spend::kRepeated;
    const std::uint64_t bit = std::uint64_t{1} << age;
    if ((answered & bit) != 0) return Spend::kRepeated;
    // After a change of boot nobody knows what is out, but what was answered before stays answered.
    if (state == State::kUnknown || !numbered) return Spend::kRefused;
    answered |= bit;
    return age == 0 && state == State::kOutstanding ? Spend::kAccepted : Spend::kRefused;
  }

  /// Makes `newest` the level's newest and moves the window of answered dispatches along.
  void renumber(Generation newest) {
    const std::uint32_t step = newest.value - generation.value;
    answered = step < kAnsweredWindow ? answered << step : 0;
    generation = newest;
    numbered = overtaken = true;
  }

  /// Asks for a token of an earlier life, or no longer.
  void look_for_foreign(bool look) { foreign = probing = look; }

  /// A question goes out, the `number`-th; `answers` have come to those of all levels.
  void ask(std::uint16_t number, std::uint32_t answers, Nanos now, Nanos sync_interval) {
    if (asked) miss(answers);
    due = now + (is_silent() ? std::max(sync_interval, kSilentLevelPause) : sync_interval);
    asked = true;
    others_before = answers;
    overtaken = false;
    sequence = number;
  }

  /// The answer to the last question has come.
  void hear() {
    asked = probing = false;
    unanswered = 0;
  }

  /// The token is filed: the next question has time.
  void all_is_well(Nanos now, Nanos sync_interval) {
    pause = std::min(std::max(pause, sync_interval) * 2, longest_sync_pause(sync_interval));
    due = now + pause;
  }

  /// The switch that filed its token is gone. An answer under way is that one's.
  void forget_boot(Nanos now) {
    asked = false;
    pause = {};
    unanswered = 0;
    give_up_at = Nanos::max();
    if (is_home()) return;
    state = State::kUnknown;
    due = now;
  }

 private:
  /// The question before was not answered. That nobody else's was either says nothing about this level.
  void miss(std::uint32_t answers) {
    pause = {};
    if (answers == others_before || is_silent()) return;
    ++unanswered;
    if (is_silent() && foreign) look_for_foreign(false);  // the switch cannot have filed one
  }
};

}  // namespace rain::rpc
