#include "agent/adaptive.h"

#include <algorithm>
#include <cstddef>

#include "base/assert.h"

namespace rain::agent {
namespace {

// A slice lends a worker only if it idles by more than this many (lines 24, 30): it will not miss one.
constexpr double kSpareIdleness = 1;

/// Lines 13 to 22 for one worker.
void adapt_worker(const AdaptiveOptions& options, AdaptiveWorker& worker, AdaptiveSlice& slice) {
  const TaskStatistics& tasks = worker.tasks;
  if (tasks.slowdown_p99 <= options.slowdown_threshold) {
    slice.idleness += worker.idleness;
    return;
  }
  const bool waits_at_worker = tasks.worker_share > options.ratio_threshold && tasks.switch_queue_p99 == 0;
  const bool waits_in_switch = tasks.worker_share < options.ratio_threshold;
  if (worker.quota > 1 && waits_at_worker) {
    --worker.quota;  // tasks wait behind long ones
  } else if (worker.quota < options.max_quota && waits_in_switch) {
    ++worker.quota;  // the worker idles while tokens travel
  } else {
    ++slice.overload;
  }
}

/// Lines 25 to 27.
void level_quotas(std::span<AdaptiveWorker> workers, std::size_t slice, unsigned count) {
  unsigned sum = 0;
  for (const AdaptiveWorker& worker : workers) sum += worker.slice == slice ? worker.quota : 0;
  const unsigned average = std::max(1u, (2 * sum + count) / (2 * count));
  for (AdaptiveWorker& worker : workers) {
    if (worker.slice == slice) worker.quota = average;
  }
}

SliceState classify(const AdaptiveSlice& slice) {
  const bool idle = slice.idleness > kSpareIdleness;
  if (slice.overload > 0) return idle ? SliceState::kUneven : SliceState::kOverloaded;
  return idle ? SliceState::kUnderloaded : SliceState::kCalm;
}

AdaptiveSlice* most_overloaded(std::span<AdaptiveSlice> slices, std::span<const MovePermit> permits) {
  AdaptiveSlice* found = nullptr;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    AdaptiveSlice& slice = slices[i];
    if (slice.state != SliceState::kOverloaded || slice.moved) continue;
    if (!permits.empty() && !permits[i].borrow) continue;
    if (found == nullptr || slice.overload > found->overload) found = &slice;
  }
  return found;
}

AdaptiveSlice* most_idle(std::span<AdaptiveSlice> slices, std::span<const MovePermit> permits) {
  AdaptiveSlice* found = nullptr;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    AdaptiveSlice& slice = slices[i];
    if (slice.state != SliceState::kUnderloaded || slice.moved || slice.workers < 2) continue;
    if (!permits.empty() && !permits[i].lend) continue;
    if (found == nullptr || slice.idleness > found->idleness) found = &slice;
  }
  return found;
}

/// Lines 32 to 37. Each round ends two slices' part, so there are at most slices / 2.
void rebalance(std::span<AdaptiveWorker> workers, std::span<AdaptiveSlice> slices,
               std::span<const MovePermit> permits) {
  for (;;) {
    AdaptiveSlice* const borrower = most_overloaded(slices, permits);
    AdaptiveSlice* const lender = most_idle(slices, permits);
    if (borrower == nullptr || lender == nullptr) return;
    const auto lender_index = static_cast<std::uint16_t>(lender - slices.data());
    AdaptiveWorker* lent = nullptr;
    for (AdaptiveWorker& worker : workers) {
      if (worker.slice == lender_index && (lent == nullptr || worker.quota < lent->quota)) lent = &worker;
    }
    lent->slice = static_cast<std::uint16_t>(borrower - slices.data());
    lent->quota = 1;
    --lender->workers;
    ++borrower->workers;
    lender->moved = borrower->moved = true;
  }
}

}  // namespace

const char* AdaptiveOptions::problem() const {
  if (!(slowdown_threshold > 1 && slowdown_threshold <= 1e6)) {
    return "slowdown threshold: above 1, up to 1000000";
  }
  if (!(ratio_threshold >= 0 && ratio_threshold <= 1)) return "ratio threshold: 0 to 1";
  if (max_quota < 1 || max_quota > kMaxQuota) return "largest quota: 1 to 8";
  return nullptr;
}

void adapt(const AdaptiveOptions& options, std::span<AdaptiveWorker> workers, std::span<AdaptiveSlice> slices,
           std::span<const MovePermit> permits) {
  RAIN_ASSERT(options.problem() == nullptr);
  RAIN_ASSERT(permits.empty() || permits.size() == slices.size());
  for (AdaptiveSlice& slice : slices) slice = {};
  for (AdaptiveWorker& worker : workers) {
    RAIN_ASSERT(worker.slice < slices.size());
    ++slices[worker.slice].workers;
    adapt_worker(options, worker, slices[worker.slice]);
  }
  for (std::size_t i = 0; i < slices.size(); ++i) {
    slices[i].state = classify(slices[i]);
    if (slices[i].state == SliceState::kUneven) level_quotas(workers, i, slices[i].workers);
  }
  rebalance(workers, slices, permits);
}

}  // namespace rain::agent
