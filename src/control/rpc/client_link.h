// A client's link to the controller: registers, says now and then what it has in flight and wants, and hears its share.
// While the controller is away the share stays as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "control/client_usage.h"
#include "control/rpc/security.h"

namespace rain::control {

struct ClientLinkOptions {
  ControllerAddress controller{};
  std::string name{};           ///< unique in the rack; "": KIND-HOST-PROCESS
  std::string kind = "client";  ///< what a made name begins with
  std::uint32_t weight = 1;     ///< 1..kMaxShareWeight
};

struct ClientLinkHooks {
  std::function<ClientUsage()> usage{};              ///< called once for each heartbeat
  std::function<void(std::uint32_t share)> share{};  ///< each time it changes
  /// One line when the controller was reached, lost, or cannot be reached, each once.
  std::function<void(const std::string&)> note{};
};

class ClientLink {
 public:
  /// Begins; does not wait for the controller. Hooks are called on the link's thread. The error is one line.
  static tl::expected<std::unique_ptr<ClientLink>, std::string> open(const ClientLinkOptions& options,
                                                                     ClientLinkHooks hooks);
  /// Gives the share back, in at most two seconds; after it no hook is called.
  virtual ~ClientLink() = default;
  /// In at most a second: no hook is called any more. The share stays lent until this is destroyed or the lease ends: for
  /// who wants to stop using it first.
  virtual void stop() = 0;
};

}  // namespace rain::control
