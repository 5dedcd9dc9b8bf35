// Big-endian integers as the wire has them: byte arrays, so structs of them have alignment 1 and no padding.
// Freestanding.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rain::wire {

/// Between host and network byte order, either way.
template <typename Int>
constexpr Int swap_if_little_endian(Int value) {
  if constexpr (std::endian::native == std::endian::big) {
    return value;
  } else if constexpr (sizeof(Int) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(Int) == 4) {
    return __builtin_bswap32(value);
  } else {
    static_assert(sizeof(Int) == 8);
    return __builtin_bswap64(value);
  }
}

template <typename Int>
struct BigEndian {
  std::array<std::uint8_t, sizeof(Int)> bytes{};

  constexpr BigEndian() = default;
  // A wire field is assigned like a number. NOLINTNEXTLINE(google-explicit-constructor)
  constexpr BigEndian(Int host) : bytes(std::bit_cast<decltype(bytes)>(swap_if_little_endian(host))) {}
  constexpr Int get() const { return swap_if_little_endian(std::bit_cast<Int>(bytes)); }
};

using Be16 = BigEndian<std::uint16_t>;
using Be32 = BigEndian<std::uint32_t>;
using Be64 = BigEndian<std::uint64_t>;
static_assert(sizeof(Be16) == 2 && alignof(Be16) == 1);
static_assert(sizeof(Be32) == 4 && alignof(Be32) == 1);
static_assert(sizeof(Be64) == 8 && alignof(Be64) == 1);

}  // namespace rain::wire
