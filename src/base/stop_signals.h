// SIGINT and SIGTERM as something to wait for: the threads of a process end because they are told to, not struck down.
// A rim: nothing that decides includes this file.
#pragma once

#include <signal.h>

#include "base/time.h"

namespace rain {

/// Two signals that are no further apart are one wish: timeout(1) and service managers signal a process and its group.
inline constexpr Nanos kSameSignal = milliseconds(100);

class StopSignals {
 public:
  /// Keeps both signals pending for whoever waits, in this thread and in those it starts from now on.
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals() { restore(); }

  /// Waits until one of them comes; at most `timeout`. True: one came. A process that was stopped and goes on (SIGCONT,
  /// a debugger) goes on waiting.
  bool wait(Nanos timeout = Nanos::max()) const;
  /// From now on the signals do in this thread what they did before: the next one ends the process the hard way.
  void restore() const;

  /// True when one is pending; it stays so.
  static bool pending();

 private:
  sigset_t set_{};
  sigset_t before_{};
};

}  // namespace rain
