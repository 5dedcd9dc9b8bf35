// One counter per drop reason: whoever drops a packet counts it here, so that nothing is ever lost without a
// name.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/drop_reasons.h"

namespace rain {

/// Written by one thread (no locked instruction on the data path), read by any.
class DropCounters {
 public:
  void add(DropReason reason, std::uint64_t count = 1) {
    std::atomic<std::uint64_t>& counter = counters_[static_cast<std::size_t>(reason)];
    counter.store(counter.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  std::uint64_t get(DropReason reason) const {
    return counters_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }
  /// Of all reasons together; kNone is not counted in.
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i < counters_.size(); ++i) sum += counters_[i].load(std::memory_order_relaxed);
    return sum;
  }
  /// Calls `visit(DropReason, count)` for every reason that occurred, in the order of the list.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 1; i < counters_.size(); ++i) {
      const std::uint64_t count = counters_[i].load(std::memory_order_relaxed);
      if (count != 0) visit(static_cast<DropReason>(i), count);
    }
  }

 private:
  std::array<std::atomic<std::uint64_t>, kDropReasonCount> counters_{};
};

}  // namespace rain
