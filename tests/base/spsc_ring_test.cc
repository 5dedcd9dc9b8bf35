// SpscRing: order, bounds, wrap-around, and a run of two threads that the thread sanitizer watches.
#include "base/spsc_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>

namespace rain {
namespace {

TEST(spsc_ring, push_pop__first_in_first_out_across_the_wrap) {
  SpscRing<int> ring(4);
  EXPECT_EQ(ring.capacity(), 4U);
  int next_in = 0;
  int next_out = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring.try_push(next_in++));
    for (int i = 0; i < 3; ++i) ASSERT_EQ(ring.try_pop(), next_out++);
    ASSERT_TRUE(ring.empty());
  }
}

TEST(spsc_ring, full__refuses_and_keeps_the_value) {
  SpscRing<std::unique_ptr<int>> ring(2);
  EXPECT_TRUE(ring.try_push(std::make_unique<int>(1)));
  EXPECT_TRUE(ring.try_push(std::make_unique<int>(2)));
  auto third = std::make_unique<int>(3);
  EXPECT_FALSE(ring.try_push(std::move(third)));
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(ring.size(), 2U);
  EXPECT_EQ(**ring.try_pop(), 1);
  EXPECT_TRUE(ring.try_push(std::move(third)));
  EXPECT_EQ(**ring.try_pop(), 2);
  EXPECT_EQ(**ring.try_pop(), 3);
}

TEST(spsc_ring, empty__gives_nothing) {
  SpscRing<int> ring(1);
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.front(), nullptr);
  EXPECT_EQ(ring.try_pop(), std::nullopt);
  std::array<int, 4> out{};
  EXPECT_EQ(ring.pop_batch(out), 0U);
}

TEST(spsc_ring, capacity_of_one__works) {
  SpscRing<int> ring(1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(ring.try_push(i));
    EXPECT_FALSE(ring.try_push(i));
    EXPECT_EQ(ring.try_pop(), i);
  }
}

TEST(spsc_ring, front__stays_until_pop) {
  SpscRing<int> ring(4);
  ASSERT_TRUE(ring.try_push(1));
  ASSERT_TRUE(ring.try_push(2));
  EXPECT_EQ(*ring.front(), 1);
  EXPECT_EQ(*ring.front(), 1);
  ring.pop();
  EXPECT_EQ(*ring.front(), 2);
  EXPECT_EQ(ring.size(), 1U);
}

TEST(spsc_ring, pop_batch__takes_what_is_there_and_no_more) {
  SpscRing<int> ring(8);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(ring.try_push(i));
  std::array<int, 4> out{};
  ASSERT_EQ(ring.pop_batch(out), 4U);
  EXPECT_EQ(out, (std::array<int, 4>{0, 1, 2, 3}));
  ASSERT_EQ(ring.pop_batch(out), 2U);
  EXPECT_EQ(out[0], 4);
  EXPECT_EQ(out[1], 5);
}

TEST(spsc_ring_death, capacity__must_be_a_power_of_two) {
  EXPECT_DEATH(SpscRing<int>(3), "assertion failed");
  EXPECT_DEATH(SpscRing<int>(0), "assertion failed");
}

TEST(spsc_ring_death, pop__needs_a_front) {
  SpscRing<int> ring(2);
  EXPECT_DEATH(ring.pop(), "assertion failed");
}

TEST(spsc_ring, two_threads__everything_arrives_once_in_order) {
  struct Item {
    std::uint64_t number = 0;
    std::uint64_t check = 0;
  };
  constexpr std::uint64_t kItems = 100'000;
  SpscRing<Item> ring(64);
  std::thread producer([&ring] {
    for (std::uint64_t i = 0; i < kItems;) {
      if (ring.try_push(Item{i, ~i})) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::array<Item, 16> batch{};
  std::uint64_t expected = 0;
  bool intact = true;
  while (expected < kItems) {
    const std::size_t count = ring.pop_batch(batch);
    if (count == 0) std::this_thread::yield();
    for (std::size_t i = 0; i < count; ++i, ++expected) {
      intact = intact && batch[i].number == expected && batch[i].check == ~expected;
    }
    intact = intact && ring.size() <= ring.capacity();
  }
  producer.join();
  EXPECT_TRUE(intact);
  EXPECT_TRUE(ring.empty());
}

}  // namespace
}  // namespace rain
