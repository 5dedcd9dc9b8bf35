// What is to be simulated: scheduler, rack, workload, how long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "agent/policy.h"
#include "base/ids.h"
#include "base/time.h"
#include "dataplane/programs.h"
#include "sim/calibration.h"
#include "workload/workload.h"

namespace rain::sim {

/// Every data-plane program, and `ideal`: one central FCFS queue without any overhead.
struct Scheduler {
  std::string_view name;
  std::string_view help;
  std::optional<dataplane::ProgramId> program;  ///< nullopt: ideal
};
const std::vector<Scheduler>& schedulers();
/// nullptr: no scheduler has this name.
const Scheduler* find_scheduler(std::string_view name);

/// What a worker tells the switch.
enum class WorkerRule : std::uint8_t {
  kTokens,   ///< a token for each task it could hold (rpc/token_ledger.h)
  kReports,  ///< FEEDBACK for each finished task; its queue is bounded by the scheduler or not at all
  kPulls,    ///< PULL while idle, repeated while there is nothing
};
WorkerRule worker_rule(dataplane::ProgramId program);

/// Whether `depth` means anything to the scheduler: its tokens, or the queue depth up to which it looks for room.
bool has_depth(const Scheduler& scheduler);
/// The depth it has when none is given: 4 for `rain`, 2 for `rain-paper`, 1 for `r2p2`.
unsigned default_depth(const Scheduler& scheduler);

struct SliceSpec {
  unsigned workers = 0;
  std::vector<TaskType> types;  ///< whose tasks it serves
};

struct AdaptiveSpec {
  agent::PolicyOptions policy{};
  bool trace = false;  ///< the result has the trace of decisions
};
/// The policy that goes with the scheduler when none is named.
agent::PolicyKind default_policy(const Scheduler& scheduler);

struct RackSpec {
  std::string scheduler = "rain";
  unsigned workers = 32;            ///< 1..kMaxWorkers
  std::optional<unsigned> depth{};  ///< 1..kMaxQuota; not given: default_depth()
  std::optional<unsigned> spill{};  ///< `rain`: not given: a quarter of the slice's workers
  unsigned drain = 4;               ///< `rain`: every drain-th spare token serves the head; 0: never
  unsigned queue_capacity = dataplane::kDefaultQueueCapacity;  ///< tasks waiting in a slice
  bool refresh_by_recirculation =
      false;                        ///< `racksched`: refresh loads by an extra pass instead of by reports
  std::vector<SliceSpec> slices{};  ///< empty: one, with all workers, for all types
  std::optional<AdaptiveSpec> adaptive{};  ///< `rain-paper` and `rain`: the agents run
  Nanos timeline_interval{};               ///< > 0: the result has a time line
  Calibration calibration{};

  workload::WorkloadSpec
      workload{};  ///< demands are service times; a class without a type has its index as type
  double large_share =
      0.2;  ///< of the tasks whose payload does not fit the switch's entry, 0..1; traces have sizes
  unsigned large_bytes = 64;  ///< their payload, 9..1400; the others carry 8 bytes

  Nanos warmup = seconds(1);     ///< >= 0; requests sent before it is over are not measured
  Nanos duration = seconds(10);  ///< > 0; measured
  std::uint64_t seed = 1;

  /// Nothing, or the first thing that is wrong: one line with what, its value, and what is allowed.
  tl::expected<void, std::string> validate() const;
  /// Requests a second that the workers can serve at most; infinite when service takes no time.
  double capacity_rps() const;
  TaskType type_of(std::size_t class_index) const;
};

/// Pushed tasks that a worker of an unbounded scheduler holds at most: a bound for memory, far above what any load
/// below capacity reaches. One more is dropped with worker_queue_full.
inline constexpr unsigned kWorkerQueueBound = 16'384;

}  // namespace rain::sim
