#include "softswitch/switch_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/page_buffer.h"

namespace rain::softswitch {
namespace {

using dataplane::MemoryShape;
using dataplane::SoftMemory;

// "fast" (types 1, 2) and "rest" (all others) on thread 0, "slow" (type 9) on thread 1.
SwitchOptions two_groups() {
  SwitchOptions options;
  options.quota = 3;
  options.slices = {{.name = "fast",
                     .id = {1},
                     .task_types = {TaskType{1}, TaskType{2}},
                     .queue_capacity = 100,
                     .drain = 7},
                    {.name = "rest", .id = {3}, .queue_capacity = 5, .spill = 2},
                    {.name = "slow",
                     .id = {0},
                     .task_types = {TaskType{9}},
                     .queue_capacity = 1000,
                     .recirculate = true,
                     .group = 1}};
  for (std::uint16_t id = 0; id < 9; ++id) {
    const SliceId slice = id < 5 ? SliceId{1} : id < 7 ? SliceId{3} : SliceId{0};
    options.workers.push_back({.id = {id},
                               .slice = slice,
                               .address = Endpoint::v4(10, 0, 0, 1, static_cast<std::uint16_t>(9100 + id)),
                               .token_key = 50u + id,
                               .epoch = {2},
                               .weight = 3});
  }
  EXPECT_TRUE(options.validate().has_value());
  return options;
}

struct FilledMemory {
  FilledMemory(const SwitchOptions& options, unsigned group)
      : shape(memory_shape(options, group)),
        storage(SoftMemory::storage_bytes({}, shape)),
        memory({}, shape, storage.bytes()) {
    fill_tables(options, group, memory);
  }
  MemoryShape shape;
  PageBuffer storage;
  SoftMemory memory;
};

TEST(SwitchTables, slices_of__a_thread_in_the_order_of_the_options) {
  const SwitchOptions options = two_groups();
  EXPECT_THAT(slices_of(options, 0), testing::ElementsAre(&options.slices[0], &options.slices[1]));
  EXPECT_THAT(slices_of(options, 1), testing::ElementsAre(&options.slices[2]));
}

TEST(SwitchTables, memory_shape__room_for_what_the_group_has) {
  const SwitchOptions options = two_groups();
  const MemoryShape first = memory_shape(options, 0);
  EXPECT_EQ(first.slices, 2u);
  EXPECT_EQ(first.workers, 7u);
  EXPECT_EQ(first.task_ring, 128u);
  EXPECT_EQ(first.token_ring, 8u) << "5 workers, one token of a level each";
  EXPECT_EQ(first.hold_slots, options.hold_slots);
  const MemoryShape second = memory_shape(options, 1);
  EXPECT_EQ(second.slices, 1u);
  EXPECT_EQ(second.workers, 9u);
  EXPECT_EQ(second.task_ring, 1024u);
  EXPECT_EQ(second.token_ring, 2u);
}

TEST(SwitchTables, memory_shape__one_fifo_takes_all_tokens_of_a_worker) {
  SwitchOptions options = two_groups();
  options.program = "rain-paper";
  EXPECT_EQ(memory_shape(options, 0).token_ring, 16u) << "5 workers of quota 3";
}

TEST(SwitchTables, fill_tables__types_lead_to_their_slices) {
  FilledMemory first(two_groups(), 0);
  ASSERT_NE(first.memory.slice_of(TaskType{2}), nullptr);
  EXPECT_EQ(first.memory.slice_of(TaskType{1})->value, 0);
  EXPECT_EQ(first.memory.slice_of(TaskType{2})->value, 0);
  EXPECT_EQ(first.memory.slice_of(TaskType{0})->value, 1);
  EXPECT_EQ(first.memory.slice_of(TaskType{65535})->value, 1);
  EXPECT_EQ(first.memory.slice_of(TaskType{9}), nullptr) << "another thread's";

  FilledMemory second(two_groups(), 1);
  EXPECT_EQ(second.memory.slice_of(TaskType{9})->value, 0);
  EXPECT_EQ(second.memory.slice_of(TaskType{0}), nullptr);
  EXPECT_EQ(second.memory.slice_of(TaskType{1}), nullptr);
}

TEST(SwitchTables, fill_tables__slices_and_workers_as_configured) {
  FilledMemory first(two_groups(), 0);
  const dataplane::SliceEntry* fast = first.memory.slice(SliceId{0});
  ASSERT_NE(fast, nullptr);
  EXPECT_EQ(fast->queue_capacity, 100u);
  EXPECT_EQ(fast->spill, 1u);
  EXPECT_EQ(fast->drain, 7);
  EXPECT_EQ(fast->depth, 3);
  EXPECT_FALSE(fast->recirculate);
  EXPECT_EQ(fast->member_count, 5);
  EXPECT_EQ(first.memory.slice(SliceId{1})->spill, 2u);
  EXPECT_EQ(first.memory.slice(SliceId{2}), nullptr);
  const dataplane::WorkerEntry* worker = first.memory.worker(WorkerId{6});
  ASSERT_NE(worker, nullptr);
  EXPECT_EQ(worker->slice.value, 1);
  EXPECT_EQ(worker->epoch.value, 2);
  EXPECT_EQ(worker->token_key, 56u);
  EXPECT_EQ(worker->weight, 3);
  EXPECT_EQ(worker->address, Endpoint::v4(10, 0, 0, 1, 9106));
  EXPECT_EQ(first.memory.worker(WorkerId{7}), nullptr) << "another thread's";

  FilledMemory second(two_groups(), 1);
  EXPECT_TRUE(second.memory.slice(SliceId{0})->recirculate);
  EXPECT_NE(second.memory.worker(WorkerId{8}), nullptr);
  EXPECT_EQ(second.memory.worker(WorkerId{0}), nullptr);
}

TEST(SwitchTables, steering__follows_slices_and_workers) {
  const transport::Steering rules = steering(two_groups());
  EXPECT_EQ(rules.plain_magic, 0x52);
  EXPECT_EQ(rules.packed_magic, 0xCC);
  ASSERT_EQ(rules.rules.size(), 2u);
  const auto socket_of = [](const transport::SteeringRule& rule, std::uint16_t key) -> int {
    for (const auto& entry : rule.keys) {
      if (entry.key == key) return entry.socket;
    }
    return rule.other_keys;
  };
  EXPECT_THAT(rules.rules[0].types, testing::ElementsAre(0));
  EXPECT_EQ(socket_of(rules.rules[0], 1), 0);
  EXPECT_EQ(socket_of(rules.rules[0], 9), 1);
  EXPECT_EQ(socket_of(rules.rules[0], 500), 0);
  EXPECT_EQ(rules.rules[0].key_without_field, 0);
  EXPECT_THAT(rules.rules[1].types, testing::ElementsAre(2, 9));
  EXPECT_EQ(socket_of(rules.rules[1], 4), 0);
  EXPECT_EQ(socket_of(rules.rules[1], 8), 1);
}

TEST(SwitchTables, steering__other_types_to_the_thread_whose_slice_takes_them) {
  SwitchOptions options = two_groups();
  std::swap(options.slices[1].group, options.slices[2].group);
  EXPECT_EQ(steering(options).rules[0].other_keys, 1);
}

}  // namespace
}  // namespace rain::softswitch
