// Ids are reused as late as possible, and never while an answer to their last use is due.
#include "rpc/request_ids.h"

#include <gtest/gtest.h>

#include <set>

namespace rain::rpc {
namespace {

constexpr RequestIds::Slot kSlot = 3;

TEST(RequestIds, take__uses_every_id_before_one_twice) {
  RequestIds ids(RequestIds::kAll);
  std::set<std::uint16_t> used;
  for (std::uint32_t i = 0; i < RequestIds::kAll; ++i) {
    const auto id = ids.take(kSlot, {});
    ASSERT_TRUE(id);
    EXPECT_TRUE(used.insert(id->value).second);
    ids.release(*id);
  }
}

TEST(RequestIds, take__ends_when_all_are_open) {
  RequestIds ids(2);
  const auto first = ids.take(0, {});
  ASSERT_TRUE(first && ids.take(1, {}));
  EXPECT_FALSE(ids.take(2, {}));
  ids.release(*first);
  EXPECT_EQ(ids.take(2, {}), first);
}

TEST(RequestIds, find__knows_open_ids_only) {
  RequestIds ids(4);
  const RequestId id = *ids.take(kSlot, {});
  EXPECT_EQ(ids.find(id), kSlot);
  ids.release(id);
  EXPECT_EQ(ids.find(id), RequestIds::kNoSlot);
  EXPECT_EQ(ids.find({4}), RequestIds::kNoSlot) << "outside the ids in use";
  EXPECT_EQ(ids.find({65535}), RequestIds::kNoSlot);
}

TEST(RequestIds, release_after__rests_until_the_time) {
  RequestIds ids(2);
  const RequestId id = *ids.take(0, {});
  ids.release_after(id, 1, microseconds(10));
  EXPECT_EQ(ids.resting(), 1u);
  ASSERT_NE(ids.take(1, {}), id);
  EXPECT_FALSE(ids.take(2, microseconds(10) - Nanos{1}));
  EXPECT_EQ(ids.take(2, microseconds(10)), id);
  EXPECT_EQ(ids.resting(), 0u);
}

TEST(RequestIds, release_after__rests_until_all_answers_have_come) {
  RequestIds ids(2);
  const RequestId id = *ids.take(0, {});
  const RequestId other = *ids.take(1, {});
  ids.release_after(id, 2, seconds(1));
  ids.answered_late(id);
  EXPECT_FALSE(ids.take(0, {}));
  ids.answered_late(id);
  EXPECT_EQ(ids.take(0, {}), id);
  ids.answered_late(other);  // open: not late
  ids.release_after(other, 1, seconds(1));
  EXPECT_FALSE(ids.take(1, {}));
}

TEST(RequestIds, release_after__a_long_rest_holds_up_no_short_one) {
  RequestIds ids(8);
  std::vector<RequestId> all;
  for (RequestIds::Slot i = 0; i < 8; ++i) all.push_back(*ids.take(i, {}));
  for (const RequestId id : all) ids.release_after(id, 1, id == all[5] ? microseconds(1) : seconds(100));
  unsigned tries = 0;
  std::optional<RequestId> id;
  while (!(id = ids.take(0, microseconds(1))) && ++tries < 8) {
  }
  EXPECT_EQ(id, all[5]);
}

TEST(RequestIds, answered_late__of_free_and_foreign_ids_changes_nothing) {
  RequestIds ids(2);
  ids.answered_late({0});
  ids.answered_late({9});
  EXPECT_EQ(ids.free(), 2u);
}

using RequestIdsDeathTest = testing::Test;

TEST_F(RequestIdsDeathTest, release__of_a_free_id_is_a_bug) {
  RequestIds ids(2);
  EXPECT_DEATH(ids.release({0}), "assertion failed");
}

}  // namespace
}  // namespace rain::rpc
