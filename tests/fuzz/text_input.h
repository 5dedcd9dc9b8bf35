// What the fuzzers of text parsers share: inputs as text, and what every error message owes its reader.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "fuzz/fuzz.h"

namespace rain::fuzz {

inline std::string_view as_text(std::span<const std::byte> input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

inline Input as_input(std::string_view text) {
  Input input(text.size());
  std::transform(text.begin(), text.end(), input.begin(), [](char c) { return static_cast<std::byte>(c); });
  return input;
}

/// One line, printable whatever the input was, and not as long as the input pleases.
inline void check_error_message(const std::string& message) {
  RAIN_ASSERT(!message.empty() && message.size() < 300);
  RAIN_ASSERT(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

}  // namespace rain::fuzz
