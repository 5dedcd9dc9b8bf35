// Adaptive scheduling: Algorithm 1 of the Rain paper (section 3.3) as a pure function. Statistics of one control interval
// in, quotas and workers' slices out; the lines of the algorithm are cited where they are.
//
// Where the paper is silent, and what we do:
// - A slice keeps at least one worker, whatever its idleness: an empty slice would hold its tasks for ever.
// - The average quota of an uneven slice (line 25) is rounded to the nearest, and is at least 1.
// - Ties: the slice with the lower index, the worker with the lower position. So one input has one output.
// - A worker without a sample has a slowdown of 0 and counts with its idleness.
// - Nothing in the algorithm keeps two slices from lending each other a worker by turns: the caller may forbid a slice
//   to lend or to borrow (hysteresis.h).
// What a worker's old tokens do when it moves is the ledger's business: its epoch changes, they die (decision 0002).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/task_window.h"
#include "base/ids.h"

namespace rain::agent {

struct AdaptiveOptions {
  double slowdown_threshold = 10;  ///< S_th, > 1: above it a worker is in trouble
  double ratio_threshold =
      0.3;  ///< R_th, 0..1: above it the trouble is the worker's queue, below it the switch's
  unsigned max_quota = kMaxQuota;  ///< n_max, 1..kMaxQuota

  /// Null if all is in range, else what is not and what is allowed.
  const char* problem() const;
};

/// A worker before and after: adapt() changes `quota` and `slice`.
struct AdaptiveWorker {
  std::uint16_t slice = 0;  ///< index into the slices
  unsigned quota = 1;       ///< n_w, 1..max_quota
  TaskStatistics tasks{};
  ServiceStatistics service{};  ///< not looked at by adapt()
  double idleness = 0;          ///< I_w, 0..1: the part of the interval in which it found nothing to do
};

enum class SliceState : std::uint8_t {
  kCalm,         ///< nothing to move
  kUneven,       ///< overloaded workers beside idle ones: their quotas were averaged
  kOverloaded,   ///< may borrow a worker
  kUnderloaded,  ///< idle by more than one worker: may lend one
};

/// What adapt() found.
struct AdaptiveSlice {
  SliceState state = SliceState::kCalm;
  unsigned overload = 0;  ///< O_s: workers that are slow and that no change of quota helps
  double idleness = 0;    ///< I_s: sum over the workers that are not slow
  unsigned workers = 0;   ///< after the moves
  bool moved = false;     ///< borrowed or lent a worker: at most one each interval
};

/// What a slice may do in one interval.
struct MovePermit {
  bool lend = true;
  bool borrow = true;
};

/// One control interval. `slices` is output: one for each index that workers name. `permits`: one for each slice, or
/// none: all is allowed. Allocates nothing.
void adapt(const AdaptiveOptions& options, std::span<AdaptiveWorker> workers, std::span<AdaptiveSlice> slices,
           std::span<const MovePermit> permits = {});

}  // namespace rain::agent
