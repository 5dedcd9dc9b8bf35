#include "control/client_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "control/registry_fixture.h"

namespace rain::control {
namespace {

using testing::expect_refused;

constexpr Nanos kLease = seconds(3);

ClientShares rack(std::uint32_t total) {
  ClientShares shares(kLease);
  shares.set_total(total);
  return shares;
}

ClientClaim client(const std::string& name, std::uint32_t weight = 1, std::uint64_t incarnation = 1) {
  return {.name = name, .incarnation = incarnation, .weight = weight};
}

TEST(ClientShares, enter__the_only_client_has_all) {
  ClientShares shares = rack(1000);
  EXPECT_EQ(shares.enter(client("a"), {})->share, 1000u);
}

TEST(ClientShares, heartbeat__a_share_is_lent_and_called_back) {
  ClientShares shares = rack(1000);
  const ClientId a = shares.enter(client("a"), {})->id;
  const ClientRow newcomer = *shares.enter(client("b"), {});
  EXPECT_EQ(newcomer.share, 0u) << "a has all, and has not heard of b yet";
  const ClientId b = newcomer.id;
  EXPECT_EQ(*shares.heartbeat(a, 900, 5000, {}), 938u) << "all but what an idle client keeps";
  EXPECT_EQ(*shares.heartbeat(b, 0, 2000, {}), 0u) << "a may not have heard that yet, and open more";
  EXPECT_EQ(*shares.heartbeat(a, 938, 5000, {}), 500u);
  EXPECT_EQ(*shares.heartbeat(b, 0, 2000, {}), 62u);
  // b is entitled to half: a is told less, and b gets what a no longer uses.
  EXPECT_EQ(*shares.heartbeat(a, 938, 5000, {}), 500u);
  EXPECT_EQ(*shares.heartbeat(b, 62, 2000, {}), 62u) << "a's requests are still in flight";
  EXPECT_EQ(*shares.heartbeat(a, 500, 5000, {}), 500u);
  EXPECT_EQ(*shares.heartbeat(b, 62, 2000, {}), 500u);
}

TEST(ClientShares, check_life__an_id_of_an_earlier_controller_is_another_clients) {
  ClientShares shares = rack(1000);
  const ClientId a = shares.enter(client("a", 1, 7), {})->id;
  EXPECT_TRUE(shares.check_life(a, 7));
  expect_refused(shares.check_life(a, 8), Reason::kUnknown, "register again");
  expect_refused(shares.check_life(a + 1, 7), Reason::kUnknown, "register again");
}

TEST(ClientShares, heartbeat__weights_decide_between_the_hungry) {
  ClientShares shares = rack(1000);
  const ClientId a = shares.enter(client("a", 1), {})->id;
  const ClientId b = shares.enter(client("b", 4), {})->id;
  for (int round = 0; round < 3; ++round) {
    for (const ClientId id : {a, b}) ASSERT_TRUE(shares.heartbeat(id, 0, 5000, {}));
  }
  EXPECT_NEAR(shares.rows()[0].share, 200, 2);
  EXPECT_NEAR(shares.rows()[1].share, 800, 2);
  ASSERT_TRUE(shares.order_weight("a", 4));
  for (int round = 0; round < 3; ++round) {
    for (const ClientId id : {a, b}) ASSERT_TRUE(shares.heartbeat(id, 0, 5000, {}));
  }
  EXPECT_NEAR(shares.rows()[0].share, 500, 2);
}

TEST(ClientShares, order_weight__outlives_the_client) {
  ClientShares shares = rack(1000);
  const ClientId a = shares.enter(client("a", 1), {})->id;
  ASSERT_TRUE(shares.order_weight("a", 7));
  ASSERT_TRUE(shares.leave(a));
  EXPECT_EQ(shares.enter(client("a", 1, 2), {})->weight, 7u);
}

TEST(ClientShares, expire__a_silent_client_keeps_its_share_until_its_lease_ends) {
  ClientShares shares = rack(100);
  shares.enter(client("a"), seconds(0));
  const ClientId b = shares.enter(client("b"), seconds(1))->id;
  EXPECT_EQ(shares.expire(seconds(2)), 0u);
  EXPECT_EQ(*shares.heartbeat(b, 0, 1000, seconds(2)), 0u);
  EXPECT_EQ(shares.expire(seconds(3)), 1u);
  EXPECT_EQ(*shares.heartbeat(b, 0, 1000, seconds(3)), 100u);
}

TEST(ClientShares, extend_leases__a_jump_expires_nobody) {
  ClientShares shares = rack(100);
  shares.enter(client("a"), seconds(0));
  shares.extend_leases(seconds(60));
  EXPECT_EQ(shares.expire(seconds(62)), 0u);
  EXPECT_EQ(shares.expire(seconds(63)), 1u);
}

TEST(ClientShares, enter__the_same_life_comes_back__keeps_its_id) {
  ClientShares shares = rack(100);
  const ClientId a = shares.enter(client("a"), {})->id;
  EXPECT_EQ(shares.enter(client("a"), seconds(1))->id, a);
}

TEST(ClientShares, enter__a_stranger_is_believed_up_to_what_nobody_holds) {
  ClientShares shares = rack(1000);
  ClientClaim first = client("a");
  first.in_use = 600;
  EXPECT_EQ(shares.enter(first, {})->in_use, 600u) << "it comes back to a controller that knows nothing";
  EXPECT_EQ(shares.overstated(), 0u);
  const ClientId a = shares.rows()[0].id;
  ASSERT_TRUE(shares.heartbeat(a, 100, 100, {}));
  ClientClaim liar = client("b");
  liar.in_use = UINT32_MAX;
  EXPECT_EQ(shares.enter(liar, {})->in_use, 0u) << "a has all";
  EXPECT_EQ(shares.overstated(), 1u);
  EXPECT_EQ(*shares.heartbeat(a, 100, 5000, {}), 938u);
  ASSERT_TRUE(shares.leave(shares.rows()[1].id));
  EXPECT_EQ(shares.enter(liar, {})->in_use, 0u) << "a may not have heard of its lower share";
  EXPECT_EQ(*shares.heartbeat(a, 938, 5000, {}), 938u);
  ASSERT_TRUE(shares.leave(shares.rows()[1].id));
  EXPECT_EQ(shares.enter(liar, {})->in_use, 62u);
  EXPECT_GT(*shares.heartbeat(a, 100, 5000, {}), 900u) << "as beside any client that wants 62";
  EXPECT_LE(shares.committed(), 1000u);
}

TEST(ClientShares, heartbeat__more_in_flight_than_was_lent__is_cut_and_counted) {
  ClientShares shares = rack(1000);
  const ClientId a = shares.enter(client("a"), {})->id;
  const ClientId b = shares.enter(client("b"), {})->id;
  ASSERT_EQ(*shares.heartbeat(a, 0, 5000, {}), 938u);
  ASSERT_EQ(*shares.heartbeat(b, 0, 5000, {}), 0u);
  ASSERT_EQ(*shares.heartbeat(a, 0, 5000, {}), 500u);
  ASSERT_EQ(*shares.heartbeat(b, 0, 5000, {}), 62u);
  ASSERT_TRUE(shares.heartbeat(b, 900, 5000, {}));
  EXPECT_EQ(shares.rows()[1].in_use, 62u);
  EXPECT_EQ(shares.overstated(), 1u);
  ClientClaim again = client("b");
  again.in_use = 900;
  EXPECT_EQ(shares.enter(again, {})->in_use, 62u);
  EXPECT_EQ(shares.overstated(), 2u);
  ASSERT_EQ(*shares.heartbeat(a, 0, 5000, {}), 500u);
  EXPECT_EQ(*shares.heartbeat(b, 0, 5000, {}), 500u);
}

// The answers that lower its share are lost on their way: what it has in flight meanwhile is no lie.
TEST(ClientShares, enter__works_by_the_last_share_that_it_heard) {
  ClientShares shares = rack(1000);
  const ClientId a = shares.enter(client("a"), {})->id;
  const ClientId b = shares.enter(client("b"), {})->id;
  ASSERT_EQ(*shares.heartbeat(a, 0, 5000, {}), 938u);
  ASSERT_TRUE(shares.heartbeat(b, 0, 5000, {}));
  ASSERT_EQ(*shares.heartbeat(a, 0, 5000, {}), 500u) << "not heard";
  ClientClaim again = client("a");
  again.in_use = 100;
  ASSERT_EQ(shares.enter(again, {})->share, 500u) << "not heard either";
  again.in_use = 938;
  EXPECT_EQ(shares.enter(again, {})->in_use, 938u);
  EXPECT_EQ(shares.overstated(), 0u);
}

TEST(ClientShares, bad_input__is_refused_with_a_reason) {
  ClientShares shares = rack(2);
  expect_refused(shares.enter(client(""), {}), Reason::kOutOfRange, "a name of 1 to 64 bytes");
  expect_refused(shares.enter(client("a", 0), {}), Reason::kOutOfRange, "weight 0: 1 to 1000 is allowed");
  const ClientId a = shares.enter(client("a"), {})->id;
  expect_refused(shares.enter(client("a", 1, 2), {}), Reason::kDuplicate, "another client has this name");
  ASSERT_TRUE(shares.enter(client("b"), {}));
  expect_refused(shares.enter(client("c"), {}), Reason::kNoRoom, "room for 2 requests in all");
  expect_refused(shares.heartbeat(99, 0, 0, {}), Reason::kUnknown, "client id 99: unknown");
  expect_refused(shares.heartbeat(a, UINT32_MAX, 0, {}), Reason::kNonsense, "4294967295 requests in flight");
  expect_refused(shares.order_weight("z", 1), Reason::kUnknown, "client \"z\": unknown");
  expect_refused(shares.order_weight("a", 1001), Reason::kOutOfRange, "weight 1001");
  expect_refused(shares.leave(99), Reason::kUnknown, "client id 99");
}

// Whatever clients do, the shares that were told never add up to more than there is.
TEST(ClientShares, random__never_more_than_the_total) {
  Prng random(3);
  for (int run = 0; run < 200; ++run) {
    const auto total = static_cast<std::uint32_t>(8 + random.below(500));
    ClientShares shares = rack(total);
    std::map<ClientId, std::uint32_t> told;
    Nanos now{};
    for (int step = 0; step < 300; ++step) {
      now += milliseconds(static_cast<std::int64_t>(random.below(1000)));
      shares.expire(now);
      std::erase_if(told, [&](const auto& entry) {
        for (const ClientRow& row : shares.rows()) {
          if (row.id == entry.first) return false;
        }
        return true;
      });
      const auto which = random.below(8);
      if (random.chance(0.3)) {
        const auto row = shares.enter(
            client(std::string(1, static_cast<char>('a' + which)), static_cast<std::uint32_t>(1 + which % 3)),
            now);
        if (row) told[row->id] = row->share;
      } else if (!told.empty()) {
        const auto at = std::next(told.begin(), static_cast<std::ptrdiff_t>(which % told.size()));
        // A client has in flight what it was once allowed, and less and less.
        const auto in_use = static_cast<std::uint32_t>(random.below(at->second + 1));
        at->second =
            *shares.heartbeat(at->first, in_use, static_cast<std::uint32_t>(random.below(2000)), now);
      }
      std::uint64_t sum = 0;
      for (const auto& [id, share] : told) sum += share;
      ASSERT_LE(sum, total) << "run " << run << ", step " << step;
      ASSERT_LE(shares.committed(), total);
    }
  }
}

}  // namespace
}  // namespace rain::control
