// The small pieces that workload texts are made of: numbers and rates (durations: base/duration_text.h).
// Every error is one line that names the offending text and what is allowed, for people who typed it on a
// command line or into a file.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace rain::workload {

/// A parsed value, or one line for people: what is wrong, where, and what is allowed.
template <typename T>
using Parsed = tl::expected<T, std::string>;

inline constexpr double kMinRate = 0.001;  ///< requests a second
inline constexpr double kMaxRate = 1e9;    ///< one a nanosecond, the finest time there is

/// The text in quotation marks for an error: one printable line, cut when it is long.
std::string in_quotes(std::string_view text);

/// "text" between `separator`s, empty pieces kept; at least one piece.
std::vector<std::string_view> split(std::string_view text, char separator);

/// A plain decimal number such as 0.5 or 1e3, within [low, high]. `what` names it in the error.
Parsed<double> parse_number(std::string_view text, std::string_view what, double low, double high);

/// Requests a second: 450000, 450k, 2.2M. 0, or kMinRate..kMaxRate.
Parsed<double> parse_rate(std::string_view text);

}  // namespace rain::workload
