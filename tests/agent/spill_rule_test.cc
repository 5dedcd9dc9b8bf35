// The rule at its ends and between, and that noise does not reach the switch.
#include "agent/spill_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/prng.h"

namespace rain::agent {
namespace {

constexpr double kUs = 1000;
constexpr Nanos kInterval = milliseconds(10);

SliceLoad load(double busy, double service_us, double round_trip_us = 2) {
  return {.workers = 32,
          .busy = busy,
          .service_ns = service_us * kUs,
          .token_round_trip_ns = round_trip_us * kUs};
}

/// An interval of 32 workers that are busy for this share of it.
ServiceStatistics interval(double busy, double service_us, Nanos round_trip = microseconds(2)) {
  ServiceStatistics sum;
  sum.sum_ns = busy * 32 * static_cast<double>(kInterval.value);
  sum.tasks = static_cast<std::uint64_t>(sum.sum_ns / (service_us * kUs));
  sum.token_round_trip = round_trip;
  return sum;
}

TEST(SpillFor, spill__a_task_a_worker_while_the_round_trip_is_nothing) {
  EXPECT_EQ(spill_for(load(0.5, 1000)), 32u);
  EXPECT_EQ(spill_for(load(0.9, 10'000)), 32u);
}

TEST(SpillFor, spill__of_the_formula) {
  EXPECT_EQ(spill_for(load(0.7, 10)), 14u);  // slack 0.16: 32 / (1 + 0.2 / 0.16)
  EXPECT_EQ(spill_for(load(0.95, 10)), 2u);  // slack 0.0125, a quarter of what is idle
  EXPECT_EQ(spill_for(load(0.9, 55)), 21u);  // slack 0.067
  EXPECT_EQ(spill_for(load(1.0, 10)), 1u);   // slack at its least
}

TEST(SpillFor, spill__falls_with_load_and_rises_with_service) {
  for (double service_us : {1.0, 3.0, 10.0, 55.0, 200.0}) {
    unsigned last = 32;
    for (double busy = 0; busy <= 1.001; busy += 0.01) {
      const unsigned spill = spill_for(load(busy, service_us));
      EXPECT_LE(spill, last);
      EXPECT_LE(spill, spill_for(load(busy, service_us * 2)));
      last = spill;
    }
  }
}

TEST(SpillFor, spill__default_when_a_figure_is_missing_or_nonsense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(spill_for({}), 0u);
  EXPECT_EQ(spill_for(load(0.5, 10, 0)), 8u);
  EXPECT_EQ(spill_for(load(0.5, 0)), 8u);
  for (const double nonsense : {kNan, kInfinite, -1.0}) {
    EXPECT_EQ(spill_for(load(0.5, nonsense)), 8u);
    EXPECT_EQ(spill_for(load(0.5, 10, nonsense)), 8u);
  }
  EXPECT_EQ(spill_for(load(kNan, 10)), 8u);
  EXPECT_LE(spill_for(load(7, 10)), 32u);
}

TEST(SpillRule, on_interval__default_until_a_round_trip_was_seen) {
  SpillRule rule(1);
  EXPECT_EQ(rule.on_interval(0, 32, interval(0.5, 100, Nanos{}), kInterval), 8u);
  EXPECT_EQ(rule.on_interval(0, 32, interval(0.5, 100), kInterval), 31u);
  EXPECT_EQ(rule.on_interval(0, 32, interval(0.5, 100, Nanos{}), kInterval), 31u);  // remembered
}

TEST(SpillRule, on_interval__follows_a_new_load) {
  SpillRule rule(2);
  for (int i = 0; i < 200; ++i) rule.on_interval(1, 32, interval(0.5, 100), kInterval);
  EXPECT_GE(rule.spill(1), 28u);
  for (int i = 0; i < 200; ++i) rule.on_interval(1, 32, interval(0.95, 10), kInterval);
  EXPECT_NEAR(rule.spill(1), 2, 1);
  EXPECT_EQ(rule.spill(0), 0u);
}

TEST(SpillRule, on_interval__idle_slice_keeps_its_threshold) {
  SpillRule rule(1);
  rule.on_interval(0, 32, interval(0.0, 100), kInterval);
  const unsigned before = rule.on_interval(0, 32, interval(0.2, 100), kInterval);
  for (int i = 0; i < 100; ++i) rule.on_interval(0, 32, {}, kInterval);
  EXPECT_NEAR(rule.spill(0), before, 1);
}

TEST(SpillRule, on_interval__another_number_of_workers_counts_at_once) {
  SpillRule rule(1);
  for (int i = 0; i < 100; ++i) rule.on_interval(0, 32, interval(0.3, 100), kInterval);
  ServiceStatistics half = interval(0.3, 100);
  half.sum_ns /= 2;
  half.tasks /= 2;
  EXPECT_EQ(rule.on_interval(0, 16, half, kInterval), 16u);
}

TEST(SpillRule, on_interval__noise_does_not_reach_the_switch) {
  SpillRule rule(1);
  Prng prng(1);
  const auto noisy = [&prng](double value, double by) { return value * (1 + by * (2 * prng.unit() - 1)); };
  for (int i = 0; i < 500; ++i)
    rule.on_interval(0, 32, interval(noisy(0.8, 0.05), noisy(55, 0.05)), kInterval);
  unsigned last = rule.spill(0), changes = 0;
  for (int i = 0; i < 5000; ++i) {
    const unsigned now = rule.on_interval(0, 32, interval(noisy(0.8, 0.05), noisy(55, 0.05)), kInterval);
    changes += now != last ? 1u : 0u;
    last = now;
  }
  EXPECT_EQ(changes, 0u);
}

}  // namespace
}  // namespace rain::agent
