#include "control/client_usage.h"

#include <gtest/gtest.h>

namespace rain::control {
namespace {

TEST(ClientUsage, usage_of__what_waits_is_wanted_beside_what_is_open) {
  EXPECT_EQ(usage_of({.outstanding = 7}), (ClientUsage{7, 7}));
  EXPECT_EQ(usage_of({.outstanding = 7, .waiting = 3}), (ClientUsage{7, 10}));
}

TEST(ClientUsage, usage_of__who_was_refused_wants_at_least_twice_what_it_has) {
  EXPECT_EQ(usage_of({.outstanding = 7, .refused = 1}), (ClientUsage{7, 14}));
  EXPECT_EQ(usage_of({.outstanding = 7, .refused = 20}), (ClientUsage{7, 27}));
  EXPECT_EQ(usage_of({.refused = 1}), (ClientUsage{0, 1})) << "with a share of none";
}

TEST(ClientUsage, usage_of__no_more_than_is_believed) {
  EXPECT_EQ(usage_of({.outstanding = UINT32_MAX, .refused = 1}), (ClientUsage{kMostRequests, kMostRequests}));
}

}  // namespace
}  // namespace rain::control
