// Histogram: exact extremes and mean, quantiles within the promised error, merging, and no allocation after
// it is made.
#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/prng.h"

namespace rain {
namespace {

using namespace rain::literals;

constexpr double kPromisedError = 0.008;

TEST(histogram, empty__reads_zero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.min(), Nanos{});
  EXPECT_EQ(histogram.max(), Nanos{});
  EXPECT_EQ(histogram.mean_ns(), 0.0);
  EXPECT_EQ(histogram.quantile(0.5), Nanos{});
  EXPECT_EQ(histogram.count_at_or_below(Nanos::max()), 0U);
}

TEST(histogram, single_value__error_at_every_scale) {
  // Both sides of every power of two, and of every bucket border near it.
  for (unsigned bit = 0; bit < 63; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    for (const std::int64_t value : {power - 1, power, power + 1, power + power / 64, power + power / 3}) {
      // Two other values keep the middle one from being clamped to the exact minimum and maximum.
      Histogram histogram;
      histogram.record({0});
      histogram.record({value});
      histogram.record(Nanos::max());
      const auto reported = static_cast<double>(histogram.quantile(0.5).value);
      EXPECT_LE(std::abs(reported - static_cast<double>(value)), static_cast<double>(value) * kPromisedError)
          << value;
    }
  }
}

TEST(histogram, small_values__are_exact) {
  for (std::int64_t value = 0; value < 128; ++value) {
    Histogram histogram;
    histogram.record({0});
    histogram.record({value});
    histogram.record(1_s);
    EXPECT_EQ(histogram.quantile(0.5).value, value);
  }
}

TEST(histogram, extremes_and_mean__are_exact) {
  Histogram histogram;
  histogram.record({1'000'003});
  histogram.record({17});
  histogram.record({999'999'999'999});
  EXPECT_EQ(histogram.count(), 3U);
  EXPECT_EQ(histogram.min().value, 17);
  EXPECT_EQ(histogram.max().value, 999'999'999'999);
  EXPECT_DOUBLE_EQ(histogram.mean_ns(), (1'000'003.0 + 17.0 + 999'999'999'999.0) / 3.0);
  EXPECT_EQ(histogram.quantile(0), histogram.min());
  EXPECT_EQ(histogram.quantile(-1), histogram.min());
  EXPECT_EQ(histogram.quantile(std::nan("")), histogram.min());
  EXPECT_EQ(histogram.quantile(1), histogram.max());
  EXPECT_EQ(histogram.quantile(2), histogram.max());
}

TEST(histogram, mean__does_not_overflow) {
  Histogram histogram;
  histogram.record(Nanos::max(), 1'000'000);
  EXPECT_DOUBLE_EQ(histogram.mean_ns(), static_cast<double>(INT64_MAX));
  EXPECT_EQ(histogram.quantile(0.5), Nanos::max());
}

TEST(histogram, negative__counts_as_zero) {
  Histogram histogram;
  histogram.record({-5});
  EXPECT_EQ(histogram.count(), 1U);
  EXPECT_EQ(histogram.min(), Nanos{});
  EXPECT_EQ(histogram.max(), Nanos{});
}

TEST(histogram, record_many__is_record_repeated) {
  Histogram repeated;
  Histogram at_once;
  for (int i = 0; i < 7; ++i) repeated.record(3_us);
  at_once.record(3_us, 7);
  at_once.record(9_us, 0);
  EXPECT_EQ(at_once.count(), 7U);
  EXPECT_EQ(at_once.max(), repeated.max());
  EXPECT_EQ(at_once.mean_ns(), repeated.mean_ns());
}

TEST(histogram, quantile__against_sorted_values) {
  Prng prng(11);
  for (const Nanos mean : {300_ns, 10_us, 5_ms}) {
    Histogram histogram;
    std::vector<std::int64_t> values;
    for (int i = 0; i < 20'000; ++i) {
      values.push_back(prng.exponential(mean).value);
      histogram.record({values.back()});
    }
    std::sort(values.begin(), values.end());
    for (const double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
      const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
      const auto expected = static_cast<double>(values[rank - 1]);
      const auto reported = static_cast<double>(histogram.quantile(q).value);
      EXPECT_LE(std::abs(reported - expected), expected * kPromisedError + 0.5) << "q " << q;
    }
  }
}

TEST(histogram, quantile__smallest_value_that_covers_the_share) {
  Histogram histogram;
  for (std::int64_t value = 1; value <= 100; ++value) histogram.record({value});
  EXPECT_EQ(histogram.quantile(0.5).value, 50);
  EXPECT_EQ(histogram.quantile(0.501).value, 51);
  EXPECT_EQ(histogram.quantile(0.99).value, 99);
  EXPECT_EQ(histogram.quantile(1e-9).value, 1);
}

TEST(histogram, merge__equals_recording_into_one) {
  Prng prng(5);
  Histogram first;
  Histogram second;
  Histogram all;
  for (int i = 0; i < 5'000; ++i) {
    const Nanos value = prng.exponential(20_us);
    (i % 3 == 0 ? first : second).record(value);
    all.record(value);
  }
  Histogram other_order = second;
  other_order.merge(first);
  first.merge(second);
  for (const Histogram* merged : {&first, &other_order}) {
    EXPECT_EQ(merged->count(), all.count());
    EXPECT_EQ(merged->min(), all.min());
    EXPECT_EQ(merged->max(), all.max());
    EXPECT_EQ(merged->mean_ns(), all.mean_ns());
    for (const double q : {0.01, 0.5, 0.99, 0.999}) EXPECT_EQ(merged->quantile(q), all.quantile(q));
  }
  first.merge(Histogram{});
  EXPECT_EQ(first.min(), all.min());
  EXPECT_EQ(first.count(), all.count());
}

TEST(histogram, clear__is_as_new) {
  Histogram histogram;
  histogram.record(5_us);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.min(), Nanos{});
  histogram.record(7_us);
  EXPECT_EQ(histogram.min(), 7_us);
  EXPECT_EQ(histogram.max(), 7_us);
}

TEST(histogram, for_each__buckets_hold_their_values_and_do_not_overlap) {
  Histogram histogram;
  std::uint64_t total = 0;
  for (std::int64_t value = 1; value < INT64_MAX / 3; value = value * 2 + 1) {
    histogram.record({value});
    ++total;
  }
  std::uint64_t seen = 0;
  Nanos previous{-1};
  histogram.for_each([&](const Histogram::Bucket& bucket) {
    EXPECT_GT(bucket.lowest, previous);
    EXPECT_GE(bucket.highest, bucket.lowest);
    previous = bucket.highest;
    seen += bucket.count;
  });
  EXPECT_EQ(seen, total);
  EXPECT_EQ(histogram.count_at_or_below(Nanos::max()), total);
  EXPECT_EQ(histogram.count_at_or_below({0}), 0U);
  EXPECT_EQ(histogram.count_at_or_below({3}), 2U);  // 1 and 3
}

}  // namespace
}  // namespace rain
