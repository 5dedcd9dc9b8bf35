// What each policy makes of the same reports.
#include "agent/policy.h"

#include <gtest/gtest.h>

#include <vector>

namespace rain::agent {
namespace {

constexpr TaskStatistics kCalm{.slowdown_p99 = 2, .worker_share = 0.5};
constexpr TaskStatistics kWaitsInSwitch{.slowdown_p99 = 20, .worker_share = 0.1, .switch_queue_p99 = 9};
constexpr TaskStatistics kBehindLongTasks{.slowdown_p99 = 20, .worker_share = 0.9};

AdaptiveWorker worker(std::uint16_t slice, unsigned quota, const TaskStatistics& tasks, double idleness) {
  return {.slice = slice, .quota = quota, .tasks = tasks, .idleness = idleness};
}

/// Slice 0 has three idle workers, slice 1 one that is slow.
std::vector<AdaptiveWorker> starved(unsigned quota, const TaskStatistics& slow) {
  return {worker(0, quota, kCalm, 0.9), worker(0, quota, kCalm, 0.9), worker(0, quota, kCalm, 0.9),
          worker(1, quota, slow, 0)};
}

TEST(Policy, decide__paper_raises_a_quota_before_it_moves) {
  Policy policy({.kind = PolicyKind::kPaper}, 2);
  std::vector<AdaptiveWorker> workers = starved(4, kWaitsInSwitch);
  policy.decide(workers);
  EXPECT_EQ(workers[3].quota, 5u);
  EXPECT_FALSE(policy.slices()[1].moved);
  EXPECT_FALSE(policy.spill(0).has_value());
}

TEST(Policy, decide__rain_moves_at_once_and_leaves_quotas) {
  Policy policy({.kind = PolicyKind::kRain}, 2);
  std::vector<AdaptiveWorker> workers = starved(4, kWaitsInSwitch);
  policy.decide(workers);
  EXPECT_EQ(workers[0].slice, 1u);
  for (const AdaptiveWorker& one : workers) EXPECT_EQ(one.quota, 4u);
  EXPECT_EQ(policy.spill(0), 0u);  // a quarter of three workers
}

TEST(Policy, decide__rain_does_not_move_when_tasks_wait_behind_long_ones) {
  Policy policy({.kind = PolicyKind::kRain}, 2);
  std::vector<AdaptiveWorker> workers = starved(4, kBehindLongTasks);
  policy.decide(workers);
  EXPECT_FALSE(policy.slices()[1].moved);
  for (const AdaptiveWorker& one : workers) EXPECT_EQ(one.quota, 4u);
}

TEST(Policy, decide__rain_sets_the_spill_of_each_slice) {
  Policy policy({.kind = PolicyKind::kRain}, 2);
  std::vector<AdaptiveWorker> workers(40);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    AdaptiveWorker& one = workers[i];
    one.slice = i < 8 ? 0 : 1;
    one.quota = 4;
    const std::int64_t service_us = i < 8 ? 1000 : 1;  // long tasks in slice 0, short ones in slice 1
    const std::int64_t tasks = 5000 / service_us;      // busy for half of 10 ms
    for (std::int64_t n = 0; n < tasks; ++n) {
      one.service.add({.service = microseconds(service_us), .token_round_trip = microseconds(2)});
    }
  }
  policy.decide(workers);
  EXPECT_EQ(policy.spill(0), 8u);
  EXPECT_EQ(policy.spill(1), 2u);
}

TEST(Policy, decide__moves_back_only_after_the_hold) {
  for (const PolicyKind kind : {PolicyKind::kPaper, PolicyKind::kRain}) {
    PolicyOptions options{.kind = kind};
    options.adaptive.max_quota = 1;
    Policy policy(options, 2);
    std::vector<AdaptiveWorker> workers = starved(1, kWaitsInSwitch);
    policy.decide(workers);
    ASSERT_EQ(workers[0].slice, 1u);
    // Now slice 0 is the slow one, and slice 1 has idleness to spare.
    unsigned intervals = 0;
    do {
      for (AdaptiveWorker& one : workers) {
        one.tasks = one.slice == 0 ? kWaitsInSwitch : kCalm;
        one.idleness = one.slice == 0 ? 0 : 0.9;
      }
      policy.decide(workers);
      ++intervals;
    } while (!policy.slices()[0].moved && intervals < 1000);
    EXPECT_EQ(intervals, options.hysteresis.hold + 1) << to_text(kind);
    EXPECT_EQ(policy.role_changes(), 2u);
  }
}

TEST(PolicyOptions, problem__of_any_part) {
  EXPECT_EQ(PolicyOptions{}.problem(), nullptr);
  EXPECT_STREQ((PolicyOptions{.interval = microseconds(99)}.problem()), "control interval: 100us to 100s");
  PolicyOptions options;
  options.adaptive.max_quota = 0;
  EXPECT_STREQ(options.problem(), "largest quota: 1 to 8");
  options = {};
  options.hysteresis.longest_hold = 1;
  EXPECT_STREQ(options.problem(), "hold: up to the longest hold");
}

TEST(ParsePolicy, parse__names) {
  EXPECT_EQ(parse_policy("paper"), PolicyKind::kPaper);
  EXPECT_EQ(parse_policy("rain"), PolicyKind::kRain);
  EXPECT_EQ(parse_policy("Rain"), std::nullopt);
}

}  // namespace
}  // namespace rain::agent
