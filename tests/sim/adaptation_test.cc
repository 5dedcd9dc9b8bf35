// Adaptive scheduling in the simulated rack: the scenario of the paper's Fig. 10, loans and their return, and that the
// promises of the rack (asserted inside at every packet) hold while quotas and slices change.
#include "sim/adaptation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "agent/decision_trace.h"
#include "sim/simulate.h"
#include "specs.h"

namespace rain::sim {
namespace {

constexpr TaskType kFirst{0}, kSecond{1};

Result run(const RackSpec& spec) {
  auto result = simulate(spec);
  EXPECT_TRUE(result) << (result ? "" : result.error());
  return std::move(*result);
}

/// Two slices of 16 workers; tasks of "steady" and "dispersed" go to the first, of "other" to the second.
RackSpec two_slices(const std::string& scheduler, const std::string& phases, Nanos duration) {
  RackSpec spec;
  spec.scheduler = scheduler;
  spec.slices = {{16, {kFirst}}, {16, {kSecond}}};
  spec.workload.classes = {
      {.name = "steady", .share = 1, .type = kFirst, .demand = service("exp:10us")},
      {.name = "dispersed", .share = 0, .type = kFirst, .demand = service("bimodal:0.5:10us:100us")},
      {.name = "other", .share = 0, .type = kSecond, .demand = service("exp:10us")}};
  spec.workload.phases = workload::parse_phases(phases).value();
  spec.warmup = {};
  spec.duration = duration;
  spec.timeline_interval = milliseconds(10);
  spec.adaptive.emplace();
  spec.adaptive->policy.kind = default_policy(*find_scheduler(scheduler));
  return spec;
}

/// The paper's second event alone: at depth 1 the load of the first slice rises tenfold at 50 ms.
RackSpec sudden_load(const std::string& scheduler) {
  return two_slices(scheduler, "0s=160k,50ms=1.6M", milliseconds(400));
}

double slowdown(const TimelineRow& row) {
  return static_cast<double>(row.slowdown_p99.value) / kSlowdownUnit;
}
double depth_at(const Result& result, std::size_t row) { return result.timeline.at(row).slices[0].depth; }
unsigned workers_at(const Result& result, std::size_t row) {
  return result.timeline.at(row).slices[0].workers;
}

void expect_nothing_lost(const Result& result) {
  EXPECT_EQ(result.measured.completed, result.measured.sent);
  EXPECT_EQ(result.measured.dropped_total(), 0u);
}

TEST(Adaptation, paper__dispersion_lowers_the_depth_from_two_to_one) {
  const Result result = run(two_slices("rain-paper", "0s=160k@1/0/0,100ms=160k@0/1/0", milliseconds(300)));
  EXPECT_GE(depth_at(result, 9), 1.9);
  EXPECT_EQ(depth_at(result, 29), 1);
  EXPECT_EQ(workers_at(result, 29), 16u);
  EXPECT_GT(slowdown(result.timeline[10]), 10);
  EXPECT_LT(slowdown(result.timeline[28]), 10);
  expect_nothing_lost(result);
}

// What the algorithm makes of the paper's scenario when the depth may not exceed 3, as far as the paper's run went:
// 1 -> 2, 2 -> 3, a worker, a second worker, in intervals that follow one another; then the queue is gone and the
// depth falls again. A change of table takes 100 us longer, so the row after shows the worker.
TEST(Adaptation, paper__sudden_load_raises_the_depth_then_borrows_then_lowers_it) {
  RackSpec spec = sudden_load("rain-paper");
  spec.depth = 1;
  spec.adaptive->policy.adaptive.max_quota = 3;
  const Result result = run(spec);
  EXPECT_EQ(depth_at(result, 4), 1);
  EXPECT_EQ(depth_at(result, 5), 2);
  EXPECT_EQ(depth_at(result, 6), 3);
  EXPECT_EQ(workers_at(result, 7), 16u);
  EXPECT_EQ(workers_at(result, 8), 17u);
  EXPECT_EQ(workers_at(result, 9), 18u);
  const auto lowered = std::find_if(result.timeline.begin() + 9, result.timeline.end(),
                                    [](const TimelineRow& row) { return row.slices[0].depth <= 2; });
  ASSERT_NE(lowered, result.timeline.end());
  EXPECT_LE(lowered - result.timeline.begin(), 15);
  EXPECT_LT(slowdown(result.timeline[38]), 10);
  expect_nothing_lost(result);
}

// As published the algorithm goes up to 8 before it borrows: while tasks wait in the switch, the queue there dominates.
TEST(Adaptation, paper__depth_goes_up_to_eight_before_a_worker_is_borrowed) {
  RackSpec spec = sudden_load("rain-paper");
  spec.depth = 1;
  const Result result = run(spec);
  for (unsigned i = 0; i < 7; ++i) EXPECT_EQ(depth_at(result, 5 + i), 2 + i);
  EXPECT_EQ(workers_at(result, 12), 16u);
  EXPECT_EQ(workers_at(result, 13), 17u);
  EXPECT_LT(slowdown(result.timeline[38]), 10);
  expect_nothing_lost(result);
}

TEST(Adaptation, rain__borrows_at_once_and_keeps_its_depth) {
  const Result result = run(sudden_load("rain"));
  EXPECT_EQ(workers_at(result, 6), 17u);
  for (const TimelineRow& row : result.timeline) {
    EXPECT_EQ(row.slices[0].depth, 4);
    EXPECT_LT(row.p99, microseconds(400));
  }
  EXPECT_EQ(result.adaptive->quota_changes, 0u);
  EXPECT_GT(result.adaptive->spill_changes, 0u);
  expect_nothing_lost(result);
}

// The load goes to and fro between two slices every 50 ms; each of them needs workers while it has it.
TEST(Adaptation, moves__come_back_but_do_not_flap) {
  for (const std::string scheduler : {"rain", "rain-paper"}) {
    std::string phases = "0s=400k@1/0/0";
    for (int i = 1; i < 66; ++i) {
      phases += ",";
      phases += std::to_string(i * 50) + "ms=400k@" + (i % 2 == 0 ? "1/0/0" : "0/0/1");
    }
    RackSpec spec = two_slices(scheduler, phases, milliseconds(3300));
    spec.workers = 8;
    spec.slices[0].workers = spec.slices[1].workers = 4;
    spec.adaptive->policy.adaptive.max_quota = 4;
    const Result result = run(spec);
    std::vector<unsigned> turns;  // rows in which the first slice began to gain after it lost, or the reverse
    int direction = 0;
    for (std::size_t i = 1; i < result.timeline.size(); ++i) {
      const int change =
          static_cast<int>(workers_at(result, i)) - static_cast<int>(workers_at(result, i - 1));
      if (change == 0) continue;
      if (direction != 0 && (change > 0) != (direction > 0)) turns.push_back(static_cast<unsigned>(i));
      direction = change;
    }
    EXPECT_GE(turns.size(), 1u) << scheduler;
    EXPECT_LE(turns.size(), 2u) << scheduler;  // 1 s, then 2 s
    if (turns.size() == 2) {
      EXPECT_GE(turns[1] - turns[0], 190u) << scheduler;
    }
    // A slice that lent at the wrong moment has its second to wait: its queue may fill.
    EXPECT_EQ(result.measured.completed + result.measured.dropped_total(), result.measured.sent);
    EXPECT_EQ(result.measured.dropped_total(),
              result.measured.dropped[static_cast<std::size_t>(DropReason::kQueueFull)]);
  }
}

TEST(Adaptation, trace__replays_to_the_same_decisions) {
  for (const std::string scheduler : {"rain", "rain-paper"}) {
    RackSpec spec = sudden_load(scheduler);
    spec.duration = milliseconds(200);
    spec.adaptive->trace = true;
    const Result result = run(spec);
    std::istringstream trace(result.adaptive->decisions);
    const auto replayed = agent::replay_trace(trace);
    ASSERT_TRUE(replayed) << replayed.error();
    EXPECT_EQ(replayed->intervals, result.adaptive->intervals);
    EXPECT_EQ(replayed->moves, result.adaptive->moves);
    EXPECT_EQ(replayed->quota_changes, result.adaptive->quota_changes);
    EXPECT_EQ(run(spec).adaptive->decisions, result.adaptive->decisions);
  }
}

// A quota that follows a load near saturation, up and down for two thousand intervals: the rack asserts at every packet
// that no worker exceeds its quota and that no token or dispatch is refused.
TEST(Adaptation, quotas__change_under_load_without_a_loss) {
  RackSpec spec = rack_spec("rain-paper", 2'900'000, "exp:10us", milliseconds(400));
  spec.adaptive.emplace();
  spec.adaptive->policy.interval = microseconds(200);
  spec.adaptive->policy.adaptive.slowdown_threshold = 3;
  const Result result = run(spec);
  EXPECT_GT(result.adaptive->quota_changes, 300u);
  expect_nothing_lost(result);
}

TEST(Adaptation, depth__mean_over_the_measured_window) {
  RackSpec spec = rack_spec("rain-paper", 100'000, "const:10us", milliseconds(100));
  spec.depth = 3;
  spec.adaptive.emplace();
  const Result result = run(spec);
  EXPECT_EQ(result.adaptive->mean_depth, 3);
  EXPECT_EQ(result.adaptive->quota_changes + result.adaptive->moves, 0u);
}

}  // namespace
}  // namespace rain::sim
