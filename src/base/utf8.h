// Text from outside: whether it is UTF-8, and how it is shown on one line without harm to a terminal or a JSON reader.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rain {

/// Bytes of the character that `text` begins with, 1..4; 0: none, it is not UTF-8 there or empty.
constexpr std::size_t utf8_character(std::string_view text) {
  const auto byte = [text](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
  };
  const auto within = [&byte](std::size_t at, unsigned low, unsigned high) {
    return byte(at) >= low && byte(at) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xC2 && first <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  // The narrower ranges of a second byte: no longer way to write a character than needed, no surrogates, none too large.
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0x9F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x8F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

/// `text` begins with a character that means something to a terminal.
constexpr bool begins_with_control(std::string_view text) {
  if (text.empty()) return false;
  const auto first = static_cast<unsigned char>(text[0]);
  const bool second_set = text.size() > 1 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
  return first < 0x20 || first == 0x7F || second_set;
}

/// UTF-8 without control characters.
constexpr bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    if (length == 0 || begins_with_control(text)) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// At most `most` bytes and, if there were more, "..."; control characters as spaces, what is not UTF-8 as '?'.
inline std::string one_line(std::string_view text, std::size_t most) {
  std::string line;
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    const std::string_view shown = length == 0                 ? "?"
                                   : begins_with_control(text) ? " "
                                                               : text.substr(0, length);
    if (line.size() + shown.size() > most) return line + "...";
    line += shown;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return line;
}

}  // namespace rain
