// monotonic_now(): never falls. How fast it rises is not asserted: tests assert no wall time.
#include "base/clock.h"

#include <gtest/gtest.h>

namespace rain {
namespace {

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
  while (monotonic_now() == start) {
  }
  SUCCEED();
}

TEST(clock, wall_clock_offset__leads_to_a_time_after_2020) {
  EXPECT_GT(wall_clock_offset() + monotonic_now(), seconds(50LL * 365 * 86'400));
}

TEST(clock, thread_cpu_time__rises_with_work) {
  const Nanos start = thread_cpu_time();
  while (thread_cpu_time() == start) {
  }
  EXPECT_GT(thread_cpu_time(), start);
}

}  // namespace
}  // namespace rain
