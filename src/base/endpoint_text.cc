#include "base/endpoint_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace rain {

namespace {

constexpr const char* kAllowed = "expected a.b.c.d:port or [IPv6]:port, numeric";

tl::unexpected<std::string> wrong(std::string_view text, const std::string& what) {
  // The text comes from anywhere: what is not printable would garble the one line that the user sees.
  std::string shown(text.substr(0, 64));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return tl::unexpected("\"" + shown + (text.size() > 64 ? "...\"" : "\"") + " " + what + "; " + kAllowed);
}

/// Decimal digits only, no sign, no leading zero.
std::optional<unsigned> parse_number(std::string_view text, unsigned highest) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  unsigned value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value > highest) return std::nullopt;
  return value;
}

bool parse_v4(std::string_view text, Endpoint& out) {
  std::array<std::uint8_t, 4> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t dot = i + 1 < parts.size() ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return false;
    const auto part = parse_number(text.substr(0, dot), 255);
    if (!part) return false;
    parts[i] = static_cast<std::uint8_t>(*part);
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  out = Endpoint::v4(parts[0], parts[1], parts[2], parts[3], 0);
  return true;
}

bool parse_v6(std::string_view text, Endpoint& out) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  // An embedded zero byte would end the text early for inet_pton().
  if (text.size() >= terminated.size() || text.find('\0') != std::string_view::npos) return false;
  std::copy(text.begin(), text.end(), terminated.begin());
  return inet_pton(AF_INET6, terminated.data(), out.address.data()) == 1;
}

}  // namespace

tl::expected<Endpoint, std::string> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong(text, "has no port");
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';

  Endpoint endpoint;
  if (bracketed) {
    if (!parse_v6(host.substr(1, host.size() - 2), endpoint)) return wrong(text, "has no valid IPv6 address");
  } else if (!parse_v4(host, endpoint)) {
    return wrong(text, "has no valid address");
  }
  const auto port = parse_number(text.substr(colon + 1), 65535);
  if (!port) return wrong(text, "has no valid port (0..65535)");
  endpoint.port = static_cast<std::uint16_t>(*port);
  return endpoint;
}

std::string format_endpoint(const Endpoint& endpoint) {
  std::array<char, INET6_ADDRSTRLEN> host{};
  const bool v4 = endpoint.is_v4();
  if (v4) {
    inet_ntop(AF_INET, &endpoint.address[12], host.data(), host.size());
  } else {
    inet_ntop(AF_INET6, endpoint.address.data(), host.data(), host.size());
  }
  std::string text(v4 ? "" : "[");
  text.append(host.data()).append(v4 ? ":" : "]:").append(std::to_string(endpoint.port));
  return text;
}

}  // namespace rain
