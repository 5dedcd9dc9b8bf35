// exact_exp against the C library's exp, which is right to the last bit or nearly so.
#include "workload/exact_exp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/prng.h"

namespace rain::workload {
namespace {

TEST(exact_exp, exact_exp__near_the_library) {
  Prng random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double x = (random.unit() - 0.5) * (i % 2 == 0 ? 2 : 1400);
    const double expected = std::exp(x);
    ASSERT_NEAR(exact_exp(x) / expected, 1, 1e-13) << x;
  }
}

TEST(exact_exp, exact_exp__known_values) {
  EXPECT_EQ(exact_exp(0), 1);
  EXPECT_DOUBLE_EQ(exact_exp(1), 2.718281828459045);
  EXPECT_DOUBLE_EQ(exact_exp(-1), 0.36787944117144233);
}

TEST(exact_exp, exact_exp__clamps_instead_of_overflowing) {
  EXPECT_EQ(exact_exp(1e300), exact_exp(700));
  EXPECT_EQ(exact_exp(-1e300), exact_exp(-700));
  EXPECT_TRUE(std::isfinite(exact_exp(700)));
  EXPECT_GT(exact_exp(-700), 0);
}

}  // namespace
}  // namespace rain::workload
