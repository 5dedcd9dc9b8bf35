// The random numbers: published vectors, pinned draws (they must be the same on every machine), and the
// shapes of the distributions with bounds far outside chance for the fixed seeds.
#include "base/prng.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace rain {
namespace {

using namespace rain::literals;

TEST(prng, splitmix64__published_vector) {
  SplitMix64 mix(1234567);
  for (const std::uint64_t expected : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                       4593380528125082431U, 16408922859458223821U}) {
    EXPECT_EQ(mix.next(), expected);
  }
}

TEST(prng, next__published_vector) {
  Prng prng = Prng::from_state({1, 2, 3, 4});
  for (const std::uint64_t expected :
       {std::uint64_t{11520}, std::uint64_t{0}, std::uint64_t{1509978240}, std::uint64_t{1215971899390074240},
        std::uint64_t{1216172134540287360}, std::uint64_t{607988272756665600},
        std::uint64_t{16172922978634559625U}, std::uint64_t{8476171486693032832},
        std::uint64_t{10595114339597558777U}, std::uint64_t{2904607092377533576}}) {
    EXPECT_EQ(prng.next(), expected);
  }
}

TEST(prng, seed__decides_everything) {
  Prng a(42);
  Prng b(42);
  Prng c(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = a.next();
    EXPECT_EQ(value, b.next());
    differs = differs || value != c.next();
  }
  EXPECT_TRUE(differs);
}

TEST(prng, streams__differ_and_the_first_is_the_seed_alone) {
  Prng plain(7);
  Prng stream0(7, 0);
  Prng stream1(7, 1);
  Prng stream2(7, 2);
  const std::uint64_t first = plain.next();
  EXPECT_EQ(first, stream0.next());
  const std::uint64_t second = stream1.next();
  EXPECT_NE(first, second);
  EXPECT_NE(second, stream2.next());
}

TEST(prng, below__stays_below_and_reaches_all) {
  Prng prng(1);
  for (const std::uint64_t bound : {1U, 2U, 3U, 7U, 64U}) {
    std::array<int, 64> seen{};
    for (int i = 0; i < 5'000; ++i) {
      const std::uint64_t value = prng.below(bound);
      ASSERT_LT(value, bound);
      ++seen[value];
    }
    for (std::uint64_t value = 0; value < bound; ++value)
      EXPECT_GT(seen[value], 0) << value << " of " << bound;
  }
}

TEST(prng, below__has_no_modulo_bias) {
  // Of a bound of 3 * 2^62, plain next() % bound would give the lowest third half of all draws.
  Prng prng(2);
  const std::uint64_t bound = std::uint64_t{3} << 62;
  int lowest_third = 0;
  for (int i = 0; i < 30'000; ++i) lowest_third += prng.below(bound) < bound / 3 ? 1 : 0;
  EXPECT_NEAR(lowest_third, 10'000, 500);
}

TEST(prng, unit__is_uniform_in_the_half_open_interval) {
  Prng prng(3);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = prng.unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);
  EXPECT_LT(Prng::from_state({0, ~std::uint64_t{0}, 0, 0}).unit(), 1.0);
}

TEST(prng, chance__ends_are_certain) {
  Prng prng(4);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_FALSE(prng.chance(0.0));
    ASSERT_TRUE(prng.chance(1.0));
    hits += prng.chance(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 2'500, 200);
}

TEST(prng, negative_ln__agrees_with_libm) {
  Prng prng(5);
  const auto check = [](std::uint64_t x) {
    const long double expected = -(std::log(static_cast<long double>(x)) - 64 * std::log(2.0L));
    const auto actual = static_cast<long double>(detail::negative_ln_q57(x)) * 0x1p-57L;
    EXPECT_LE(std::abs(actual - expected), 0x1p-53L) << x;
  };
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (const std::uint64_t x : {power, power | 1, power | (power >> 1), power | (power - 1)}) check(x);
  }
  for (int i = 0; i < 20'000; ++i) check((prng.next() | 1) >> prng.below(64) | 1);
}

TEST(prng, negative_ln__never_rises) {
  // Across all borders of the table's intervals.
  for (std::uint64_t interval = 0; interval < 256; ++interval) {
    const std::uint64_t border = (std::uint64_t{1} << 63) + (interval << 55);
    EXPECT_GE(detail::negative_ln_q57(border - 1024), detail::negative_ln_q57(border + 1024)) << interval;
  }
  EXPECT_EQ(detail::negative_ln_q57(UINT64_MAX), 0U);
}

TEST(prng, exponential__mean_and_tail) {
  Prng prng(6);
  double sum = 0;
  int beyond_3 = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = prng.exponential();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 45.0);
    sum += value;
    beyond_3 += value > 3.0 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 100'000, 1.0, 0.02);
  EXPECT_NEAR(beyond_3, 100'000 * std::exp(-3.0), 400);
}

TEST(prng, exponential_nanos__is_the_scaled_draw) {
  Prng a(8);
  Prng b(8);
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_NEAR(static_cast<double>(a.exponential(1_ms).value), b.exponential() * 1e6, 1.0);
  }
  EXPECT_EQ(a.exponential(Nanos{}), Nanos{});
}

TEST(prng, draws__are_pinned) {
  Prng prng(2024);
  EXPECT_EQ(prng.next(), 1029197146548041518U);
  EXPECT_EQ(prng.below(1'000'000), 782103U);
  EXPECT_EQ(prng.unit(), 0x1.272314b15ee5p-4);
  EXPECT_EQ(prng.exponential(), 0x1.d5988ab87e588p+0);
  EXPECT_EQ(prng.exponential(1_s).value, 256635200);
}

TEST(prng, everything__works_at_compile_time) {
  static_assert(Prng(1).next() != 0);
  static_assert(Prng(1).below(10) < 10);
  static_assert(Prng(1).unit() < 1.0);
  static_assert(Prng(1).exponential(microseconds(1)).value >= 0);
  SUCCEED();
}

}  // namespace
}  // namespace rain
