// A server's place at the controller: registered with its workers, told their keys, reported on. For `rain worker`, of racks
// with a [controller].
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/stop_signals.h"
#include "control/rpc/server_link.h"
#include "tools/rack_file.h"

namespace rain::tools {

class ServerSession {
 public:
  /// Registers and waits until the controller has told the workers' keys, which it does as soon as it is there; nothing
  /// when a signal came first. `hooks.note` is filled in. Throws InputError when the controller's address cannot be used.
  static std::unique_ptr<ServerSession> open(const RackFile& rack, const ServerSection& server,
                                             const StopSignals& signals, control::ServerLinkHooks hooks);
  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;
  ~ServerSession();  ///< says goodbye, if the controller is there to hear it

  /// The keys that the workers have, in their order.
  const std::vector<std::uint32_t>& token_keys() const { return token_keys_; }
  control::ServerLink& link() { return *link_; }

 private:
  ServerSession(std::unique_ptr<control::ServerLink> link, std::vector<std::uint32_t> keys)
      : link_(std::move(link)), token_keys_(std::move(keys)) {}

  std::unique_ptr<control::ServerLink> link_;
  std::vector<std::uint32_t> token_keys_;
};

}  // namespace rain::tools
