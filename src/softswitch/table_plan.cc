#include "softswitch/table_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"
#include "softswitch/switch_tables.h"

namespace rain::softswitch {
namespace {

using dataplane::SoftMemory;

unsigned group_of(const SwitchOptions& options, const SwitchWorker& worker) {
  return row_with_id(options.slices, worker.slice)->group;
}

/// Which slice serves each type, whatever its thread.
TypeTable owners(const SwitchOptions& options) {
  TypeTable owner(SoftMemory::kTaskTypes, SoftMemory::kNoSlice);
  for (const SwitchSlice& slice : options.slices) {
    if (slice.takes_other_types()) std::fill(owner.begin(), owner.end(), slice.id);
  }
  for (const SwitchSlice& slice : options.slices) {
    for (const TaskType type : slice.task_types) owner[type.value] = slice.id;
  }
  return owner;
}

/// What a thread's table says for the types of each slice.
class ThreadsView {
 public:
  ThreadsView(const SwitchOptions& options, unsigned group, const SlicePlaces& places) {
    index_.fill(SoftMemory::kNoSlice);
    for (const SwitchSlice* slice : slices_of(options, group)) {
      index_[slice->id.value] = places.index_of(slice->id);
    }
  }
  SliceId operator()(SliceId slice) const {
    return slice == SoftMemory::kNoSlice ? slice : index_[slice.value];
  }

 private:
  std::array<SliceId, dataplane::kMaxSlices> index_{};
};

bool same_types(const SwitchOptions& before, const SwitchOptions& after) {
  if (before.slices.size() != after.slices.size()) return false;
  return std::all_of(after.slices.begin(), after.slices.end(), [&](const SwitchSlice& slice) {
    const SwitchSlice* const earlier = row_with_id(before.slices, slice.id);
    return earlier != nullptr && earlier->takes_other_types() == slice.takes_other_types() &&
           earlier->task_types == slice.task_types;
  });
}

bool operator==(const dataplane::SliceEntry& a, const dataplane::SliceEntry& b) {
  return a.queue_capacity == b.queue_capacity && a.spill == b.spill && a.drain == b.drain &&
         a.depth == b.depth && a.recirculate == b.recirculate;
}

void add_once(std::vector<SliceId>& list, SliceId index) {
  if (std::find(list.begin(), list.end(), index) == list.end()) list.push_back(index);
}

class Planner {
 public:
  Planner(const SwitchOptions& before, const SwitchOptions& after, std::span<SlicePlaces> places)
      : before_(before), after_(after), places_(places) {
    plan_.first.resize(places.size());
    plan_.second.resize(places.size());
  }

  TablePlan plan() {
    add_slices();
    change_workers();
    if (!same_types(before_, after_)) change_types();
    remove_slices();
    return std::move(plan_);
  }

 private:
  void add_slices() {
    for (const SwitchSlice& slice : after_.slices) {
      const SwitchSlice* const earlier = row_with_id(before_.slices, slice.id);
      const bool fresh = earlier == nullptr;
      const dataplane::SliceEntry entry = slice_entry(after_, slice);
      if (!fresh && slice_entry(before_, *earlier) == entry) continue;
      SlicePlaces& places = places_[slice.group];
      const SliceId index = fresh ? places.add(slice.id) : places.index_of(slice.id);
      plan_.first[slice.group].slices.push_back({index, entry, fresh});
    }
  }

  void change_workers() {
    for (const SwitchWorker& worker : before_.workers) {
      const SwitchWorker* const later = row_with_id(after_.workers, worker.id);
      if (later != nullptr && *later == worker) continue;
      GroupUpdate& update = plan_.first[group_of(before_, worker)];
      if (later == nullptr) {
        update.workers.push_back({worker.id, {}});
        plan_.steer = true;
      }
      if (later == nullptr || later->epoch != worker.epoch) {
        add_once(update.forget, places_[group_of(before_, worker)].index_of(worker.slice));
      }
    }
    for (const SwitchWorker& worker : after_.workers) {
      const SwitchWorker* const earlier = row_with_id(before_.workers, worker.id);
      if (earlier != nullptr && *earlier == worker) continue;
      if (earlier == nullptr) plan_.steer = true;
      const unsigned group = group_of(after_, worker);
      const dataplane::WorkerEntry entry = worker_entry(worker, places_[group].index_of(worker.slice));
      plan_.first[group].workers.push_back({worker.id, entry});
    }
  }

  void change_types() {
    plan_.steer = true;
    const TypeTable old_owner = owners(before_);
    const TypeTable new_owner = owners(after_);
    for (unsigned group = 0; group < places_.size(); ++group) {
      TypeTable exact(SoftMemory::kTaskTypes);
      TypeTable both(SoftMemory::kTaskTypes);
      const ThreadsView now(before_, group, places_[group]);
      const ThreadsView then(after_, group, places_[group]);
      for (std::uint32_t type = 0; type < SoftMemory::kTaskTypes; ++type) {
        exact[type] = then(new_owner[type]);
        const bool leaves = exact[type] == SoftMemory::kNoSlice;
        both[type] = leaves ? now(old_owner[type]) : exact[type];
      }
      // One thread has all types, and nothing is steered.
      const bool two_rounds = places_.size() > 1 && both != exact;
      if (two_rounds) plan_.second[group].types = std::move(exact);
      plan_.first[group].types = two_rounds ? std::move(both) : std::move(exact);
      plan_.second[group].settle = two_rounds;
    }
  }

  void remove_slices() {
    for (const SwitchSlice& slice : before_.slices) {
      if (row_with_id(after_.slices, slice.id) != nullptr) continue;
      SlicePlaces& places = places_[slice.group];
      plan_.second[slice.group].removed.push_back(places.index_of(slice.id));
      places.remove(slice.id);
    }
  }

  const SwitchOptions& before_;
  const SwitchOptions& after_;
  std::span<SlicePlaces> places_;
  TablePlan plan_;
};

}  // namespace

SlicePlaces::SlicePlaces(const SwitchOptions& options, unsigned group, std::uint32_t room) : slices_(room) {
  for (const SwitchSlice* slice : slices_of(options, group)) add(slice->id);
}

SliceId SlicePlaces::index_of(SliceId slice) const {
  const auto found = std::find(slices_.begin(), slices_.end(), slice);
  RAIN_ASSERT(found != slices_.end());
  return {static_cast<std::uint16_t>(found - slices_.begin())};
}

SliceId SlicePlaces::add(SliceId slice) {
  const auto free = std::find(slices_.begin(), slices_.end(), std::nullopt);
  RAIN_ASSERT(free != slices_.end());
  *free = slice;
  return {static_cast<std::uint16_t>(free - slices_.begin())};
}

void SlicePlaces::remove(SliceId slice) { slices_[index_of(slice).value].reset(); }

TablePlan plan_change(const SwitchOptions& before, const SwitchOptions& after,
                      std::span<SlicePlaces> places) {
  return Planner(before, after, places).plan();
}

}  // namespace rain::softswitch
