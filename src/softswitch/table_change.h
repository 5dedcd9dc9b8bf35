// What may change in a switch while it serves: slices, task types and workers, as rows to set or remove.
//
// Changes say what shall be, not what to do: setting a row that is there already, or removing one that is not, does
// nothing. So a sender that is not sure what has arrived sends again. Either all changes of one call are made or none,
// and one line says why not. What a switch was started with stays: its threads, its scheduler, the room of its memory.
#pragma once

#include <span>
#include <string>
#include <tl/expected.hpp>
#include <variant>

#include "base/ids.h"
#include "dataplane/memory.h"
#include "softswitch/switch_options.h"

namespace rain::softswitch {

/// Every slice and worker goes, except those that later changes of the same call set: "this is all there is".
struct ClearTables {};

/// A slice as it shall be, its types included. On another thread (`group`) it is another slice: tasks that wait in it
/// are answered with slice_removed. Set `other_types` unless a slice without types is meant to serve all.
struct SetSlice {
  SwitchSlice slice;
};
/// The slice's workers must go or move in the same call. Tasks that wait in it are answered with slice_removed.
struct RemoveSlice {
  SliceId id;
};

/// The type is served by this slice, and by no other any more. Tasks that wait stay where they are.
struct SetType {
  TaskType type;
  SliceId slice;
};
/// No slice names the type any more.
struct RemoveType {
  TaskType type;
};

/// A worker as it shall be. With another slice, address or key it needs another epoch: its tokens of before die. A slice
/// of another thread has another ledger of its tokens, which SYNC repairs within an interval.
struct SetWorker {
  SwitchWorker worker;
};
struct RemoveWorker {
  WorkerId id;
};

using TableChange =
    std::variant<ClearTables, SetSlice, RemoveSlice, SetType, RemoveType, SetWorker, RemoveWorker>;

/// `now` as it is after `changes`, or one line about the first thing that is wrong. `room`: what each thread's memory
/// was made for.
tl::expected<SwitchOptions, std::string> changed(const SwitchOptions& now,
                                                 std::span<const TableChange> changes,
                                                 std::span<const dataplane::MemoryShape> room);

}  // namespace rain::softswitch
