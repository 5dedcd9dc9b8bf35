#include "softswitch/switch_tables.h"

#include <algorithm>
#include <bit>

#include "wire/message.h"

namespace rain::softswitch {
namespace {

constexpr std::uint32_t kTaskTypes = 65536;

const SwitchSlice* slice_with_id(const SwitchOptions& options, SliceId id) {
  for (const SwitchSlice& slice : options.slices) {
    if (slice.id == id) return &slice;
  }
  return nullptr;
}

}  // namespace

dataplane::MemoryShape memory_shape(const SwitchOptions& options, unsigned group) {
  dataplane::MemoryShape shape{.slices = 1, .workers = 1, .task_ring = 1, .token_ring = 1};
  std::uint32_t most_workers = 1;
  for (const SwitchSlice& slice : options.slices) {
    if (slice.group != group) continue;
    shape.slices = std::max(shape.slices, slice.id.value + std::uint32_t{1});
    shape.task_ring = std::max(shape.task_ring, std::bit_ceil(slice.queue_capacity));
    most_workers = std::max(most_workers, options.workers_of(slice.id));
  }
  for (const SwitchWorker& worker : options.workers) {
    if (slice_with_id(options, worker.slice)->group != group) continue;
    shape.workers = std::max(shape.workers, worker.id.value + std::uint32_t{1});
  }
  // `rain` files a worker's tokens by level, one in each FIFO; `rain-paper` has one FIFO for all of them.
  const bool one_fifo = options.program_info().id == dataplane::ProgramId::kRainPaper;
  shape.token_ring = std::bit_ceil(most_workers * (one_fifo ? options.quota : 1));
  shape.hold_slots = options.hold_slots;
  return shape;
}

void fill_tables(const SwitchOptions& options, unsigned group, dataplane::SoftMemory& memory) {
  for (const SwitchSlice& slice : options.slices) {
    if (slice.group != group) continue;
    memory.set_slice(slice.id, {.present = true,
                                .queue_capacity = slice.queue_capacity,
                                .spill = options.spill_of(slice),
                                .drain = slice.drain,
                                .depth = static_cast<std::uint8_t>(options.quota),
                                .recirculate = slice.recirculate});
  }
  // The slice that takes all other types first, so that the named ones overwrite it, also those of other groups.
  for (const SwitchSlice& slice : options.slices) {
    if (slice.group != group || !slice.task_types.empty()) continue;
    for (std::uint32_t type = 0; type < kTaskTypes; ++type) {
      memory.set_type(TaskType{static_cast<std::uint16_t>(type)}, slice.id);
    }
  }
  for (const SwitchSlice& slice : options.slices) {
    for (const TaskType type : slice.task_types) {
      if (slice.group == group) {
        memory.set_type(type, slice.id);
      } else {
        memory.remove_type(type);
      }
    }
  }
  for (const SwitchWorker& worker : options.workers) {
    if (slice_with_id(options, worker.slice)->group != group) continue;
    memory.set_worker(worker.id, {.present = true,
                                  .slice = worker.slice,
                                  .epoch = worker.epoch,
                                  .token_key = worker.token_key,
                                  .weight = worker.weight,
                                  .address = worker.address});
  }
}

transport::Steering steering(const SwitchOptions& options) {
  // A REQUEST without its extension has task type 0.
  transport::SteeringRule tasks{.types = {static_cast<std::uint8_t>(wire::MessageType::kRequest)}};
  transport::SteeringRule tokens{.types = {static_cast<std::uint8_t>(wire::MessageType::kFeedback),
                                           static_cast<std::uint8_t>(wire::MessageType::kSync)}};
  for (const SwitchSlice& slice : options.slices) {
    const auto socket = static_cast<std::uint16_t>(slice.group);
    if (slice.task_types.empty()) tasks.other_keys = socket;
    for (const TaskType type : slice.task_types) tasks.keys.push_back({type.value, socket});
  }
  for (const SwitchWorker& worker : options.workers) {
    const auto socket = static_cast<std::uint16_t>(slice_with_id(options, worker.slice)->group);
    tokens.keys.push_back({worker.id.value, socket});
  }
  return {.plain_magic = static_cast<std::uint8_t>(wire::Layout::kNotes),
          .packed_magic = static_cast<std::uint8_t>(wire::Layout::kReference),
          .rules = {std::move(tasks), std::move(tokens)}};
}

}  // namespace rain::softswitch
