// Log-linear latency histogram: every latency that Rain reports comes from one of these.
//
// A value below 128 ns has its own bucket; above, each power of two is cut into 64 buckets. A quantile is the
// bucket's middle, so it is off by at most 1/128 (0.78 %) of the value. The whole range of Nanos is covered
// (30 KB), so nothing is ever clamped at the top and any two histograms can be merged.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace rain {

/// Counts durations. Allocates when made and never after. Not thread-safe: one per thread, merged at the end.
class Histogram {
 public:
  /// A bucket with its range, both ends included.
  struct Bucket {
    Nanos lowest;
    Nanos highest;
    std::uint64_t count;
  };

  Histogram();

  /// Counts one duration; negative ones count as 0.
  void record(Nanos duration) {
    // In the header, because the simulator counts seven durations a request.
    duration = std::max(duration, Nanos{});
    ++buckets_[index_of(duration.value)];
    ++count_;
    sum_ += static_cast<std::uint64_t>(duration.value);
    min_ = std::min(min_, duration);
    max_ = std::max(max_, duration);
  }
  /// Counts one duration `times` times.
  void record(Nanos duration, std::uint64_t times);
  /// Adds what `other` has counted; the result is the same in whatever order histograms are merged.
  void merge(const Histogram& other);
  /// As new.
  void clear();

  std::uint64_t count() const { return count_; }
  Nanos min() const { return count_ == 0 ? Nanos{} : min_; }  ///< exact; 0 when empty
  Nanos max() const { return count_ == 0 ? Nanos{} : max_; }  ///< exact; 0 when empty
  double mean_ns() const;                                     ///< exact sum over count; 0 when empty

  /// The duration that a share `q` (0..1, clamped) of the recorded ones do not exceed; 0 when empty.
  /// quantile(0) is min(), quantile(1) is max(), both exact.
  Nanos quantile(double q) const;
  /// How many recorded durations lie in buckets wholly at or below `duration`.
  std::uint64_t count_at_or_below(Nanos duration) const;

  /// Calls `visit(Bucket)` for every bucket that is not empty, in rising order: for plots.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (buckets_[i] != 0) visit(Bucket{{lowest_of(i)}, {highest_of(i)}, buckets_[i]});
    }
  }

 private:
  static constexpr unsigned kSubBits = 6;  // 64 buckets for each power of two
  static constexpr std::size_t kSub = std::size_t{1} << kSubBits;
  static constexpr unsigned kValueBits = 63;  // of a non-negative std::int64_t
  // Powers of two below 2^(kSubBits + 1) share 2 * kSub buckets of width 1; each later one has kSub of its own.
  static constexpr std::size_t kBuckets = (kValueBits - kSubBits + 1) * kSub;

 public:
  /// What each takes beside itself.
  static constexpr std::size_t kMemoryBytes = kBuckets * sizeof(std::uint64_t);

 private:
  /// Values below 2^(kSubBits + 1) have a bucket each, later powers of two have kSub together.
  static std::size_t index_of(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    const auto width = std::max(static_cast<unsigned>(std::bit_width(bits)), kSubBits + 1);
    const unsigned shift = width - (kSubBits + 1);
    return shift * kSub + static_cast<std::size_t>(bits >> shift);
  }
  static std::int64_t lowest_of(std::size_t index);
  static std::int64_t highest_of(std::size_t index);

  __extension__ using Sum = unsigned __int128;  // 2^63 ns times 2^64 records: never overflows

  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  Sum sum_ = 0;
  Nanos min_ = Nanos::max();
  Nanos max_{};
};

}  // namespace rain
