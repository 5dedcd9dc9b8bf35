// See stop_signals.h.
#include "tools/stop_signals.h"

#include <pthread.h>
#include <signal.h>

namespace rain::tools {
namespace {

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

void block_stop_signals() {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool wait_for_stop_signal(Nanos timeout) {
  constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
  const sigset_t signals = stop_signals();
  if (timeout == Nanos::max()) {
    int signal = 0;
    sigwait(&signals, &signal);
    return true;
  }
  const timespec limit{static_cast<time_t>(timeout.value / kNanosPerSecond),
                       static_cast<long>(timeout.value % kNanosPerSecond)};
  return sigtimedwait(&signals, nullptr, &limit) > 0;
}

bool stop_signal_pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

}  // namespace rain::tools
