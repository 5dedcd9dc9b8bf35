// Bad input of a command: one line that says what is wrong, where, and what is allowed. Thrown while a
// command reads its flags and files, caught once in run_command(), which prints the line and exits with
// status 2.
#pragma once

#include <stdexcept>

namespace rain::tools {

class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Exit statuses of every command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  ///< the command ran and what it was to do failed
inline constexpr int kExitBadInput =
    2;  ///< flags, files or addresses that cannot be used; nothing was started

}  // namespace rain::tools
