// monotonic_now(): never falls. How fast it rises is not asserted: tests assert no wall time.
#include "base/clock.h"

#include <gtest/gtest.h>

namespace rain {
namespace {

/// Far more than any clock needs to tick once; a clock that stands fails the test instead of hanging it.
constexpr int kReads = 5'000'000;

TEST(clock, monotonic_now__never_falls) {
  Nanos last = monotonic_now();
  EXPECT_GT(last.value, 0);
  for (int i = 0; i < 1000; ++i) {
    const Nanos now = monotonic_now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(clock, monotonic_now__moves) {
  const Nanos start = monotonic_now();
  Nanos now = start;
  for (int i = 0; i < kReads && now == start; ++i) now = monotonic_now();
  EXPECT_GT(now, start);
}

TEST(clock, wall_clock_now__is_after_2020) { EXPECT_GT(wall_clock_now(), seconds(50LL * 365 * 86'400)); }

TEST(clock, thread_cpu_time__rises_with_work) {
  const Nanos start = thread_cpu_time();
  Nanos now = start;
  for (int i = 0; i < kReads && now == start; ++i) now = thread_cpu_time();
  EXPECT_GT(now, start);
}

TEST(clock, to_timespec__seconds_and_the_rest) {
  const timespec time = to_timespec(seconds(3) + Nanos{999'999'999});
  EXPECT_EQ(time.tv_sec, 3);
  EXPECT_EQ(time.tv_nsec, 999'999'999);
}

}  // namespace
}  // namespace rain
