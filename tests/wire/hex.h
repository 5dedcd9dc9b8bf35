// Packets of test tables as hexadecimal text, spaces as the author likes them.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rain::wire {

inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  unsigned value = 0;
  int digits = 0;
  for (const char c : text) {
    if (c == ' ') continue;
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos)
      throw std::invalid_argument("no hexadecimal digit in " + std::string(text));
    value = value << 4 | static_cast<unsigned>(digit);
    if (++digits % 2 == 0) bytes.push_back(static_cast<std::byte>(value & 0xFF));
  }
  if (digits % 2 != 0) throw std::invalid_argument("half a byte in " + std::string(text));
  return bytes;
}

inline std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

}  // namespace rain::wire
