#include "softswitch/switch_tables.h"

#include <algorithm>
#include <bit>

#include "wire/message.h"

namespace rain::softswitch {
std::vector<const SwitchSlice*> slices_of(const SwitchOptions& options, unsigned group) {
  std::vector<const SwitchSlice*> slices;
  for (const SwitchSlice& slice : options.slices) {
    if (slice.group == group) slices.push_back(&slice);
  }
  return slices;
}

dataplane::SliceEntry slice_entry(const SwitchOptions& options, const SwitchSlice& slice,
                                  const std::function<SliceId(SliceId)>& index_of) {
  const auto master = std::find_if(options.slices.begin(), options.slices.end(),
                                   [&](const SwitchSlice& other) { return other.host == slice.id; });
  return {.present = true,
          .queue_capacity = slice.queue_capacity,
          .spill = options.spill_of(slice),
          .drain = slice.drain,
          .depth = static_cast<std::uint8_t>(options.quota),
          .recirculate = slice.recirculate,
          .master_slice = master == options.slices.end() ? dataplane::kNoSlice : index_of(master->id),
          .host = slice.host ? index_of(*slice.host) : dataplane::kNoSlice};
}

dataplane::WorkerEntry worker_entry(const SwitchWorker& worker, SliceId index) {
  return {.present = true,
          .slice = index,
          .epoch = worker.epoch,
          .token_key = worker.token_key,
          .weight = worker.weight,
          .address = worker.address};
}

unsigned tokens_per_worker(const SwitchOptions& options) {
  return options.program_info().id == dataplane::ProgramId::kRainPaper ? options.quota : 1;
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
  if (options.max_slices != 0) shape.slices = options.max_slices;
  const bool unsized = slices.empty() && options.max_queue_capacity == 0;
  const std::uint32_t capacity = unsized ? dataplane::kDefaultQueueCapacity : options.max_queue_capacity;
  shape.task_ring = std::max(shape.task_ring, std::bit_ceil(capacity));
  shape.workers = std::max(shape.workers, options.max_workers);
  shape.token_ring = std::bit_ceil(std::max(most_workers, options.max_workers) * tokens_per_worker(options));
  shape.hold_slots = options.hold_slots;
  return shape;
}

void fill_tables(const SwitchOptions& options, unsigned group, dataplane::SoftMemory& memory) {
  const std::vector<const SwitchSlice*> slices = slices_of(options, group);
  const auto index_of = [&](SliceId id) {
    const auto at = std::find_if(slices.begin(), slices.end(),
                                 [id](const SwitchSlice* slice) { return slice->id == id; });
    return SliceId{static_cast<std::uint16_t>(at - slices.begin())};
  };
  for (std::uint16_t index = 0; index < slices.size(); ++index) {
    const SwitchSlice& slice = *slices[index];
    memory.set_slice(SliceId{index}, slice_entry(options, slice, index_of));
    for (const SwitchWorker& worker : options.workers) {
      if (worker.slice == slice.id) memory.set_worker(worker.id, worker_entry(worker, SliceId{index}));
    }
    if (!slice.takes_other_types()) continue;
    for (std::uint32_t type = 0; type < dataplane::SoftMemory::kTaskTypes; ++type) {
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
    if (slice.takes_other_types()) tasks.other_keys = socket;
    for (const TaskType type : slice.task_types) tasks.keys.push_back({type.value, socket});
  }
  for (const SwitchWorker& worker : options.workers) {
    const auto socket = static_cast<std::uint16_t>(row_with_id(options.slices, worker.slice)->group);
    tokens.keys.push_back({worker.id.value, socket});
  }
  return {.plain_magic = static_cast<std::uint8_t>(wire::Layout::kPlain),
          .packed_magic = static_cast<std::uint8_t>(wire::Layout::kReference),
          .rules = {std::move(tasks), std::move(tokens)}};
}

}  // namespace rain::softswitch
