// RAIN_ASSERT: bugs stop the process, in release builds too. Operating errors are values, never asserted.
// Freestanding: where there is no standard library it traps.
#pragma once

#ifdef __bpf__

// In the kernel the verifier proves what these would check.
#define RAIN_ASSERT(expression) static_cast<void>(sizeof(expression))

#else

namespace rain {

#if __STDC_HOSTED__
/// Prints "file:line: assertion failed: expression" to standard error and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;
#else
[[noreturn]] inline void assertion_failed(const char*, const char*, int) noexcept { __builtin_trap(); }
#endif

}  // namespace rain

#define RAIN_ASSERT(expression) \
  (__builtin_expect(!!(expression), 1) ? void(0) : ::rain::assertion_failed(#expression, __FILE__, __LINE__))

#endif
