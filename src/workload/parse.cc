#include "workload/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace rain::workload {
namespace {

struct Scaled {
  double number;
  std::string_view suffix;
};

// The leading number of `text` and what follows it. std::from_chars: no locale, the same on every machine.
std::optional<Scaled> leading_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  return Scaled{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxShown = 48;
  std::string shown(text.substr(0, kMaxShown));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return '"' + shown + (text.size() > kMaxShown ? "..." : "") + '"';
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

Parsed<double> parse_number(std::string_view text, std::string_view what, double low, double high) {
  const auto number = leading_number(text);
  if (!number || !number->suffix.empty()) {
    return tl::unexpected(
        fmt::format("{} {} is not a number (allowed: {} to {})", what, in_quotes(text), low, high));
  }
  if (number->number < low || number->number > high) {
    return tl::unexpected(
        fmt::format("{} {} is out of range (allowed: {} to {})", what, in_quotes(text), low, high));
  }
  return number->number;
}

Parsed<double> parse_rate(std::string_view text) {
  const auto number = leading_number(text);
  double factor = 0;
  if (number && number->suffix.empty()) factor = 1;
  if (number && number->suffix == "k") factor = 1e3;
  if (number && number->suffix == "M") factor = 1e6;
  if (factor == 0) {
    return tl::unexpected(fmt::format(
        "rate {} is not a number of requests a second (allowed: such as 1500, 450k, 2.2M)", in_quotes(text)));
  }
  const double rate = number->number * factor;
  if (rate != 0 && !(rate >= kMinRate && rate <= kMaxRate)) {
    return tl::unexpected(
        fmt::format("rate {} is out of range (allowed: 0, or {} to {:.0f} requests a second)",
                    in_quotes(text), kMinRate, kMaxRate));
  }
  return rate;
}

}  // namespace rain::workload
