// Names that people gave, as files, flags and the network bring them: checked, and shown without harm. What is a name
// here may also be in the messages of proto/rain/v1, which carry UTF-8 alone.
#pragma once

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace rain::control {

inline constexpr std::size_t kLongestName = 64;
inline constexpr std::string_view kNameAllowed = "a name of 1 to 64 bytes, UTF-8 without control characters";

constexpr bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && is_plain_text(text);
}

/// In quotes, fit for one line.
inline std::string shown_name(std::string_view text) {
  std::string shown = "\"";
  shown += one_line(text, kLongestName);
  return shown + '"';
}

}  // namespace rain::control
