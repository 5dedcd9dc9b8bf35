// How the controller and those who call it know each other: TLS with certificates on both sides, or nothing at all, which
// is for one machine alone.
#pragma once

#include <cstdint>
#include <string>

#include "base/endpoint.h"

namespace rain::control {

/// Paths of PEM files. All three or none; controller and callers each have a certificate of the same authority.
struct TlsFiles {
  std::string certificate{};
  std::string key{};
  std::string authority{};
  std::string peer_name{};  ///< callers: the name in the controller's certificate; "": its address

  bool used() const { return !certificate.empty(); }
};

/// Where the controller is and how it is spoken to.
struct ControllerAddress {
  Endpoint endpoint{};
  TlsFiles tls{};
};

/// True for 127.0.0.0/8 and ::1.
inline bool is_loopback(const Endpoint& endpoint) {
  if (endpoint.is_v4()) return endpoint.address[12] == 127;
  Endpoint one;
  one.address[15] = 1;
  return endpoint.address == one.address;
}

/// "" or one line: plain outside of this machine, a file that cannot be read or is no PEM, a certificate that has expired,
/// is not valid yet or does not belong to the key. `unix_seconds`: the time of day.
std::string security_problem(const ControllerAddress& address, std::int64_t unix_seconds);

}  // namespace rain::control
