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

std::vector<const SwitchSlice*> slices_of(const SwitchOptions& options, unsigned group) {
  std::vector<const SwitchSlice*> slices;
  for (const SwitchSlice& slice : options.slices) {
    if (slice.group == group) slices.push_back(&slice);
  }
  return slices;
}

dataplane::MemoryShape memory_shape(const SwitchOptions& options, unsigned group) {
  const std::vector<const SwitchSlice*> slices = slices_of(options, group);
  dataplane::MemoryShape shape{.slices = static_cast<std::uint32_t>(slices.size())};
  std::uint32_t most_workers = 1;
  for (const SwitchSlice* slice : slices) {
    shape.task_ring = std::max(shape.task_ring, std::bit_ceil(slice->queue_capacity));
    most_workers = std::max(most_workers, options.workers_of(slice->id));
    for (const SwitchWorker& worker : options.workers) {
      if (worker.slice == slice->id)
        shape.workers = std::max(shape.workers, worker.id.value + std::uint32_t{1});
    }
  }
  // `rain` files a worker's tokens by level, one in each FIFO; `rain-paper` has one FIFO for all of them.
  const bool one_fifo = options.program_info().id == dataplane::ProgramId::kRainPaper;
  shape.token_ring = std::bit_ceil(most_workers * (one_fifo ? options.quota : 1));
  shape.hold_slots = options.hold_slots;
  return shape;
}

void fill_tables(const SwitchOptions& options, unsigned group, dataplane::SoftMemory& memory) {
  const std::vector<const SwitchSlice*> slices = slices_of(options, group);
  for (std::uint16_t index = 0; index < slices.size(); ++index) {
    const SwitchSlice& slice = *slices[index];
    memory.set_slice(SliceId{index}, {.present = true,
                                      .queue_capacity = slice.queue_capacity,
                                      .spill = options.spill_of(slice),
                                      .drain = slice.drain,
                                      .depth = static_cast<std::uint8_t>(options.quota),
                                      .recirculate = slice.recirculate});
    for (const SwitchWorker& worker : options.workers) {
      if (worker.slice != slice.id) continue;
      memory.set_worker(worker.id, {.present = true,
                                    .slice = SliceId{index},
                                    .epoch = worker.epoch,
                                    .token_key = worker.token_key,
                                    .weight = worker.weight,
                                    .address = worker.address});
    }
    if (!slice.task_types.empty()) continue;
    for (std::uint32_t type = 0; type < kTaskTypes; ++type) {
      memory.set_type(TaskType{static_cast<std::uint16_t>(type)}, SliceId{index});
    }
  }
  // The named types last: they are taken out of the slice that takes all others, also those of other threads.
  for (const SwitchSlice& slice : options.slices) {
    for (const TaskType type : slice.task_types) memory.remove_type(type);
  }
  for (std::uint16_t index = 0; index < slices.size(); ++index) {
    for (const TaskType type : slices[index]->task_types) memory.set_type(type, SliceId{index});
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
  return {.plain_magic = static_cast<std::uint8_t>(wire::Layout::kPlain),
          .packed_magic = static_cast<std::uint8_t>(wire::Layout::kReference),
          .rules = {std::move(tasks), std::move(tokens)}};
}

}  // namespace rain::softswitch
