// What a switch says that it takes is what its threads take, and a switch that is too large is refused before it takes any.
#include "softswitch/switch_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "softswitch/switch_peers.h"

namespace rain::softswitch {
namespace {

constexpr std::uint64_t kGibi = std::uint64_t{1} << 30;

/// All limits at their largest, on 16 threads.
SwitchOptions largest() {
  SwitchOptions options;
  for (std::uint16_t group = 0; group < kMaxGroups; ++group) {
    options.slices.push_back({.name = "slice " + std::to_string(group),
                              .id = {group},
                              .task_types = {TaskType{group}},
                              .queue_capacity = dataplane::kMaxQueueCapacity,
                              .group = group});
  }
  options.quota = kMaxQuota;
  options.hold_slots = 1u << 20;
  options.max_workers = dataplane::kMaxWorkers;
  options.max_slices = dataplane::kMaxSlices;
  options.max_queue_capacity = dataplane::kMaxQueueCapacity;
  return options;
}

TEST(SwitchMemory, memory_bytes__of_each_thread) {
  SwitchOptions options = one_slice(4, 1024);
  const std::uint64_t one = memory_bytes(options);
  EXPECT_GT(one, 1024 * sizeof(dataplane::TaskEntry));
  EXPECT_LT(one, std::uint64_t{4} << 20);
  options.max_queue_capacity = 1 << 20;
  EXPECT_GE(memory_bytes(options), one + (1 << 20) * sizeof(dataplane::TaskEntry) - (1 << 17));
  options.max_slices = 64;
  EXPECT_GE(memory_bytes(options), 64 * (1 << 20) * sizeof(dataplane::TaskEntry));
  EXPECT_GE(memory_bytes(largest()), kMaxGroups * memory_bytes(options));
}

TEST(SwitchMemory, memory_problem__says_both_figures) {
  EXPECT_EQ(memory_problem(largest(), UINT64_MAX), "");
  EXPECT_EQ(memory_problem(one_slice(4), kGibi), "");
  SwitchOptions options = one_slice(1, 1);
  options.hold_slots = 1u << 20;
  const std::uint64_t bytes = memory_bytes(options);
  EXPECT_EQ(memory_problem(options, bytes), "");
  EXPECT_EQ(memory_problem(options, bytes - 1).substr(0, 84),
            "the switch would take 1.5 GiB of memory, and this machine has 1.5 GiB: lower max_sli");
}

TEST(SwitchMemory, memory_text__rounds_up_to_what_can_be_told_apart) {
  EXPECT_EQ(memory_text(1), "1 MiB");
  EXPECT_EQ(memory_text(61 << 20), "61 MiB");
  EXPECT_EQ(memory_text(kGibi), "1.0 GiB");
  EXPECT_EQ(memory_text(kGibi * 7 / 2), "3.5 GiB");
}

TEST(SwitchMemory, start__refuses_what_the_machine_does_not_have) {
  if (memory_bytes(largest()) <= machine_memory_bytes()) GTEST_SKIP() << "a machine that has it";
  SwitchOptions options = largest();
  options.listen = kLoopback;
  const auto process = SwitchProcess::start(options);
  ASSERT_FALSE(process.has_value());
  EXPECT_EQ(process.error(), memory_problem(options, machine_memory_bytes()));
}

}  // namespace
}  // namespace rain::softswitch
