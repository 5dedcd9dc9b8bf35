#include "base/duration_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace rain {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}, {"min", 60'000'000'000}}};

constexpr const char* kAllowed = "expected a number and a unit (ns, us, ms, s, min), for example 1.5ms";

tl::unexpected<std::string> wrong(std::string_view text, const char* what) {
  std::string shown(text.substr(0, 32));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return tl::unexpected("\"" + shown + (text.size() > 32 ? "...\" " : "\" ") + what + "; " + kAllowed);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes the leading digits off `text`.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

}  // namespace

tl::expected<Nanos, std::string> parse_duration(std::string_view text) {
  if (text == "0") return Nanos{};
  std::string_view rest = text;
  const std::string_view whole_digits = take_digits(rest);
  if (whole_digits.empty()) return wrong(text, "is no duration");
  std::string_view fraction_digits;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    fraction_digits = take_digits(rest);
    if (fraction_digits.empty() || fraction_digits.size() > 9) return wrong(text, "is no duration");
  }
  const auto* const unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == rest; });
  if (unit == kUnits.end()) return wrong(text, rest.empty() ? "has no unit" : "has an unknown unit");

  std::int64_t whole = 0;
  const auto parsed = std::from_chars(whole_digits.data(), whole_digits.data() + whole_digits.size(), whole);
  std::int64_t ns = 0;
  if (parsed.ec != std::errc{} || __builtin_mul_overflow(whole, unit->ns, &ns))
    return wrong(text, "is too long");

  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  for (const char digit : fraction_digits) {
    numerator = numerator * 10 + (digit - '0');
    denominator *= 10;
  }
  // unit->ns is at most 6e10 and the numerator below 1e9: their product may exceed 64 bits only for minutes.
  __extension__ const auto scaled = static_cast<__int128>(numerator) * unit->ns;
  if (scaled % denominator != 0) return wrong(text, "is no whole number of nanoseconds");
  if (__builtin_add_overflow(ns, static_cast<std::int64_t>(scaled / denominator), &ns)) {
    return wrong(text, "is too long");
  }
  return Nanos{ns};
}

std::string format_duration(Nanos duration) {
  if (duration.value == 0) return "0s";
  std::size_t unit = 3;
  while (duration.value % kUnits[unit].ns != 0) --unit;
  return std::to_string(duration.value / kUnits[unit].ns) + std::string(kUnits[unit].name);
}

}  // namespace rain
