// From options to what one switch thread needs: the size of its memory, its match tables, and how the kernel shares
// packets out between the threads.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "dataplane/soft_memory.h"
#include "softswitch/switch_options.h"
#include "transport/steering.h"

namespace rain::softswitch {

/// Of slices or workers; null if there is none.
template <typename Rows, typename Id>
auto* row_with_id(Rows& rows, Id id) {
  const auto found = std::find_if(rows.begin(), rows.end(), [id](const auto& row) { return row.id == id; });
  return found == rows.end() ? nullptr : &*found;
}

/// The slices of a thread. Its memory and counters number them in this order, so that they have no gaps.
std::vector<const SwitchSlice*> slices_of(const SwitchOptions& options, unsigned group);

/// The row of one slice. `index_of`: where its thread's memory has each of its slices.
dataplane::SliceEntry slice_entry(const SwitchOptions& options, const SwitchSlice& slice,
                                  const std::function<SliceId(SliceId)>& index_of);

/// The row of a worker whose slice has `index` in its thread's memory.
dataplane::WorkerEntry worker_entry(const SwitchWorker& worker, SliceId index);

/// Token FIFOs hold so many tokens of each worker: `rain` files a worker's tokens by level, one in each FIFO,
/// `rain-paper` has one FIFO for all of them.
unsigned tokens_per_worker(const SwitchOptions& options);

/// What the thread of `group` needs room for. `options` must be valid.
dataplane::MemoryShape memory_shape(const SwitchOptions& options, unsigned group);

/// Writes the slices, types and workers of `group` into its memory.
void fill_tables(const SwitchOptions& options, unsigned group, dataplane::SoftMemory& memory);

/// Sockets are numbered like groups. What no slice serves goes to group 0, which refuses and counts it.
transport::Steering steering(const SwitchOptions& options);

}  // namespace rain::softswitch
