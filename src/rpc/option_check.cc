// See option_check.h.
#include "rpc/option_check.h"

#include <utility>

#include "base/endpoint_text.h"
#include "base/range_check.h"

namespace rain::rpc {

namespace {

tl::unexpected<Error> bad_option(std::string detail) {
  return tl::unexpected(Error{.kind = ErrorKind::kBadOption, .detail = std::move(detail)});
}

Expected<void> to_result(std::string problem) {
  if (problem.empty()) return {};
  return bad_option(std::move(problem));
}

}  // namespace

Expected<void> check_range(std::string_view key, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  return to_result(range_problem(key, value, low, high));
}

Expected<void> check_range(std::string_view key, Nanos value, Nanos low, Nanos high) {
  return to_result(range_problem(key, value, low, high));
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
