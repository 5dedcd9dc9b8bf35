// What a switch process is configured with. One struct with units and defaults; validate() says what is wrong in one
// line: the key, the value, what is allowed. Filled from a TOML file by the `rain` command, or by hand in tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"
#include "dataplane/programs.h"
#include "dataplane/tables.h"

namespace rain::softswitch {

inline constexpr unsigned kMaxGroups = 16;  ///< switch threads

/// A slice: the task types that share a queue and a set of workers.
struct SwitchSlice {
  std::string name = "default";
  SliceId id{};  ///< 0..kMaxSlices-1, those of master_slice() kMaxSlices higher
  std::vector<TaskType> task_types{};
  /// It also serves all types that no slice names, as one slice at most may. Unset: it does if task_types is empty and host
  /// unset.
  std::optional<bool> other_types{};
  /// Set: this is the master slice of that one, of the same group. It takes the host's STICKY tasks; its worker is the
  /// master, whose tokens serve the host while no STICKY task waits.
  std::optional<SliceId> host{};
  std::uint32_t queue_capacity =
      dataplane::kDefaultQueueCapacity;  ///< tasks that may wait, 1..kMaxQueueCapacity
  /// Waiting tasks from which busy workers take some, at most queue_capacity. Unset: a quarter of the slice's workers.
  std::optional<std::uint32_t> spill{};
  std::uint16_t drain = 4;   ///< every drain-th spare token serves the queue; 0: none does
  bool recirculate = false;  ///< racksched: refresh loads by an extra pass instead of by reports
  unsigned group = 0;        ///< the switch thread that serves it, 0..kMaxGroups-1, without gaps

  bool takes_other_types() const { return other_types.value_or(task_types.empty() && !host); }
  bool operator==(const SwitchSlice&) const = default;
};

/// The master slice of `host`.
SliceId master_slice_id(SliceId host);
SwitchSlice master_slice(const SwitchSlice& host);

/// One row of the worker table.
struct SwitchWorker {
  WorkerId id{};       ///< 0..kMaxWorkers-1
  SliceId slice{};     ///< of one of the slices
  Endpoint address{};  ///< where tasks go and tokens come from; several workers may share one
  std::uint32_t token_key = 0;
  Epoch epoch{};
  std::uint8_t weight = 1;  ///< pallas: slots in a round, 1..kMaxWeight

  bool operator==(const SwitchWorker&) const = default;
};

struct SwitchOptions {
  Endpoint listen =
      Endpoint::v4(127, 0, 0, 1, 9000);  ///< one UDP port for all threads; port 0: the kernel chooses
  std::string program = "rain";          ///< scheduler, one of dataplane/programs.h that run on sockets
  unsigned quota = 4;                    ///< largest quota of a worker, 1..kMaxQuota
  std::uint64_t seed = 1;                ///< of the programs that draw
  std::uint32_t hold_slots = 16 * 1024;  ///< payloads over 8 bytes that may wait at once, per thread; 0..2^20
  bool busy_poll = false;                ///< threads spin instead of sleeping: lower latency, a core each
  Nanos kernel_busy_poll{};              ///< SO_BUSY_POLL, 0..1 s; 0: off
  std::uint64_t receive_buffer_bytes =
      4 << 20;                          ///< SO_RCVBUF of each socket, up to 1 GiB; 0: the system's default
  std::uint64_t send_buffer_bytes = 0;  ///< SO_SNDBUF, likewise
  Nanos drain_limit = seconds(5);       ///< how long SIGTERM waits for queued tasks to find workers, 0..1 h
  std::vector<SwitchSlice> slices{};    ///< may be none at the start if max_slices says that some will follow
  std::vector<SwitchWorker> workers{};
  // Room for changes while it runs (table_change.h), fixed at the start; 0: for what is there at the start.
  std::uint32_t max_workers = 0;         ///< worker ids 0..max_workers-1; up to kMaxWorkers
  std::uint32_t max_slices = 0;          ///< of each thread; up to kMaxSlices
  std::uint32_t max_queue_capacity = 0;  ///< of each slice; up to kMaxQueueCapacity

  /// Nothing, or one line about the first thing that is wrong.
  tl::expected<void, std::string> validate() const;
  /// The part of validate() that is about each slice and its place among those before it: for readers that know where
  /// each was written.
  tl::expected<void, std::string> validate_slices() const;
  /// The part that is about slices and workers at any time: there may be none.
  tl::expected<void, std::string> validate_tables() const;

  // Of validated options:
  /// One line about a choice that is allowed but seldom wanted, or "".
  std::string warning() const;
  unsigned group_count() const;
  const dataplane::ProgramInfo& program_info() const;
  std::uint32_t workers_of(SliceId slice) const;
  /// `spill` with its default applied.
  std::uint32_t spill_of(const SwitchSlice& slice) const;
};

}  // namespace rain::softswitch
