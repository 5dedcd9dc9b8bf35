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
