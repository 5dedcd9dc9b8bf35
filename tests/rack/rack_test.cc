// The rack's promises under thousands of small simulations. RAIN_SEED=n replays one; RAIN_SEEDS=n runs so many. And under
// a long one, RAIN_RACK_MINUTES=n.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "dataplane/rain.h"
#include "dataplane/rain_paper.h"
#include "simulated_rack.h"

namespace rain::rack {
namespace {

using Rain = SimulatedRack<dataplane::RainProgram<dataplane::SoftMemory, 4>, true>;
using RainPaper = SimulatedRack<dataplane::RainPaperProgram<dataplane::SoftMemory>, false>;

struct Seeds {
  std::uint64_t first, end;
};

Seeds seeds(std::uint64_t count) {
  if (const char* one = std::getenv("RAIN_SEED")) {
    const std::uint64_t seed = std::strtoull(one, nullptr, 10);
    return {seed, seed + 1};
  }
  if (const char* many = std::getenv("RAIN_SEEDS")) count = std::strtoull(many, nullptr, 10);
  return {0, count};
}

template <typename Rack>
void run_seeds(std::uint64_t count, bool faults) {
  const auto [first, end] = seeds(count);
  std::uint64_t executions = 0;
  for (std::uint64_t seed = first; seed < end; ++seed) {
    SCOPED_TRACE("replay with RAIN_SEED=" + std::to_string(seed));
    RackPlan plan = draw_rack(seed);
    if (faults) draw_faults(plan);
    Rack rack(plan);
    rack.run();
    executions += rack.executions();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GT(executions, 0u);
}

TEST(Rack, rain__keeps_its_promises_under_faults) { run_seeds<Rain>(500, true); }
TEST(Rack, rain_paper__keeps_its_promises_under_faults) { run_seeds<RainPaper>(500, true); }

/// No request is lost; with `changes`, although quotas fall and rise, workers drain and change their slice.
template <typename Rack>
void run_without_faults(std::uint64_t count, bool changes) {
  const auto [first, end] = seeds(count);
  for (std::uint64_t seed = first; seed < end; ++seed) {
    SCOPED_TRACE("replay with RAIN_SEED=" + std::to_string(seed));
    RackPlan plan = draw_rack(seed);
    plan.queue_capacity = 4096;  // nothing is refused
    plan.hold_slots = 4096;
    plan.timeout = seconds(5);
    if (changes) draw_changes(plan);
    Rack rack(plan);
    rack.run();
    for (const Record& record : rack.records()) {
      ASSERT_EQ(record.delivered, 1u);
      if (!record.dropped) {
        ASSERT_EQ(record.executions, 1u) << "without faults every request is served";
      } else if (record.reason != DropReason::kHandlerFailed) {
        ASSERT_EQ(record.reason, DropReason::kDeadlinePassed) << drop_reason_name(record.reason);
      }
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST(Rack, rain__serves_everything_without_faults) { run_without_faults<Rain>(100, false); }
TEST(Rack, rain_paper__serves_everything_without_faults) { run_without_faults<RainPaper>(100, false); }

TEST(Rack, rain__loses_nothing_to_changes_of_quotas_and_slices) { run_without_faults<Rain>(200, true); }
TEST(Rack, rain_paper__loses_nothing_to_changes_of_quotas_and_slices) {
  run_without_faults<RainPaper>(200, true);
}

/// Two minutes; RAIN_RACK_MINUTES=n for n.
template <typename Rack>
void run_long() {
  const char* many = std::getenv("RAIN_RACK_MINUTES");
  const std::int64_t minutes = many != nullptr ? std::strtoll(many, nullptr, 10) : 2;
  Rack rack(draw_long_run(seeds(1).first, seconds(60 * minutes)));
  rack.run();
  EXPECT_GT(rack.executions(), static_cast<std::uint64_t>(minutes) * 1000);
}

TEST(Rack, rain__survives_minutes_of_loss_crashes_and_moves) { run_long<Rain>(); }
TEST(Rack, rain_paper__survives_minutes_of_loss_crashes_and_moves) { run_long<RainPaper>(); }

TEST(Rack, run__replays_from_its_seed) {
  const auto digest = [](std::uint64_t seed) {
    RackPlan plan = draw_rack(seed);
    draw_faults(plan);
    Rain rack(plan);
    rack.run();
    return rack.digest();
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(digest(seed), digest(seed)) << seed;
  EXPECT_NE(digest(1), digest(2));
}

}  // namespace
}  // namespace rain::rack
