// See sim_report.h.
#include "tools/sim_report.h"

#include <fmt/format.h>

#include <cmath>

namespace rain::tools {
namespace {

using nlohmann::ordered_json;

constexpr double kUsPerNs = 1e-3;

Outcomes to_outcomes(const sim::OutcomeCounts& counts) {
  Outcomes outcomes;
  outcomes.sent = counts.sent;
  outcomes.completed = counts.completed;
  for (std::size_t i = 0; i < counts.dropped.size(); ++i) {
    if (counts.dropped[i] == 0) continue;
    outcomes.dropped[drop_reason_name(static_cast<DropReason>(i))] = counts.dropped[i];
  }
  return outcomes;
}

double seconds_of(Nanos time) { return static_cast<double>(time.value) * 1e-9; }
double rounded(double value) { return std::round(value * 1000) / 1000; }

std::string overload_line(const sim::Growth& growth) {
  if (!growth.overloaded) {
    return fmt::format(
        "  the rack kept up: {} requests in flight in the first half of the time, {} in the second\n",
        short_number(growth.first_half), short_number(growth.second_half));
  }
  return fmt::format(
      "  OVERLOAD: {:.0f} requests a second more came than left; in flight {} in the first half of the time, "
      "{} in the "
      "second\n",
      growth.per_second, short_number(growth.first_half), short_number(growth.second_half));
}

}  // namespace

Report make_sim_report(const sim::RackSpec& spec, const sim::Result& result) {
  const sim::Scheduler& scheduler = *sim::find_scheduler(spec.scheduler);
  Report report;
  report.scheduler = spec.scheduler;
  report.workers = spec.workers;
  if (scheduler.program) report.depth = spec.depth.value_or(sim::default_depth(scheduler));
  report.seed = spec.seed;
  report.duration_s = seconds_of(spec.duration);
  report.warmup_s = seconds_of(spec.warmup);
  report.requested_rps = spec.workload.phases[0].rate;
  report.offered_rps = static_cast<double>(result.measured.sent) / report.duration_s;
  report.achieved_rps = static_cast<double>(result.completed_in_window) / report.duration_s;
  report.latency_us = summarise(result.latency(), kUsPerNs);
  report.slowdown = summarise(result.slowdown(), 1.0 / sim::kSlowdownUnit);
  report.switch_us = summarise(result.in_switch, kUsPerNs);
  report.worker_us = summarise(result.in_worker, kUsPerNs);
  report.service_us = summarise(result.service(), kUsPerNs);
  report.wire_us = summarise(result.wire, kUsPerNs);
  for (const sim::ClassResult& one : result.classes) {
    report.classes.push_back({.type = one.type,
                              .name = one.name,
                              .count = one.latency.count(),
                              .latency_us = summarise(one.latency, kUsPerNs),
                              .slowdown = summarise(one.slowdown, 1.0 / sim::kSlowdownUnit),
                              .service_us = summarise(one.service, kUsPerNs),
                              .latency_distribution_us = distribution_of(one.latency, kUsPerNs)});
  }
  report.outcomes = to_outcomes(result.measured);
  report.warmup_outcomes = to_outcomes(result.warmup);
  if (result.measured.completed > 0) {
    report.in_switch.queued_ratio =
        static_cast<double>(result.queued) / static_cast<double>(result.measured.completed);
    report.in_switch.queue_p99 = summarise(result.queue_length, 1).p99;
  }
  report.in_switch.recirculations = result.recirculations;
  report.events = result.events;
  return report;
}

ordered_json sim_report_json(const Report& report, const sim::Result& result, std::optional<double> wall_s) {
  ordered_json json = to_json(report, false);
  for (const char* key : {"connections", "send_lag_us", "admission", "kept_schedule", "schedule_warning",
                          "sockets", "application_errors", "first_application_error"}) {
    json.erase(key);
  }
  json["wall_s"] = wall_s ? ordered_json(*wall_s) : ordered_json(nullptr);
  json["switch"]["empty_pulls"] = result.empty_pulls;
  json["overload"] = {{"overloaded", result.growth.overloaded},
                      {"growth_rps", rounded(result.growth.per_second)},
                      {"in_flight_first_half", rounded(result.growth.first_half)},
                      {"in_flight_second_half", rounded(result.growth.second_half)}};
  if (result.adaptive) {
    const sim::AdaptiveResult& agents = *result.adaptive;
    json["adaptive"] = {{"intervals", agents.intervals},
                        {"quota_changes", agents.quota_changes},
                        {"moves", agents.moves},
                        {"spill_changes", agents.spill_changes},
                        {"mean_depth", rounded(agents.mean_depth)},
                        {"spills", agents.spills}};
  }
  return json;
}

std::string timeline_csv(const sim::Result& result) {
  std::string csv = "end_ms,completed,p50_us,p99_us,max_us,slowdown_p99";
  const std::size_t slices = result.timeline.empty() ? 0 : result.timeline[0].slices.size();
  for (std::size_t i = 0; i < slices; ++i) csv += fmt::format(",workers_{0},depth_{0}", i);
  csv += '\n';
  for (const sim::TimelineRow& row : result.timeline) {
    csv += fmt::format("{:.3f},{},{:.3f},{:.3f},{:.3f},{:.3f}", seconds_of(row.end) * 1000, row.completed,
                       static_cast<double>(row.p50.value) * kUsPerNs,
                       static_cast<double>(row.p99.value) * kUsPerNs,
                       static_cast<double>(row.max.value) * kUsPerNs,
                       static_cast<double>(row.slowdown_p99.value) / sim::kSlowdownUnit);
    for (const sim::SliceState& slice : row.slices)
      csv += fmt::format(",{},{:.3f}", slice.workers, slice.depth);
    csv += '\n';
  }
  return csv;
}

std::string sim_report_table(const sim::RackSpec& spec, const Report& report, const sim::Result& result,
                             double wall_s) {
  std::string text = fmt::format(
      "scheduler {}, workers {}, depth {}, seed {}\n"
      "{:g} s measured after {:g} s of warm-up: asked for {:.0f}/s ({:.1f} % of capacity), offered {:.0f}/s, "
      "achieved "
      "{:.0f}/s\n\n",
      report.scheduler, spec.workers,
      report.depth.value_or(0) == 0 ? std::string("unbounded") : std::to_string(*report.depth), report.seed,
      report.duration_s, report.warmup_s, report.requested_rps,
      report.requested_rps / spec.capacity_rps() * 100, report.offered_rps, report.achieved_rps);
  text += summary_rows(report);
  text += fmt::format("\n  outcomes: {} sent = {} completed + {} dropped + {} in flight at the end\n",
                      report.outcomes.sent, report.outcomes.completed, report.outcomes.dropped_total(),
                      report.outcomes.without_outcome());
  for (const auto& [reason, count] : report.outcomes.dropped) {
    text += fmt::format("    dropped, {}: {}\n", reason, count);
  }
  text += fmt::format(
      "  switch: {} % of the requests waited in it, queue length p99 {}, recirculations {}, empty pulls {}\n",
      report.in_switch.queued_ratio ? fmt::format("{:.1f}", *report.in_switch.queued_ratio * 100) : "-",
      short_number(report.in_switch.queue_p99), result.recirculations, result.empty_pulls);
  if (result.adaptive) {
    const sim::AdaptiveResult& agents = *result.adaptive;
    text += fmt::format(
        "  agents: {} intervals, {} quotas changed, {} workers moved, {} spill thresholds changed; mean "
        "depth {:.2f}\n",
        agents.intervals, agents.quota_changes, agents.moves, agents.spill_changes, agents.mean_depth);
  }
  text += overload_line(result.growth);
  text += fmt::format("  {} events in {:.2f} s\n", result.events, wall_s);
  return text;
}

}  // namespace rain::tools
