// Match tables: what the control plane tells a program. Read by packets, written only between packets.
// Freestanding.
#pragma once

#include <cstdint>

#include "base/endpoint.h"
#include "base/ids.h"

namespace rain::dataplane {

/// Worker table: worker id -> this.
struct WorkerEntry {
  bool present = false;
  SliceId slice{};
  Epoch epoch{};                ///< tokens of another epoch are dead
  std::uint32_t token_key = 0;  ///< tokens with another key are refused
  std::uint8_t weight = 1;      ///< program `pallas`: slots in a round, 1..kMaxWeight
  std::uint16_t member = 0;     ///< place among its slice's workers; kept by the memory
  Endpoint address{};           ///< where dispatches go, and the only source its tokens may have
};

/// Where a slice id stands for no slice.
inline constexpr SliceId kNoSlice{UINT16_MAX};

/// Slice table: slice id -> this.
struct SliceEntry {
  bool present = false;
  std::uint32_t queue_capacity = 0;  ///< tasks that may wait, 1..ring size of the memory
  std::uint32_t spill = 0;           ///< program `rain`: waiting tasks from which busy workers take some;
                                     ///< at most queue_capacity, or a full queue would refuse them instead
  std::uint16_t drain = 0;           ///< program `rain`: every drain-th spare token serves the head; 0: never
  std::uint8_t depth = 1;            ///< program `r2p2`: n of JBSQ(n), 1..kMaxQuota
  bool recirculate = false;  ///< program `racksched`: refresh loads by an extra pass instead of by reports
  // A slice with a master is two here, which name each other: the host, to which the rest of the workers belong, and its
  // master slice, which takes the host's STICKY tasks, has the master as its one worker, and lends the host those of its
  // tokens that find no task waiting.
  SliceId master_slice = kNoSlice;  ///< of a host: its master slice; kNoSlice: it has no master
  SliceId host = kNoSlice;          ///< of a master slice: whose it is; kNoSlice: it is none
  std::uint16_t member_count = 0;   ///< workers of the slice; kept by the memory
  std::uint16_t slot_count = 0;     ///< slots of a weighted round; kept by the memory
};

/// The largest switch this build can be configured for. Sizes of tables and registers follow the
/// configuration.
inline constexpr std::uint32_t kMaxSlices = 64;
inline constexpr std::uint32_t kMaxWorkers = 1024;
inline constexpr std::uint8_t kMaxWeight = 8;
inline constexpr std::uint32_t kMaxQueueCapacity = 1u << 20;
inline constexpr std::uint32_t kDefaultQueueCapacity = 128 * 1024;  ///< the paper's prototype (section 4)

}  // namespace rain::dataplane
