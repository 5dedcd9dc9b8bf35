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

}  // namespace
}  // namespace rain
