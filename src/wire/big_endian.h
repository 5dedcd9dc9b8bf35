// Big-endian integers as the wire has them: byte arrays, so structs of them have alignment 1 and no padding.
// Freestanding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rain::wire {

template <typename Int>
struct BigEndian {
  std::array<std::uint8_t, sizeof(Int)> bytes{};

  constexpr BigEndian() = default;
  constexpr BigEndian(Int host) {  // NOLINT(google-explicit-constructor): a wire field is assigned like a number
    for (std::size_t i = 0; i < sizeof(Int); ++i) {
      bytes[i] = static_cast<std::uint8_t>(host >> (8 * (sizeof(Int) - 1 - i)));
    }
  }
  constexpr Int get() const {
    Int host = 0;
    for (std::size_t i = 0; i < sizeof(Int); ++i) host = static_cast<Int>((host << 8) | bytes[i]);
    return host;
  }
};

using Be16 = BigEndian<std::uint16_t>;
using Be32 = BigEndian<std::uint32_t>;
static_assert(sizeof(Be16) == 2 && alignof(Be16) == 1);
static_assert(sizeof(Be32) == 4 && alignof(Be32) == 1);

}  // namespace rain::wire
