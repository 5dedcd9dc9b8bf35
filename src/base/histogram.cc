#include "base/histogram.h"

#include <algorithm>
#include <cmath>

namespace rain {

Histogram::Histogram() : buckets_(kBuckets, 0) {}

std::int64_t Histogram::lowest_of(std::size_t index) {
  if (index < 2 * kSub) return static_cast<std::int64_t>(index);
  const std::size_t shift = index / kSub - 1;
  return static_cast<std::int64_t>((index - shift * kSub) << shift);
}

std::int64_t Histogram::highest_of(std::size_t index) {
  if (index < 2 * kSub) return static_cast<std::int64_t>(index);
  const std::size_t shift = index / kSub - 1;
  return lowest_of(index) + static_cast<std::int64_t>((std::uint64_t{1} << shift) - 1);
}

void Histogram::record(Nanos duration, std::uint64_t times) {
  if (times == 0) return;
  duration = std::max(duration, Nanos{});
  buckets_[index_of(duration.value)] += times;
  count_ += times;
  sum_ += Sum{static_cast<std::uint64_t>(duration.value)} * times;
  min_ = std::min(min_, duration);
  max_ = std::max(max_, duration);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void Histogram::clear() {
  std::fill(buckets_.begin(), buckets_.end(), 0);
  count_ = 0;
  sum_ = 0;
  min_ = Nanos::max();
  max_ = {};
}

double Histogram::mean_ns() const {
  return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

Nanos Histogram::quantile(double q) const {
  if (count_ == 0) return {};
  if (!(q > 0)) return min_;
  if (q >= 1) return max_;
  // The rank-th smallest, rank = ceil(q * count): the smallest one with a share of at least q at or below it.
  const double exact_rank = std::ceil(q * static_cast<double>(count_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(exact_rank), 1, count_);
  std::uint64_t reached = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    reached += buckets_[i];
    if (reached < rank) continue;
    const Nanos middle{lowest_of(i) + (highest_of(i) - lowest_of(i)) / 2};
    return std::clamp(middle, min_, max_);
  }
  return max_;
}

std::uint64_t Histogram::count_at_or_below(Nanos duration) const {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < kBuckets && highest_of(i) <= duration.value; ++i) below += buckets_[i];
  return below;
}

}  // namespace rain
