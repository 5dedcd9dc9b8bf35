// The switch with its real programs in a rack of real workers and clients, in virtual time and under faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "dataplane/programs.h"
#include "softswitch/virtual_rack.h"

namespace rain::softswitch {
namespace {

using rpc::Ending;

// Enough for every question to be asked twice and answered after the last fault.
constexpr Nanos kSettle = milliseconds(2);

template <typename Program>
class WholeSwitch : public testing::Test {};
using Programs = testing::Types<
    dataplane::RainProgram<dataplane::SoftMemory, 2>, dataplane::RainProgram<dataplane::SoftMemory, 4>,
    dataplane::RainProgram<dataplane::SoftMemory, 8>, dataplane::RainPaperProgram<dataplane::SoftMemory>>;
class ProgramName {
 public:
  template <typename T>
  static std::string GetName(int index) {
    return std::array{"rain_2", "rain_4", "rain_8", "rain_paper"}[static_cast<std::size_t>(index)];
  }
};
TYPED_TEST_SUITE(WholeSwitch, Programs, ProgramName);

transport::FaultOptions storm() {
  return {.loss = 0.03, .duplicate = 0.03, .delay = 0.1, .reorder = 0.05, .max_delay = microseconds(100)};
}

RackOptions small_rack(std::uint64_t seed) {
  RackOptions options;
  options.seed = seed;
  options.quota = 2;  // what every program of this list has levels for
  options.payload_bytes = seed % 3 == 0 ? 8 : seed % 3 == 1 ? 0 : 700;
  return options;
}

TYPED_TEST(WholeSwitch, sound_network__every_request_is_served) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RackOptions options = small_rack(seed);
    options.load = seed % 2 == 0 ? 0.95 : 0.4;
    VirtualRack<TypeParam> rack(options);
    rack.run();
    for (const auto& client : rack.clients()) client->expect_each_ended_once();
    EXPECT_EQ(rack.count(Ending::kReply), options.clients * options.requests);
    EXPECT_EQ(rack.in_switch().counters.drops().total(), 0u);
    rack.run_for(kSettle);
    rack.expect_all_capacity_back();
    EXPECT_EQ(rack.in_switch().drops(DropReason::kDuplicateToken), 0u) << "nobody asked twice without need";
  }
}

TYPED_TEST(WholeSwitch, overload__a_full_queue_refuses_and_nobody_waits_in_vain) {
  RackOptions options = small_rack(2);
  options.load = 3;
  options.queue_capacity = 8;
  VirtualRack<TypeParam> rack(options);
  rack.run();
  for (const auto& client : rack.clients()) client->expect_each_ended_once();
  EXPECT_GT(rack.count(Ending::kDropped), 0u);
  EXPECT_EQ(rack.count(Ending::kTimedOut), 0u);
  EXPECT_EQ(
      rack.in_switch().drops(DropReason::kQueueFull) + rack.in_switch().drops(DropReason::kPayloadStoreFull),
      rack.count(Ending::kDropped));
  rack.run_for(kSettle);
  rack.expect_all_capacity_back();
}

TYPED_TEST(WholeSwitch, storm__every_request_ends_once_and_no_capacity_leaks) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RackOptions options = small_rack(seed);
    options.faults = storm();
    VirtualRack<TypeParam> rack(options);
    rack.run();
    for (const auto& client : rack.clients()) client->expect_each_ended_once();
    EXPECT_GT(rack.count(Ending::kReply), options.clients * options.requests / 2);
    rack.heal();
    rack.run_for(kSettle);
    rack.expect_all_capacity_back();
    if (testing::Test::HasFailure()) break;
  }
}

TYPED_TEST(WholeSwitch, master__serves_sticky_tasks_alone_and_others_beside_them) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RackOptions options = small_rack(seed);
    options.sticky = seed % 3 == 0 ? 0.15 : 0.05;  // an even part would be 0.25
    options.load = seed % 2 == 0 ? 0.9 : 0.5;
    if (seed > 6) options.faults = storm();
    VirtualRack<TypeParam> rack(options);
    rack.run();
    for (const auto& client : rack.clients()) client->expect_each_ended_once();
    if (seed <= 6) {
      EXPECT_EQ(rack.count(Ending::kReply), options.clients * options.requests);
    }
    std::uint64_t sticky = 0;
    for (const auto& client : rack.clients()) sticky += client->submitted_sticky();
    EXPECT_GT(sticky, 0u);
    EXPECT_GT(rack.workers().back()->core().served(), sticky) << "it took its part of the rest";
    rack.heal();
    rack.run_for(kSettle);
    rack.expect_all_capacity_back();
    if (testing::Test::HasFailure()) break;
  }
}

TYPED_TEST(WholeSwitch, partition__a_cut_off_worker_comes_back_with_its_whole_quota) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RackOptions options = small_rack(seed);
    VirtualRack<TypeParam> rack(options);
    rack.run(microseconds(300));
    rack.workers()[0]->transport().partition(rack.switch_address());
    rack.run(microseconds(700));
    rack.workers()[0]->transport().heal_all();
    rack.run();
    for (const auto& client : rack.clients()) client->expect_each_ended_once();
    rack.run_for(kSettle);
    rack.expect_all_capacity_back();
  }
}

TYPED_TEST(WholeSwitch, restart__workers_find_the_new_switch_and_issue_all_tokens_again) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RackOptions options = small_rack(seed);
    if (seed > 2) options.faults = storm();
    VirtualRack<TypeParam> rack(options);
    rack.run(microseconds(500));
    rack.restart_switch(BootId{0xB008});
    rack.run();
    for (const auto& client : rack.clients()) client->expect_each_ended_once();
    EXPECT_GT(rack.count(Ending::kReply), 0u);
    rack.heal();
    rack.run_for(kSettle);
    rack.expect_all_capacity_back();
  }
}

TYPED_TEST(WholeSwitch, seed__repeats_the_whole_rack) {
  const auto outcome = [](std::uint64_t seed) {
    RackOptions options = small_rack(seed);
    options.faults = storm();
    VirtualRack<TypeParam> rack(options);
    rack.run();
    return std::array{static_cast<std::uint64_t>(rack.now().value), rack.count(Ending::kReply),
                      rack.in_switch().count(SwitchCounter::kPacketsIn)};
  };
  EXPECT_EQ(outcome(11), outcome(11));
  EXPECT_NE(outcome(11), outcome(12));
}

template <typename Program>
class WholePushSwitch : public testing::Test {};
using PushPrograms = testing::Types<
    dataplane::RandomProgram<dataplane::SoftMemory>, dataplane::RoundRobinProgram<dataplane::SoftMemory>,
    dataplane::JsqProgram<dataplane::SoftMemory>, dataplane::RackschedProgram<dataplane::SoftMemory>,
    dataplane::PallasProgram<dataplane::SoftMemory>>;
class PushProgramName {
 public:
  template <typename T>
  static std::string GetName(int index) {
    return std::array{"random", "round_robin", "jsq", "racksched", "pallas"}[static_cast<std::size_t>(index)];
  }
};
TYPED_TEST_SUITE(WholePushSwitch, PushPrograms, PushProgramName);

TYPED_TEST(WholePushSwitch, sound_network__every_request_is_served) {
  RackOptions options = small_rack(4);
  options.quota = 0;
  VirtualRack<TypeParam> rack(options);
  rack.run();
  for (const auto& client : rack.clients()) client->expect_each_ended_once();
  EXPECT_EQ(rack.count(Ending::kReply), options.clients * options.requests);
  EXPECT_EQ(rack.in_switch().counters.drops().total(), 0u);
  EXPECT_EQ(rack.in_switch().count(SwitchCounter::kConsumed), options.clients * options.requests)
      << "reports";
}

TYPED_TEST(WholePushSwitch, storm__every_request_ends_once) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RackOptions options = small_rack(seed);
    options.quota = 0;
    options.faults = storm();
    VirtualRack<TypeParam> rack(options);
    rack.run();
    for (const auto& client : rack.clients()) client->expect_each_ended_once();
    EXPECT_GT(rack.count(Ending::kReply), options.clients * options.requests / 2);
  }
}

// A worker that dies leaves tokens behind; those met at dequeue cost a further pass each, and no task is lost to them.
TEST(WholeSwitchEpochs, stale_tokens__tasks_pass_again_until_a_live_one_is_found) {
  using Program = dataplane::RainProgram<dataplane::SoftMemory, 4>;
  RackOptions options;
  options.quota = 4;
  options.requests = 20;
  options.first_request = kSettle;
  options.load = 0.1;
  VirtualRack<Program> rack(options);
  rack.run_for(kSettle - Nanos{1});
  rack.expect_all_capacity_back();
  auto& in_switch = rack.in_switch();
  for (const WorkerId dead : {WorkerId{0}, WorkerId{1}, WorkerId{2}}) {
    dataplane::WorkerEntry entry = *in_switch.memory.worker(dead);
    entry.present = false;
    in_switch.memory.set_worker(dead, entry);
  }
  rack.run();
  for (const auto& client : rack.clients()) client->expect_each_ended_once();
  EXPECT_EQ(rack.count(Ending::kReply), options.clients * options.requests);
  EXPECT_GE(in_switch.count(SwitchCounter::kRecirculations), 3u);
  EXPECT_EQ(in_switch.drops(DropReason::kStaleToken), in_switch.count(SwitchCounter::kRecirculations));
}

}  // namespace
}  // namespace rain::softswitch
