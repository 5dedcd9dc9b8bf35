// The Memory of a software switch thread: registers, match tables and payload store in storage that the
// caller owns. Freestanding: it allocates nothing, it lays out what it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "dataplane/memory.h"
#include "dataplane/pass.h"

namespace rain::dataplane {

/// Groups that `r2p2` divides a slice's workers into at most.
constexpr std::uint32_t worker_groups(const MemoryShape& shape) {
  return (shape.workers + kWorkersPerGroup - 1) / kWorkersPerGroup;
}

/// Cells of a register array under `shape`.
constexpr std::uint64_t cell_count(Extent extent, const MemoryShape& shape) {
  switch (extent) {
    case Extent::kSlices:
      return shape.slices;
    case Extent::kWorkers:
      return shape.workers;
    case Extent::kWorkerGroups:
      return std::uint64_t{shape.slices} * worker_groups(shape);
    case Extent::kWorkerLevels:
      return std::uint64_t{shape.workers} * kMaxQuota;
    case Extent::kTasks:
      return std::uint64_t{shape.slices} * shape.task_ring;
    case Extent::kTokens:
      return std::uint64_t{shape.slices} * shape.token_ring;
  }
  return 0;
}

class SoftMemory {
 public:
  static constexpr std::uint32_t kMaxRegisters = 32;
  /// Writable bytes before each held payload, so that a header can be put in front of it without a copy.
  static constexpr std::size_t kHoldHeadroomBytes = 128;

  /// Bytes of zeroed, 64-byte aligned storage that a program with these registers needs under `shape`.
  static constexpr std::size_t storage_bytes(std::span<const RegisterSpec> registers,
                                             const MemoryShape& shape) {
    Layout layout;
    for (const RegisterSpec& spec : registers) layout.take(cell_count(spec.extent, shape) * spec.cell_bytes);
    take_tables(layout, shape);
    return layout.used;
  }

  /// `storage`: zeroed, 64-byte aligned, storage_bytes() long; must outlive this.
  SoftMemory(std::span<const RegisterSpec> registers, const MemoryShape& shape, std::span<std::byte> storage)
      : shape_(shape) {
    RAIN_ASSERT(registers.size() <= kMaxRegisters);
    RAIN_ASSERT(storage.size() >= storage_bytes(registers, shape));
    RAIN_ASSERT(is_power_of_two(shape.task_ring) && is_power_of_two(shape.token_ring));
    RAIN_ASSERT(shape.token_ring <= UINT16_MAX);  // TokenRing counts in 16 bits
    Layout layout;
    for (const RegisterSpec& spec : registers) {
      cells_[spec.id] = storage.data() + layout.take(cell_count(spec.extent, shape) * spec.cell_bytes);
    }
    const TablePlaces places = take_tables(layout, shape);
    workers_ = place<WorkerEntry>(storage, places.workers);
    slices_ = place<SliceEntry>(storage, places.slices);
    types_ = place<SliceId>(storage, places.types);
    members_ = place<WorkerId>(storage, places.members);
    slots_ = place<WorkerId>(storage, places.slots);
    free_holds_ = place<HoldHandle>(storage, places.free_holds);
    holds_ = place<std::byte>(storage, places.holds);
    for (std::uint32_t i = 0; i < kTaskTypes; ++i) types_[i] = kNoSlice;
    for (std::uint32_t i = 0; i < shape.hold_slots; ++i) free_holds_[i] = shape.hold_slots - 1 - i;
    free_hold_count_ = shape.hold_slots;
  }
  SoftMemory(const SoftMemory&) = delete;
  SoftMemory& operator=(const SoftMemory&) = delete;

  // --- what programs see (concept Memory) ---

  template <typename Cell>
  [[gnu::returns_nonnull]] Cell* cell(std::uint8_t id, std::uint32_t index) {
    return reinterpret_cast<Cell*>(cells_[id]) + index;
  }
  const MemoryShape& shape() const { return shape_; }
  const WorkerEntry* worker(WorkerId id) const {
    return id.value < shape_.workers && workers_[id.value].present ? &workers_[id.value] : nullptr;
  }
  const SliceEntry* slice(SliceId id) const {
    return id.value < shape_.slices && slices_[id.value].present ? &slices_[id.value] : nullptr;
  }
  const SliceId* slice_of(TaskType type) const {
    return types_[type.value] == kNoSlice ? nullptr : &types_[type.value];
  }
  WorkerId member(SliceId slice, std::uint32_t index) const {
    return members_[slice.value * shape_.workers + index];
  }
  WorkerId slot(SliceId slice, std::uint32_t index) const {
    return slots_[slice.value * shape_.workers * kMaxWeight + index];
  }
  std::uint32_t free_holds() const { return free_hold_count_; }
  HoldHandle hold(std::span<const std::byte> payload) {
    if (free_hold_count_ == 0 || payload.size() > wire::kMaxPayloadBytes) return kNoHold;
    const HoldHandle handle = free_holds_[--free_hold_count_];
    __builtin_memcpy(held(handle), payload.data(), payload.size());
    return handle;
  }

  // --- what the rim sees ---

  /// The held payload; kHoldHeadroomBytes before it are writable. Valid until release().
  std::byte* held(HoldHandle handle) { return holds_ + handle * kHoldBytes + kHoldHeadroomBytes; }
  void release(HoldHandle handle) {
    RAIN_ASSERT(handle < shape_.hold_slots && free_hold_count_ < shape_.hold_slots);
    free_holds_[free_hold_count_++] = handle;
  }

  // --- what the control plane sees; only between packets ---

  /// A spill threshold above the queue's capacity is taken as the capacity.
  void set_slice(SliceId id, const SliceEntry& entry) {
    RAIN_ASSERT(id.value < shape_.slices && entry.queue_capacity <= shape_.task_ring);
    slices_[id.value] = entry;
    if (entry.spill > entry.queue_capacity) slices_[id.value].spill = entry.queue_capacity;
    rebuild_members();
  }
  void set_worker(WorkerId id, const WorkerEntry& entry) {
    RAIN_ASSERT(id.value < shape_.workers && entry.slice.value < shape_.slices);
    RAIN_ASSERT(entry.weight >= 1 && entry.weight <= kMaxWeight);  // without slots, pushed tasks go nowhere
    workers_[id.value] = entry;
    rebuild_members();
  }
  void set_type(TaskType type, SliceId slice) {
    RAIN_ASSERT(slice.value < shape_.slices);
    types_[type.value] = slice;
  }
  void remove_type(TaskType type) { types_[type.value] = kNoSlice; }
  /// The whole table at once: a slice, or kNoSlice, for each task type.
  void set_types(std::span<const SliceId> types) {
    RAIN_ASSERT(types.size() == kTaskTypes);
    __builtin_memcpy(types_, types.data(), kTaskTypes * sizeof(SliceId));
  }
  void remove_worker(WorkerId id) {
    RAIN_ASSERT(id.value < shape_.workers);
    workers_[id.value] = {};
    rebuild_members();
  }
  /// Also zeroes the slice's registers, so that another slice may take its place. What waited in them is gone.
  void remove_slice(SliceId id, std::span<const RegisterSpec> registers) {
    RAIN_ASSERT(id.value < shape_.slices);
    slices_[id.value] = {};
    for (const RegisterSpec& spec : registers) {
      if (spec.extent != Extent::kSlices && spec.extent != Extent::kWorkerGroups) continue;
      const std::size_t bytes = cell_count(spec.extent, shape_) / shape_.slices * spec.cell_bytes;
      __builtin_memset(cells_[spec.id] + id.value * bytes, 0, bytes);
    }
    rebuild_members();
  }

  static constexpr std::uint32_t kTaskTypes = 65536;

 private:
  static constexpr bool is_power_of_two(std::uint32_t n) { return n != 0 && (n & (n - 1)) == 0; }

  static constexpr std::size_t kHoldBytes = 1536;
  static_assert(kHoldHeadroomBytes + wire::kMaxPayloadBytes <= kHoldBytes);

  struct Layout {
    std::size_t used = 0;
    constexpr std::size_t take(std::uint64_t bytes) {
      const std::size_t at = used;
      used += (bytes + 63) / 64 * 64;  // each array starts on its own cache line
      return at;
    }
  };
  struct TablePlaces {
    std::size_t workers, slices, types, members, slots, free_holds, holds;
  };
  static constexpr TablePlaces take_tables(Layout& layout, const MemoryShape& shape) {
    TablePlaces places{};
    places.workers = layout.take(sizeof(WorkerEntry) * shape.workers);
    places.slices = layout.take(sizeof(SliceEntry) * shape.slices);
    places.types = layout.take(sizeof(SliceId) * kTaskTypes);
    places.members = layout.take(sizeof(WorkerId) * shape.slices * shape.workers);
    places.slots = layout.take(sizeof(WorkerId) * shape.slices * shape.workers * kMaxWeight);
    places.free_holds = layout.take(sizeof(HoldHandle) * shape.hold_slots);
    places.holds = layout.take(kHoldBytes * shape.hold_slots);
    return places;
  }
  template <typename T>
  static T* place(std::span<std::byte> storage, std::size_t at) {
    return reinterpret_cast<T*>(storage.data() + at);
  }

  void rebuild_members() {
    for (std::uint32_t slice = 0; slice < shape_.slices; ++slice) {
      slices_[slice].member_count = 0;
      slices_[slice].slot_count = 0;
    }
    for (std::uint32_t worker = 0; worker < shape_.workers; ++worker) {
      if (!workers_[worker].present) continue;
      const std::uint32_t slice = workers_[worker].slice.value;
      workers_[worker].member = slices_[slice].member_count++;
      members_[slice * shape_.workers + workers_[worker].member] =
          WorkerId{static_cast<std::uint16_t>(worker)};
    }
    for (std::uint8_t turn = 0; turn < kMaxWeight;
         ++turn) {  // one slot a turn, so that a heavy worker's slots lie apart
      for (std::uint32_t worker = 0; worker < shape_.workers; ++worker) {
        if (!workers_[worker].present || workers_[worker].weight <= turn) continue;
        const std::uint32_t slice = workers_[worker].slice.value;
        slots_[slice * shape_.workers * kMaxWeight + slices_[slice].slot_count++] =
            WorkerId{static_cast<std::uint16_t>(worker)};
      }
    }
  }

  MemoryShape shape_;
  std::byte* cells_[kMaxRegisters] = {};
  WorkerEntry* workers_ = nullptr;
  SliceEntry* slices_ = nullptr;
  SliceId* types_ = nullptr;
  WorkerId* members_ = nullptr;
  WorkerId* slots_ = nullptr;
  HoldHandle* free_holds_ = nullptr;
  std::uint32_t free_hold_count_ = 0;
  std::byte* holds_ = nullptr;
};

}  // namespace rain::dataplane
