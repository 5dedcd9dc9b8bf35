#include "agent/decision_trace.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace rain::agent {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kSchema = "rain.decisions/1";
constexpr const char* kFields[] = {"slice",
                                   "quota",
                                   "slowdown_p99",
                                   "worker_share",
                                   "queue_p99",
                                   "idleness",
                                   "tasks",
                                   "service_sum_ns",
                                   "service_sum_of_squares_ns2",
                                   "token_round_trip_ns"};
constexpr std::size_t kFieldCount = std::size(kFields);
constexpr std::size_t kMaxTraceSlices = 1024;

/// What is wrong with a line; becomes replay_trace()'s error.
struct BadLine {
  std::string what;
};

ordered_json to_row(const AdaptiveWorker& worker) {
  return ordered_json::array({worker.slice, worker.quota, worker.tasks.slowdown_p99,
                              worker.tasks.worker_share, worker.tasks.switch_queue_p99, worker.idleness,
                              worker.service.tasks, worker.service.sum_ns, worker.service.sum_of_squares_ns2,
                              worker.service.token_round_trip.value});
}

/// A whole number of the range, or a BadLine that names the field.
template <typename Int>
Int whole(const ordered_json& value, const char* name, std::int64_t lowest, std::int64_t highest) {
  if (value.is_number_unsigned() || value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (number >= lowest && number <= highest) return static_cast<Int>(number);
  }
  throw BadLine{fmt::format("{} = {}: a whole number from {} to {}", name, value.dump(), lowest, highest)};
}

double real(const ordered_json& value, const char* name) {
  if (value.is_number()) {
    const double number = value.get<double>();
    if (std::isfinite(number) && number >= 0) return number;
  }
  throw BadLine{fmt::format("{} = {}: a number, 0 or more", name, value.dump())};
}

const ordered_json& member(const ordered_json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end()) throw BadLine{fmt::format("\"{}\" is missing", name)};
  return *found;
}

AdaptiveWorker from_row(const ordered_json& row, std::size_t slices) {
  if (!row.is_array() || row.size() != kFieldCount) {
    throw BadLine{fmt::format("a worker has {} fields", kFieldCount)};
  }
  constexpr std::int64_t kAny = INT64_MAX;
  AdaptiveWorker worker;
  worker.slice = whole<std::uint16_t>(row[0], kFields[0], 0, static_cast<std::int64_t>(slices) - 1);
  worker.quota = whole<unsigned>(row[1], kFields[1], 1, kMaxQuota);
  worker.tasks.slowdown_p99 = real(row[2], kFields[2]);
  worker.tasks.worker_share = real(row[3], kFields[3]);
  worker.tasks.switch_queue_p99 = whole<std::uint32_t>(row[4], kFields[4], 0, UINT32_MAX);
  worker.idleness = real(row[5], kFields[5]);
  worker.service.tasks = whole<std::uint64_t>(row[6], kFields[6], 0, kAny);
  worker.service.sum_ns = real(row[7], kFields[7]);
  worker.service.sum_of_squares_ns2 = real(row[8], kFields[8]);
  worker.service.token_round_trip = {whole<std::int64_t>(row[9], kFields[9], 0, kAny)};
  return worker;
}

Policy read_header(const ordered_json& line) {
  if (member(line, "schema") != kSchema) {
    throw BadLine{fmt::format("schema {}: this program reads {}", line["schema"].dump(), kSchema)};
  }
  const ordered_json& name = member(line, "policy");
  const auto kind = name.is_string() ? parse_policy(name.get<std::string>()) : std::nullopt;
  if (!kind) throw BadLine{fmt::format("policy {}: paper or rain", name.dump())};
  PolicyOptions options;
  options.kind = *kind;
  options.interval = {whole<std::int64_t>(member(line, "interval_ns"), "interval_ns", 0, INT64_MAX)};
  options.adaptive.slowdown_threshold = real(member(line, "slowdown_threshold"), "slowdown_threshold");
  options.adaptive.ratio_threshold = real(member(line, "ratio_threshold"), "ratio_threshold");
  options.adaptive.max_quota = whole<unsigned>(member(line, "max_quota"), "max_quota", 0, UINT32_MAX);
  options.hysteresis.hold = whole<std::uint32_t>(member(line, "hold"), "hold", 0, UINT32_MAX);
  options.hysteresis.longest_hold =
      whole<std::uint32_t>(member(line, "longest_hold"), "longest_hold", 0, UINT32_MAX);
  const auto slices = whole<std::size_t>(member(line, "slices"), "slices", 1, kMaxTraceSlices);
  const ordered_json expected(kFields);
  if (member(line, "fields") != expected) throw BadLine{fmt::format("fields: {}", expected.dump())};
  if (const char* wrong = options.problem()) throw BadLine{wrong};
  return Policy(options, slices);
}

/// Intervals follow each other; `last` is the one before, or -1.
void check_time(const ordered_json& line, std::int64_t& last) {
  const auto at = whole<std::int64_t>(member(line, "at_ns"), "at_ns", 0, INT64_MAX);
  if (at <= last)
    throw BadLine{fmt::format("at_ns = {}: after the interval before it, which was at {}", at, last)};
  last = at;
}

/// Compares, and counts what was decided.
void replay_interval(const ordered_json& line, Policy& policy, Replay& replay) {
  std::vector<AdaptiveWorker> workers;
  const ordered_json& rows = member(line, "workers");
  if (!rows.is_array()) throw BadLine{"\"workers\" is not a list"};
  for (const ordered_json& row : rows) workers.push_back(from_row(row, policy.slices().size()));
  const std::vector<AdaptiveWorker> before = workers;
  policy.decide(workers);
  ++replay.intervals;

  const ordered_json& decided = member(line, "to");
  if (!decided.is_array() || decided.size() != workers.size())
    throw BadLine{"\"to\" has a row for each worker"};
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const ordered_json ours = ordered_json::array({workers[i].slice, workers[i].quota});
    if (decided[i] != ours) {
      throw BadLine{
          fmt::format("worker {}: slice and quota were {}, replayed {}", i, decided[i].dump(), ours.dump())};
    }
    if (workers[i].slice != before[i].slice) {
      ++replay.moves;
    } else if (workers[i].quota != before[i].quota) {
      ++replay.quota_changes;
    }
  }
  if (policy.options().kind != PolicyKind::kRain) return;
  const ordered_json& spills = member(line, "spill");
  for (std::size_t i = 0; i < policy.slices().size(); ++i) {
    const unsigned ours = policy.spill(i).value_or(0);
    if (!spills.is_array() || spills.size() <= i || spills[i] != ours) {
      throw BadLine{fmt::format("slice {}: spill threshold was {}, replayed {}", i, spills.dump(), ours)};
    }
  }
}

}  // namespace

std::string trace_header(const PolicyOptions& options, std::size_t slices) {
  const ordered_json line = {{"schema", kSchema},
                             {"policy", to_text(options.kind)},
                             {"slices", slices},
                             {"interval_ns", options.interval.value},
                             {"slowdown_threshold", options.adaptive.slowdown_threshold},
                             {"ratio_threshold", options.adaptive.ratio_threshold},
                             {"max_quota", options.adaptive.max_quota},
                             {"hold", options.hysteresis.hold},
                             {"longest_hold", options.hysteresis.longest_hold},
                             {"fields", kFields}};
  return line.dump() + '\n';
}

std::string trace_interval(Nanos at, std::span<const AdaptiveWorker> before,
                           std::span<const AdaptiveWorker> after, const Policy& policy) {
  ordered_json line = {
      {"at_ns", at.value}, {"workers", ordered_json::array()}, {"to", ordered_json::array()}};
  for (const AdaptiveWorker& worker : before) line["workers"].push_back(to_row(worker));
  for (const AdaptiveWorker& worker : after) {
    line["to"].push_back(ordered_json::array({worker.slice, worker.quota}));
  }
  for (std::size_t i = 0; i < policy.slices().size() && policy.spill(i); ++i) {
    line["spill"].push_back(*policy.spill(i));
  }
  return line.dump() + '\n';
}

tl::expected<Replay, std::string> replay_trace(std::istream& trace) {
  std::optional<Policy> policy;
  Replay replay;
  std::int64_t last_ns = -1;
  std::string text;
  for (std::uint64_t number = 1; std::getline(trace, text); ++number) {
    if (text.empty()) continue;
    try {
      const ordered_json line = ordered_json::parse(text, nullptr, false);
      if (!line.is_object()) throw BadLine{"not a JSON object"};
      if (line.contains("schema")) {
        policy.emplace(read_header(line));
        last_ns = -1;
      } else if (!policy) {
        throw BadLine{"no header before it"};
      } else {
        check_time(line, last_ns);
        replay_interval(line, *policy, replay);
      }
    } catch (const BadLine& bad) {
      return tl::unexpected(fmt::format("line {}: {}", number, bad.what));
    }
  }
  if (!policy) return tl::unexpected(std::string("no header: not a trace of decisions"));
  return replay;
}

}  // namespace rain::agent
