// Sizes and rates as people write them in rack files and flags. Durations: base/duration_text.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rain::tools {

/// "4096", "64KiB", "4MiB": a whole number of bytes, optionally with KiB, MiB or GiB.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// An offered load: requests a second, or a share of what the workers can serve.
struct Rate {
  double per_second = 0;      ///< 0 when a share was given
  double capacity_share = 0;  ///< 0.8 for "80%"; 0 when requests a second were given
  bool operator==(const Rate&) const = default;
};
/// "20000", "20k", "1.5M" (requests a second) or "80%" (of capacity).
std::optional<Rate> parse_rate(std::string_view text);
/// "20000/s" or "80%".
std::string format_rate(const Rate& rate);

/// A plain non-negative decimal number, nothing before or after it.
std::optional<double> parse_number(std::string_view text);

}  // namespace rain::tools
