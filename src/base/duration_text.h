// Durations as people write them in flags and configuration files: "500ns", "10us", "1.5ms", "2s".
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/time.h"

namespace rain {

/// The duration that `text` names, or one line that says what is wrong with it. A decimal number, at most
/// nine digits after the point, and a unit (ns, us, ms, s, min); "0" alone needs none. Not negative, at most
/// 292 years, and a whole number of nanoseconds.
tl::expected<Nanos, std::string> parse_duration(std::string_view text);

/// In the largest unit up to seconds that needs no fraction ("1500us", "2s"); parse_duration() reads it back.
/// Negative durations get a leading '-'.
std::string format_duration(Nanos duration);

}  // namespace rain
