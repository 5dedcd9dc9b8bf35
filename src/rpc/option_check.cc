// See option_check.h.
#include "rpc/option_check.h"

#include "base/duration_text.h"
#include "base/endpoint_text.h"

namespace rain::rpc {

namespace {

tl::unexpected<Error> bad_option(std::string detail) {
  return tl::unexpected(Error{.kind = ErrorKind::kBadOption, .detail = std::move(detail)});
}

tl::unexpected<Error> out_of_range(std::string_view key, const std::string& value, const std::string& low,
                                   const std::string& high) {
  return bad_option(std::string(key) + " is " + value + "; allowed: " + low + ".." + high);
}

}  // namespace

Expected<void> check_range(std::string_view key, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return {};
  return out_of_range(key, std::to_string(value), std::to_string(low), std::to_string(high));
}

Expected<void> check_range(std::string_view key, Nanos value, Nanos low, Nanos high) {
  if (value >= low && value <= high) return {};
  return out_of_range(key, format_duration(value), format_duration(low), format_duration(high));
}

Expected<Endpoint> check_address(std::string_view key, std::string_view text, std::uint16_t min_port) {
  const auto endpoint = parse_endpoint(text);
  if (!endpoint) return bad_option(std::string(key) + ": " + endpoint.error());
  if (endpoint->port < min_port) {
    return bad_option(std::string(key) + " \"" + std::string(text) + "\" has port 0; allowed: 1..65535");
  }
  return *endpoint;
}

}  // namespace rain::rpc
