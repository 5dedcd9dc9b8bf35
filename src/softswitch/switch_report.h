// What a switch process tells about itself: totals while it runs, a report when it has ended.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "softswitch/switch_counters.h"

namespace rain::softswitch {

/// One slice's tasks, from its thread.
struct SliceTotals {
  std::string name;
  SliceId id{};
  std::uint64_t forwarded = 0;
  std::uint64_t buffered = 0;
  std::uint64_t dispatched = 0;
  std::uint64_t expired = 0;

  std::uint64_t waiting() const {
    const std::uint64_t gone = dispatched + expired;
    return buffered < gone ? 0 : buffered - gone;
  }
};

/// Sums over all threads, read while they run: each number is right, but not all are of the same instant.
struct SwitchTotals {
  std::array<std::uint64_t, kSwitchCounterCount> counters{};
  std::array<std::uint64_t, kDropReasonCount> drops{};
  std::vector<SliceTotals> slices;  ///< by thread, in the order of the options
  std::uint64_t receive_overflows =
      0;  ///< packets that the kernel dropped because a socket's buffer was full

  std::uint64_t get(SwitchCounter counter) const { return counters[static_cast<std::size_t>(counter)]; }
  std::uint64_t get(DropReason reason) const { return drops[static_cast<std::size_t>(reason)]; }
  /// Adds one thread's counters, not its slices.
  void add(const SwitchCounters& thread);
};

/// A slice's histograms, in the order of SwitchTotals::slices.
struct SliceHistograms {
  Histogram queue_length;  ///< tasks; see SliceCounters
  Histogram queue_delay;
};

/// Of a switch that has ended.
struct SwitchReport {
  std::string program;
  SwitchTotals totals;
  std::vector<SliceHistograms> slices;
  std::uint64_t cut_packets = 0;  ///< received longer than a buffer
  bool drained = true;            ///< false: the time limit came first, and tasks were left in the queue

  /// Accepted tasks that had to wait, as a share, 0..1.
  double queued_ratio() const;
  /// 99th percentile, over all accepted tasks, of the tasks that waited when one was accepted.
  std::uint64_t queue_p99() const;
  std::uint64_t waiting() const;

  /// For people: a line for each counter and drop reason that is not zero, a row for each slice.
  std::string text() const;
};

}  // namespace rain::softswitch
