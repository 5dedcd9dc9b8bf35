// The spill threshold of program `rain` as a function of what a slice's workers measured.
//
// The threshold s says how many tasks may wait in the switch before one is bound to a busy worker (dataplane/rain.h).
// - To wait is good while the next idle worker comes sooner than the busy one ends its task: a bound task waits for the
//   rest of one task, the s-th in the queue of k workers for s service times / k. With an exponential service both are
//   equal at s = k. More dispersed services leave more to wait for, constant ones less; measured, a threshold that
//   depends on it is no better.
// - But each task that was not bound costs its worker the token round trip d between two tasks, in which nobody is
//   served. At busy share r and mean service S, a rack whose tasks all wait has a slack of only 1 - r (1 + d/S); d spent
//   by one task delays all behind it until the queue is empty, (d/S) s S / (k slack) for the s-th. With this price,
//       s = k / (1 + (d/S) / slack)
//   When everything cannot wait, the slack is what binding leaves: never less than a quarter of 1 - r.
// Long services against the round trip: s near k until the last percents of load. Short ones, or a load that the idle
// round trips do not allow: s near 0, where program `rain` is JBSQ(n).
//
// The measured sweep behind the rule, and where it does not help, are in docs/decisions/0008-spill-rule.md.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/task_window.h"
#include "base/time.h"

namespace rain::agent {

/// One slice over some time.
struct SliceLoad {
  unsigned workers = 0;
  double busy = 0;                 ///< share of the workers' time spent in service, 0..1
  double service_ns = 0;           ///< mean, of the tasks that ended
  double token_round_trip_ns = 0;  ///< 0: unknown
};

/// Program `rain`'s threshold when nothing is known of the load.
constexpr unsigned default_spill(unsigned workers) { return workers / 4; }

/// The threshold for this load, 0..workers; default_spill() where a figure is missing or makes no sense.
unsigned spill_for(const SliceLoad& load);

/// Follows the slices' loads from interval to interval.
class SpillRule {
 public:
  explicit SpillRule(std::size_t slices) : slices_(slices) {}

  /// `sum`: of the slice's workers in an interval. Returns the threshold to use from now on. Averages over some intervals,
  /// and keeps the threshold for less than an eighth of a change, so that noise does not reach the switch.
  unsigned on_interval(std::size_t slice, unsigned workers, const ServiceStatistics& sum, Nanos interval);
  unsigned spill(std::size_t slice) const { return slices_[slice].spill; }

 private:
  struct Slice {
    double busy = 0;
    double service_ns = 0;
    double token_round_trip_ns = 0;
    std::uint32_t intervals = 0;  // averaged, up to kMemory
    unsigned workers = 0;
    unsigned spill = 0;
  };

  std::vector<Slice> slices_;
};

}  // namespace rain::agent
