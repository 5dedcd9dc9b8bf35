#include "control/table_mirror.h"

#include <set>

namespace rain::control {
void TableMirror::take(const Changes& changes) {
  if (changes.reset) {
    slices_.clear();
    types_.clear();
    workers_.clear();
  } else if (changes.instance != instance_ || changes.version < version_) {
    return;  // late: newer rows have been taken
  }
  instance_ = changes.instance;
  version_ = changes.version;
  for (const Versioned<SliceRow>& entry : changes.slices) {
    if (entry.removed) {
      slices_.erase(entry.row.id);
    } else {
      slices_[entry.row.id] = entry.row;
    }
  }
  for (const Versioned<TypeRow>& entry : changes.types) types_[entry.row.type] = entry;
  for (const Versioned<WorkerRow>& entry : changes.workers) workers_[entry.row.id] = entry.row;
}

std::vector<SliceRow> TableMirror::slices() const {
  std::vector<SliceRow> rows;
  for (const auto& [id, row] : slices_) rows.push_back(row);
  return rows;
}

std::vector<TypeRow> TableMirror::types() const {
  std::vector<TypeRow> rows;
  for (const auto& [type, entry] : types_) {
    if (!entry.removed) rows.push_back(entry.row);
  }
  return rows;
}

std::vector<WorkerRow> TableMirror::workers() const {
  std::vector<WorkerRow> rows;
  for (const auto& [id, row] : workers_) rows.push_back(row);
  return rows;
}

softswitch::SetSlice TableMirror::set_slice(const SliceRow& row) const {
  softswitch::SetSlice change{{.name = row.name,
                               .id = row.id,
                               .task_types = {},
                               .other_types = row.other_types,
                               .queue_capacity = row.queue_capacity,
                               .spill = row.spill_in_force(),
                               .drain = row.drain,
                               .recirculate = row.recirculate,
                               .group = row.group}};
  for (const auto& [type, entry] : types_) {
    if (!entry.removed && entry.row.slice == row.id) change.slice.task_types.push_back(type);
  }
  return change;
}

void TableMirror::set_slices(const SliceRow& row, std::vector<softswitch::TableChange>& changes) const {
  changes.push_back(set_slice(row));
  if (row.master) changes.push_back(softswitch::SetSlice{softswitch::master_slice(set_slice(row).slice)});
}

softswitch::SetWorker TableMirror::set_worker(const WorkerRow& row) const {
  const auto slice = slices_.find(row.slice);
  const bool master = slice != slices_.end() && slice->second.master == row.id;
  return {{.id = row.id,
           .slice = master ? softswitch::master_slice_id(row.slice) : row.slice,
           .address = row.address,
           .token_key = row.token_key,
           .epoch = row.epoch,
           .weight = row.weight}};
}

std::vector<softswitch::TableChange> TableMirror::everything() const {
  std::vector<softswitch::TableChange> changes{softswitch::ClearTables{}};
  for (const auto& [id, row] : slices_) set_slices(row, changes);
  for (const auto& [id, row] : workers_) {
    if (is_in_switch(row.state)) changes.push_back(set_worker(row));
  }
  return changes;
}

std::vector<softswitch::TableChange> TableMirror::only(const Changes& changed) const {
  std::vector<softswitch::TableChange> changes;
  std::set<SliceId> touched;
  for (const Versioned<SliceRow>& entry : changed.slices) touched.insert(entry.row.id);
  for (const Versioned<TypeRow>& entry : changed.types) {
    if (entry.removed) {
      changes.push_back(softswitch::RemoveType{entry.row.type});
    } else if (!touched.contains(entry.row.slice)) {
      changes.push_back(softswitch::SetType{entry.row.type, entry.row.slice});
    } else {
      // Its new slice is set with it below; the old one must lose it first.
      changes.push_back(softswitch::RemoveType{entry.row.type});
    }
  }
  for (const SliceId id : touched) {
    const auto found = slices_.find(id);
    if (found != slices_.end()) set_slices(found->second, changes);
  }
  for (const Versioned<WorkerRow>& entry : changed.workers) {
    if (is_in_switch(entry.row.state)) {
      changes.push_back(set_worker(entry.row));
    } else {
      changes.push_back(softswitch::RemoveWorker{entry.row.id});
    }
  }
  for (const SliceId id : touched) {
    const auto found = slices_.find(id);
    if (found == slices_.end() || !found->second.master)
      changes.push_back(softswitch::RemoveSlice{softswitch::master_slice_id(id)});
    if (found == slices_.end()) changes.push_back(softswitch::RemoveSlice{id});
  }
  return changes;
}

}  // namespace rain::control
