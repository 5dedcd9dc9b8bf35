#include "control/shares.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/prng.h"

namespace rain::control {
namespace {

using Shares = std::vector<std::uint32_t>;

TEST(Shares, divide_shares__all_want_everything__by_weight) {
  const std::vector<ShareClaim> claims = {{1, 10000}, {3, 10000}};
  const Shares shares = divide_shares(400, claims);
  EXPECT_NEAR(shares[0], 100, 2);
  EXPECT_NEAR(shares[1], 300, 2);
  EXPECT_EQ(shares[0] + shares[1], 400u);
}

TEST(Shares, divide_shares__one_is_idle__lends_all_but_the_kept_part) {
  const std::vector<ShareClaim> claims = {{1, 0}, {1, 10000}};
  const Shares shares = divide_shares(1600, claims);
  EXPECT_NEAR(shares[0], 800 / kKeptPart, 2);
  EXPECT_EQ(shares[0] + shares[1], 1600u);
}

TEST(Shares, divide_shares__nobody_wants__all_have_room_to_grow) {
  const std::vector<ShareClaim> claims = {{1, 0}, {1, 0}, {2, 0}};
  const Shares shares = divide_shares(1000, claims);
  EXPECT_NEAR(shares[0], 250, 2);
  EXPECT_NEAR(shares[2], 500, 2);
}

TEST(Shares, divide_shares__little_room__one_each) {
  const std::vector<ShareClaim> claims = {{1000, 500}, {1, 500}, {1, 0}};
  EXPECT_EQ(divide_shares(3, claims), (Shares{1, 1, 1}));
}

TEST(Shares, divide_shares__no_claims) { EXPECT_TRUE(divide_shares(100, {}).empty()); }

TEST(Shares, divide_shares__random__fair_and_never_too_much) {
  Prng random(1);
  for (int run = 0; run < 20000; ++run) {
    const std::size_t count = 1 + random.below(8);
    std::vector<ShareClaim> claims;
    std::uint64_t weights = 0;
    for (std::size_t i = 0; i < count; ++i) {
      claims.push_back({static_cast<std::uint32_t>(1 + random.below(kMaxShareWeight)),
                        static_cast<std::uint32_t>(random.below(2000))});
      weights += claims.back().weight;
    }
    const auto total = static_cast<std::uint32_t>(count + random.below(4000));
    const Shares shares = divide_shares(total, claims);
    ASSERT_EQ(shares.size(), count);
    ASSERT_EQ(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}), total) << "run " << run;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_GE(shares[i], 1u);
      // Whoever is short has at least its part by weight, but for roundings.
      const double part = double(total) * claims[i].weight / double(weights);
      if (shares[i] < claims[i].wanted) {
        ASSERT_GE(shares[i] + 2.0 * double(count), part) << "run " << run << ", client " << i;
      }
    }
  }
}

}  // namespace
}  // namespace rain::control
