// From tables as they are to tables as they shall be: what each switch thread has to do, in which order.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "dataplane/soft_memory.h"
#include "dataplane/tables.h"
#include "softswitch/switch_options.h"

namespace rain::softswitch {

/// Where a thread's memory and counters have each of its slices: they number them from 0 and keep the numbers.
class SlicePlaces {
 public:
  SlicePlaces() = default;
  /// As fill_tables() numbers the slices of a new thread.
  SlicePlaces(const SwitchOptions& options, unsigned group, std::uint32_t room);

  /// The slice must have a place.
  SliceId index_of(SliceId slice) const;
  bool has(SliceId slice) const;
  bool full() const;
  SliceId add(SliceId slice);  ///< the first free place; there must be one
  void remove(SliceId slice);

 private:
  std::vector<std::optional<SliceId>> slices_;
};

using TypeTable = std::vector<SliceId>;  ///< of SoftMemory::kTaskTypes

/// What one thread does between two packets, in this order. Slices are named by their places.
struct GroupUpdate {
  struct Slice {
    SliceId index;
    dataplane::SliceEntry entry;
    bool fresh;  ///< the place was free
  };
  struct Worker {
    WorkerId id;
    dataplane::WorkerEntry entry;  ///< present = false: it goes
  };

  bool settle = false;             ///< first serve what the socket has: it came under the rules of before
  std::vector<SliceId> vacated{};  ///< removed, because others need their places
  std::vector<Slice> slices{};
  std::vector<Worker> workers{};
  std::vector<SliceId> forget{};  ///< whose dead tokens go
  TypeTable types{};              ///< empty: as they are
  std::vector<SliceId> removed{};

  bool empty() const {
    return vacated.empty() && slices.empty() && workers.empty() && forget.empty() && types.empty() &&
           removed.empty();
  }
};

/// Two rounds, so that a task never meets a thread that does not know its type: threads learn what is new to them, then
/// packets are steered anew, then threads forget what left them. A thread that has no place for what is new gives up
/// what leaves in the first round.
struct TablePlan {
  std::vector<GroupUpdate> first;   ///< one for each thread
  std::vector<GroupUpdate> second;  ///< likewise
  std::vector<GroupUpdate>
      back;            ///< likewise: instead of the second round, when packets could not be steered
  bool steer = false;  ///< types or workers of a thread have changed
};

/// `places` (of each thread) already as after the second round.
TablePlan plan_change(const SwitchOptions& before, const SwitchOptions& after, std::span<SlicePlaces> places);

}  // namespace rain::softswitch
