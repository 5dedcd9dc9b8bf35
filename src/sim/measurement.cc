#include "sim/measurement.h"

#include <algorithm>
#include <utility>

namespace rain::sim {
namespace {

// A stable queue wanders, an unstable one grows in proportion to time: with nothing waiting at first, the mean of the
// second half of the window is three times that of the first. Half as much again, and some tasks a worker on top so
// that small numbers do not count, tells them apart.
constexpr double kGrowthFactor = 1.5;
constexpr double kGrowthTasksPerWorker = 4;

}  // namespace

Measurement::Measurement(const RackSpec& spec)
    : keeps_timeline_(spec.timeline_interval > Nanos{}),
      start_(spec.warmup),
      middle_(spec.warmup + spec.duration / 2),
      end_(spec.warmup + spec.duration),
      workers_(spec.workers) {
  for (std::size_t i = 0; i < spec.workload.classes.size(); ++i) {
    ClassResult& one = result_.classes.emplace_back();
    one.name = spec.workload.classes[i].name;
    one.type = spec.type_of(i);
  }
}

void Measurement::on_completed(const Request& request, Nanos now) {
  ++ended_;
  if (measures(now)) ++result_.completed_in_window;
  OutcomeCounts& outcomes = outcomes_of(request.at);
  ++outcomes.completed;
  const bool measured = &outcomes == &result_.measured;
  if (!measured && !keeps_timeline_) return;
  const Nanos latency = now - request.at;
  const Nanos in_rack = request.in_switch + request.in_worker + request.service;
  const Nanos slowdown{in_rack.value * kSlowdownUnit / std::max<std::int64_t>(request.service.value, 1)};
  if (keeps_timeline_) timeline_.record(latency, slowdown);
  if (!measured) return;
  ClassResult& of_class = result_.classes[request.class_index];
  of_class.latency.record(latency);
  of_class.slowdown.record(slowdown);
  of_class.service.record(request.service);
  result_.in_switch.record(request.in_switch);
  result_.in_worker.record(request.in_worker);
  result_.wire.record(latency - in_rack);
  result_.queue_length.record({request.queue_length});
  if (request.in_switch > Nanos{}) ++result_.queued;
}

Growth Measurement::growth() const {
  Growth growth;
  growth.first_half = sum_in_flight_[0].value();
  growth.second_half = sum_in_flight_[1].value();
  const double window_s = static_cast<double>((end_ - start_).value) * 1e-9;
  growth.per_second =
      (static_cast<double>(result_.measured.sent) - static_cast<double>(result_.completed_in_window)) /
      window_s;
  const double bound = growth.first_half * kGrowthFactor + kGrowthTasksPerWorker * workers_;
  const auto refused = [&](DropReason reason) {
    const auto at = static_cast<std::size_t>(reason);
    return result_.measured.dropped[at] + result_.warmup.dropped[at] > 0;
  };
  growth.overloaded = growth.second_half > bound || refused(DropReason::kQueueFull) ||
                      refused(DropReason::kPayloadStoreFull) || refused(DropReason::kWorkerQueueFull) ||
                      refused(DropReason::kRecirculationLimit);
  return growth;
}

Result Measurement::finish(std::uint64_t events, std::uint32_t most_in_flight, Nanos now) {
  result_.growth = growth();
  result_.events = events;
  result_.most_in_flight = most_in_flight;
  result_.ended = now;
  result_.timeline = timeline_.take();
  return std::move(result_);
}

}  // namespace rain::sim
