// Keeps two slices from lending each other workers by turns: state around Algorithm 1 (adaptive.h).
//
// A move is undone only for a reason that lasts. Whoever lent a worker may not borrow for `hold` intervals after its last
// loan, whoever borrowed may not lend; in the same direction moves go on every interval, because a starved slice needs
// its workers now. A slice that changes its role in spite of that waits twice as long the next time, up to
// `longest_hold`; when it has kept one role for that long, it begins again with `hold`.
//
// So the gaps between a slice's changes of role are at least 1, 2, 4, .. 64 holds long. With the defaults (hold 100
// intervals of 10 ms, longest 6400) that is at most 6 changes in any minute. Between two changes a slice lends or borrows,
// never both, so that W workers of two slices make at most W - 2 moves: at the very most 7 * (W - 2) moves a minute,
// in practice one or two a change.
//
// Rejected: a budget of moves (it slows down the direction that is needed as much as the one that is not); a gap between
// two slowdown thresholds (slowdown jumps from 2 to 200 within an interval when a queue builds up).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/adaptive.h"

namespace rain::agent {

struct HysteresisOptions {
  std::uint32_t hold = 100;           ///< control intervals, 0: none
  std::uint32_t longest_hold = 6400;  ///< control intervals, at least `hold`, at most 2^20
  bool operator==(const HysteresisOptions&) const = default;

  /// Null if all is in range, else what is not and what is allowed.
  const char* problem() const;
};

class Hysteresis {
 public:
  Hysteresis(const HysteresisOptions& options, std::size_t slices);

  /// What each slice may do in the coming interval; for adapt().
  std::span<const MovePermit> permits() const { return permits_; }
  /// The interval is over: `slices` is what adapt() made of it.
  void on_interval(std::span<const AdaptiveSlice> slices);

  /// Changes of role so far, all slices together.
  std::uint64_t role_changes() const { return role_changes_; }

 private:
  enum class Role : std::uint8_t { kNone, kLender, kBorrower };
  struct Slice {
    Role role = Role::kNone;
    std::uint32_t hold = 0;        // intervals that its next change of role must wait for
    std::uint32_t since_move = 0;  // intervals, saturating
    std::uint32_t in_role = 0;     // intervals, saturating
  };

  void on_move(Slice& slice, Role role);

  HysteresisOptions options_;
  std::vector<Slice> slices_;
  std::vector<MovePermit> permits_;
  std::uint64_t role_changes_ = 0;
};

}  // namespace rain::agent
