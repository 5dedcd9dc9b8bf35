// What the simulator accepts, and what it says of the rest.
#include "sim/rack_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "specs.h"

namespace rain::sim {
namespace {

using testing::HasSubstr;

RackSpec good_spec() { return rack_spec("rain", 1'000'000, "exp:10us", milliseconds(10)); }

TEST(RackSpec, validate__accepts_every_scheduler) {
  for (const Scheduler& scheduler : schedulers()) {
    RackSpec spec = good_spec();
    spec.scheduler = scheduler.name;
    EXPECT_TRUE(spec.validate()) << scheduler.name;
    spec.depth = 1;
    EXPECT_EQ(spec.validate().has_value(), has_depth(scheduler)) << scheduler.name;
  }
}

TEST(RackSpec, validate__refuses_in_one_line_that_says_what_is_allowed) {
  struct Case {
    std::function<void(RackSpec&)> spoil;
    std::string says;
  };
  const std::vector<Case> cases = {
      {[](RackSpec& s) { s.scheduler = "lottery"; }, "scheduler = lottery: one of rain, rain-paper, "},
      {[](RackSpec& s) { s.depth = 0; }, "depth = 0: 1 to 8"},
      {[](RackSpec& s) { s.depth = 9; }, "depth = 9: 1 to 8"},
      {[](RackSpec& s) { s.scheduler = "jsq", s.depth = 2; }, "depth = 2: not with jsq"},
      {[](RackSpec& s) { s.workers = 0; }, "workers = 0: 1 to 1024"},
      {[](RackSpec& s) { s.workers = 1025; }, "workers = 1025: 1 to 1024"},
      {[](RackSpec& s) { s.queue_capacity = 0; }, "queue capacity = 0: 1 to "},
      {[](RackSpec& s) { s.spill = 1u << 30; }, "spill = 1073741824: 0 to the queue's capacity"},
      {[](RackSpec& s) { s.drain = 70'000; }, "drain = 70000: 0 to 65535"},
      {[](RackSpec& s) { s.duration = {}; }, "duration = 0ns: above 0"},
      {[](RackSpec& s) { s.duration = Nanos{-5}; }, "duration = -5ns: above 0"},
      {[](RackSpec& s) { s.warmup = Nanos{-1}; }, "warmup = -1ns: 0 to "},
      {[](RackSpec& s) { s.large_share = 1.5; }, "large share = 1.5: 0 to 1"},
      {[](RackSpec& s) { s.large_bytes = 8; }, "large bytes = 8: 9 to 1400"},
      {[](RackSpec& s) { s.large_bytes = 1'401; }, "large bytes = 1401: 9 to 1400"},
      {[](RackSpec& s) { s.workload.classes[0].share = 0.5; }, "shares of the classes add up to 0.5"},
      {[](RackSpec& s) { s.workload.phases[0].rate = 0; }, "rate 0"},
      {[](RackSpec& s) {
         s.workload.classes[0].demand =
             workload::Distribution::parse("exp:10", workload::Quantity::kCount).value();
       },
       "class \"all\" = exp:10: a service time"},
      {[](RackSpec& s) { s.slices = {{.workers = 31, .types = {TaskType{0}}}}; },
       "slices have 31 workers together: as many as the rack, 32"},
      {[](RackSpec& s) { s.slices = {{.workers = 32, .types = {TaskType{7}}}}; },
       "task type 0 of class \"all\": no slice serves it"},
      {[](RackSpec& s) {
         s.slices = {{.workers = 16, .types = {TaskType{0}}}, {.workers = 16, .types = {TaskType{0}}}};
       },
       "task type = 0: in one slice only"},
      {[](RackSpec& s) {
         s.slices = {{.workers = 32, .types = {}}, {.workers = 0, .types = {}}};
       },
       "workers of a slice = 0: 1 or more"},
      {[](RackSpec& s) { s.timeline_interval = Nanos{-1}; }, "timeline interval = -1ns: above 0"},
      {[](RackSpec& s) { s.scheduler = "ideal", s.timeline_interval = Nanos{1000}; },
       "timeline: not with ideal"},
      {[](RackSpec& s) { s.scheduler = "jsq", s.adaptive.emplace(); }, "adaptive with jsq: only with rain"},
      {[](RackSpec& s) { s.scheduler = "ideal", s.adaptive.emplace(); },
       "adaptive with ideal: only with rain"},
      {[](RackSpec& s) { s.adaptive.emplace().policy.adaptive.ratio_threshold = 2; },
       "ratio threshold: 0 to 1"},
      {[](RackSpec& s) { s.adaptive.emplace().policy.interval = Nanos{1}; },
       "control interval: 100us to 100s"},
      {[](RackSpec& s) {
         s.scheduler = "rain-paper";
         s.adaptive.emplace().policy.kind = agent::PolicyKind::kRain;
       },
       "policy rain with rain-paper: only with rain"},
      {[](RackSpec& s) {
         s.spill = 3;
         s.adaptive.emplace().policy.kind = agent::PolicyKind::kRain;
       },
       "spill = 3: not with policy rain"},
      {[](RackSpec& s) {
         s.depth = 4;
         s.adaptive.emplace().policy.adaptive.max_quota = 3;
       },
       "depth = 4: at most the largest quota, 3"},
  };
  for (const Case& one : cases) {
    RackSpec spec = good_spec();
    one.spoil(spec);
    const auto good = spec.validate();
    ASSERT_FALSE(good) << one.says;
    EXPECT_THAT(good.error(), HasSubstr(one.says));
    EXPECT_EQ(good.error().find('\n'), std::string::npos) << good.error();
  }
}

TEST(RackSpec, capacity_rps__is_what_the_workers_serve_at_most) {
  EXPECT_DOUBLE_EQ(good_spec().capacity_rps(), 3'200'000);
  EXPECT_DOUBLE_EQ(rack_spec("rain", 1, "bimodal:0.5:10us:100us", seconds(1)).capacity_rps(), 32e6 / 55);
}

TEST(RackSpec, default_depth__is_the_schedulers_own) {
  EXPECT_EQ(default_depth(*find_scheduler("rain")), 4u);
  EXPECT_EQ(default_depth(*find_scheduler("rain-paper")), 2u);
  EXPECT_EQ(default_depth(*find_scheduler("r2p2")), 1u);
  EXPECT_EQ(default_depth(*find_scheduler("random")), 0u);
  EXPECT_EQ(default_depth(*find_scheduler("ideal")), 0u);
}

}  // namespace
}  // namespace rain::sim
