// The rows of the controller's tables: what it tells switches and servers. Every row has the version of its last
// change, so that whoever knows version v needs only what is newer; a removed row stays as a tombstone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "dataplane/tables.h"

namespace rain::control {

/// Counts the changes of a registry. 0: nothing known yet.
using Version = std::uint64_t;

struct SliceRow {
  SliceId id{};
  std::string name{};
  bool other_types = false;  ///< serves the types that no TypeRow names; one slice may
  std::uint32_t queue_capacity = dataplane::kDefaultQueueCapacity;
  std::optional<std::uint32_t> spill{};         ///< an operator's word: it wins over the agents'
  std::optional<std::uint32_t> agents_spill{};  ///< what the agents came to; unset: nothing yet
  std::uint16_t drain = 4;
  bool recirculate = false;
  unsigned group = 0;  ///< the switch thread that serves it
  /// Who takes tasks with policy STICKY. While it is out they wait, or with a scheduler without tokens are refused.
  std::optional<WorkerId> master{};

  /// What the switch is told; nothing: its default.
  std::optional<std::uint32_t> spill_in_force() const { return spill ? spill : agents_spill; }

  bool operator==(const SliceRow&) const = default;
};

struct TypeRow {
  TaskType type{};
  SliceId slice{};

  bool operator==(const TypeRow&) const = default;
};

enum class WorkerState : std::uint8_t {
  kServing,
  kDraining,  ///< takes back its tokens and serves what it holds
  kDrained,   ///< did so; not in the switch
  kRemoved,   ///< by an operator; not in the switch
  kLeft,      ///< its server said goodbye; not in the switch
  kCrashed,   ///< its lease ran out, or its agent called it dead; not in the switch
};

/// The switch has a row of it.
constexpr bool is_in_switch(WorkerState state) { return state <= WorkerState::kDraining; }

constexpr const char* worker_state_name(WorkerState state) {
  constexpr const char* kNames[] = {"serving", "draining", "drained", "removed", "left", "crashed"};
  return kNames[static_cast<std::size_t>(state)];
}
inline constexpr std::size_t kWorkerStateCount = 6;

struct WorkerRow {
  WorkerId id{};
  std::string server{};
  SliceId slice{};
  Endpoint address{};
  Epoch epoch{};
  std::uint32_t token_key = 0;
  std::uint8_t weight = 1;
  unsigned quota = 1;             ///< as last ordered; its agent adapts it from there
  std::uint32_t quota_order = 0;  ///< counts the orders, so that each is carried out once
  WorkerState state = WorkerState::kServing;

  bool operator==(const WorkerRow&) const = default;
};

/// Where all rows of a table are of one kind.
template <typename Row>
struct Versioned {
  Row row{};
  Version version = 0;   ///< of its last change
  bool removed = false;  ///< a tombstone

  bool operator==(const Versioned&) const = default;
};

struct Changes {
  std::uint64_t instance = 0;  ///< of the registry: versions of different instances cannot be compared
  Version version = 0;         ///< that these rows lead to
  bool reset = false;          ///< these are all rows there are: forget the others
  std::vector<Versioned<SliceRow>> slices{};
  std::vector<Versioned<TypeRow>> types{};
  std::vector<Versioned<WorkerRow>> workers{};

  bool empty() const { return slices.empty() && types.empty() && workers.empty(); }
};

}  // namespace rain::control
