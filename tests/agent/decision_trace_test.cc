// A trace replays to the same decisions, and says where it does not.
#include "agent/decision_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "base/prng.h"

namespace rain::agent {
namespace {

/// Reports of `workers` workers that would come from anywhere.
void draw(Prng& prng, std::vector<AdaptiveWorker>& workers) {
  for (AdaptiveWorker& worker : workers) {
    worker.tasks = {.slowdown_p99 = prng.unit() * 20,
                    .worker_share = prng.unit(),
                    .switch_queue_p99 = static_cast<std::uint32_t>(prng.below(3))};
    worker.idleness = prng.unit();
    worker.service = {};
    for (std::uint64_t n = prng.below(4); n > 0; --n) {
      worker.service.add({.service = Nanos{static_cast<std::int64_t>(1 + prng.below(2'000'000))},
                          .token_round_trip = Nanos{static_cast<std::int64_t>(prng.below(3000))}});
    }
  }
}

std::string trace_of(PolicyKind kind, unsigned intervals) {
  PolicyOptions options{.kind = kind};
  options.hysteresis.hold = 3;
  Policy policy(options, 3);
  std::string text = trace_header(options, 3);
  Prng prng(7);
  std::vector<AdaptiveWorker> workers(12);
  for (std::size_t i = 0; i < workers.size(); ++i) workers[i].slice = static_cast<std::uint16_t>(i % 3);
  for (unsigned i = 1; i <= intervals; ++i) {
    draw(prng, workers);
    const std::vector<AdaptiveWorker> before = workers;
    policy.decide(workers);
    text += trace_interval(options.interval * i, before, workers, policy);
  }
  return text;
}

std::string error_of(const std::string& text) {
  std::istringstream stream(text);
  const auto replayed = replay_trace(stream);
  return replayed ? "" : replayed.error();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(ReplayTrace, replay__gives_the_same_decisions) {
  for (const PolicyKind kind : {PolicyKind::kPaper, PolicyKind::kRain}) {
    std::istringstream stream(trace_of(kind, 300));
    const auto replayed = replay_trace(stream);
    ASSERT_TRUE(replayed) << replayed.error();
    EXPECT_EQ(replayed->intervals, 300u);
    EXPECT_GT(replayed->moves, 0u);
    EXPECT_EQ(replayed->quota_changes > 0, kind == PolicyKind::kPaper);
  }
}

TEST(ReplayTrace, replay__a_new_header_begins_anew) {
  std::istringstream stream(trace_of(PolicyKind::kPaper, 20) + trace_of(PolicyKind::kRain, 30));
  const auto replayed = replay_trace(stream);
  ASSERT_TRUE(replayed) << replayed.error();
  EXPECT_EQ(replayed->intervals, 50u);
}

TEST(ReplayTrace, replay__says_what_was_decided_differently) {
  const std::string trace = trace_of(PolicyKind::kRain, 2);
  EXPECT_THAT(error_of(replaced(trace, "\"to\":[[0,1]", "\"to\":[[0,5]")),
              testing::StartsWith("line 2: worker 0: slice and quota were [0,5], replayed [0,1]"));
  EXPECT_THAT(error_of(replaced(trace, "\"spill\":[", "\"spill\":[999,")),
              testing::StartsWith("line 2: slice 0: spill threshold was [999,"));
}

TEST(ReplayTrace, replay__intervals_that_are_repeated_or_in_another_order__are_refused) {
  const std::string trace = trace_of(PolicyKind::kPaper, 2);
  const std::size_t second = trace.find("{\"at_ns\":20000000");
  const std::size_t first = trace.find("{\"at_ns\":10000000");
  const std::string header = trace.substr(0, first);
  const std::string one = trace.substr(first, second - first);
  EXPECT_EQ(error_of(header + one + one),
            "line 3: at_ns = 10000000: after the interval before it, which was at 10000000");
  EXPECT_THAT(error_of(replaced(trace, "\"at_ns\":10000000", "\"at_ns\":30000000")),
              testing::StartsWith("line 3: at_ns = 20000000: after the interval before it"));
  EXPECT_EQ(error_of(header + one + header + one), "") << "another life of the agent";
  EXPECT_EQ(error_of(replaced(trace, "\"at_ns\"", "\"at\"")), "line 2: \"at_ns\" is missing");
}

TEST(ReplayTrace, replay__bad_input_is_one_line) {
  const std::string trace = trace_of(PolicyKind::kPaper, 1);
  EXPECT_EQ(error_of(""), "no header: not a trace of decisions");
  EXPECT_EQ(error_of("{"), "line 1: not a JSON object");
  EXPECT_EQ(error_of("\n[]\n"), "line 2: not a JSON object");
  EXPECT_EQ(error_of("{\"at_ns\":1}"), "line 1: no header before it");
  EXPECT_EQ(error_of(replaced(trace, "decisions/1", "decisions/2")),
            "line 1: schema \"rain.decisions/2\": this program reads rain.decisions/1");
  EXPECT_EQ(error_of(replaced(trace, "\"paper\"", "\"other\"")), "line 1: policy \"other\": paper or rain");
  EXPECT_EQ(error_of(replaced(trace, "\"hold\"", "\"held\"")), "line 1: \"hold\" is missing");
  EXPECT_EQ(error_of(replaced(trace, "\"max_quota\":8", "\"max_quota\":9")), "line 1: largest quota: 1 to 8");
  EXPECT_EQ(error_of(replaced(trace, "\"slices\":3", "\"slices\":0")),
            "line 1: slices = 0: a whole number from 1 to 1024");
  EXPECT_EQ(error_of(replaced(trace, "\"workers\":[[0,", "\"workers\":[[3,")),
            "line 2: slice = 3: a whole number from 0 to 2");
  EXPECT_THAT(error_of(replaced(trace, "\"workers\":[[0,1,", "\"workers\":[[0,1,-")),
              testing::EndsWith(": a number, 0 or more"));
  EXPECT_EQ(error_of(replaced(trace, "\"workers\":[[0,1,", "\"workers\":[[1],[0,1,")),
            "line 2: a worker has 10 fields");
}

}  // namespace
}  // namespace rain::agent
