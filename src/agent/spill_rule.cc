#include "agent/spill_rule.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace rain::agent {
namespace {

constexpr double kSlackKept = 0.25;    // of 1 - busy, where not every task can wait
constexpr double kLeastSlack = 0.005;  // a busy share is not known better
constexpr std::uint32_t kMemory = 16;  // intervals that an average remembers
constexpr double kStep = 0.125;        // smallest change of a threshold that is worth a table update

bool sensible(double value) { return std::isfinite(value) && value > 0; }

/// The threshold before rounding; negative: nothing can be said.
double exact_spill(const SliceLoad& load) {
  if (!sensible(load.service_ns) || !sensible(load.token_round_trip_ns) || !std::isfinite(load.busy))
    return -1;
  const double busy = std::clamp(load.busy, 0.0, 1.0);
  const double idle_per_task = load.token_round_trip_ns / load.service_ns;
  const double slack = std::max({1 - busy * (1 + idle_per_task), kSlackKept * (1 - busy), kLeastSlack});
  return load.workers / (1 + idle_per_task / slack);
}

void follow(double& average, double value, double weight) { average += (value - average) * weight; }

}  // namespace

unsigned spill_for(const SliceLoad& load) {
  const double exact = exact_spill(load);
  return exact < 0 ? default_spill(load.workers) : static_cast<unsigned>(std::lround(exact));
}

unsigned SpillRule::on_interval(std::size_t slice, unsigned workers, const ServiceStatistics& sum,
                                Nanos interval) {
  RAIN_ASSERT(interval > Nanos{} && slice < slices_.size());
  Slice& state = slices_[slice];
  if (state.workers != workers) {  // the share of each is another one from now on
    state.workers = workers;
    state.intervals = 0;
    if (!sensible(state.service_ns)) state.spill = default_spill(workers);
  }
  if (workers == 0) return state.spill;
  state.intervals = std::min(state.intervals + 1, kMemory);
  const double weight = 1.0 / state.intervals;
  const double worker_time_ns = static_cast<double>(interval.value) * workers;
  follow(state.busy, std::clamp(sum.sum_ns / worker_time_ns, 0.0, 1.0), weight);
  if (sum.tasks > 0) {
    const double mean_ns = sum.sum_ns / static_cast<double>(sum.tasks);
    follow(state.service_ns, mean_ns, sensible(state.service_ns) ? weight : 1);
  }
  if (sum.token_round_trip > Nanos{}) {
    const auto round_trip_ns = static_cast<double>(sum.token_round_trip.value);
    follow(state.token_round_trip_ns, round_trip_ns, sensible(state.token_round_trip_ns) ? weight : 1);
  }
  const double exact = exact_spill({.workers = workers,
                                    .busy = state.busy,
                                    .service_ns = state.service_ns,
                                    .token_round_trip_ns = state.token_round_trip_ns});
  if (exact < 0) return state.spill;
  const double step = 0.5 + kStep * state.spill;
  if (std::abs(exact - state.spill) > step) state.spill = static_cast<unsigned>(std::lround(exact));
  return state.spill;
}

}  // namespace rain::agent
