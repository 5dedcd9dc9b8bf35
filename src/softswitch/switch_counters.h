// What one switch thread counts. One list: identifier, name, help; tools print from it. Written by the switch thread
// without locked instructions, read by any; the histograms belong to the thread and are read after it has ended.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>

#include "base/drop_counters.h"
#include "base/histogram.h"
#include "base/ids.h"

namespace rain::softswitch {

// X(identifier, name, help)
#define RAIN_SWITCH_COUNTERS(X)                                                                \
  X(kPacketsIn, "packets_in", "packets received")                                              \
  X(kPacketsOut, "packets_out", "packets handed to the network")                               \
  X(kForwarded, "forwarded", "tasks sent to a worker at once")                                 \
  X(kBuffered, "buffered", "tasks that had to wait in the switch")                             \
  X(kDispatched, "dispatched", "tasks sent to a worker after waiting")                         \
  X(kRefused, "refused", "tasks answered with DROP")                                           \
  X(kSyncAcks, "sync_acks", "SYNC packets answered")                                           \
  X(kConsumed, "consumed", "packets that did their work in the switch: tokens filed, reports") \
  X(kIgnored, "ignored", "packets dropped without an answer")                                  \
  X(kRecirculations, "recirculations", "further passes of a packet through the program")

enum class SwitchCounter : std::uint8_t {
#define RAIN_X(identifier, name, help) identifier,
  RAIN_SWITCH_COUNTERS(RAIN_X)
#undef RAIN_X
};

struct SwitchCounterInfo {
  const char* name;
  const char* help;
};

/// Indexed by SwitchCounter.
inline constexpr SwitchCounterInfo kSwitchCounters[] = {
#define RAIN_X(identifier, name, help) {name, help},
    RAIN_SWITCH_COUNTERS(RAIN_X)
#undef RAIN_X
};
inline constexpr std::size_t kSwitchCounterCount = std::size(kSwitchCounters);

/// A number that one thread raises and any thread reads.
class RelaxedCounter {
 public:
  void add(std::uint64_t count = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  void reset() { value_.store(0, std::memory_order_relaxed); }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// One slice's tasks.
struct SliceCounters {
  RelaxedCounter forwarded;
  RelaxedCounter buffered;
  RelaxedCounter dispatched;
  RelaxedCounter expired;  ///< their deadline passed while they waited
  Histogram
      queue_length;  ///< tasks that wait when one has been accepted, itself included; a number kept as Nanos
  Histogram queue_delay;  ///< of all tasks sent to workers; 0 for those that did not wait

  /// As new, for the slice that takes the place of one that was removed.
  void clear() {
    for (RelaxedCounter* counter : {&forwarded, &buffered, &dispatched, &expired}) counter->reset();
    queue_length.clear();
    queue_delay.clear();
  }
};

class SwitchCounters {
 public:
  explicit SwitchCounters(std::size_t slices)
      : slice_count_(slices), slices_(std::make_unique<SliceCounters[]>(slices)) {}

  void add(SwitchCounter counter, std::uint64_t count = 1) {
    counters_[static_cast<std::size_t>(counter)].add(count);
  }
  std::uint64_t get(SwitchCounter counter) const {
    return counters_[static_cast<std::size_t>(counter)].get();
  }

  DropCounters& drops() { return drops_; }
  const DropCounters& drops() const { return drops_; }

  std::size_t slice_count() const { return slice_count_; }
  SliceCounters& slice(SliceId id) { return slices_[id.value]; }
  const SliceCounters& slice(SliceId id) const { return slices_[id.value]; }

 private:
  std::array<RelaxedCounter, kSwitchCounterCount> counters_;
  DropCounters drops_;
  std::size_t slice_count_;
  std::unique_ptr<SliceCounters[]> slices_;
};

}  // namespace rain::softswitch
