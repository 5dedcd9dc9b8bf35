// DropCounters: each reason apart, the total without kNone, and only what occurred is visited.
#include "base/drop_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace rain {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(drop_counters, add__counts_each_reason_apart) {
  DropCounters counters;
  counters.add(DropReason::kBadMagic);
  counters.add(DropReason::kQueueFull, 5);
  counters.add(DropReason::kBadMagic);
  EXPECT_EQ(counters.get(DropReason::kBadMagic), 2U);
  EXPECT_EQ(counters.get(DropReason::kQueueFull), 5U);
  EXPECT_EQ(counters.get(DropReason::kStaleEpoch), 0U);
  EXPECT_EQ(counters.total(), 7U);
}

TEST(drop_counters, total__leaves_out_none) {
  DropCounters counters;
  counters.add(DropReason::kNone, 3);
  EXPECT_EQ(counters.get(DropReason::kNone), 3U);
  EXPECT_EQ(counters.total(), 0U);
}

TEST(drop_counters, for_each__visits_what_occurred_in_list_order) {
  DropCounters counters;
  counters.add(DropReason::kHandlerFailed);
  counters.add(DropReason::kTruncatedHeader, 2);
  counters.add(DropReason::kNone);
  std::vector<std::pair<DropReason, std::uint64_t>> seen;
  counters.for_each([&](DropReason reason, std::uint64_t count) { seen.emplace_back(reason, count); });
  EXPECT_THAT(seen,
              ElementsAre(Pair(DropReason::kTruncatedHeader, 2U), Pair(DropReason::kHandlerFailed, 1U)));
}

}  // namespace
}  // namespace rain
