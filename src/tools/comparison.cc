// See comparison.h.
#include "tools/comparison.h"

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

namespace rain::tools {
namespace {

using Value = std::function<std::optional<double>(const Report&)>;

constexpr int kNameWidth = 26;
constexpr int kColumnWidth = 14;

std::string ratio_text(std::optional<double> value) { return value ? fmt::format("{:.2f}x", *value) : "-"; }

std::optional<double> as_number(std::uint64_t count) { return static_cast<double>(count); }

/// Builds the table row by row.
class Rows {
 public:
  explicit Rows(const Comparison& comparison) : comparison_(comparison), reference_(comparison.reference()) {
    text_ += fmt::format("  {:<{}}", "", kNameWidth);
    for (const Report& run : comparison_.runs) text_ += fmt::format("{:>{}}", run.scheduler, kColumnWidth);
    for_each_other([&](const Report& other) {
      text_ += fmt::format("{:>{}}", other.scheduler + "/" + comparison_.runs[reference_].scheduler,
                           kColumnWidth + 6);
    });
    text_ += '\n';
  }

  /// `worse_when_larger`: with ratios.
  void add(const std::string& name, const Value& value, bool worse_when_larger = true) {
    text_ += fmt::format("  {:<{}}", name, kNameWidth);
    for (const Report& run : comparison_.runs)
      text_ += fmt::format("{:>{}}", short_number(value(run)), kColumnWidth);
    if (worse_when_larger) {
      for_each_other([&](const Report& other) {
        const auto times = ratio(value(other), value(comparison_.runs[reference_]));
        text_ += fmt::format("{:>{}}", ratio_text(times), kColumnWidth + 6);
      });
    }
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }
  const std::string& text() const { return text_; }

 private:
  template <typename Visit>
  void for_each_other(Visit visit) {
    for (std::size_t i = 0; i < comparison_.runs.size(); ++i) {
      if (i != reference_) visit(comparison_.runs[i]);
    }
  }

  const Comparison& comparison_;
  std::size_t reference_;
  std::string text_;
};

void add_classes(Rows& rows, const Report& like) {
  if (like.classes.size() < 2) return;
  for (std::size_t i = 0; i < like.classes.size(); ++i) {
    const std::string& name = like.classes[i].name;
    rows.blank();
    rows.add(name + " latency p50 us", [i](const Report& run) { return run.classes[i].latency_us.p50; });
    rows.add(name + " latency p99 us", [i](const Report& run) { return run.classes[i].latency_us.p99; });
    rows.add(name + " slowdown p99", [i](const Report& run) { return run.classes[i].slowdown.p99; });
  }
}

void add_outcomes(Rows& rows) {
  rows.add(
      "sent", [](const Report& run) { return as_number(run.outcomes.sent); }, false);
  rows.add(
      "completed", [](const Report& run) { return as_number(run.outcomes.completed); }, false);
  rows.add(
      "dropped", [](const Report& run) { return as_number(run.outcomes.dropped_total()); }, false);
  rows.add(
      "timed out", [](const Report& run) { return as_number(run.outcomes.timed_out); }, false);
  rows.add(
      "without outcome", [](const Report& run) { return as_number(run.outcomes.without_outcome()); }, false);
  rows.add(
      "achieved /s", [](const Report& run) { return std::optional<double>(run.achieved_rps); }, false);
  rows.add(
      "send lag p99 us", [](const Report& run) { return run.send_lag_us.p99; }, false);
}

}  // namespace

std::optional<double> ratio(std::optional<double> other, std::optional<double> reference) {
  if (!other || !reference || *reference == 0) return std::nullopt;
  return *other / *reference;
}

std::size_t Comparison::reference() const {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].scheduler == "rain") return i;
  }
  return runs.size() - 1;
}

std::string Comparison::to_table() const {
  Rows rows(*this);
  rows.add("latency p50 us", [](const Report& run) { return run.latency_us.p50; });
  rows.add("latency p99 us", [](const Report& run) { return run.latency_us.p99; });
  rows.add("latency p99.9 us", [](const Report& run) { return run.latency_us.p999; });
  rows.add("slowdown p50", [](const Report& run) { return run.slowdown.p50; });
  rows.add("slowdown p99", [](const Report& run) { return run.slowdown.p99; });
  rows.add(
      "waited in switch p99 us", [](const Report& run) { return run.switch_us.p99; }, false);
  rows.add(
      "waited in worker p99 us", [](const Report& run) { return run.worker_us.p99; }, false);
  add_classes(rows, runs.front());
  rows.blank();
  add_outcomes(rows);
  std::string text = rows.text();
  for (const Report& run : runs) {
    for (const std::string& warning : {run.failure_warning(), run.schedule_warning()}) {
      if (!warning.empty()) text += fmt::format("  WARNING, {}: {}\n", run.scheduler, warning);
    }
    if (run.application_errors != 0) {
      text += fmt::format("  WARNING, {}: {} replies report an error, the first: {}\n", run.scheduler,
                          run.application_errors, run.first_application_error);
    }
  }
  return text;
}

nlohmann::ordered_json Comparison::to_json() const {
  const Report& base = runs[reference()];
  nlohmann::ordered_json ratios = nlohmann::ordered_json::object();
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (const Report& run : runs) {
    reports.push_back(tools::to_json(run, false));
    if (&run == &base) continue;
    const auto times = ratio(run.slowdown.p99, base.slowdown.p99);
    ratios[run.scheduler + "/" + base.scheduler] = times ? nlohmann::ordered_json(*times) : nullptr;
  }
  return {{"schema", "rain.compare/1"},
          {"reference", base.scheduler},
          {"slowdown_p99_ratio", ratios},
          {"runs", reports}};
}

}  // namespace rain::tools
