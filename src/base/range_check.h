// The range check of every options struct, so that all refusals read alike: the key, the value, what is allowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace rain {

/// "" when `value` lies in the range, else "KEY is VALUE; allowed: LOW..HIGH".
std::string range_problem(std::string_view key, std::uint64_t value, std::uint64_t low, std::uint64_t high);
std::string range_problem(std::string_view key, Nanos value, Nanos low, Nanos high);

}  // namespace rain
