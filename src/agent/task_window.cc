#include "agent/task_window.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"

namespace rain::agent {
namespace {

constexpr double kNeverWaited = -1;
constexpr std::size_t kTailShare = 100;  // of a 99th percentile: one in a hundred lies above

/// The nearest-rank percentile: the smallest value that at least 99 % of the values do not exceed.
template <typename T>
T p99(std::vector<T>& values) {
  const std::size_t rank = (values.size() * 99 + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

void ServiceStatistics::add(const TaskSample& sample) {
  const auto service_ns = static_cast<double>(sample.service.value);
  ++tasks;
  sum_ns += service_ns;
  sum_of_squares_ns2 += service_ns * service_ns;
  const bool shorter = token_round_trip == Nanos{} || sample.token_round_trip < token_round_trip;
  if (sample.token_round_trip > Nanos{} && shorter) token_round_trip = sample.token_round_trip;
}

void ServiceStatistics::merge(const ServiceStatistics& other) {
  tasks += other.tasks;
  sum_ns += other.sum_ns;
  sum_of_squares_ns2 += other.sum_of_squares_ns2;
  const bool shorter = token_round_trip == Nanos{} || other.token_round_trip < token_round_trip;
  if (other.token_round_trip > Nanos{} && shorter) token_round_trip = other.token_round_trip;
}

TaskWindow::TaskWindow(std::size_t capacity) : capacity_(capacity) {
  RAIN_ASSERT(capacity > 0);
  slowdowns_.reserve(capacity);
  queues_.reserve(capacity);
  shares_.reserve(capacity);
}

void TaskWindow::add(const TaskSample& sample) {
  const Nanos wait = sample.worker_wait + sample.switch_wait;
  const Nanos service = std::max(sample.service, Nanos{1});
  RAIN_ASSERT(sample.worker_wait >= Nanos{} && sample.switch_wait >= Nanos{} && sample.service >= Nanos{});
  const double slowdown = static_cast<double>((wait + service).value) / static_cast<double>(service.value);
  const double share = wait == Nanos{}
                           ? kNeverWaited
                           : static_cast<double>(sample.worker_wait.value) / static_cast<double>(wait.value);
  if (slowdowns_.size() < capacity_) {
    slowdowns_.push_back(slowdown);
    queues_.push_back(sample.switch_queue);
    shares_.push_back(share);
    return;
  }
  slowdowns_[oldest_] = slowdown;
  queues_[oldest_] = sample.switch_queue;
  shares_[oldest_] = share;
  oldest_ = (oldest_ + 1) % capacity_;
}

TaskStatistics TaskWindow::statistics() {
  TaskStatistics result;
  if (slowdowns_.empty()) return result;
  result.slowdown_p99 = p99(slowdowns_);
  result.switch_queue_p99 = p99(queues_);
  const auto waited = std::partition(shares_.begin(), shares_.end(), [](double share) { return share >= 0; });
  if (waited != shares_.begin()) {
    result.worker_share =
        std::accumulate(shares_.begin(), waited, 0.0) / static_cast<double>(waited - shares_.begin());
  }
  return result;
}

TaskStatistics TaskWindow::end_interval(double slowdown_threshold) {
  if (size() < capacity_) {
    const auto slow = std::count_if(slowdowns_.begin(), slowdowns_.end(),
                                    [&](double slowdown) { return slowdown > slowdown_threshold; });
    if (static_cast<std::size_t>(slow) <= capacity_ / kTailShare) return {};
  }
  const TaskStatistics result = statistics();
  clear();
  return result;
}

void TaskWindow::clear() {
  slowdowns_.clear();
  queues_.clear();
  shares_.clear();
  oldest_ = 0;
}

}  // namespace rain::agent
