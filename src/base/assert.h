// RAIN_ASSERT: bugs stop the process, in release builds too. Operating errors are values, never asserted.
#pragma once

namespace rain {

#if __STDC_HOSTED__ && !defined(__bpf__)
/// Prints "file:line: assertion failed: expression" to standard error and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;
#else
[[noreturn]] inline void assertion_failed(const char*, const char*, int) noexcept { __builtin_trap(); }
#endif

}  // namespace rain

#define RAIN_ASSERT(expression) \
  (__builtin_expect(!!(expression), 1) ? void(0) : ::rain::assertion_failed(#expression, __FILE__, __LINE__))
