// What a simulation measures, as histograms and counts; the report of tools/report.h is made from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/drop_reasons.h"
#include "base/histogram.h"
#include "base/ids.h"
#include "base/time.h"

namespace rain::sim {

inline constexpr std::int64_t kSlowdownUnit = 1000;  ///< slowdowns are counted in thousandths

struct OutcomeCounts {
  std::uint64_t sent = 0;
  std::uint64_t completed = 0;
  std::array<std::uint64_t, kDropReasonCount> dropped{};

  std::uint64_t dropped_total() const;
  /// Requests that the run left in flight.
  std::uint64_t in_flight() const { return sent - completed - dropped_total(); }
};

/// Requests of one class that were sent in the measured window and completed.
struct ClassResult {
  std::string name;
  TaskType type{};
  Histogram latency;   ///< client to client, from the intended send time
  Histogram slowdown;  ///< (in switch + in worker + service) / service, in thousandths
  Histogram service;
};

/// Whether the rack kept up with its load.
struct Growth {
  double first_half = 0;  ///< mean number in flight that a request found, in the first half of the window
  double second_half = 0;
  double per_second = 0;    ///< requests of a second that came and did not leave; dropped ones did not leave
  bool overloaded = false;  ///< the number in flight grew, or a full queue refused tasks
};

/// What adaptive scheduling did.
struct AdaptiveResult {
  std::uint64_t intervals = 0;
  std::uint64_t quota_changes = 0;  ///< of one worker by one decision
  std::uint64_t moves = 0;          ///< of a worker to another slice
  std::uint64_t spill_changes = 0;
  double mean_depth = 0;         ///< quota, over workers and the measured window
  std::vector<unsigned> spills;  ///< of each slice at the end; policy `rain`
  std::string decisions;         ///< the trace (agent/decision_trace.h); empty unless asked for
};

/// A slice at one moment.
struct SliceState {
  unsigned workers = 0;
  double depth = 0;  ///< mean quota of its workers
};

/// One interval of a run's time line: the replies that arrived in it.
struct TimelineRow {
  Nanos end{};
  std::uint64_t completed = 0;
  Nanos p50{}, p99{}, max{};  ///< latency
  Nanos slowdown_p99{};       ///< in kSlowdownUnit
  std::vector<SliceState> slices;
};

struct Result {
  std::vector<ClassResult> classes;
  Histogram in_switch, in_worker, wire;
  Histogram queue_length;  ///< of the slice, in tasks, when a task left the switch
  OutcomeCounts measured, warmup;
  Growth growth;
  std::uint64_t queued = 0;               ///< of the completed measured requests: waited in the switch
  std::uint64_t completed_in_window = 0;  ///< replies, of any request, that arrived in the measured window
  std::uint64_t recirculations = 0;       ///< passes beyond a packet's first; whole run, as are the next four
  std::uint64_t empty_pulls = 0;          ///< PULLs that were answered with "no task"
  std::uint64_t events = 0;
  std::uint32_t most_in_flight = 0;
  Nanos ended{};  ///< virtual time of the last event
  std::optional<AdaptiveResult> adaptive;
  std::vector<TimelineRow> timeline;  ///< empty unless asked for

  /// All classes together.
  Histogram latency() const;
  Histogram slowdown() const;
  Histogram service() const;
};

}  // namespace rain::sim
