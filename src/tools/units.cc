// See units.h. std::from_chars reads the numbers: no locale, no sign, no surprise.
#include "tools/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace rain::tools {
namespace {

struct NumberAndUnit {
  double number;
  std::string_view unit;
};

std::optional<NumberAndUnit> split_number(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  return NumberAndUnit{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

template <std::size_t N>
std::optional<double> scaled(std::string_view text,
                             const std::array<std::pair<std::string_view, double>, N>& units) {
  const auto split = split_number(text);
  if (!split) return std::nullopt;
  for (const auto& [name, factor] : units) {
    if (name == split->unit) return split->number * factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"", 1}, {"KiB", 1024}, {"MiB", 1024.0 * 1024}, {"GiB", 1024.0 * 1024 * 1024}}};
  const auto bytes = scaled(text, kUnits);
  if (!bytes || *bytes > 9e15 || *bytes != std::floor(*bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::optional<Rate> parse_rate(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 3> kUnits{
      {{"", 1}, {"k", 1e3}, {"M", 1e6}}};
  if (text.ends_with('%')) {
    const auto percent = parse_number(text.substr(0, text.size() - 1));
    if (!percent) return std::nullopt;
    return Rate{.per_second = 0, .capacity_share = *percent / 100};
  }
  const auto per_second = scaled(text, kUnits);
  if (!per_second) return std::nullopt;
  return Rate{.per_second = *per_second, .capacity_share = 0};
}

std::string format_rate(const Rate& rate) {
  if (rate.capacity_share > 0) return fmt::format("{:g}%", rate.capacity_share * 100);
  return fmt::format("{:.6g}/s", rate.per_second);
}

std::optional<double> parse_number(std::string_view text) {
  const auto split = split_number(text);
  if (!split || !split->unit.empty()) return std::nullopt;
  return split->number;
}

}  // namespace rain::tools
