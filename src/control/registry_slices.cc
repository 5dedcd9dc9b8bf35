// The registry's slices and task types; see registry.h.
#include <fmt/format.h>

#include <algorithm>

#include "control/names.h"
#include "control/registry.h"

namespace rain::control {

Result<Registry::SliceEntry*> Registry::slice_named(const std::string& name) {
  for (auto& [id, entry] : slices_) {
    if (!entry.removed && entry.row.name == name) return &entry;
  }
  return refuse_slice("", name);
}

/// There is none of this name.
tl::unexpected<Refusal> Registry::refuse_slice(const std::string& where, const std::string& name) const {
  std::string names;
  for (const SliceRow& slice : slices()) names += (names.empty() ? "" : ", ") + slice.name;
  return refuse(Reason::kUnknown, fmt::format("{}slice {} is unknown; there {}", where, shown_name(name),
                                              names.empty() ? "is none" : "are: " + names));
}

bool Registry::has_slice(SliceId slice) const {
  const auto found = slices_.find(slice);
  return found != slices_.end() && !found->second.removed;
}

std::string Registry::name_of(SliceId slice) const {
  const auto found = slices_.find(slice);
  return found == slices_.end() ? std::to_string(slice.value) : found->second.row.name;
}

unsigned Registry::serving_in(SliceId slice) const {
  unsigned count = 0;
  for (const auto& [id, entry] : workers_) {
    count += entry.row.slice == slice && entry.row.state == WorkerState::kServing ? 1u : 0u;
  }
  return count;
}

std::string Registry::unserved(SliceId slice) const {
  const unsigned serving = serving_in(slice);
  if (serving == 0) {
    return fmt::format("slice \"{}\" has no worker that serves: its tasks {}", name_of(slice),
                       options_.uses_tokens ? "wait" : "are refused");
  }
  if (options_.uses_tokens || serving > 1) return {};
  for (const auto& [id, entry] : workers_) {
    if (entry.row.slice != slice || entry.row.state != WorkerState::kServing || !is_master(entry.row))
      continue;
    return fmt::format(
        "slice \"{}\" has no worker but its master, {}, which takes sticky tasks alone with this scheduler: "
        "others are refused",
        name_of(slice), id.value);
  }
  return {};
}

/// Of the switch's slices a slice with a master is two.
Result<void> Registry::check_room(const std::string& slice, std::uint32_t more) const {
  std::uint32_t taken = 0;
  for (const auto& [id, entry] : slices_) {
    if (!entry.removed) taken += entry.row.master ? 2u : 1u;
  }
  const std::uint32_t most = std::min(options_.max_slices, dataplane::kMaxSlices);
  if (taken + more <= most) return {};
  return refuse(Reason::kNoRoom,
                fmt::format("slice \"{}\": there is room for {} slices, and one with a master counts as two",
                            slice, most));
}

Result<void> Registry::check_sizes(const SliceRow& slice) const {
  if (slice.queue_capacity < 1 || slice.queue_capacity > options_.max_queue_capacity) {
    return refuse(Reason::kOutOfRange,
                  fmt::format("slice \"{}\": capacity {}: 1 to {} is allowed", slice.name,
                              slice.queue_capacity, options_.max_queue_capacity));
  }
  if (slice.spill.value_or(0) > slice.queue_capacity) {
    return refuse(Reason::kOutOfRange, fmt::format("slice \"{}\": spill {}: at most its capacity, {}",
                                                   slice.name, *slice.spill, slice.queue_capacity));
  }
  return {};
}

Result<Done> Registry::add_slice(SliceRow slice) {
  if (!is_name(slice.name))
    return refuse(Reason::kOutOfRange, fmt::format("slice {}: {}", shown_name(slice.name), kNameAllowed));
  if (slice.queue_capacity == 0)
    slice.queue_capacity = std::min(dataplane::kDefaultQueueCapacity, options_.max_queue_capacity);
  if (auto sizes = check_sizes(slice); !sizes) return tl::unexpected(sizes.error());
  for (const auto& [id, entry] : slices_) {
    if (entry.removed) continue;
    if (entry.row.name == slice.name)
      return refuse(Reason::kDuplicate, fmt::format("slice \"{}\": there is one of this name", slice.name));
    if (entry.row.other_types && slice.other_types) {
      return refuse(Reason::kDuplicate,
                    fmt::format("slice \"{}\": slice \"{}\" takes all other types already", slice.name,
                                entry.row.name));
    }
  }
  const std::uint32_t most = std::min(options_.max_slices, dataplane::kMaxSlices);
  if (auto room = check_room(slice.name, slice.master ? 2u : 1u); !room) return tl::unexpected(room.error());
  // Ids that were never used first: a switch that missed the removal then sees a removal, not a change.
  SliceId id{};
  while (slices_.contains(id) && id.value < most) ++id.value;
  if (id.value >= most) {
    for (id.value = 0; !slices_.at(id).removed;) ++id.value;
  }
  slice.id = id;
  slice.agents_spill.reset();
  SliceEntry& entry = slices_[id];
  entry.row = std::move(slice);
  entry.removed = false;
  touch(entry);
  return Done{unserved(id)};
}

Result<Done> Registry::remove_slice(const std::string& name) {
  auto found = slice_named(name);
  if (!found) return tl::unexpected(found.error());
  SliceEntry& entry = **found;
  for (const auto& [id, worker] : workers_) {
    if (worker.row.slice == entry.row.id && is_in_switch(worker.row.state)) {
      return refuse(Reason::kInUse,
                    fmt::format("slice \"{}\": worker {} belongs to it; move or drain its workers first",
                                name, id.value));
    }
  }
  for (auto& [type, row] : types_) {
    if (row.removed || row.row.slice != entry.row.id) continue;
    return refuse(
        Reason::kInUse,
        fmt::format("slice \"{}\": type {} belongs to it; remove or move its types first", name, type.value));
  }
  entry.removed = true;
  touch(entry);
  spill_wishes_.erase(entry.row.id);
  return Done{};
}

Result<Done> Registry::set_slice(const std::string& name, const SlicePatch& patch) {
  auto found = slice_named(name);
  if (!found) return tl::unexpected(found.error());
  SliceRow changed = (*found)->row;
  if (patch.queue_capacity) changed.queue_capacity = *patch.queue_capacity;
  if (patch.default_spill) changed.spill.reset();
  if (patch.spill) changed.spill = patch.spill;
  if (patch.drain) changed.drain = *patch.drain;
  if (auto sizes = check_sizes(changed); !sizes) return tl::unexpected(sizes.error());
  if (changed.agents_spill) changed.agents_spill = std::min(*changed.agents_spill, changed.queue_capacity);
  if (changed == (*found)->row) return Done{"nothing changes"};
  (*found)->row = changed;
  touch(**found);
  agree_spill(**found);
  return Done{};
}

Result<Done> Registry::set_master(const std::string& slice, WorkerId worker) {
  auto found = slice_named(slice);
  if (!found) return tl::unexpected(found.error());
  auto entry = worker_with(worker);
  if (!entry) return tl::unexpected(entry.error());
  if ((*entry)->row.slice != (*found)->row.id || (*entry)->row.state != WorkerState::kServing) {
    return refuse(
        Reason::kWrongState,
        fmt::format("worker {} is {} in slice \"{}\": the master of \"{}\" is one that serves there",
                    worker.value, worker_state_name((*entry)->row.state), name_of((*entry)->row.slice),
                    slice));
  }
  SliceRow& row = (*found)->row;
  if (row.master == worker) return Done{"nothing changes"};
  // In the switch master and others are apart: both change places.
  if (!row.master) {
    if (auto room = check_room(slice, 1); !room) return tl::unexpected(room.error());
  } else {
    const auto old = workers_.find(*row.master);
    if (old != workers_.end() && old->second.row.slice == row.id) begin_epoch(old->second);
  }
  begin_epoch(**entry);
  row.master = worker;
  touch(**found);
  return Done{unserved(row.id)};
}

Result<Done> Registry::add_type(TaskType type, const std::string& slice, bool move) {
  auto found = slice_named(slice);
  if (!found) return tl::unexpected(found.error());
  const SliceId id = (*found)->row.id;
  Versioned<TypeRow>& entry = types_[type];
  const bool present = entry.version != 0 && !entry.removed;
  if (present && entry.row.slice == id) return Done{"nothing changes"};
  if (present && !move) {
    return refuse(Reason::kDuplicate,
                  fmt::format("type {} belongs to slice \"{}\"; a type belongs to one slice", type.value,
                              name_of(entry.row.slice)));
  }
  entry.row = {type, id};
  entry.removed = false;
  touch(entry);
  return Done{unserved(id)};
}

Result<Done> Registry::remove_type(TaskType type) {
  const auto found = types_.find(type);
  if (found == types_.end() || found->second.removed)
    return refuse(Reason::kUnknown, fmt::format("type {} belongs to no slice", type.value));
  found->second.removed = true;
  touch(found->second);
  for (const auto& [id, entry] : slices_) {
    if (!entry.removed && entry.row.other_types)
      return Done{fmt::format("its tasks go to slice \"{}\" now", entry.row.name)};
  }
  return Done{"its tasks are refused now: no slice takes other types"};
}

}  // namespace rain::control
