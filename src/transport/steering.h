// Which socket of a SO_REUSEPORT group receives which packet: a classic BPF program over the first ten bytes.
//
// Several switch threads share one UDP port and share nothing else, so a packet must reach the thread that
// owns its slice. The kernel lets a socket filter choose. The filter reads what every R2P2 packet has at a
// fixed place: magic, header size, type, and the 16-bit key at offset 8. The offsets stand in steering.cc;
// which magics, types and keys there are, and where they go, comes with the rules, so this layer still knows
// nothing of what packets mean.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace rain::transport {

/// One value of the 16-bit key and the socket (by order of binding) that receives it.
struct SteeringKey {
  std::uint16_t key = 0;
  std::uint16_t socket = 0;
};

/// How a message type is recognised and by which keys it is steered.
struct SteeringRule {
  std::vector<std::uint8_t> types{};    ///< message types that this rule covers, 0..15
  std::uint16_t key_without_field = 0;  ///< key of a packet whose header is too short to carry the field
  std::vector<SteeringKey> keys{};
  std::uint16_t other_keys = 0;  ///< socket of all keys that are not listed
};

/// Where the filter finds things. A packet that matches no magic or no rule goes to socket 0.
struct Steering {
  std::uint8_t plain_magic = 0;   ///< byte 0 of packets whose byte 2 is the type
  std::uint8_t packed_magic = 0;  ///< byte 0 of packets whose byte 2 holds the type in its high nibble
  std::vector<SteeringRule> rules{};
};

/// The most instructions a classic BPF program may have (BPF_MAXINSNS of the kernel).
inline constexpr std::size_t kMaxSteeringInstructions = 4096;

/// Compiles the rules. Error: a text that says which limit they exceed.
tl::expected<std::vector<sock_filter>, std::string> compile_steering(const Steering& steering);

}  // namespace rain::transport
