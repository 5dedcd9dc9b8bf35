// Ends a thread's wait for packets from another thread: an eventfd.
#pragma once

#include "base/descriptor.h"
#include "base/time.h"

namespace rain::transport {

class WakeEvent {
 public:
  /// Throws std::system_error when the system has no descriptor left.
  WakeEvent();

  /// From any thread or signal handler. Signals before clear() are one.
  void signal() const;
  /// By the thread that waits, before it looks for what it was woken for; or by who signalled, once that is done.
  void clear() const;
  /// Until it is signalled, or for that long.
  void wait(Nanos timeout) const;
  int descriptor() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
};

}  // namespace rain::transport
