// The Memory a program is written against: registers, match tables and the payload store of one switch
// thread. Freestanding. Implementations: SoftMemory (soft_memory.h); an XDP one follows with that substrate.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "dataplane/packet.h"
#include "dataplane/tables.h"

namespace rain::dataplane {

/// Geometry of the register arrays; fixed when the memory is made.
struct MemoryShape {
  std::uint32_t slices = 1;      ///< 1..kMaxSlices
  std::uint32_t workers = 1;     ///< worker ids 0..workers-1; 1..kMaxWorkers
  std::uint32_t task_ring = 1;   ///< entries of one slice's task queue; a power of two
  std::uint32_t token_ring = 1;  ///< entries of one token FIFO; a power of two
  std::uint32_t hold_slots = 0;  ///< large payloads that may wait at once, all slices together
};

// clang-format off
template <typename M>
concept Memory = requires(M& memory, std::uint8_t id, std::uint32_t index, std::span<const std::byte> payload) {
  { memory.template cell<std::uint32_t>(id, index) } -> std::same_as<std::uint32_t*>;
  { memory.shape() } -> std::convertible_to<const MemoryShape&>;
  { memory.worker(WorkerId{}) } -> std::same_as<const WorkerEntry*>;      // nullptr: not in the table
  { memory.slice(SliceId{}) } -> std::same_as<const SliceEntry*>;         // nullptr: not in the table
  { memory.slice_of(TaskType{}) } -> std::same_as<const SliceId*>;        // nullptr: no slice serves the type
  { memory.member(SliceId{}, index) } -> std::same_as<WorkerId>;          // index < member_count
  { memory.slot(SliceId{}, index) } -> std::same_as<WorkerId>;            // index < slot_count
  { memory.free_holds() } -> std::same_as<std::uint32_t>;                 // payloads that hold() can still take
  { memory.hold(payload) } -> std::same_as<HoldHandle>;                   // kNoHold: none
};
// clang-format on

}  // namespace rain::dataplane
