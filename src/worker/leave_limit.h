// The patience of a worker that stops; the same for real and emulated ones.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace rain::worker {

/// How long a worker that is to stop waits at most for its tokens to come home: long enough for a question and its
/// repeat to be lost, and for a dispatch under way; not for ever, as the switch may be gone.
constexpr Nanos leave_limit(Nanos sync_interval) {
  return std::min(sync_interval * std::int64_t{3}, seconds(1));
}

}  // namespace rain::worker
