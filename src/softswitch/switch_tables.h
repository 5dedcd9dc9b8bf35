// From options to what one switch thread needs: the size of its memory, its match tables, and how the kernel shares
// packets out between the threads.
#pragma once

#include <vector>

#include "dataplane/soft_memory.h"
#include "softswitch/switch_options.h"
#include "transport/steering.h"

namespace rain::softswitch {

/// The slices of a thread. Its memory and counters number them in this order, so that they have no gaps.
std::vector<const SwitchSlice*> slices_of(const SwitchOptions& options, unsigned group);

/// What the thread of `group` needs room for. `options` must be valid.
dataplane::MemoryShape memory_shape(const SwitchOptions& options, unsigned group);

/// Writes the slices, types and workers of `group` into its memory.
void fill_tables(const SwitchOptions& options, unsigned group, dataplane::SoftMemory& memory);

/// Sockets are numbered like groups. What no slice serves goes to group 0, which refuses and counts it.
transport::Steering steering(const SwitchOptions& options);

}  // namespace rain::softswitch
