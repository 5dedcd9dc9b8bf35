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
  TypeTable owner(SoftMemory::kTaskTypes, dataplane::kNoSlice);
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
    index_.fill(dataplane::kNoSlice);
    for (const SwitchSlice* slice : slices_of(options, group)) {
      if (places.has(slice->id)) index_[slice->id.value] = places.index_of(slice->id);
    }
  }
  SliceId operator()(SliceId slice) const {
    return slice == dataplane::kNoSlice ? slice : index_[slice.value];
  }

 private:
  std::array<SliceId, 2 * dataplane::kMaxSlices> index_{};
};

bool same_types(const SwitchOptions& before, const SwitchOptions& after) {
  if (before.slices.size() != after.slices.size()) return false;
  return std::all_of(after.slices.begin(), after.slices.end(), [&](const SwitchSlice& slice) {
    const SwitchSlice* const earlier = row_with_id(before.slices, slice.id);
    return earlier != nullptr && earlier->group == slice.group &&
           earlier->takes_other_types() == slice.takes_other_types() &&
           earlier->task_types == slice.task_types;
  });
}

bool operator==(const dataplane::SliceEntry& a, const dataplane::SliceEntry& b) {
  return a.queue_capacity == b.queue_capacity && a.spill == b.spill && a.drain == b.drain &&
         a.depth == b.depth && a.recirculate == b.recirculate && a.master_slice == b.master_slice &&
         a.host == b.host;
}

void add_once(std::vector<SliceId>& list, SliceId index) {
  if (std::find(list.begin(), list.end(), index) == list.end()) list.push_back(index);
}

class Planner {
 public:
  Planner(const SwitchOptions& before, const SwitchOptions& after, std::span<SlicePlaces> places)
      : before_(before), after_(after), old_places_(places.begin(), places.end()), places_(places) {
    plan_.first.resize(places.size());
    plan_.second.resize(places.size());
    plan_.back.resize(places.size());
  }

  TablePlan plan() {
    for (const SwitchSlice& slice : after_.slices) give_place(slice);
    for (const SwitchSlice& slice : after_.slices) set_slice(slice);
    for (const SwitchWorker& worker : before_.workers) take_worker(worker);
    for (const SwitchWorker& worker : after_.workers) set_worker(worker);
    if (!same_types(before_, after_)) change_types();
    remove_slices();
    return std::move(plan_);
  }

 private:
  static bool serves(const SwitchOptions& options, SliceId slice, unsigned group) {
    const SwitchSlice* const row = row_with_id(options.slices, slice);
    return row != nullptr && row->group == group;
  }
  bool leaves(const SwitchSlice& slice) const { return !serves(after_, slice.id, slice.group); }

  dataplane::SliceEntry old_entry(const SwitchSlice& slice) const {
    return slice_entry(before_, slice, [&](SliceId id) { return old_places_[slice.group].index_of(id); });
  }
  dataplane::SliceEntry new_entry(const SwitchSlice& slice) const {
    return slice_entry(after_, slice, [&](SliceId id) { return places_[slice.group].index_of(id); });
  }

  /// All have one before the first row is written, as rows name other slices.
  void give_place(const SwitchSlice& slice) {
    if (serves(before_, slice.id, slice.group)) return;
    SlicePlaces& places = places_[slice.group];
    if (places.full()) vacate(slice.group);
    const SliceId index = places.add(slice.id);
    const auto& vacated = plan_.first[slice.group].vacated;
    const bool reused = std::find(vacated.begin(), vacated.end(), index) != vacated.end();
    GroupUpdate& back = plan_.back[slice.group];
    (reused ? back.vacated : back.removed).push_back(index);
  }

  void set_slice(const SwitchSlice& slice) {
    GroupUpdate& first = plan_.first[slice.group];
    const SliceId index = places_[slice.group].index_of(slice.id);
    const dataplane::SliceEntry entry = new_entry(slice);
    if (!serves(before_, slice.id, slice.group)) return first.slices.push_back({index, entry, true});
    const dataplane::SliceEntry earlier = old_entry(*row_with_id(before_.slices, slice.id));
    if (earlier == entry) return;
    first.slices.push_back({index, entry, false});
    plan_.back[slice.group].slices.push_back({index, earlier, false});
  }

  /// One of the slices that leave the thread gives up its place at once.
  void vacate(unsigned group) {
    for (const SwitchSlice* slice : slices_of(before_, group)) {
      if (!leaves(*slice) || !places_[group].has(slice->id)) continue;
      const SliceId index = places_[group].index_of(slice->id);
      places_[group].remove(slice->id);
      plan_.first[group].vacated.push_back(index);
      plan_.back[group].slices.push_back({index, old_entry(*slice), true});
      return;
    }
    RAIN_ASSERT(false && "no more slices than there is room for");  // changed() has checked
  }

  /// The worker, as it was, goes or gets another life.
  void take_worker(const SwitchWorker& worker) {
    const unsigned group = group_of(before_, worker);
    const SwitchWorker* const later = row_with_id(after_.workers, worker.id);
    const bool goes = later == nullptr || group_of(after_, *later) != group;
    if (goes) {
      plan_.first[group].workers.push_back({worker.id, {}});
      plan_.back[group].workers.push_back({worker.id, old_entry(worker)});
      plan_.steer = true;
    }
    const bool dies = goes || later->epoch != worker.epoch;
    if (dies && places_[group].has(worker.slice)) {
      add_once(plan_.first[group].forget, places_[group].index_of(worker.slice));
    }
  }

  void set_worker(const SwitchWorker& worker) {
    const unsigned group = group_of(after_, worker);
    const SwitchWorker* const earlier = row_with_id(before_.workers, worker.id);
    const bool stays = earlier != nullptr && group_of(before_, *earlier) == group;
    if (stays && *earlier == worker) return;
    if (!stays) plan_.steer = true;
    const SliceId index = places_[group].index_of(worker.slice);
    plan_.first[group].workers.push_back({worker.id, worker_entry(worker, index)});
    plan_.back[group].workers.push_back({worker.id, stays ? old_entry(*earlier) : dataplane::WorkerEntry{}});
    if (!stays || earlier->epoch != worker.epoch) add_once(plan_.back[group].forget, index);
  }

  dataplane::WorkerEntry old_entry(const SwitchWorker& worker) const {
    return worker_entry(worker, old_places_[group_of(before_, worker)].index_of(worker.slice));
  }

  void change_types() {
    plan_.steer = true;
    const TypeTable old_owner = owners(before_);
    const TypeTable new_owner = owners(after_);
    for (unsigned group = 0; group < places_.size(); ++group) {
      TypeTable old(SoftMemory::kTaskTypes);
      TypeTable exact(SoftMemory::kTaskTypes);
      TypeTable both(SoftMemory::kTaskTypes);
      const ThreadsView before(before_, group, old_places_[group]);
      const ThreadsView now(before_, group, places_[group]);
      const ThreadsView then(after_, group, places_[group]);
      for (std::uint32_t type = 0; type < SoftMemory::kTaskTypes; ++type) {
        old[type] = before(old_owner[type]);
        exact[type] = then(new_owner[type]);
        const bool leaves = exact[type] == dataplane::kNoSlice;
        both[type] = leaves ? now(old_owner[type]) : exact[type];
      }
      // One thread has all types, and nothing is steered.
      const bool two_rounds = places_.size() > 1 && both != exact;
      if (two_rounds) plan_.second[group].types = std::move(exact);
      plan_.first[group].types = two_rounds ? std::move(both) : std::move(exact);
      plan_.second[group].settle = two_rounds;
      plan_.back[group].types = std::move(old);
    }
  }

  void remove_slices() {
    for (const SwitchSlice& slice : before_.slices) {
      SlicePlaces& places = places_[slice.group];
      if (!leaves(slice) || !places.has(slice.id)) continue;
      plan_.second[slice.group].removed.push_back(places.index_of(slice.id));
      places.remove(slice.id);
    }
  }

  const SwitchOptions& before_;
  const SwitchOptions& after_;
  std::vector<SlicePlaces> old_places_;
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

bool SlicePlaces::has(SliceId slice) const {
  return std::find(slices_.begin(), slices_.end(), slice) != slices_.end();
}

bool SlicePlaces::full() const {
  return std::find(slices_.begin(), slices_.end(), std::nullopt) == slices_.end();
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
