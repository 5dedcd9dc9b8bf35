// See stop_signals.h.
#include "base/stop_signals.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"

namespace rain {

StopSignals::StopSignals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

bool StopSignals::wait(Nanos timeout) const {
  const Nanos begin = monotonic_now();
  const Nanos end = timeout > Nanos::max() - begin ? Nanos::max() : begin + timeout;
  for (;;) {
    const timespec limit = to_timespec(std::max(end - monotonic_now(), Nanos{}));
    if (sigtimedwait(&set_, nullptr, &limit) > 0) return true;
    if (errno != EINTR) return false;
  }
}

void StopSignals::restore() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool StopSignals::pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

}  // namespace rain
