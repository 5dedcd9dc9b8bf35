// Turns the end of each request into counts and histograms.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sim/rack_spec.h"
#include "sim/request_pool.h"
#include "sim/result.h"
#include "sim/timeline.h"

namespace rain::sim {

class Measurement {
 public:
  explicit Measurement(const RackSpec& spec);

  void on_sent(Nanos at) {
    OutcomeCounts& outcomes = outcomes_of(at);
    ++outcomes.sent;
    ++sent_;
    if (&outcomes == &result_.measured) sum_in_flight_[at < middle_ ? 0 : 1].add(in_flight());
  }
  void on_completed(const Request& request, Nanos now);
  void on_dropped(const Request& request, DropReason reason) {
    ++outcomes_of(request.at).dropped[static_cast<std::size_t>(reason)];
    ++ended_;
  }
  void on_recirculated() { ++result_.recirculations; }
  void on_empty_pull() { ++result_.empty_pulls; }

  /// An interval of the time line is over.
  void end_interval(Nanos now, std::vector<SliceState> slices) {
    timeline_.end_interval(now, std::move(slices));
  }

  std::uint64_t in_flight() const { return sent_ - ended_; }

  /// The measured window, [start, end).
  Nanos window_end() const { return end_; }

  Result finish(std::uint64_t events, std::uint32_t most_in_flight, Nanos now);

 private:
  struct Mean {
    std::uint64_t sum = 0;
    std::uint64_t count = 0;
    void add(std::uint64_t value) { sum += value, ++count; }
    double value() const { return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count); }
  };

  bool measures(Nanos at) const { return at >= start_ && at < end_; }
  OutcomeCounts& outcomes_of(Nanos at) { return measures(at) ? result_.measured : result_.warmup; }
  Growth growth() const;

  Result result_;
  Timeline timeline_;
  bool keeps_timeline_;
  Nanos start_, middle_, end_;
  unsigned workers_;
  std::uint64_t sent_ = 0;
  std::uint64_t ended_ = 0;
  Mean sum_in_flight_[2];  // found by the requests of the window's halves
};

}  // namespace rain::sim
