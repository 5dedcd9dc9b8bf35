#include "softswitch/table_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "softswitch/switch_tables.h"

namespace rain::softswitch {
namespace {

using Result = tl::expected<void, std::string>;

template <typename... Args>
Result refuse(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(fmt::format(format, std::forward<Args>(args)...));
}

template <typename Row>
void set_row(std::vector<Row>& rows, const Row& row) {
  if (Row* const there = row_with_id(rows, row.id)) {
    *there = row;
  } else {
    rows.push_back(row);
  }
}

void remove_type(std::vector<SwitchSlice>& slices, TaskType type) {
  for (SwitchSlice& slice : slices) {
    slice.other_types = slice.takes_other_types();  // losing its last type must not give it all others
    std::erase(slice.task_types, type);
  }
}

Result edit(SwitchOptions& tables, ClearTables) {
  tables.slices.clear();
  tables.workers.clear();
  return {};
}

Result edit(SwitchOptions& tables, const SetSlice& change) {
  set_row(tables.slices, change.slice);
  return {};
}

Result edit(SwitchOptions& tables, const RemoveSlice& change) {
  std::erase_if(tables.slices, [&](const SwitchSlice& slice) { return slice.id == change.id; });
  return {};
}

Result edit(SwitchOptions& tables, const SetType& change) {
  SwitchSlice* const slice = row_with_id(tables.slices, change.slice);
  if (slice == nullptr)
    return refuse("type {}: slice = {}: no slice has this id", change.type.value, change.slice.value);
  auto& types = slice->task_types;
  if (std::find(types.begin(), types.end(), change.type) != types.end()) return {};
  remove_type(tables.slices, change.type);
  types.push_back(change.type);
  return {};
}

Result edit(SwitchOptions& tables, const RemoveType& change) {
  remove_type(tables.slices, change.type);
  return {};
}

Result edit(SwitchOptions& tables, const SetWorker& change) {
  set_row(tables.workers, change.worker);
  return {};
}

Result edit(SwitchOptions& tables, const RemoveWorker& change) {
  std::erase_if(tables.workers, [&](const SwitchWorker& worker) { return worker.id == change.id; });
  return {};
}

Result check_slices_fit(const SwitchOptions& after, std::span<const dataplane::MemoryShape> room) {
  for (const SwitchSlice& slice : after.slices) {
    if (slice.group >= room.size()) {
      return refuse(R"(slice "{}": group = {}: the switch runs {} threads, 0 to {} is allowed)", slice.name,
                    slice.group, room.size(), room.size() - 1);
    }
    if (slice.queue_capacity > room[slice.group].task_ring) {
      return refuse(R"(slice "{}": queue_capacity = {}: the switch has room for {} (max_queue_capacity))",
                    slice.name, slice.queue_capacity, room[slice.group].task_ring);
    }
  }
  for (unsigned group = 0; group < room.size(); ++group) {
    const std::size_t slices = slices_of(after, group).size();
    if (slices <= room[group].slices) continue;
    return refuse("{} slices on thread {}: it has room for {} (max_slices)", slices, group,
                  room[group].slices);
  }
  return {};
}

Result check_worker_change(const SwitchOptions& before, const SwitchWorker& worker) {
  const SwitchWorker* const earlier = row_with_id(before.workers, worker.id);
  if (earlier == nullptr) return {};
  const bool same_life = earlier->slice == worker.slice && earlier->address == worker.address &&
                         earlier->token_key == worker.token_key;
  if (!same_life && earlier->epoch == worker.epoch) {
    return refuse("worker {}: epoch = {}: with another slice, address or key it needs another epoch",
                  worker.id.value, worker.epoch.value);
  }
  return {};
}

Result check_workers_fit(const SwitchOptions& before, const SwitchOptions& after,
                         std::span<const dataplane::MemoryShape> room) {
  for (const SwitchWorker& worker : after.workers) {
    const dataplane::MemoryShape& shape = room[row_with_id(after.slices, worker.slice)->group];
    if (worker.id.value >= shape.workers) {
      return refuse("worker {}: id: the switch has room for ids 0 to {} (max_workers)", worker.id.value,
                    shape.workers - 1);
    }
    if (Result result = check_worker_change(before, worker); !result) return result;
  }
  for (const SwitchSlice& slice : after.slices) {
    const std::uint32_t most = room[slice.group].token_ring / tokens_per_worker(after);
    if (after.workers_of(slice.id) <= most) continue;
    return refuse(R"(slice "{}": {} workers: the switch has room for the tokens of {} (max_workers))",
                  slice.name, after.workers_of(slice.id), most);
  }
  return {};
}

}  // namespace

tl::expected<SwitchOptions, std::string> changed(const SwitchOptions& now,
                                                 std::span<const TableChange> changes,
                                                 std::span<const dataplane::MemoryShape> room) {
  SwitchOptions after = now;
  Result result;
  for (const TableChange& change : changes) {
    result = std::visit([&after](const auto& one) { return edit(after, one); }, change);
    if (!result) return tl::unexpected(std::move(result.error()));
  }
  result = after.validate_tables();
  if (result) result = check_slices_fit(after, room);
  if (result) result = check_workers_fit(now, after, room);
  if (!result) return tl::unexpected(std::move(result.error()));
  return after;
}

}  // namespace rain::softswitch
