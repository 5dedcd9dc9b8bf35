// What the calls that need credentials share: TLS files as the RPC library takes them, the time of day for their dates.
// Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rain::control {

/// The time of day: certificates have dates.
std::int64_t unix_seconds_now();

std::optional<std::string> read_pem(const std::string& path);

}  // namespace rain::control
