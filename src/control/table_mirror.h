// A follower's copy of the tables: takes the controller's rows as they come and knows what they amount to.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "control/rows.h"
#include "softswitch/table_change.h"

namespace rain::control {

class TableMirror {
 public:
  /// Takes rows that lead to another version. Twice the same, or older ones, change nothing.
  void take(const Changes& changes);

  std::uint64_t instance() const { return instance_; }
  Version version() const { return version_; }
  std::vector<SliceRow> slices() const;
  std::vector<TypeRow> types() const;
  /// All that the controller spoke of, by state: those that are out too.
  std::vector<WorkerRow> workers() const;

  /// What a switch must be told so that it has these tables and no others, whatever it had.
  std::vector<softswitch::TableChange> everything() const;
  /// What a switch must be told that had these tables before `changes` were taken.
  std::vector<softswitch::TableChange> only(const Changes& changes) const;

 private:
  softswitch::SetSlice set_slice(const SliceRow& row) const;
  /// In the switch a master has a slice of its own (softswitch::master_slice).
  void set_slices(const SliceRow& row, std::vector<softswitch::TableChange>& changes) const;
  softswitch::SetWorker set_worker(const WorkerRow& row) const;

  std::uint64_t instance_ = 0;
  Version version_ = 0;
  std::map<SliceId, SliceRow> slices_;
  std::map<TaskType, Versioned<TypeRow>> types_;  // removed ones too: `only` must know whose they were
  std::map<WorkerId, WorkerRow> workers_;
};

}  // namespace rain::control
