// The report of a run: one schema for everything that measures a rack, "rain.report/1".
//
// A quantile is only stated when at least kSamplesBeyond samples lie beyond it; otherwise it is null in JSON
// and "-" in the table, because a p99.9 of 500 requests is the maximum by another name. docs/operations.md
// explains every key.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "base/ids.h"

namespace rain::tools {

inline constexpr std::uint64_t kSamplesBeyond = 10;

/// A distribution in a few numbers, in the unit that its owner's name ends with.
struct Summary {
  std::uint64_t count = 0;
  std::optional<double> mean, p50, p90, p99, p999, max;  ///< nullopt: too few samples behind it
};

/// `scale` converts the histogram's integers to the summary's unit: 1e-3 from ns to us.
Summary summarise(const Histogram& histogram, double scale);

/// Points (value, share of samples above it) of a complementary distribution, for plots.
using Distribution = std::vector<std::pair<double, double>>;
Distribution distribution_of(const Histogram& histogram, double scale);

struct ClassReport {
  TaskType type{};
  std::string name;
  std::uint64_t count = 0;  ///< completed
  Summary latency_us, slowdown, service_us;
  Distribution latency_distribution_us;
};

struct Outcomes {
  std::uint64_t sent = 0;  ///< requests whose intended send time lay in the measured window
  std::uint64_t completed = 0;
  std::map<std::string, std::uint64_t> dropped;  ///< by reason
  std::uint64_t timed_out = 0;

  std::uint64_t dropped_total() const;
  /// Requests that ended in none of the ways above; anything but 0 is a bug or a killed run.
  std::uint64_t without_outcome() const;
};

/// The switch's side; nullopt: not known to whoever wrote the report.
struct SwitchReport {
  std::optional<double> queued_ratio;  ///< share of completed requests that waited in the switch
  std::optional<std::uint64_t> recirculations;
  std::optional<double>
      queue_p99;  ///< 99th percentile of the slice's queue length when a task left the switch
};

/// What the generator's sockets counted.
struct SocketCounts {
  std::uint64_t send_failures = 0;  ///< packets that the kernel refused
  std::uint64_t cut_packets = 0;    ///< received longer than any packet of the protocol

  SocketCounts& operator+=(const SocketCounts& other);
  bool operator==(const SocketCounts&) const = default;
};

/// What the generator's clients did to hold the load back.
struct AdmissionReport {
  std::string mode;                    ///< fail or wait
  std::optional<std::uint32_t> share;  ///< requests open at once, over all connections, at the end
  bool told_by_controller = false;     ///< the share
  std::uint64_t back_offs = 0;         ///< times that a window was narrowed, warm-up included
  std::vector<std::uint64_t>
      windows;  ///< at the end, in the order of the classes, summed over the connections
};

struct Report {
  std::string scheduler;  ///< empty: not known
  std::optional<unsigned> workers, depth;
  std::uint64_t seed = 0;
  double duration_s = 0;  ///< measured window: warm-up excluded
  double offered_rps = 0;
  double achieved_rps = 0;
  Summary latency_us, slowdown;
  Summary switch_us, worker_us, service_us, wire_us;
  std::vector<ClassReport> classes;
  Outcomes outcomes;
  SwitchReport in_switch;
  std::uint64_t events = 0;  ///< requests handled, warm-up included
  double wall_s = 0;

  // Beyond the common schema.
  double warmup_s = 0;
  double requested_rps = 0;  ///< what was asked for; offered_rps is what the schedule came to
  unsigned connections = 0;
  Summary send_lag_us;                       ///< actual minus intended send time, less what follows
  std::optional<AdmissionReport> admission;  ///< nullopt: off
  Summary admission_us;                      ///< what sent requests waited for room
  bool kept_schedule = true;
  Outcomes warmup_outcomes;
  SocketCounts sockets;
  std::uint64_t application_errors = 0;  ///< replies in which the application refused; among the completed
  std::string first_application_error;

  /// One line when so many requests failed that the figures say little, else "".
  std::string failure_warning() const;
  /// One line when the generator was too slow to be believed, else "".
  std::string schedule_warning() const;
};

/// The schema, keys in a fixed order. `with_distributions` adds "latency_distribution_us" to each class.
nlohmann::ordered_json to_json(const Report& report, bool with_distributions);

/// Latency, slowdown, their parts and the classes in a row each, under a head: the table that all reports have.
std::string summary_rows(const Report& report);

/// The report for people, several lines.
std::string to_table(const Report& report);

/// A number with as many digits as it deserves: "812", "12.4", "0.031"; "-" for nullopt.
std::string short_number(std::optional<double> value);

}  // namespace rain::tools
