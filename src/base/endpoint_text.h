// Endpoints as people write them: "10.0.0.1:9000", "[fd00::1]:9000". Numeric only: resolving names would
// block, and a rack's addresses are fixed.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/endpoint.h"

namespace rain {

/// Longest text of an endpoint: a full IPv6 address, brackets, colon and port.
inline constexpr std::size_t kMaxEndpointText = 47;

/// The endpoint that `text` names, or one line that says what is wrong with it. Port 0 is accepted ("any"
/// when binding). "[::ffff:a.b.c.d]:port" is the same endpoint as "a.b.c.d:port". No white space, no zone, no
/// leading zeros in IPv4 parts or port.
tl::expected<Endpoint, std::string> parse_endpoint(std::string_view text);

/// "a.b.c.d:port" for IPv4, else "[v6]:port" in the canonical form of RFC 5952; parse_endpoint() reads it
/// back.
std::string format_endpoint(const Endpoint& endpoint);

}  // namespace rain
