// The only reader of the host's clock in this layer: a rim. Run loops read it once per poll cycle and pass
// the result down as `now`; nothing that decides includes this file.
#pragma once

#include <ctime>

#include "base/time.h"

namespace rain {

/// Monotonic time of this host, in nanoseconds since an arbitrary start. The same start for all processes of
/// one host, so points may be compared between them; never between hosts. Thread-safe, about 20 ns.
Nanos monotonic_now();

/// Time since 1970. It jumps when somebody sets it.
Nanos wall_clock_now();

/// A duration as the system calls that sleep want it.
timespec to_timespec(Nanos duration);

/// CPU time that this thread has used: for benchmarks on machines that do other things too.
Nanos thread_cpu_time();

}  // namespace rain
