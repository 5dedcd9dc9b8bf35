// SoftMemory: arrays that do not overlap, tables that follow the control plane, holds that come back.
#include "dataplane/soft_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "dataplane/rain.h"
#include "dataplane/test_memory.h"

namespace rain::dataplane {
namespace {

using Program = RainProgram<SoftMemory, 8>;

constexpr MemoryShape kShape{.slices = 3, .workers = 5, .task_ring = 8, .token_ring = 4, .hold_slots = 3};

WorkerEntry worker_in(std::uint16_t slice, std::uint8_t weight = 1) {
  return {.present = true, .slice = {slice}, .weight = weight};
}

std::vector<unsigned> members_of(const SoftMemory& memory, std::uint16_t slice) {
  std::vector<unsigned> members;
  for (unsigned i = 0; i < memory.slice({slice})->member_count; ++i) {
    members.push_back(memory.member({slice}, i).value);
  }
  return members;
}

std::vector<unsigned> round_of(const SoftMemory& memory, std::uint16_t slice) {
  std::vector<unsigned> slots;
  for (unsigned i = 0; i < memory.slice({slice})->slot_count; ++i) {
    slots.push_back(memory.slot({slice}, i).value);
  }
  return slots;
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>(seed + i);
  return payload;
}

/// Every byte of every array belongs to that array alone, and the last ones lie in the storage (which is as
/// large as asked for: a sanitizer sees the next byte).
TEST(soft_memory, cell__arrays_do_not_overlap) {
  TestMemory memory(Program::kRegisters, kShape);
  for (const RegisterSpec& spec : Program::kRegisters) {
    const std::size_t bytes = cell_count(spec.extent, kShape) * spec.cell_bytes;
    std::memset(memory.get().cell<std::byte>(spec.id, 0), spec.id + 1, bytes);
  }
  for (std::uint16_t slice = 0; slice < kShape.slices; ++slice) {
    memory.get().set_slice({slice}, {.present = true, .queue_capacity = 8});
  }
  for (std::uint16_t i = 0; i < kShape.workers; ++i) {
    memory.get().set_worker({i}, worker_in(i % 3, kMaxWeight));
  }
  memory.get().set_type({0xFFFF}, {2});
  for (unsigned i = 0; i < kShape.hold_slots; ++i) {
    memory.get().hold(pattern(wire::kMaxPayloadBytes, i));
  }
  for (const RegisterSpec& spec : Program::kRegisters) {
    const auto* first = reinterpret_cast<const unsigned char*>(memory.get().cell<std::byte>(spec.id, 0));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u) << spec.name;
    const std::size_t bytes = cell_count(spec.extent, kShape) * spec.cell_bytes;
    EXPECT_EQ(std::count(first, first + bytes, spec.id + 1), static_cast<std::ptrdiff_t>(bytes)) << spec.name;
  }
}

TEST(soft_memory, cell_count__follows_the_shape) {
  EXPECT_EQ(cell_count(Extent::kSlices, kShape), 3u);
  EXPECT_EQ(cell_count(Extent::kWorkers, kShape), 5u);
  EXPECT_EQ(cell_count(Extent::kWorkerGroups, kShape), 3u);
  EXPECT_EQ(cell_count(Extent::kWorkerLevels, kShape), 5u * kMaxQuota);
  EXPECT_EQ(cell_count(Extent::kTasks, kShape), 24u);
  EXPECT_EQ(cell_count(Extent::kTokens, kShape), 12u);
  // The largest switch does not overflow 32 bits on the way.
  const MemoryShape largest{.slices = kMaxSlices, .task_ring = kMaxQueueCapacity};
  EXPECT_EQ(cell_count(Extent::kTasks, largest), std::uint64_t{1} << 26);
}

TEST(soft_memory, tables__are_empty_at_first) {
  TestMemory memory(Program::kRegisters, kShape);
  for (const unsigned id : {0u, 4u, 5u, 0xFFFFu}) {
    EXPECT_EQ(memory.get().worker({static_cast<std::uint16_t>(id)}), nullptr);
    EXPECT_EQ(memory.get().slice({static_cast<std::uint16_t>(id)}), nullptr);
    EXPECT_EQ(memory.get().slice_of({static_cast<std::uint16_t>(id)}), nullptr);
  }
}

TEST(soft_memory, set_worker__keeps_members_and_rounds) {
  TestMemory storage(Program::kRegisters, kShape);
  SoftMemory& memory = storage.get();
  memory.set_slice({0}, {.present = true, .queue_capacity = 1});
  memory.set_slice({2}, {.present = true, .queue_capacity = 1});
  memory.set_worker({4}, worker_in(0));
  memory.set_worker({1}, worker_in(0, 3));
  memory.set_worker({2}, worker_in(2, 2));
  EXPECT_EQ(members_of(memory, 0), (std::vector<unsigned>{1, 4}));
  EXPECT_EQ(round_of(memory, 0), (std::vector<unsigned>{1, 4, 1, 1}));
  EXPECT_EQ(members_of(memory, 2), (std::vector<unsigned>{2}));
  EXPECT_EQ(round_of(memory, 2), (std::vector<unsigned>{2, 2}));
  EXPECT_EQ(memory.worker({4})->member, 1);

  memory.set_worker({1}, worker_in(2));  // moves
  memory.set_worker({3}, worker_in(1));  // to a slice that is not there yet
  EXPECT_EQ(members_of(memory, 0), (std::vector<unsigned>{4}));
  EXPECT_EQ(memory.worker({4})->member, 0);
  EXPECT_EQ(members_of(memory, 2), (std::vector<unsigned>{1, 2}));
  memory.set_slice({1}, {.present = true, .queue_capacity = 1});
  EXPECT_EQ(members_of(memory, 1), (std::vector<unsigned>{3}));

  memory.set_worker({2}, {});  // leaves
  EXPECT_EQ(memory.worker({2}), nullptr);
  EXPECT_EQ(members_of(memory, 2), (std::vector<unsigned>{1}));
  memory.set_slice({2}, {.present = true, .queue_capacity = 7});  // new limits, same members
  EXPECT_EQ(members_of(memory, 2), (std::vector<unsigned>{1}));
  EXPECT_EQ(memory.slice({2})->queue_capacity, 7u);
  memory.set_slice({2}, {});
  EXPECT_EQ(memory.slice({2}), nullptr);
}

TEST(soft_memory, set_slice__takes_a_spill_above_the_capacity_as_the_capacity) {
  TestMemory memory(Program::kRegisters, kShape);
  for (const auto& [spill, taken] : {std::pair{0u, 0u}, {4u, 4u}, {5u, 5u}, {6u, 5u}, {UINT32_MAX, 5u}}) {
    memory.get().set_slice({0}, {.present = true, .queue_capacity = 5, .spill = spill});
    EXPECT_EQ(memory.get().slice({0})->spill, taken);
  }
}

TEST(soft_memory, set_type__is_undone_by_remove_type) {
  TestMemory memory(Program::kRegisters, kShape);
  memory.get().set_type({7}, {2});
  memory.get().set_type({0xFFFF}, {1});
  ASSERT_NE(memory.get().slice_of({7}), nullptr);
  EXPECT_EQ(*memory.get().slice_of({7}), SliceId{2});
  EXPECT_EQ(*memory.get().slice_of({0xFFFF}), SliceId{1});
  memory.get().remove_type({7});
  EXPECT_EQ(memory.get().slice_of({7}), nullptr);
}

TEST(soft_memory, set_types__replaces_the_whole_table) {
  TestMemory memory(Program::kRegisters, kShape);
  memory.get().set_type(TaskType{5}, SliceId{1});
  std::vector<SliceId> types(SoftMemory::kTaskTypes, kNoSlice);
  types[65535] = SliceId{2};
  memory.get().set_types(types);
  EXPECT_EQ(memory.get().slice_of(TaskType{5}), nullptr);
  EXPECT_EQ(memory.get().slice_of(TaskType{65535})->value, 2);
}

TEST(soft_memory, remove_worker__leaves_its_slice) {
  TestMemory memory(Program::kRegisters, kShape);
  memory.get().set_slice({0}, {.present = true, .queue_capacity = 8});
  for (std::uint16_t i = 0; i < 3; ++i) memory.get().set_worker({i}, worker_in(0));
  memory.get().remove_worker({1});
  EXPECT_EQ(memory.get().worker({1}), nullptr);
  EXPECT_EQ(members_of(memory.get(), 0), (std::vector<unsigned>{0, 2}));
}

TEST(soft_memory, remove_slice__its_place_is_as_new_and_the_others_are_as_they_were) {
  TestMemory memory(Program::kRegisters, kShape);
  for (std::uint16_t slice = 0; slice < kShape.slices; ++slice) {
    memory.get().set_slice({slice}, {.present = true, .queue_capacity = 8});
  }
  const auto each_slice_register = [&](auto visit) {
    for (const RegisterSpec& spec : Program::kRegisters) {
      if (spec.extent == Extent::kSlices) visit(spec);
    }
  };
  unsigned registers = 0;
  each_slice_register([&](const RegisterSpec& spec) {
    ++registers;
    std::memset(memory.get().cell<std::byte>(spec.id, 0), 0x5A, kShape.slices * spec.cell_bytes);
  });
  ASSERT_GT(registers, 3u);
  memory.get().remove_slice({1}, Program::kRegisters);
  EXPECT_EQ(memory.get().slice({1}), nullptr);
  EXPECT_NE(memory.get().slice({2}), nullptr);
  each_slice_register([&](const RegisterSpec& spec) {
    const std::byte* const cells = memory.get().cell<std::byte>(spec.id, 0);
    for (std::size_t i = 0; i < kShape.slices * spec.cell_bytes; ++i) {
      const bool of_removed = i / spec.cell_bytes == 1;
      ASSERT_EQ(std::to_integer<int>(cells[i]), of_removed ? 0 : 0x5A) << spec.name;
    }
  });
}

TEST(soft_memory, hold__keeps_payloads_apart_and_takes_no_more_than_its_slots) {
  TestMemory storage(Program::kRegisters, kShape);
  SoftMemory& memory = storage.get();
  const std::size_t sizes[] = {wire::kMaxPayloadBytes, 9, wire::kMaxPayloadBytes};
  for (unsigned round = 0; round < 3; ++round) {
    std::vector<HoldHandle> handles;
    for (unsigned i = 0; i < kShape.hold_slots; ++i) {
      EXPECT_EQ(memory.free_holds(), kShape.hold_slots - i);
      handles.push_back(memory.hold(pattern(sizes[i], round + i)));
    }
    EXPECT_EQ(std::set(handles.begin(), handles.end()).size(), kShape.hold_slots);
    EXPECT_EQ(memory.free_holds(), 0u);
    EXPECT_EQ(memory.hold(pattern(1, 0)), kNoHold);
    // A header written in front of one payload leaves the others as they were.
    for (const HoldHandle handle : handles) {
      std::memset(memory.held(handle) - SoftMemory::kHoldHeadroomBytes, 0xEE, SoftMemory::kHoldHeadroomBytes);
    }
    for (unsigned i = 0; i < kShape.hold_slots; ++i) {
      const std::vector<std::byte> payload = pattern(sizes[i], round + i);
      EXPECT_TRUE(std::equal(payload.begin(), payload.end(), memory.held(handles[i])));
    }
    memory.release(handles[1]);
    EXPECT_EQ(memory.hold(pattern(20, 9)), handles[1]);
    for (const HoldHandle handle : handles) memory.release(handle);
  }
}

TEST(soft_memory, hold__refuses_what_no_packet_can_carry) {
  TestMemory memory(Program::kRegisters, kShape);
  EXPECT_EQ(memory.get().hold(pattern(wire::kMaxPayloadBytes + 1, 0)), kNoHold);
  EXPECT_EQ(memory.get().free_holds(), kShape.hold_slots);
}

using soft_memoryDeathTest = ::testing::Test;

TEST(soft_memoryDeathTest, control_plane__bugs_stop_the_process) {
  TestMemory storage(Program::kRegisters, kShape);
  SoftMemory& memory = storage.get();
  EXPECT_DEATH(memory.set_slice({3}, {.present = true, .queue_capacity = 1}), "assertion failed");
  EXPECT_DEATH(memory.set_slice({0}, {.present = true, .queue_capacity = 9}), "assertion failed");
  EXPECT_DEATH(memory.set_worker({5}, worker_in(0)), "assertion failed");
  EXPECT_DEATH(memory.set_worker({0}, worker_in(3)), "assertion failed");
  EXPECT_DEATH(memory.set_worker({0}, worker_in(0, 0)), "assertion failed");
  EXPECT_DEATH(memory.set_worker({0}, worker_in(0, kMaxWeight + 1)), "assertion failed");
  EXPECT_DEATH(memory.set_type({0}, {3}), "assertion failed");
  EXPECT_DEATH(memory.release(0), "assertion failed");  // nothing is held
  EXPECT_DEATH(memory.release(kNoHold), "assertion failed");
}

TEST(soft_memoryDeathTest, constructor__bugs_stop_the_process) {
  std::array<std::byte, 64> too_small{};
  EXPECT_DEATH(SoftMemory(Program::kRegisters, kShape, too_small), "assertion failed");
  const auto with_rings = [](std::uint32_t tasks, std::uint32_t tokens) {
    MemoryShape shape = kShape;
    shape.task_ring = tasks;
    shape.token_ring = tokens;
    TestMemory memory(Program::kRegisters, shape);
  };
  with_rings(1, 1);
  EXPECT_DEATH(with_rings(12, 4), "assertion failed");
  EXPECT_DEATH(with_rings(0, 4), "assertion failed");
  EXPECT_DEATH(with_rings(8, 6), "assertion failed");
  EXPECT_DEATH(with_rings(8, 0), "assertion failed");
  EXPECT_DEATH(with_rings(8, 1u << 16), "token_ring <= UINT16_MAX");
}

}  // namespace
}  // namespace rain::dataplane
