// A UDP address. Freestanding (the data plane stores it); text forms live in endpoint_text.h.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>

namespace rain {

/// IP address and port. IPv4 is kept v4-mapped (::ffff:a.b.c.d), so one width serves both families.
struct Endpoint {
  std::array<std::uint8_t, 16> address{};  ///< network byte order
  std::uint16_t port = 0;                  ///< host byte order

  constexpr auto operator<=>(const Endpoint&) const = default;
  /// Two words at a time: it is on the data path, and a kernel hook has no memcmp.
  constexpr bool operator==(const Endpoint& other) const {
    using Words = std::array<std::uint64_t, 2>;
    const Words mine = std::bit_cast<Words>(address);
    const Words theirs = std::bit_cast<Words>(other.address);
    return mine[0] == theirs[0] && mine[1] == theirs[1] && port == other.port;
  }

  static constexpr Endpoint v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d,
                               std::uint16_t port) {
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d}, port};
  }
  constexpr bool is_v4() const {
    for (unsigned i = 0; i < 10; ++i) {
      if (address[i] != 0) return false;
    }
    return address[10] == 0xFF && address[11] == 0xFF;
  }
};

}  // namespace rain
