// The pool of requests in flight.
#include "sim/request_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace rain::sim {
namespace {

TEST(RequestPool, take__hands_out_each_request_once_until_it_is_full) {
  RequestPool pool(4);
  std::set<RequestIndex> taken;
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(pool.full());
    taken.insert(pool.take());
  }
  EXPECT_EQ(taken.size(), 4u);
  EXPECT_TRUE(pool.full());
  EXPECT_DEATH(pool.take(), "full");
}

TEST(RequestPool, give_back__the_last_one_back_is_the_next_one_out) {
  RequestPool pool(8);
  const RequestIndex first = pool.take();
  const RequestIndex second = pool.take();
  pool.give_back(first);
  pool.give_back(second);
  EXPECT_EQ(pool.take(), second);
  EXPECT_EQ(pool.take(), first);
  EXPECT_EQ(pool.high_water(), 2u);
}

TEST(RequestPool, take__keeps_what_is_in_use_apart) {
  RequestPool pool(3);
  const RequestIndex a = pool.take();
  const RequestIndex b = pool.take();
  pool[a].at = Nanos{1};
  pool[b].at = Nanos{2};
  EXPECT_EQ(pool[a].at, Nanos{1});
  EXPECT_EQ(pool[b].at, Nanos{2});
}

}  // namespace
}  // namespace rain::sim
