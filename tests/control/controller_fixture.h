// A controller that listens on this machine, for tests of those that attach to it: two slices of 1000 tasks each.
#pragma once

#include "base/clock.h"
#include "control/registry_fixture.h"
#include "control/rpc/controller_server.h"

namespace rain::control::testing {

class ControllerFixture : public ::testing::Test {
 protected:
  void start(const TlsFiles& tls = {}, std::uint16_t port = 0, std::uint64_t instance = 7) {
    ControllerOptions options{.registry = testing::options(instance),
                              .slices = {testing::slice("a"), testing::slice("b", true)},
                              .types = {{{1}, {0}}},
                              .saved = saved_};
    options.save = [this](const SavedState& state) { return saved_ = state, ""; };
    controller_ = *Controller::open(std::move(options), monotonic_now());
    auto server = ControllerServer::start(*controller_, {Endpoint::v4(127, 0, 0, 1, port), tls});
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
    address_ = {server_->local(), tls};
  }
  void stop() {
    server_.reset();
    controller_.reset();
  }
  /// On the same port, with or without what it knew.
  void restart(bool keeps_state) {
    stop();
    if (!keeps_state) saved_.reset();
    start(address_.tls, address_.endpoint.port, keeps_state ? 7 : 8);
  }

  std::optional<SavedState> saved_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<ControllerServer> server_;
  ControllerAddress address_;
};

}  // namespace rain::control::testing
