// TimerWheel: never early, at most a granularity late, cancellation, far timers, changes from inside a firing
// timer, and thousands of random operations against a sorted map.
#include "base/timer_wheel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/prng.h"

namespace rain {
namespace {

using namespace rain::literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<TimerWheel::Id> fired_by(TimerWheel& wheel, Nanos now) {
  std::vector<TimerWheel::Id> ids;
  const std::size_t count = wheel.advance(now, [&](TimerWheel::Id id) { ids.push_back(id); });
  EXPECT_EQ(count, ids.size());
  return ids;
}

TEST(timer_wheel, advance__fires_at_the_deadline_and_not_before) {
  TimerWheel wheel({.capacity = 8, .granularity = 1_us, .horizon = 100_us});
  wheel.schedule(3, 10_us);
  EXPECT_TRUE(wheel.scheduled(3));
  EXPECT_THAT(fired_by(wheel, 9'999_ns), IsEmpty());
  EXPECT_THAT(fired_by(wheel, 10_us), ElementsAre(3));
  EXPECT_FALSE(wheel.scheduled(3));
  EXPECT_THAT(fired_by(wheel, 1_s), IsEmpty());
}

TEST(timer_wheel, granularity__rounds_up_never_down) {
  TimerWheel wheel({.capacity = 4, .granularity = 10_us, .horizon = 1_ms});
  wheel.schedule(0, 10'001_ns);
  EXPECT_THAT(fired_by(wheel, 19'999_ns), IsEmpty());
  EXPECT_THAT(fired_by(wheel, 20_us), ElementsAre(0));
}

TEST(timer_wheel, order__by_tick_then_as_scheduled) {
  TimerWheel wheel({.capacity = 8, .granularity = 1_us, .horizon = 100_us});
  wheel.schedule(0, 30_us);
  wheel.schedule(1, 10_us);
  wheel.schedule(2, 20_us);
  wheel.schedule(3, 10_us);
  EXPECT_THAT(fired_by(wheel, 50_us), ElementsAre(1, 3, 2, 0));
}

TEST(timer_wheel, passed_deadline__fires_at_the_next_advance_even_at_the_same_time) {
  TimerWheel wheel({.capacity = 4}, 5_ms);
  wheel.schedule(0, 5_ms);
  wheel.schedule(1, 1_ms);
  wheel.schedule(2, Nanos{-7});
  EXPECT_EQ(wheel.next_wakeup(), 5_ms);
  EXPECT_THAT(fired_by(wheel, 5_ms), ElementsAre(0, 1, 2));
}

TEST(timer_wheel, cancel__stops_it_once) {
  TimerWheel wheel({.capacity = 4});
  wheel.schedule(0, 1_us);
  wheel.schedule(1, 1_us);
  EXPECT_TRUE(wheel.cancel(0));
  EXPECT_FALSE(wheel.cancel(0));
  EXPECT_FALSE(wheel.cancel(3));
  EXPECT_EQ(wheel.size(), 1U);
  EXPECT_THAT(fired_by(wheel, 1_ms), ElementsAre(1));
  EXPECT_EQ(wheel.size(), 0U);
}

TEST(timer_wheel, schedule_again__moves) {
  TimerWheel wheel({.capacity = 4});
  wheel.schedule(0, 10_us);
  wheel.schedule(0, 20_us);
  EXPECT_EQ(wheel.size(), 1U);
  EXPECT_THAT(fired_by(wheel, 15_us), IsEmpty());
  wheel.schedule(0, 16_us);
  EXPECT_THAT(fired_by(wheel, 16_us), ElementsAre(0));
}

TEST(timer_wheel, beyond_the_horizon__waits_whole_turns) {
  TimerWheel wheel({.capacity = 4, .granularity = 1_us, .horizon = 64_us});
  wheel.schedule(0, 1_s);
  wheel.schedule(1, Nanos::max());
  for (Nanos now{}; now < 1_s; now += 997_us) EXPECT_THAT(fired_by(wheel, now), IsEmpty());
  EXPECT_THAT(fired_by(wheel, 999'999_us), IsEmpty());
  EXPECT_THAT(fired_by(wheel, 1_s), ElementsAre(0));
  EXPECT_TRUE(wheel.scheduled(1));
}

TEST(timer_wheel, jump_over_many_turns__fires_all_that_are_due) {
  TimerWheel wheel({.capacity = 4, .granularity = 1_us, .horizon = 64_us});
  wheel.schedule(0, 5_us);
  wheel.schedule(1, 5_us + 128_us);
  wheel.schedule(2, 10_s);
  EXPECT_THAT(fired_by(wheel, 9_s), UnorderedElementsAre(0, 1));
  EXPECT_THAT(fired_by(wheel, 10_s), ElementsAre(2));
}

TEST(timer_wheel, now_that_falls__is_taken_as_the_largest_seen) {
  TimerWheel wheel({.capacity = 4});
  EXPECT_THAT(fired_by(wheel, 100_us), IsEmpty());
  EXPECT_THAT(fired_by(wheel, 50_us), IsEmpty());
  wheel.schedule(0, 80_us);
  EXPECT_THAT(fired_by(wheel, 50_us), ElementsAre(0));
}

TEST(timer_wheel, fire__may_schedule_itself_for_now_without_a_loop) {
  TimerWheel wheel({.capacity = 2});
  wheel.schedule(0, 1_us);
  int fired = 0;
  const auto again = [&](TimerWheel::Id id) {
    ++fired;
    wheel.schedule(id, 1_us);
  };
  EXPECT_EQ(wheel.advance(2_us, again), 1U);
  EXPECT_EQ(wheel.advance(2_us, again), 1U);
  EXPECT_EQ(fired, 2);
  EXPECT_EQ(wheel.size(), 1U);
}

TEST(timer_wheel, fire__may_cancel_one_that_is_due_in_the_same_advance) {
  TimerWheel wheel({.capacity = 4});
  for (TimerWheel::Id id = 0; id < 4; ++id) wheel.schedule(id, 1_us * (id / 2 + 1));
  std::vector<TimerWheel::Id> fired;
  wheel.advance(1_ms, [&](TimerWheel::Id id) {
    fired.push_back(id);
    if (id == 0) {
      EXPECT_TRUE(wheel.cancel(1));
      EXPECT_TRUE(wheel.cancel(3));
    }
  });
  EXPECT_THAT(fired, ElementsAre(0, 2));
  EXPECT_EQ(wheel.size(), 0U);
}

TEST(timer_wheel, next_wakeup__bounds_the_sleep) {
  TimerWheel wheel({.capacity = 4, .granularity = 1_us, .horizon = 64_us});
  EXPECT_EQ(wheel.next_wakeup(), Nanos::max());
  wheel.schedule(0, 30'500_ns);
  EXPECT_EQ(wheel.next_wakeup(), 31_us);
  wheel.schedule(1, 7_us);
  EXPECT_EQ(wheel.next_wakeup(), 7_us);
  EXPECT_TRUE(wheel.cancel(1));
  EXPECT_TRUE(wheel.cancel(0));
  EXPECT_EQ(wheel.next_wakeup(), Nanos::max());
  wheel.schedule(2, 1_s);  // beyond the horizon: may wake early, never late
  EXPECT_GT(wheel.next_wakeup(), Nanos{});
  EXPECT_LE(wheel.next_wakeup(), 1_s);
}

TEST(timer_wheel, next_wakeup__followed_blindly_misses_nothing) {
  TimerWheel wheel({.capacity = 64, .granularity = 3_us, .horizon = 100_us});
  Prng prng(9);
  std::map<TimerWheel::Id, Nanos> due;
  for (TimerWheel::Id id = 0; id < 64; ++id) {
    due[id] = Nanos{static_cast<std::int64_t>(prng.below(2'000'000))};
    wheel.schedule(id, due[id]);
  }
  while (wheel.size() != 0) {
    const Nanos now = wheel.next_wakeup();
    ASSERT_NE(now, Nanos::max());
    wheel.advance(now, [&](TimerWheel::Id id) {
      EXPECT_GE(now, due[id]);
      EXPECT_LT(now - due[id], 3_us);
    });
  }
}

TEST(timer_wheel, random_operations__agree_with_a_sorted_map) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Prng prng(seed);
    constexpr TimerWheel::Id kCapacity = 50;
    const Nanos granularity{static_cast<std::int64_t>(1 + prng.below(5'000))};
    TimerWheel wheel({.capacity = kCapacity, .granularity = granularity, .horizon = granularity * 100});
    std::map<TimerWheel::Id, Nanos> model;
    Nanos now{};
    for (int step = 0; step < 2'000; ++step) {
      const auto id = static_cast<TimerWheel::Id>(prng.below(kCapacity));
      const std::uint64_t choice = prng.below(10);
      if (choice < 5) {
        model[id] =
            now + Nanos{static_cast<std::int64_t>(prng.below(prng.chance(0.1) ? 10'000'000 : 200'000))};
        wheel.schedule(id, model[id]);
      } else if (choice < 7) {
        EXPECT_EQ(wheel.cancel(id), model.erase(id) == 1);
      } else {
        now += Nanos{static_cast<std::int64_t>(prng.below(prng.chance(0.05) ? 5'000'000 : 20'000))};
        wheel.advance(now, [&](TimerWheel::Id fired) {
          ASSERT_TRUE(model.contains(fired)) << "seed " << seed << " step " << step;
          EXPECT_GE(now, model[fired]) << "early: seed " << seed << " step " << step;
          model.erase(fired);
        });
        for (const auto& [late, deadline] : model) {
          EXPECT_LT(now - deadline, granularity)
              << "late: seed " << seed << " step " << step << " id " << late;
        }
      }
      ASSERT_EQ(wheel.size(), model.size());
      EXPECT_EQ(wheel.scheduled(id), model.contains(id));
    }
  }
}

TEST(timer_wheel, capacity__of_64_ki) {
  constexpr std::uint32_t kTimers = 65'536;
  TimerWheel wheel({.capacity = kTimers, .granularity = 1_us, .horizon = 4_ms});
  for (std::uint32_t id = 0; id < kTimers; ++id) wheel.schedule(id, microseconds(id % 1'000 + 1));
  EXPECT_EQ(wheel.size(), kTimers);
  std::size_t fired = 0;
  for (std::int64_t us = 1; us <= 1'000; ++us)
    fired += wheel.advance(microseconds(us), [](TimerWheel::Id) {});
  EXPECT_EQ(fired, kTimers);
}

TEST(timer_wheel_death, id__must_be_within_capacity) {
  TimerWheel wheel({.capacity = 4});
  EXPECT_DEATH(wheel.schedule(4, 1_us), "assertion failed");
  EXPECT_DEATH(wheel.cancel(4), "assertion failed");
}

TEST(timer_wheel_death, options__are_checked) {
  EXPECT_DEATH(TimerWheel({.capacity = 0}), "assertion failed");
  EXPECT_DEATH(TimerWheel({.granularity = Nanos{}}), "assertion failed");
}

}  // namespace
}  // namespace rain
