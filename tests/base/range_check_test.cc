#include "base/range_check.h"

#include <gtest/gtest.h>

namespace rain {
namespace {

TEST(RangeCheck, range_problem__accepts_its_ends) {
  EXPECT_EQ(range_problem("quota", 1, 1, 8), "");
  EXPECT_EQ(range_problem("quota", 8, 1, 8), "");
  EXPECT_EQ(range_problem("timeout", seconds(1), seconds(1), seconds(1)), "");
}

TEST(RangeCheck, range_problem__names_key_value_and_limits) {
  EXPECT_EQ(range_problem("quota", 0, 1, 8), "quota is 0; allowed: 1..8");
  EXPECT_EQ(range_problem("quota", UINT64_MAX, 1, 8), "quota is 18446744073709551615; allowed: 1..8");
  EXPECT_EQ(range_problem("timeout", seconds(2), microseconds(1), milliseconds(1)),
            "timeout is 2s; allowed: 1us..1ms");
  EXPECT_EQ(range_problem("timeout", Nanos{-1}, Nanos{}, seconds(1)), "timeout is -1ns; allowed: 0s..1s");
}

}  // namespace
}  // namespace rain
