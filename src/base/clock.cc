#include "base/clock.h"

#include <ctime>

namespace rain {

Nanos monotonic_now() {
  // CLOCK_MONOTONIC and not CLOCK_MONOTONIC_RAW: the latter is not slewed, but leaves the vDSO on some
  // kernels.
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return seconds(time.tv_sec) + Nanos{time.tv_nsec};
}

}  // namespace rain
