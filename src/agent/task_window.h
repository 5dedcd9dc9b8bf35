// What a worker's tasks went through during one control interval: the three figures that Algorithm 1 of the Rain paper
// draws from it (lines 5 and 10 to 12), and the moments of its service times for the spill rule.
//
// Where the paper is silent: it samples every 10 us, whether a task ended or not. We take one sample for each task that
// ended, so that a long task is not counted again for as long as it is the newest, and an idle worker adds nothing.
//
// And its K = 1000 samples are then as many tasks, which a lightly loaded worker does not serve in one interval. The
// 99th percentile of a hundred samples is their second largest: a chance of 0.5 % for a slow task would look like more
// than 1 % in one of eleven intervals, and a hundred intervals would turn every quota down. So a worker is judged when its
// window is full, or when the outcome is certain before: more samples than 1 % of a full window are above the threshold.
// Until then its window goes on, and it counts as calm.
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
  /// From an idle worker's token to the dispatch that it paid for, when the task had been waiting for a token: what an
  /// idle worker loses between two tasks. 0: the worker was not idle or nothing waited.
  Nanos token_round_trip{};
};

/// A control interval in three figures.
struct TaskStatistics {
  double slowdown_p99 = 0;             ///< 99th percentile of (L_w + L_sw + T_w) / T_w; 0: no task ended
  double worker_share = 0;             ///< mean of L_w / (L_w + L_sw) over the tasks that waited; 0: none did
  std::uint32_t switch_queue_p99 = 0;  ///< 99th percentile of Q_sw

  bool operator==(const TaskStatistics&) const = default;
};

/// What the spill rule needs of the tasks that ended; of several workers by merge().
struct ServiceStatistics {
  std::uint64_t tasks = 0;
  double sum_ns = 0;  ///< of T_w
  double sum_of_squares_ns2 = 0;
  Nanos token_round_trip{};  ///< the shortest that was seen; 0: none was

  void add(const TaskSample& sample);
  void merge(const ServiceStatistics& other);
  bool operator==(const ServiceStatistics&) const = default;
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
  /// Reorders the samples; do not add() to a full window afterwards without clear().
  TaskStatistics statistics();
  /// At the end of a control interval: statistics(), and the window is cleared; or, while neither full nor certain to
  /// be slower than the threshold, no samples, and the window goes on.
  TaskStatistics end_interval(double slowdown_threshold);
  void clear();

 private:
  std::size_t capacity_;
  std::size_t oldest_ = 0;
  std::vector<double> slowdowns_;
  std::vector<std::uint32_t> queues_;
  std::vector<double> shares_;
};

}  // namespace rain::agent
