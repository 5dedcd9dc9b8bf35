// The engine against the obvious one, and its own promises: order, lanes as hints, memory.
#include "sim/engine.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/prng.h"
#include "sim/plain_engine.h"

namespace rain::sim {
namespace {

struct TestEvent {
  std::uint64_t id;
  bool operator==(const TestEvent&) const = default;
};

TEST(Engine, pop__says_when_nothing_is_left) {
  Engine<TestEvent, 2> engine;
  TestEvent event{};
  EXPECT_FALSE(engine.pop(event));
  engine.schedule(Nanos{5}, {1});
  EXPECT_EQ(engine.pending(), 1u);
  ASSERT_TRUE(engine.pop(event));
  EXPECT_EQ(event.id, 1u);
  EXPECT_EQ(engine.now(), Nanos{5});
  EXPECT_FALSE(engine.pop(event));
  EXPECT_EQ(engine.now(), Nanos{5});
  EXPECT_EQ(engine.processed(), 1u);
  EXPECT_EQ(engine.pending(), 0u);
}

TEST(Engine, pop__equal_times_leave_in_the_order_scheduled) {
  Engine<TestEvent, 3> engine;
  for (std::uint64_t id = 0; id < 40; ++id) {
    if (id % 4 == 3) {
      engine.schedule(Nanos{7}, {id});
    } else {
      engine.schedule(static_cast<unsigned>(id % 4), Nanos{7}, {id});
    }
  }
  TestEvent event{};
  for (std::uint64_t id = 0; id < 40; ++id) {
    ASSERT_TRUE(engine.pop(event));
    EXPECT_EQ(event.id, id);
  }
}

TEST(Engine, schedule__an_event_out_of_its_lanes_order_is_kept_in_time_order) {
  Engine<TestEvent, 1> engine;
  engine.schedule(0, Nanos{30}, {3});
  engine.schedule(0, Nanos{10}, {1});
  engine.schedule(0, Nanos{30}, {4});
  engine.schedule(0, Nanos{20}, {2});
  TestEvent event{};
  for (std::uint64_t id = 1; id <= 4; ++id) {
    ASSERT_TRUE(engine.pop(event));
    EXPECT_EQ(event.id, id);
  }
}

TEST(Engine, schedule__the_past_is_refused) {
  Engine<TestEvent, 1> engine;
  engine.schedule(0, Nanos{10}, {1});
  TestEvent event{};
  ASSERT_TRUE(engine.pop(event));
  EXPECT_DEATH(engine.schedule(0, Nanos{9}, {2}), "at >= now_");
  EXPECT_DEATH(engine.schedule(Nanos{9}, {2}), "at >= now_");
}

TEST(Engine, capacity__grows_with_what_is_pending_and_with_nothing_else) {
  Engine<TestEvent, 2> engine;
  const std::size_t at_start = engine.capacity();
  TestEvent event{};
  for (std::uint64_t id = 0; id < 100'000; ++id) {
    engine.schedule(static_cast<unsigned>(id % 2), engine.now() + Nanos{10}, {id});
    engine.schedule(engine.now() + Nanos{static_cast<std::int64_t>(id % 17)}, {id});
    ASSERT_TRUE(engine.pop(event));
    ASSERT_TRUE(engine.pop(event));
  }
  EXPECT_EQ(engine.capacity(), at_start);
  for (std::uint64_t id = 0; id < 10'000; ++id) engine.schedule(0, engine.now() + Nanos{1}, {id});
  for (std::uint64_t id = 0; id < 10'000; ++id) engine.schedule(engine.now() + Nanos{2}, {10'000 + id});
  EXPECT_GT(engine.capacity(), at_start);
  for (std::uint64_t id = 0; id < 20'000; ++id) {
    ASSERT_TRUE(engine.pop(event));
    ASSERT_EQ(event.id, id);
  }
}

/// Both engines get the same random schedule; every event schedules up to two more, in lanes and outside, most delays
/// constant per lane and some not, many of them zero.
void compare_on_random_schedule(std::uint64_t seed) {
  constexpr unsigned kLanes = 5;
  constexpr std::size_t kMostPending = 3'000;
  Engine<TestEvent, kLanes> engine;
  PlainEngine<TestEvent> plain;
  Prng random(seed);
  std::uint64_t next_id = 0;
  const std::uint64_t spread = 1 + random.below(300);  // small: many equal times
  const auto schedule_one = [&] {
    const TestEvent event{next_id++};
    const unsigned lane = static_cast<unsigned>(random.below(kLanes + 1));
    const bool constant = !random.chance(0.1);
    const Nanos delay{
        static_cast<std::int64_t>(constant && lane < kLanes ? lane * spread / 2 : random.below(spread))};
    if (lane < kLanes) {
      engine.schedule(lane, engine.now() + delay, event);
    } else {
      engine.schedule(engine.now() + delay, event);
    }
    plain.schedule(plain.now() + delay, event);
  };
  for (int i = 0; i < 20; ++i) schedule_one();
  for (int step = 0; step < 20'000; ++step) {
    TestEvent mine{};
    TestEvent theirs{};
    const bool more = engine.pop(mine);
    ASSERT_EQ(more, plain.pop(theirs)) << "seed " << seed << " step " << step;
    if (!more) break;
    ASSERT_EQ(mine, theirs) << "seed " << seed << " step " << step;
    ASSERT_EQ(engine.now(), plain.now());
    ASSERT_EQ(engine.pending(), plain.pending());
    // Between drought and flood, so that lanes and tree are empty at times and grow at others.
    const std::uint64_t births = random.below(step / 2'000 % 2 == 0 ? 3 : 2);
    for (std::uint64_t i = 0; i < births && engine.pending() < kMostPending; ++i) schedule_one();
  }
}

TEST(Engine, pop__agrees_with_a_priority_queue_on_random_schedules) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    compare_on_random_schedule(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace rain::sim
