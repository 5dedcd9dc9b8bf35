// The agent's loop on a block whose workers the test plays; time is the test's.
#include "agent/agent_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "agent/decision_trace.h"

namespace rain::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RecordingSink final : public AgentSink {
 public:
  void move(WorkerId worker, std::uint16_t slice) override { moves.emplace_back(worker.value, slice); }
  void spill(std::uint16_t slice, unsigned threshold) override { spills.emplace_back(slice, threshold); }
  void report(const std::vector<AgentReport>&) override { ++reports; }
  void say(const std::string& line) override { said.push_back(line); }
  void trace(const std::string& lines) override { traced += lines; }

  std::vector<std::pair<unsigned, unsigned>> moves;
  std::vector<std::pair<unsigned, unsigned>> spills;
  unsigned reports = 0;
  std::vector<std::string> said;
  std::string traced;
};

constexpr Nanos kInterval = milliseconds(10);

/// Four workers, two in each of two slices, quota 1.
class AgentRuntimeTest : public testing::Test {
 protected:
  AgentRuntimeTest() {
    options.policy.interval = kInterval;
    options.slices = 2;
    options.can_move = true;
    options.traced = true;
    for (std::uint16_t i = 0; i < 4; ++i) {
      workers.push_back(
          {.id = {static_cast<std::uint16_t>(10 + i)}, .slice = static_cast<std::uint16_t>(i / 2)});
    }
  }

  AgentRuntime make() { return {options, block, workers, now}; }

  /// An interval in which worker `index` is idle for `idleness` of it and serves tasks that waited.
  void work(unsigned index, double idleness, unsigned tasks = 0, Nanos in_worker = {}, Nanos in_switch = {}) {
    WorkerPort port = block.worker_port(index);
    for (unsigned i = 0; i < tasks; ++i) {
      port.add({.worker_wait = in_worker,
                .switch_wait = in_switch,
                .service = microseconds(10),
                .switch_queue = in_switch > Nanos{} ? 3u : 0u});
    }
    idle[index] += Nanos{static_cast<std::int64_t>(idleness * static_cast<double>(kInterval.value))};
    const auto wanted = port.wanted();
    port.publish({.idle = idle[index], .quota = wanted ? wanted->quota : 0}, false, now);
  }
  void end_interval(AgentRuntime& runtime) {
    now += kInterval;
    runtime.poll(now, sink);
  }
  unsigned wanted(unsigned index) { return block.worker_port(index).wanted()->quota; }

  Nanos now = seconds(5);
  ControlBlock block = ControlBlock::anonymous(4);
  AgentRuntimeOptions options;
  std::vector<AgentWorker> workers;
  std::array<Nanos, 4> idle{};
  RecordingSink sink;
};

TEST_F(AgentRuntimeTest, poll__decides_once_an_interval) {
  AgentRuntime runtime = make();
  EXPECT_EQ(wanted(0), 1u) << "as configured";
  now += kInterval - Nanos{1};
  runtime.poll(now, sink);
  EXPECT_EQ(sink.reports, 0u);
  now += Nanos{1};
  runtime.poll(now, sink);
  runtime.poll(now, sink);
  EXPECT_EQ(sink.reports, 1u);
  EXPECT_EQ(block.heartbeat(), 1u);
}

TEST_F(AgentRuntimeTest, poll__raises_the_quota_when_tasks_wait_in_the_switch) {
  AgentRuntime runtime = make();
  for (unsigned i = 0; i < 4; ++i) work(i, 0.1, i == 0 ? 200 : 0, {}, milliseconds(1));
  end_interval(runtime);
  EXPECT_EQ(wanted(0), 2u);
  EXPECT_EQ(wanted(1), 1u);
  EXPECT_GT(runtime.reports()[0].slowdown_p99, 10);
  EXPECT_NEAR(runtime.reports()[1].idleness, 0.1, 1e-9);
  EXPECT_THAT(sink.moves, IsEmpty());
}

TEST_F(AgentRuntimeTest, poll__moves_a_worker_and_asks_once_it_has_moved) {
  options.policy.adaptive.max_quota = 1;
  AgentRuntime runtime = make();
  for (unsigned i = 0; i < 2; ++i) work(i, 0, 200, {}, milliseconds(1));
  for (unsigned i = 2; i < 4; ++i) work(i, 1);
  end_interval(runtime);
  EXPECT_THAT(sink.moves, ElementsAre(std::pair{12u, 0u}));
  EXPECT_EQ(block.worker_port(2).wanted()->ask, 0u);
  runtime.on_moved({12}, 0);
  EXPECT_EQ(block.worker_port(2).wanted()->ask, 1u);
  for (unsigned i = 0; i < 4; ++i) work(i, 0.2);
  end_interval(runtime);
  EXPECT_EQ(runtime.reports()[2].slice, 0);
  EXPECT_EQ(sink.moves.size(), 1u);
}

TEST_F(AgentRuntimeTest, poll__a_refused_move_leaves_the_worker_where_it_is) {
  options.policy.adaptive.max_quota = 1;
  AgentRuntime runtime = make();
  for (unsigned i = 0; i < 2; ++i) work(i, 0, 200, {}, milliseconds(1));
  for (unsigned i = 2; i < 4; ++i) work(i, 1);
  end_interval(runtime);
  ASSERT_EQ(sink.moves.size(), 1u);
  runtime.on_move_refused({12}, 1);
  EXPECT_EQ(runtime.reports()[2].slice, 1);
  EXPECT_EQ(block.worker_port(2).wanted()->ask, 0u);
}

TEST_F(AgentRuntimeTest, poll__without_a_controller_says_once_that_nobody_moves) {
  options.can_move = false;
  options.policy.adaptive.max_quota = 1;
  AgentRuntime runtime = make();
  for (int interval = 0; interval < 3; ++interval) {
    for (unsigned i = 0; i < 2; ++i) work(i, 0, 200, {}, milliseconds(1));
    for (unsigned i = 2; i < 4; ++i) work(i, 1);
    end_interval(runtime);
  }
  EXPECT_THAT(sink.moves, IsEmpty());
  EXPECT_THAT(sink.said, ElementsAre(HasSubstr("moves need a controller")));
  EXPECT_EQ(runtime.reports()[2].slice, 1);
}

TEST_F(AgentRuntimeTest, poll__a_worker_that_stands_still_is_dead_until_it_steps) {
  options.dead_after = milliseconds(25);
  AgentRuntime runtime = make();
  for (int interval = 0; interval < 4; ++interval) {
    for (unsigned i = 1; i < 4; ++i) work(i, 0.5);
    end_interval(runtime);
  }
  EXPECT_FALSE(runtime.reports()[0].alive);
  EXPECT_TRUE(runtime.reports()[1].alive);
  EXPECT_THAT(sink.said, ElementsAre("worker 10 has stood still for 30 ms"));
  work(0, 0.5);
  end_interval(runtime);
  EXPECT_TRUE(runtime.reports()[0].alive);
  EXPECT_THAT(sink.said.back(), "worker 10 is back");
}

TEST_F(AgentRuntimeTest, poll__a_dead_or_drained_worker_has_no_part_in_decisions) {
  options.policy.adaptive.max_quota = 1;
  options.dead_after = milliseconds(1);
  AgentRuntime runtime = make();
  runtime.set_quota({12}, 0);  // drained; it would be the first to be lent
  for (unsigned i = 0; i < 2; ++i) work(i, 0, 200, {}, milliseconds(1));
  work(2, 1);
  end_interval(runtime);  // worker 13 is dead
  EXPECT_THAT(sink.moves, IsEmpty());
  EXPECT_EQ(wanted(2), 0u);
}

TEST_F(AgentRuntimeTest, poll__reports_without_deciding) {
  options.adapts = false;
  AgentRuntime runtime = make();
  for (unsigned i = 0; i < 4; ++i) work(i, 0.1, 200, {}, milliseconds(1));
  end_interval(runtime);
  EXPECT_EQ(sink.reports, 1u);
  EXPECT_GT(runtime.reports()[0].slowdown_p99, 10);
  EXPECT_EQ(wanted(0), 1u);
  EXPECT_EQ(sink.traced, "");
  runtime.set_quota({10}, 3);
  EXPECT_EQ(wanted(0), 3u);
}

TEST_F(AgentRuntimeTest, constructor__a_new_agent_goes_on_from_the_block) {
  {
    AgentRuntime first = make();
    first.set_quota({11}, 5);
    first.on_moved({11}, 1);
  }
  AgentRuntime second = make();
  EXPECT_EQ(*block.worker_port(1).wanted(), (Wanted{.quota = 5, .ask = 1}));
  EXPECT_EQ(wanted(0), 1u);
}

TEST_F(AgentRuntimeTest, poll__a_clock_that_jumps_back_begins_the_interval_anew) {
  AgentRuntime runtime = make();
  now = seconds(1);
  runtime.poll(now, sink);
  EXPECT_EQ(runtime.next_due(), seconds(1) + kInterval);
  EXPECT_EQ(sink.reports, 0u);
  for (unsigned i = 0; i < 4; ++i) work(i, 0.5);
  end_interval(runtime);
  EXPECT_EQ(sink.reports, 1u);
  EXPECT_TRUE(runtime.reports()[0].alive);
}

TEST_F(AgentRuntimeTest, poll__nonsense_in_the_block_stays_within_bounds) {
  AgentRuntime runtime = make();
  block.worker_port(0).publish({.idle = Nanos{-1'000'000'000'000}, .quota = 255, .held = UINT32_MAX}, false,
                               now);
  block.worker_port(1).publish({.idle = seconds(1'000'000)}, true, now);
  end_interval(runtime);
  for (const AgentReport& report : runtime.reports()) {
    EXPECT_GE(report.idleness, 0);
    EXPECT_LE(report.idleness, 1);
  }
}

TEST_F(AgentRuntimeTest, poll__policy_rain_sets_spills_and_says_each_once) {
  options.policy.kind = PolicyKind::kRain;
  AgentRuntime runtime = make();
  for (int interval = 0; interval < 3; ++interval) {
    for (unsigned i = 0; i < 4; ++i) work(i, 0.5);
    end_interval(runtime);
  }
  EXPECT_EQ(sink.spills.size(), 2u) << "one for each slice, and none again without a change";
}

TEST_F(AgentRuntimeTest, poll__its_trace_replays) {
  AgentRuntime runtime = make();
  for (int interval = 0; interval < 5; ++interval) {
    for (unsigned i = 0; i < 4; ++i) work(i, 0.1, i == 0 ? 200 : 0, {}, milliseconds(1));
    end_interval(runtime);
  }
  std::istringstream trace(sink.traced);
  const auto replay = replay_trace(trace);
  ASSERT_TRUE(replay.has_value()) << replay.error();
  EXPECT_EQ(replay->intervals, 5u);
  EXPECT_EQ(replay->quota_changes, 5u);
}

TEST(AgentRuntimeOptions, problem__says_what_is_allowed) {
  AgentRuntimeOptions options;
  EXPECT_EQ(options.problem(), nullptr);
  options.dead_after = Nanos{1};
  EXPECT_STREQ(options.problem(), "dead_after: 1ms to 1h");
  options = {};
  options.policy.adaptive.ratio_threshold = 2;
  EXPECT_STREQ(options.problem(), "ratio threshold: 0 to 1");
}

}  // namespace
}  // namespace rain::agent
