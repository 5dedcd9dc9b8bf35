// See stop_signals.h.
#include "base/stop_signals.h"

#include <pthread.h>

#include "base/clock.h"

namespace rain {

StopSignals::StopSignals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

bool StopSignals::wait(Nanos timeout) const {
  const timespec limit = to_timespec(timeout);
  return sigtimedwait(&set_, nullptr, &limit) > 0;
}

void StopSignals::restore() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool StopSignals::pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

}  // namespace rain
