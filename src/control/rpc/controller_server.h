// The controller's services on a TCP port: brings the calls of switches, servers, clients and operators to a Controller.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "control/controller.h"
#include "control/rpc/security.h"

namespace rain::control {

class ControllerServer {
 public:
  /// Listens and serves. Port 0: the system chooses. `controller` must outlive it. The error is one line: the address is
  /// taken, security_problem().
  static tl::expected<std::unique_ptr<ControllerServer>, std::string> start(Controller& controller,
                                                                            const ControllerAddress& listen);
  ControllerServer(const ControllerServer&) = delete;
  ControllerServer& operator=(const ControllerServer&) = delete;
  ~ControllerServer();  ///< ends all streams

  const Endpoint& local() const { return local_; }

 private:
  struct Services;
  explicit ControllerServer(std::unique_ptr<Services> services);
  std::unique_ptr<Services> services_;
  Endpoint local_{};
};

}  // namespace rain::control
