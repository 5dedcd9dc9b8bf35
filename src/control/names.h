// Names that people gave, as the controller takes them from the network: checked, and shown without harm.
#pragma once

#include <string>
#include <string_view>

namespace rain::control {

inline constexpr std::size_t kLongestName = 64;
inline constexpr std::string_view kNameAllowed = "a name of 1 to 64 bytes without control characters";

constexpr bool is_control_byte(char letter) {
  return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F;
}

constexpr bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName) return false;
  for (const char letter : text) {
    if (is_control_byte(letter)) return false;
  }
  return true;
}

/// In quotes, cut when long, control characters as spaces: fit for one line.
inline std::string shown_name(std::string_view text) {
  std::string shown = "\"";
  for (const char letter : text.substr(0, kLongestName)) shown += is_control_byte(letter) ? ' ' : letter;
  return shown + (text.size() > kLongestName ? "...\"" : "\"");
}

}  // namespace rain::control
