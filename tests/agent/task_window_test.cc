#include "agent/task_window.h"

#include <gtest/gtest.h>

namespace rain::agent {
namespace {

TaskSample sample(std::int64_t worker_wait_us, std::int64_t switch_wait_us, std::int64_t service_us,
                  std::uint32_t queue = 0) {
  return {.worker_wait = microseconds(worker_wait_us),
          .switch_wait = microseconds(switch_wait_us),
          .service = microseconds(service_us),
          .switch_queue = queue};
}

TEST(TaskWindow, statistics__of_no_task) {
  TaskWindow window;
  EXPECT_EQ(window.statistics(), TaskStatistics{});
}

TEST(TaskWindow, statistics__of_one_task) {
  TaskWindow window;
  window.add(sample(30, 10, 20, 7));
  EXPECT_EQ(window.statistics(),
            (TaskStatistics{.slowdown_p99 = 3, .worker_share = 0.75, .switch_queue_p99 = 7}));
}

TEST(TaskWindow, statistics__the_tail_is_the_nearest_rank) {
  TaskWindow window;
  for (int i = 1; i <= 100; ++i) window.add(sample(i - 1, 0, 1, static_cast<std::uint32_t>(1000 - i)));
  EXPECT_EQ(window.statistics().slowdown_p99, 99);
  EXPECT_EQ(window.statistics().switch_queue_p99, 998u);  // of 900 .. 999
}

TEST(TaskWindow, statistics__tasks_that_did_not_wait_have_no_share) {
  TaskWindow window;
  for (int i = 0; i < 10; ++i) window.add(sample(0, 0, 5));
  EXPECT_EQ(window.statistics().worker_share, 0);
  window.add(sample(1, 3, 5));
  window.add(sample(3, 1, 5));
  EXPECT_EQ(window.statistics().worker_share, 0.5);
}

TEST(TaskWindow, add__service_of_no_length) {
  TaskWindow window;
  window.add({.worker_wait = Nanos{9}});
  EXPECT_EQ(window.statistics().slowdown_p99, 10);
}

TEST(TaskWindow, add__keeps_the_newest) {
  TaskWindow window(4);
  for (int i = 1; i <= 6; ++i) window.add(sample(i, 0, 1, static_cast<std::uint32_t>(i)));
  EXPECT_EQ(window.size(), 4u);
  for (int i = 0; i < 4; ++i) window.add(sample(1, 1, 1, 2));
  EXPECT_EQ(window.statistics(),
            (TaskStatistics{.slowdown_p99 = 3, .worker_share = 0.5, .switch_queue_p99 = 2}));
}

TEST(TaskWindow, end_interval__judges_a_full_window) {
  TaskWindow window(100);
  for (int i = 0; i < 99; ++i) window.add(sample(0, 0, 1));
  EXPECT_EQ(window.end_interval(10), TaskStatistics{});
  EXPECT_EQ(window.size(), 99u);  // goes on
  window.add(sample(0, 1, 1));
  EXPECT_EQ(window.end_interval(10).slowdown_p99, 1);
  EXPECT_EQ(window.size(), 0u);
}

TEST(TaskWindow, end_interval__does_not_wait_for_what_is_certain) {
  TaskWindow window(200);  // more than 2 slow ones of 200 make the 99th percentile slow
  for (int i = 0; i < 2; ++i) window.add(sample(0, 99, 1, 7));
  EXPECT_EQ(window.end_interval(10), TaskStatistics{});
  window.add(sample(0, 99, 1, 7));
  EXPECT_EQ(window.end_interval(10), (TaskStatistics{.slowdown_p99 = 100, .switch_queue_p99 = 7}));
  EXPECT_EQ(window.size(), 0u);
}

TEST(ServiceStatistics, add__moments_and_the_shortest_round_trip) {
  ServiceStatistics one;
  one.add({.service = Nanos{10}, .token_round_trip = Nanos{300}});
  one.add({.service = Nanos{30}});
  one.add({.service = Nanos{20}, .token_round_trip = Nanos{200}});
  EXPECT_EQ(one, (ServiceStatistics{
                     .tasks = 3, .sum_ns = 60, .sum_of_squares_ns2 = 1400, .token_round_trip = Nanos{200}}));
}

TEST(ServiceStatistics, merge__is_as_if_all_were_added_to_one) {
  ServiceStatistics left, right, all;
  for (int i = 1; i <= 6; ++i) {
    const TaskSample one{.service = microseconds(i), .token_round_trip = Nanos{i % 2 == 0 ? 0 : 1000 - i}};
    (i < 3 ? left : right).add(one);
    all.add(one);
  }
  left.merge(right);
  EXPECT_EQ(left, all);
  left.merge({});
  EXPECT_EQ(left, all);
}

TEST(TaskWindow, clear__begins_anew) {
  TaskWindow window(2);
  for (int i = 0; i < 3; ++i) window.add(sample(5, 0, 1));
  window.clear();
  EXPECT_EQ(window.size(), 0u);
  window.add(sample(0, 1, 1));
  EXPECT_EQ(window.statistics().slowdown_p99, 2);
}

}  // namespace
}  // namespace rain::agent
