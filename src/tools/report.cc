// See report.h.
#include "tools/report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

namespace rain::tools {
namespace {

using nlohmann::ordered_json;

/// Three decimals: a nanosecond where the unit is a microsecond, and the same text on every machine.
ordered_json rounded(std::optional<double> value) {
  if (!value) return nullptr;
  return std::round(*value * 1000) / 1000;
}

template <typename T>
ordered_json or_null(const std::optional<T>& value) {
  if (!value) return nullptr;
  return *value;
}

ordered_json summary_json(const Summary& summary) {
  return {{"mean", rounded(summary.mean)}, {"p50", rounded(summary.p50)},   {"p90", rounded(summary.p90)},
          {"p99", rounded(summary.p99)},   {"p999", rounded(summary.p999)}, {"max", rounded(summary.max)}};
}

ordered_json outcomes_json(const Outcomes& outcomes) {
  ordered_json dropped = ordered_json::object();
  for (const auto& [reason, count] : outcomes.dropped) dropped[reason] = count;
  return {{"completed", outcomes.completed},
          {"dropped", dropped},
          {"timed_out", outcomes.timed_out},
          {"sent", outcomes.sent},
          {"without_outcome", outcomes.without_outcome()}};
}

ordered_json class_json(const ClassReport& report, bool with_distribution) {
  ordered_json json{{"type", report.type.value},
                    {"name", report.name},
                    {"count", report.count},
                    {"latency_us", summary_json(report.latency_us)},
                    {"slowdown", summary_json(report.slowdown)},
                    {"service_us", summary_json(report.service_us)}};
  if (!with_distribution) return json;
  ordered_json points = ordered_json::array();
  for (const auto& [value, share_above] : report.latency_distribution_us) {
    points.push_back({std::round(value * 1000) / 1000, share_above});
  }
  json["latency_distribution_us"] = std::move(points);
  return json;
}

ordered_json admission_json(const Report& report) {
  if (!report.admission) return nullptr;
  const AdmissionReport& admission = *report.admission;
  ordered_json windows = ordered_json::object();
  for (std::size_t i = 0; i < admission.windows.size(); ++i) {
    windows[report.classes[i].name] = admission.windows[i];
  }
  return {{"mode", admission.mode},
          {"share", or_null(admission.share)},
          {"told_by_controller", admission.told_by_controller},
          {"back_offs", admission.back_offs},
          {"windows", windows},
          {"wait_us", summary_json(report.admission_us)}};
}

std::string admission_line(const Report& report) {
  if (!report.admission) return {};
  const AdmissionReport& admission = *report.admission;
  std::string text =
      fmt::format("  admission: {}, share {}{}, windows narrowed {} times, at the end", admission.mode,
                  admission.share ? std::to_string(*admission.share) : "unlimited",
                  admission.told_by_controller ? " by the controller" : "", admission.back_offs);
  for (std::size_t i = 0; i < admission.windows.size(); ++i) {
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", report.classes[i].name, admission.windows[i]);
  }
  return text + '\n';
}

constexpr std::string_view kRowFormat = "  {:<24}{:>11}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n";

std::string row(std::string_view name, const Summary& summary) {
  return fmt::format(kRowFormat, name, summary.count, short_number(summary.mean), short_number(summary.p50),
                     short_number(summary.p90), short_number(summary.p99), short_number(summary.p999),
                     short_number(summary.max));
}

bool hides_a_quantile(const Summary& summary) {
  return !summary.p50 || !summary.p90 || !summary.p99 || !summary.p999;
}

std::string outcomes_lines(const Outcomes& outcomes) {
  std::string text =
      fmt::format("  outcomes: {} sent = {} completed + {} dropped + {} timed out", outcomes.sent,
                  outcomes.completed, outcomes.dropped_total(), outcomes.timed_out);
  if (outcomes.without_outcome() != 0)
    text += fmt::format(" + {} WITHOUT AN OUTCOME", outcomes.without_outcome());
  text += '\n';
  for (const auto& [reason, count] : outcomes.dropped)
    text += fmt::format("    dropped, {}: {}\n", reason, count);
  return text;
}

std::string head_lines(const Report& report) {
  const auto known = [](const std::optional<unsigned>& value) {
    return value ? std::to_string(*value) : "unknown";
  };
  return fmt::format(
      "scheduler {}, workers {}, quota {}, seed {}\n"
      "{:.1f} s measured after {:.1f} s of warm-up, {} connection{}: asked for {:.0f}/s, offered {:.0f}/s, "
      "achieved "
      "{:.0f}/s\n\n",
      report.scheduler.empty() ? "unknown" : report.scheduler, known(report.workers),
      report.depth == 0u ? "unbounded" : known(report.depth), report.seed, report.duration_s, report.warmup_s,
      report.connections, report.connections == 1 ? "" : "s", report.requested_rps, report.offered_rps,
      report.achieved_rps);
}

}  // namespace

Summary summarise(const Histogram& histogram, double scale) {
  Summary summary;
  summary.count = histogram.count();
  if (summary.count == 0) return summary;
  const auto quantile = [&](double q, std::uint64_t inverse_tail) -> std::optional<double> {
    if (summary.count < kSamplesBeyond * inverse_tail) return std::nullopt;
    return static_cast<double>(histogram.quantile(q).value) * scale;
  };
  summary.mean = histogram.mean_ns() * scale;
  summary.p50 = quantile(0.5, 2);
  summary.p90 = quantile(0.9, 10);
  summary.p99 = quantile(0.99, 100);
  summary.p999 = quantile(0.999, 1000);
  summary.max = static_cast<double>(histogram.max().value) * scale;
  return summary;
}

Distribution distribution_of(const Histogram& histogram, double scale) {
  Distribution points;
  std::uint64_t above = histogram.count();
  const double total = static_cast<double>(above);
  histogram.for_each([&](const Histogram::Bucket& bucket) {
    above -= bucket.count;
    points.emplace_back(static_cast<double>(bucket.highest.value) * scale,
                        static_cast<double>(above) / total);
  });
  return points;
}

SocketCounts& SocketCounts::operator+=(const SocketCounts& other) {
  send_failures += other.send_failures;
  cut_packets += other.cut_packets;
  return *this;
}

std::uint64_t Outcomes::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

std::uint64_t Outcomes::without_outcome() const { return sent - completed - dropped_total() - timed_out; }

std::string Report::schedule_warning() const {
  if (kept_schedule) return {};
  return fmt::format(
      "the generator could not keep its schedule: it sent up to {} us late (p99 {} us), and that lag is part "
      "of the "
      "latencies above; use a lower rate, more connections or a machine of its own",
      short_number(send_lag_us.max), short_number(send_lag_us.p99));
}

/// Failed requests are the slow ones: beyond this share of them the 99th percentile of the others is not that of all.
constexpr double kFailuresWorthAWord = 0.01;

std::string Report::failure_warning() const {
  const std::uint64_t failed = outcomes.sent - std::min(outcomes.sent, outcomes.completed);
  if (static_cast<double>(failed) <= kFailuresWorthAWord * static_cast<double>(outcomes.sent)) return {};
  return fmt::format(
      "{:.1f} % of the requests failed, and the figures above are of the others only: the rack or this "
      "machine is "
      "overloaded; use a lower rate",
      100.0 * static_cast<double>(failed) / static_cast<double>(outcomes.sent));
}

ordered_json to_json(const Report& report, bool with_distributions) {
  ordered_json json{{"schema", "rain.report/1"}};
  json["scheduler"] = report.scheduler.empty() ? ordered_json(nullptr) : ordered_json(report.scheduler);
  json["workers"] = or_null(report.workers);
  json["depth"] = or_null(report.depth);
  json["seed"] = report.seed;
  json["duration_s"] = rounded(report.duration_s);
  json["offered_rps"] = rounded(report.offered_rps);
  json["achieved_rps"] = rounded(report.achieved_rps);
  json["latency_us"] = summary_json(report.latency_us);
  json["slowdown"] = summary_json(report.slowdown);
  json["parts_us"] = {{"switch", summary_json(report.switch_us)},
                      {"worker", summary_json(report.worker_us)},
                      {"service", summary_json(report.service_us)},
                      {"wire", summary_json(report.wire_us)}};
  json["classes"] = ordered_json::array();
  for (const ClassReport& one : report.classes)
    json["classes"].push_back(class_json(one, with_distributions));
  json["outcomes"] = outcomes_json(report.outcomes);
  json["switch"] = {
      {"queued_ratio",
       report.in_switch.queued_ratio ? ordered_json(*report.in_switch.queued_ratio) : ordered_json(nullptr)},
      {"recirculations", or_null(report.in_switch.recirculations)},
      {"queue_p99", or_null(report.in_switch.queue_p99)}};
  json["events"] = report.events;
  json["wall_s"] = rounded(report.wall_s);
  json["warmup_s"] = rounded(report.warmup_s);
  json["requested_rps"] = rounded(report.requested_rps);
  json["connections"] = report.connections;
  json["send_lag_us"] = summary_json(report.send_lag_us);
  json["admission"] = admission_json(report);
  json["kept_schedule"] = report.kept_schedule;
  const std::string failures = report.failure_warning();
  json["failure_warning"] = failures.empty() ? ordered_json(nullptr) : ordered_json(failures);
  json["schedule_warning"] =
      report.kept_schedule ? ordered_json(nullptr) : ordered_json(report.schedule_warning());
  json["warmup_outcomes"] = outcomes_json(report.warmup_outcomes);
  json["sockets"] = {{"send_failures", report.sockets.send_failures},
                     {"cut_packets", report.sockets.cut_packets}};
  json["application_errors"] = report.application_errors;
  return json;
}

std::string short_number(std::optional<double> value) {
  if (!value) return "-";
  const double magnitude = std::abs(*value);
  if (magnitude == 0) return "0";
  if (magnitude >= 100) return fmt::format("{:.0f}", *value);
  if (magnitude >= 10) return fmt::format("{:.1f}", *value);
  if (magnitude >= 1) return fmt::format("{:.2f}", *value);
  return fmt::format("{:.3f}", *value);
}

std::string summary_rows(const Report& report) {
  std::string text = fmt::format(kRowFormat, "", "count", "mean", "p50", "p90", "p99", "p99.9", "max");
  text += row("latency us", report.latency_us);
  text += row("slowdown", report.slowdown);
  text += row("  in switch us", report.switch_us);
  text += row("  in worker us", report.worker_us);
  text += row("  service us", report.service_us);
  text += row("  wire us", report.wire_us);
  for (const ClassReport& one : report.classes) {
    text += row(one.name + " latency us", one.latency_us);
    text += row(one.name + " slowdown", one.slowdown);
  }
  return text;
}

std::string to_table(const Report& report) {
  std::string text = head_lines(report);
  text += summary_rows(report);
  bool hidden = hides_a_quantile(report.latency_us);
  for (const ClassReport& one : report.classes) hidden = hidden || hides_a_quantile(one.latency_us);
  text += row("send lag us", report.send_lag_us);
  if (report.admission_us.count > 0) text += row("admission us", report.admission_us);
  if (hidden) text += fmt::format("  (-: fewer than {} samples lie beyond that quantile)\n", kSamplesBeyond);
  text += '\n' + outcomes_lines(report.outcomes) + admission_line(report);
  const auto& in_switch = report.in_switch;
  text += fmt::format(
      "  switch: {} % of the requests waited in its queue, queue length p99 {}, recirculations {}\n",
      in_switch.queued_ratio ? fmt::format("{:.1f}", *in_switch.queued_ratio * 100) : "-",
      short_number(in_switch.queue_p99),
      in_switch.recirculations ? std::to_string(*in_switch.recirculations) : "unknown");
  if (report.sockets != SocketCounts{}) {
    text += fmt::format("  the generator's sockets: {} sends refused, {} packets cut\n",
                        report.sockets.send_failures, report.sockets.cut_packets);
  }
  if (report.application_errors != 0) {
    text += fmt::format("  WARNING: {} replies report an error, the first: {}\n", report.application_errors,
                        report.first_application_error);
  }
  for (const std::string& warning : {report.failure_warning(), report.schedule_warning()}) {
    if (!warning.empty()) text += "  WARNING: " + warning + '\n';
  }
  return text;
}

}  // namespace rain::tools
