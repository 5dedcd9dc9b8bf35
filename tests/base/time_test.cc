// Nanos: arithmetic, literals and the saturating wire form.
#include "base/time.h"

#include <gtest/gtest.h>

namespace rain {
namespace {

using namespace rain::literals;

TEST(time, units__are_multiples_of_each_other) {
  EXPECT_EQ(1_us, 1'000_ns);
  EXPECT_EQ(1_ms, 1'000_us);
  EXPECT_EQ(1_s, 1'000_ms);
  EXPECT_EQ(microseconds(3), 3_us);
  EXPECT_EQ(milliseconds(3), 3_ms);
  EXPECT_EQ(seconds(3), 3_s);
}

TEST(time, arithmetic__keeps_the_unit) {
  Nanos time = 10_us;
  time += 5_us;
  time -= 1_us;
  EXPECT_EQ(time, 14_us);
  EXPECT_EQ((2_us + 3_us) * 4, 20_us);
  EXPECT_EQ((9_us - 10_us), Nanos{-1'000});
  EXPECT_EQ(10_us / 4, 2'500_ns);
  EXPECT_LT(Nanos{-1}, Nanos{});
  EXPECT_GT(Nanos::max(), seconds(9'000'000'000));
}

TEST(time, saturate_to_u32__at_both_ends) {
  EXPECT_EQ(saturate_to_u32(Nanos{-1}), 0U);
  EXPECT_EQ(saturate_to_u32(Nanos{}), 0U);
  EXPECT_EQ(saturate_to_u32(1_us), 1'000U);
  EXPECT_EQ(saturate_to_u32(Nanos{UINT32_MAX}), UINT32_MAX);
  EXPECT_EQ(saturate_to_u32(Nanos{std::int64_t{UINT32_MAX} + 1}), UINT32_MAX);
  EXPECT_EQ(saturate_to_u32(Nanos::max()), UINT32_MAX);
}

}  // namespace
}  // namespace rain
