// What tells one life of a server or client from the next.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/prng.h"

namespace rain::control {

/// Another number each time, in this process and in any other.
inline std::uint64_t make_incarnation() {
  static std::atomic<std::uint64_t> made{0};
  const std::uint64_t process = static_cast<std::uint64_t>(getpid()) << 48;
  const std::uint64_t time = static_cast<std::uint64_t>(wall_clock_now().value);
  return SplitMix64(time ^ process ^ made.fetch_add(1, std::memory_order_relaxed) << 56).next();
}

}  // namespace rain::control
