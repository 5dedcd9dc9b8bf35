#include "base/clock.h"

namespace rain {

namespace {

Nanos read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return seconds(time.tv_sec) + Nanos{time.tv_nsec};
}

}  // namespace

Nanos monotonic_now() {
  // CLOCK_MONOTONIC and not CLOCK_MONOTONIC_RAW: the latter is not slewed, but leaves the vDSO on some kernels.
  return read_clock(CLOCK_MONOTONIC);
}

Nanos wall_clock_now() { return read_clock(CLOCK_REALTIME); }

timespec to_timespec(Nanos duration) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {static_cast<time_t>(duration.value / kSecond), static_cast<long>(duration.value % kSecond)};
}

Nanos thread_cpu_time() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace rain
