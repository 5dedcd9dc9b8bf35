#include "sim/switch_model.h"

#include <algorithm>

namespace rain::sim {

std::vector<SliceSpec> effective_slices(const RackSpec& spec) {
  if (!spec.slices.empty()) return spec.slices;
  SliceSpec all{.workers = spec.workers, .types = {}};
  for (std::size_t i = 0; i < spec.workload.classes.size(); ++i) all.types.push_back(spec.type_of(i));
  return {all};
}

dataplane::MemoryShape memory_shape(const RackSpec& spec) {
  const std::uint32_t ring = std::bit_ceil(spec.queue_capacity);
  const auto slices = static_cast<std::uint32_t>(std::max<std::size_t>(spec.slices.size(), 1));
  return {.slices = slices,
          .workers = spec.workers,
          .task_ring = ring,
          .token_ring = std::bit_ceil(spec.workers * kMaxQuota),
          // Where large payloads wait is not what is simulated: there is always room for one.
          .hold_slots = spec.large_share > 0 || spec.workload.trace ? ring * slices : 0};
}

void configure(dataplane::SoftMemory& memory, const RackSpec& spec) {
  const Scheduler& scheduler = *find_scheduler(spec.scheduler);
  const std::vector<SliceSpec> slices = effective_slices(spec);
  std::uint16_t worker = 0;
  for (std::uint16_t i = 0; i < slices.size(); ++i) {
    const SliceSpec& slice = slices[i];
    memory.set_slice(SliceId{i},
                     {.present = true,
                      .queue_capacity = spec.queue_capacity,
                      .spill = spec.spill.value_or(slice.workers / 4),
                      .drain = static_cast<std::uint16_t>(spec.drain),
                      .depth = static_cast<std::uint8_t>(spec.depth.value_or(default_depth(scheduler))),
                      .recirculate = spec.refresh_by_recirculation});
    for (const TaskType type : slice.types) memory.set_type(type, SliceId{i});
    for (unsigned n = 0; n < slice.workers; ++n, ++worker) {
      memory.set_worker(WorkerId{worker}, {.present = true,
                                           .slice = SliceId{i},
                                           .epoch = kEpoch,
                                           .token_key = kTokenKey,
                                           .address = worker_address(WorkerId{worker})});
    }
  }
}

}  // namespace rain::sim
