// What server and callers share of the RPC library's set-up: TLS files as it takes them, the time of day for their dates,
// and that it prints nothing. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rain::control {

/// What the RPC library prints by itself is not for our users: problems reach them as one line of ours.
void silence_library();

/// The time of day: certificates have dates.
std::int64_t unix_seconds_now();

std::optional<std::string> read_pem(const std::string& path);

}  // namespace rain::control
