// The agents of the simulated rack: collect what its workers' tasks went through, and decide at the end of each control
// interval with the real agent's code. Knows no packet and no program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/policy.h"
#include "agent/task_window.h"
#include "base/ids.h"
#include "sim/rack_spec.h"
#include "sim/request_pool.h"
#include "sim/result.h"

namespace rain::sim {

class Adaptation {
 public:
  /// What the switch's tables have to learn.
  struct TableChange {
    std::optional<WorkerId> worker;  ///< moves to `slice`; else
    SliceId slice{};
    unsigned spill = 0;  ///< is the slice's threshold
  };

  /// `spec.adaptive` is given.
  Adaptation(const RackSpec& spec, unsigned depth);

  Nanos interval() const { return policy_.options().interval; }

  /// A task of the worker has ended, `held` are left. `waited_for`: as TaskSample::token_round_trip.
  void on_task_end(WorkerId id, const Request& request, Nanos token_round_trip, unsigned held, Nanos now) {
    Worker& worker = workers_[id.value];
    const agent::TaskSample sample{.worker_wait = request.in_worker,
                                   .switch_wait = request.in_switch,
                                   .service = request.service,
                                   .switch_queue = request.queue_length,
                                   .token_round_trip = token_round_trip};
    worker.window.add(sample);
    worker.service.add(sample);
    if (held == 0) worker.idle_since = now;
  }
  /// A task has come to an idle worker.
  void on_busy(WorkerId id, Nanos now) {
    Worker& worker = workers_[id.value];
    worker.idle += now - worker.idle_since;
    worker.idle_since = Nanos::max();
  }

  /// The interval is over: decides. quota() is what each worker has from now on.
  void end_interval(Nanos now);
  unsigned quota(WorkerId id) const { return state_[id.value].quota; }
  /// Of the last interval.
  const std::vector<TableChange>& table_changes() const { return table_changes_; }

  AdaptiveResult finish() { return std::move(result_); }

 private:
  struct Worker {
    agent::TaskWindow window;
    agent::ServiceStatistics service;
    Nanos idle{};        // in this interval, until idle_since
    Nanos idle_since{};  // max: busy
  };

  void count(const std::vector<agent::AdaptiveWorker>& before, Nanos now);

  agent::Policy policy_;
  bool trace_;
  Nanos measured_from_, measured_until_;
  std::vector<Worker> workers_;
  std::vector<agent::AdaptiveWorker> state_;
  std::vector<agent::AdaptiveWorker> before_;  // the interval's reports, while it is decided
  std::vector<std::optional<unsigned>> spills_;
  std::vector<TableChange> table_changes_;
  AdaptiveResult result_;
  double quota_sum_ = 0;
  std::uint64_t quota_count_ = 0;
};

}  // namespace rain::sim
