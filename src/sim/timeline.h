// What the rack's clients saw, from one interval to the next: for figures over time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/histogram.h"
#include "base/time.h"
#include "sim/result.h"

namespace rain::sim {

class Timeline {
 public:
  /// Replies of one request; slowdown in kSlowdownUnit.
  void record(Nanos latency, Nanos slowdown) {
    latency_.record(latency);
    slowdown_.record(slowdown);
  }
  /// The interval that ends at `now`; `slices`: as they are now.
  void end_interval(Nanos now, std::vector<SliceState> slices) {
    rows_.push_back({.end = now,
                     .completed = latency_.count(),
                     .p50 = latency_.quantile(0.5),
                     .p99 = latency_.quantile(0.99),
                     .max = latency_.max(),
                     .slowdown_p99 = slowdown_.quantile(0.99),
                     .slices = std::move(slices)});
    latency_.clear();
    slowdown_.clear();
  }
  std::vector<TimelineRow> take() { return std::move(rows_); }

 private:
  Histogram latency_, slowdown_;
  std::vector<TimelineRow> rows_;
};

}  // namespace rain::sim
