// A server's link to the controller: registers its workers, reports on them, hears what they shall do, and attaches again
// for as long as it lives. While the controller is away its workers go on as they are.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"
#include "control/registry.h"
#include "control/rpc/security.h"

namespace rain::control {

struct ServerLinkOptions {
  ControllerAddress controller{};
  ServerClaim server{};
};

/// What shall be, as of now. Given whole each time: compare it with what is.
struct ServerOrders {
  std::vector<SliceRow> slices{};  ///< of the rack
  std::vector<TypeRow> types{};
  std::vector<WorkerRow> workers{};  ///< this server's, those that are out too
};

struct ServerLinkHooks {
  /// Something has changed; also after each reconnection. On the link's thread.
  std::function<void(const ServerOrders&)> orders{};
  /// Something was refused: one line, and the worker when it was a move. On the link's thread.
  std::function<void(const std::string&, std::optional<WorkerId> move)> refused{};
  /// One line when the controller was reached, lost, or cannot be reached, each once. On the link's thread.
  std::function<void(const std::string&)> note{};
};

class ServerLink {
 public:
  /// Begins; does not wait for the controller. The error is one line: security_problem(), a build without links.
  static tl::expected<std::unique_ptr<ServerLink>, std::string> open(const ServerLinkOptions& options,
                                                                     ServerLinkHooks hooks);
  virtual ~ServerLink() =
      default;  ///< after it no hook is called; the lease ends by itself unless leave() came before

  /// The newest orders, once there are any; waits for them at most `timeout`.
  virtual std::optional<ServerOrders> wait_for_orders(Nanos timeout) = 0;

  // From any thread, without waiting:
  /// What the next heartbeat says; one that says that a worker has drained, died or come back is sent at once.
  virtual void report(std::vector<WorkerReport> reports) = 0;
  /// Asks for a move. Lost when the controller is away: ask again if the orders do not follow.
  virtual void request_move(WorkerId worker, const std::string& slice) = 0;

  /// Says which spill threshold suits this server's workers of a slice. Goes with the next heartbeat, the newest of each
  /// slice alone, as every change is written to the controller's disk; said again after each reconnection.
  virtual void request_spill(const std::string& slice, std::uint32_t spill) = 0;

  /// Says goodbye: the workers leave the switch. Waits for the controller at most `timeout`; false: it has not heard.
  virtual bool leave(Nanos timeout) = 0;
};

}  // namespace rain::control
