// A wire: serialises one frame after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace rain::sim {

/// What a frame occupies on the wire besides the UDP payload: preamble, gap, Ethernet, FCS, IPv4, UDP.
inline constexpr std::uint32_t kFrameOverheadBytes = 8 + 12 + 14 + 4 + 20 + 8;
/// The smallest frame, preamble and gap included.
inline constexpr std::uint32_t kMinFrameBytes = 84;

/// Bytes on the wire for a UDP payload of this size.
constexpr std::uint32_t frame_bytes(std::size_t udp_payload_bytes) {
  return std::max(static_cast<std::uint32_t>(udp_payload_bytes) + kFrameOverheadBytes, kMinFrameBytes);
}

/// One direction of a wire. Bandwidth only; the caller adds the delay.
class Link {
 public:
  /// `gbps` 0: no time at all.
  explicit constexpr Link(std::uint32_t gbps = 0) : ns_per_byte_(gbps == 0 ? 0 : 8 * kOne / gbps) {}

  /// A frame is ready at `at`; returns when its last bit has been sent, rounded up to a nanosecond.
  constexpr Nanos send(Nanos at, std::uint32_t bytes) {
    free_at_ = std::max(at, free_at_) + Nanos{(bytes * ns_per_byte_ + kOne - 1) / kOne};
    return free_at_;
  }
  /// How long packets that are ready at `at` would wait before they are sent.
  constexpr Nanos backlog(Nanos at) const { return std::max(free_at_ - at, Nanos{}); }

 private:
  static constexpr std::int64_t kOne = std::int64_t{1}
                                       << 32;  // fixed point, so that no frame costs a division

  std::int64_t ns_per_byte_;
  Nanos free_at_{};
};

}  // namespace rain::sim
