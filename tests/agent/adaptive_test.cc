// One test for each branch of Algorithm 1, then the properties that hold for any input.
#include "agent/adaptive.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/prng.h"

namespace rain::agent {
namespace {

constexpr AdaptiveOptions kOptions{};
constexpr TaskStatistics kCalm{.slowdown_p99 = 2, .worker_share = 0.9};
constexpr TaskStatistics kBehindLongTasks{.slowdown_p99 = 20, .worker_share = 0.9};
constexpr TaskStatistics kWaitsInSwitch{.slowdown_p99 = 20, .worker_share = 0.1, .switch_queue_p99 = 9};
constexpr TaskStatistics kWaitsEverywhere{.slowdown_p99 = 20, .worker_share = 0.9, .switch_queue_p99 = 9};

AdaptiveWorker worker(std::uint16_t slice, unsigned quota, const TaskStatistics& tasks, double idleness = 0) {
  return {.slice = slice, .quota = quota, .tasks = tasks, .idleness = idleness};
}

struct Rack {
  std::vector<AdaptiveWorker> workers;
  std::vector<AdaptiveSlice> slices = std::vector<AdaptiveSlice>(1);

  Rack& adapt(const AdaptiveOptions& options = kOptions) {
    agent::adapt(options, workers, slices);
    return *this;
  }
};

unsigned quota_after(unsigned quota, const TaskStatistics& tasks) {
  return Rack{{worker(0, quota, tasks)}}.adapt().workers[0].quota;
}

TEST(Adapt, quota__falls_when_tasks_wait_behind_long_ones) {
  EXPECT_EQ(quota_after(3, kBehindLongTasks), 2u);
}

TEST(Adapt, quota__rises_when_tasks_wait_in_the_switch) { EXPECT_EQ(quota_after(3, kWaitsInSwitch), 4u); }

TEST(Adapt, quota__stays_when_nothing_is_slow) {
  EXPECT_EQ(quota_after(3, kCalm), 3u);
  TaskStatistics at_the_threshold = kBehindLongTasks;
  at_the_threshold.slowdown_p99 = kOptions.slowdown_threshold;
  EXPECT_EQ(quota_after(3, at_the_threshold), 3u);
}

TEST(Adapt, quota__neither_side_dominates_at_the_very_ratio) {
  TaskStatistics tasks = kBehindLongTasks;
  tasks.worker_share = kOptions.ratio_threshold;
  Rack rack{{worker(0, 3, tasks)}};
  EXPECT_EQ(rack.adapt().workers[0].quota, 3u);
  EXPECT_EQ(rack.slices[0].overload, 1u);
}

TEST(Adapt, overload__a_last_token_is_not_taken) {
  Rack rack{{worker(0, 1, kBehindLongTasks)}};
  rack.adapt();
  EXPECT_EQ(rack.workers[0].quota, 1u);
  EXPECT_EQ(rack.slices[0].overload, 1u);
  EXPECT_EQ(rack.slices[0].state, SliceState::kOverloaded);
}

TEST(Adapt, overload__the_largest_quota_does_not_help) {
  Rack rack{{worker(0, kOptions.max_quota, kWaitsInSwitch)}};
  rack.adapt();
  EXPECT_EQ(rack.workers[0].quota, kOptions.max_quota);
  EXPECT_EQ(rack.slices[0].overload, 1u);
}

TEST(Adapt, overload__both_queues_are_long) {
  Rack rack{{worker(0, 3, kWaitsEverywhere)}};
  rack.adapt();
  EXPECT_EQ(rack.workers[0].quota, 3u);
  EXPECT_EQ(rack.slices[0].overload, 1u);
}

TEST(Adapt, idleness__of_slow_workers_does_not_count) {
  Rack rack{{worker(0, 1, kCalm, 0.5), worker(0, 1, kCalm, 0.25), worker(0, 1, kBehindLongTasks, 0.75)}};
  EXPECT_EQ(rack.adapt().slices[0].idleness, 0.75);
}

TEST(Adapt, slice__uneven_quotas_are_averaged) {
  Rack rack{{worker(0, 1, kBehindLongTasks), worker(0, 6, kCalm, 0.9), worker(0, 4, kCalm, 0.9)}};
  rack.adapt();
  EXPECT_EQ(rack.slices[0].state, SliceState::kUneven);
  for (const AdaptiveWorker& one : rack.workers) EXPECT_EQ(one.quota, 4u);  // 11 / 3, to the nearest
}

TEST(Adapt, slice__idle_by_one_worker_exactly_lends_none) {
  Rack rack{{worker(0, 1, kCalm, 0.5), worker(0, 1, kCalm, 0.5), worker(1, 1, kWaitsEverywhere)},
            std::vector<AdaptiveSlice>(2)};
  rack.adapt();
  EXPECT_EQ(rack.slices[0].state, SliceState::kCalm);
  EXPECT_EQ(rack.slices[1].state, SliceState::kOverloaded);
  EXPECT_EQ(rack.slices[1].workers, 1u);
}

TEST(Adapt, move__the_least_provisioned_worker_goes_with_a_quota_of_one) {
  Rack rack{{worker(0, 4, kCalm, 0.9), worker(0, 2, kCalm, 0.9), worker(0, 3, kCalm, 0.9),
             worker(1, 8, kWaitsEverywhere)},
            std::vector<AdaptiveSlice>(2)};
  rack.adapt();
  EXPECT_EQ(rack.workers[1].slice, 1u);
  EXPECT_EQ(rack.workers[1].quota, 1u);
  EXPECT_EQ(rack.slices[0].workers, 2u);
  EXPECT_EQ(rack.slices[1].workers, 2u);
  EXPECT_TRUE(rack.slices[0].moved && rack.slices[1].moved);
}

TEST(Adapt, move__most_overloaded_and_most_idle_first_one_each) {
  Rack rack{{worker(0, 1, kWaitsEverywhere),  //
             worker(1, 1, kWaitsEverywhere), worker(1, 1, kWaitsEverywhere), worker(2, 1, kCalm, 0.7),
             worker(2, 1, kCalm, 0.7),  //
             worker(3, 1, kCalm, 0.8), worker(3, 1, kCalm, 0.8), worker(3, 1, kCalm, 0.8)},
            std::vector<AdaptiveSlice>(4)};
  rack.adapt();
  EXPECT_EQ(rack.workers[5].slice, 1u);  // first pair: two overloaded workers, 2.4 idle ones
  EXPECT_EQ(rack.workers[3].slice, 0u);
  EXPECT_EQ(rack.slices[3].workers, 2u);
  EXPECT_EQ(rack.slices[2].workers, 1u);
}

TEST(Adapt, move__none_without_a_lender) {
  Rack rack{{worker(0, 1, kWaitsEverywhere), worker(1, 1, kWaitsEverywhere)}, std::vector<AdaptiveSlice>(2)};
  rack.adapt();
  EXPECT_EQ(rack.slices[0].workers, 1u);
  EXPECT_EQ(rack.slices[1].workers, 1u);
}

TEST(Adapt, move__a_slice_keeps_its_last_worker) {
  AdaptiveWorker idle = worker(0, 1, kCalm, 1);
  idle.idleness = 1.5;  // more than a worker can be: even so
  Rack rack{{idle, worker(1, 1, kWaitsEverywhere)}, std::vector<AdaptiveSlice>(2)};
  rack.adapt();
  EXPECT_EQ(rack.slices[0].state, SliceState::kUnderloaded);
  EXPECT_EQ(rack.workers[0].slice, 0u);
}

TEST(Adapt, move__only_as_permitted) {
  for (const bool lend : {false, true}) {
    for (const bool borrow : {false, true}) {
      Rack rack{{worker(0, 1, kCalm, 0.9), worker(0, 1, kCalm, 0.9), worker(1, 1, kWaitsEverywhere)},
                std::vector<AdaptiveSlice>(2)};
      const std::array<MovePermit, 2> permits{
          {{.lend = lend, .borrow = true}, {.lend = true, .borrow = borrow}}};
      adapt(kOptions, rack.workers, rack.slices, permits);
      EXPECT_EQ(rack.slices[1].workers, lend && borrow ? 2u : 1u);
    }
  }
}

TEST(Adapt, adapt__no_workers_and_no_slices) { adapt(kOptions, {}, {}); }

TEST(AdaptiveOptions, problem__names_what_is_out_of_range) {
  EXPECT_EQ(AdaptiveOptions{}.problem(), nullptr);
  EXPECT_STREQ((AdaptiveOptions{.slowdown_threshold = 1}.problem()),
               "slowdown threshold: above 1, up to 1000000");
  EXPECT_NE((AdaptiveOptions{.slowdown_threshold = __builtin_nan("")}.problem()), nullptr);
  EXPECT_STREQ((AdaptiveOptions{.ratio_threshold = 1.01}.problem()), "ratio threshold: 0 to 1");
  EXPECT_NE((AdaptiveOptions{.max_quota = 0}.problem()), nullptr);
  EXPECT_STREQ((AdaptiveOptions{.max_quota = kMaxQuota + 1}.problem()), "largest quota: 1 to 8");
}

// Whatever the statistics: quotas stay in range and change by one at most unless levelled or moved, no slice that had a
// worker is left without, no slice takes part in two moves, and the same input gives the same output.
TEST(Adapt, adapt__properties_of_random_racks) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Prng prng(seed);
    const auto below = [&prng](std::uint64_t bound) { return prng.below(bound); };
    Rack rack;
    rack.slices.resize(1 + below(5));
    const std::size_t count = 1 + below(40);
    for (std::size_t i = 0; i < count; ++i) {
      constexpr std::array kKinds{kCalm, kBehindLongTasks, kWaitsInSwitch, kWaitsEverywhere,
                                  TaskStatistics{}};
      rack.workers.push_back(worker(static_cast<std::uint16_t>(below(rack.slices.size())),
                                    static_cast<unsigned>(1 + below(kMaxQuota)), kKinds[below(kKinds.size())],
                                    static_cast<double>(below(101)) / 100));
    }
    const std::vector<AdaptiveWorker> before = rack.workers;
    std::vector<unsigned> had(rack.slices.size());
    for (const AdaptiveWorker& one : before) ++had[one.slice];
    Rack again = rack;
    rack.adapt();
    again.adapt();

    std::vector<unsigned> has(rack.slices.size());
    for (std::size_t i = 0; i < count; ++i) {
      const AdaptiveWorker& now = rack.workers[i];
      ++has[now.slice];
      ASSERT_TRUE(now.quota >= 1 && now.quota <= kMaxQuota) << "seed " << seed;
      ASSERT_TRUE(now.slice == again.workers[i].slice && now.quota == again.workers[i].quota)
          << "seed " << seed;
      const bool moved = now.slice != before[i].slice;
      if (moved) {
        ASSERT_EQ(now.quota, 1u) << "seed " << seed;
      } else if (rack.slices[now.slice].state != SliceState::kUneven) {
        ASSERT_LE(now.quota, before[i].quota + 1) << "seed " << seed;
        ASSERT_GE(now.quota + 1, before[i].quota) << "seed " << seed;
      }
    }
    for (std::size_t s = 0; s < rack.slices.size(); ++s) {
      ASSERT_EQ(rack.slices[s].workers, has[s]) << "seed " << seed;
      ASSERT_TRUE(had[s] == 0 || has[s] > 0) << "seed " << seed;
      ASSERT_LE(has[s], had[s] + 1) << "seed " << seed;
      ASSERT_LE(had[s], has[s] + 1) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace rain::agent
