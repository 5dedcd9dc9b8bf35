// See load_results.h.
#include "tools/load_results.h"

#include <algorithm>
#include <numeric>

namespace rain::tools {
namespace {

constexpr double kUsPerNs = 1e-3;
constexpr double kPerThousandth = 1e-3;

}  // namespace

void OutcomeCounts::merge(const OutcomeCounts& other) {
  sent += other.sent;
  completed += other.completed;
  timed_out += other.timed_out;
  given_up += other.given_up;
  waited_out += other.waited_out;
  for (std::size_t i = 0; i < not_admitted.size(); ++i) not_admitted[i] += other.not_admitted[i];
  for (std::size_t i = 0; i < dropped.size(); ++i) dropped[i] += other.dropped[i];
}

std::uint64_t OutcomeCounts::failed() const {
  const auto sum = [](const auto& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  return timed_out + given_up + waited_out + sum(not_admitted) + sum(dropped);
}

Outcomes OutcomeCounts::to_outcomes() const {
  const auto refused = [this](rpc::Limit limit) { return not_admitted[static_cast<std::size_t>(limit)]; };
  Outcomes outcomes{.sent = sent, .completed = completed, .dropped = {}, .timed_out = timed_out};
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    if (dropped[i] != 0) outcomes.dropped[drop_reason_name(static_cast<DropReason>(i))] = dropped[i];
  }
  for (const auto& [name, count] :
       {std::pair{"client_backpressure", refused(rpc::Limit::kMaxOutstanding)},
        std::pair{"admission_share", refused(rpc::Limit::kShare)},
        std::pair{"admission_window", refused(rpc::Limit::kWindow)},
        std::pair{"admission_timeout", waited_out}, std::pair{"generator_overload", given_up}}) {
    if (count != 0) outcomes.dropped[name] = count;
  }
  return outcomes;
}

Nanos slowdown_thousandths(const LatencyParts& parts) {
  const std::int64_t service_ns = std::max<std::int64_t>(parts.service.value, 1);
  const Nanos whole = parts.in_worker + parts.in_switch + parts.service;
  return {whole.value * 1000 / service_ns};
}

void LoadResults::record(std::size_t class_index, Nanos lag, Nanos latency, const LatencyParts& parts) {
  ClassResults& of_class = classes[class_index];
  of_class.latency.record(lag + latency);
  of_class.slowdown.record(slowdown_thousandths(parts));
  of_class.service.record(parts.service);
  in_switch.record(parts.in_switch);
  in_worker.record(parts.in_worker);
  wire.record(latency - parts.in_switch - parts.in_worker - parts.service);
  queue_length.record({parts.queue_length});
  if (parts.in_switch > Nanos{}) ++queued;
}

void LoadResults::merge(const LoadResults& other) {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    classes[i].latency.merge(other.classes[i].latency);
    classes[i].slowdown.merge(other.classes[i].slowdown);
    classes[i].service.merge(other.classes[i].service);
  }
  in_switch.merge(other.in_switch);
  in_worker.merge(other.in_worker);
  wire.merge(other.wire);
  queue_length.merge(other.queue_length);
  send_lag.merge(other.send_lag);
  admission.merge(other.admission);
  measured.merge(other.measured);
  warmup.merge(other.warmup);
  sockets += other.sockets;
  queued += other.queued;
  completed_in_window += other.completed_in_window;
  application_errors += other.application_errors;
  back_offs += other.back_offs;
  windows.resize(std::max(windows.size(), other.windows.size()));
  for (std::size_t i = 0; i < other.windows.size(); ++i) windows[i] += other.windows[i];
  if (first_application_error.empty()) first_application_error = other.first_application_error;
}

bool keeps_schedule(const Histogram& send_lag, const Histogram& latency) {
  const Nanos lag = send_lag.quantile(0.99);
  return lag <= std::max(microseconds(100), latency.quantile(0.99) / 10);
}

Report make_report(const LoadResults& results, Nanos measured) {
  Report report;
  Histogram latency, slowdown, service;
  for (const ClassResults& one : results.classes) {
    latency.merge(one.latency);
    slowdown.merge(one.slowdown);
    service.merge(one.service);
    report.classes.push_back({.type = {},
                              .name = {},
                              .count = one.latency.count(),
                              .latency_us = summarise(one.latency, kUsPerNs),
                              .slowdown = summarise(one.slowdown, kPerThousandth),
                              .service_us = summarise(one.service, kUsPerNs),
                              .latency_distribution_us = distribution_of(one.latency, kUsPerNs)});
  }
  report.duration_s = static_cast<double>(measured.value) * 1e-9;
  report.outcomes = results.measured.to_outcomes();
  report.warmup_outcomes = results.warmup.to_outcomes();
  if (report.duration_s > 0) {
    report.offered_rps = static_cast<double>(results.measured.sent) / report.duration_s;
    report.achieved_rps = static_cast<double>(results.completed_in_window) / report.duration_s;
  }
  report.latency_us = summarise(latency, kUsPerNs);
  report.slowdown = summarise(slowdown, kPerThousandth);
  report.switch_us = summarise(results.in_switch, kUsPerNs);
  report.worker_us = summarise(results.in_worker, kUsPerNs);
  report.service_us = summarise(service, kUsPerNs);
  report.wire_us = summarise(results.wire, kUsPerNs);
  report.send_lag_us = summarise(results.send_lag, kUsPerNs);
  report.admission_us = summarise(results.admission, kUsPerNs);
  report.kept_schedule = results.measured.given_up == 0 && keeps_schedule(results.send_lag, latency);
  if (latency.count() > 0) {
    report.in_switch.queued_ratio =
        static_cast<double>(results.queued) / static_cast<double>(latency.count());
    report.in_switch.queue_p99 = summarise(results.queue_length, 1).p99;
  }
  report.events = results.measured.sent + results.warmup.sent;
  report.sockets = results.sockets;
  report.application_errors = results.application_errors;
  report.first_application_error = results.first_application_error;
  return report;
}

}  // namespace rain::tools
