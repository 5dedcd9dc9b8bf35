// Checks of the public libraries' options: one line that says the key, the value and what is allowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/endpoint.h"
#include "rain/rpc.h"

namespace rain::rpc {

/// base/range_check.h as kBadOption.
Expected<void> check_range(std::string_view key, std::uint64_t value, std::uint64_t low, std::uint64_t high);
Expected<void> check_range(std::string_view key, Nanos value, Nanos low, Nanos high);

/// The endpoint that `text` names; its port must be at least `min_port`.
Expected<Endpoint> check_address(std::string_view key, std::string_view text, std::uint16_t min_port);

}  // namespace rain::rpc
