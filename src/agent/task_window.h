// What a worker's tasks went through during one control interval, and the three figures that Algorithm 1 of the Rain
// paper draws from it (lines 5 and 10 to 12).
//
// Where the paper is silent: it samples every 10 us, whether a task ended or not. We take one sample for each task that
// ended, so that a long task is not counted again for as long as it is the newest, and an idle worker adds nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace rain::agent {

/// One served task, as its worker saw it. Durations are never negative.
struct TaskSample {
  Nanos worker_wait{};             ///< L_w: from its arrival at the worker to its start
  Nanos switch_wait{};             ///< L_sw: in the switch's queue, by in-band telemetry
  Nanos service{};                 ///< T_w
  std::uint32_t switch_queue = 0;  ///< Q_sw: tasks that waited in the slice's queue when it was dispatched
};

/// A control interval in three figures.
struct TaskStatistics {
  double slowdown_p99 = 0;             ///< 99th percentile of (L_w + L_sw + T_w) / T_w; 0: no task ended
  double worker_share = 0;             ///< mean of L_w / (L_w + L_sw) over the tasks that waited; 0: none did
  std::uint32_t switch_queue_p99 = 0;  ///< 99th percentile of Q_sw

  bool operator==(const TaskStatistics&) const = default;
};

/// The samples of one worker's interval: the newest `capacity`, in storage taken once.
class TaskWindow {
 public:
  /// K of the paper.
  static constexpr std::size_t kDefaultCapacity = 1000;

  explicit TaskWindow(std::size_t capacity = kDefaultCapacity);

  /// A service time of 0 (a clock too coarse for the task) counts as 1 ns.
  void add(const TaskSample& sample);
  std::size_t size() const { return slowdowns_.size(); }
  /// Reorders the samples, which no later call depends on.
  TaskStatistics statistics();
  void clear();

 private:
  std::size_t capacity_;
  std::size_t oldest_ = 0;
  std::vector<double> slowdowns_;
  std::vector<std::uint32_t> queues_;
  std::vector<double> shares_;
};

}  // namespace rain::agent
