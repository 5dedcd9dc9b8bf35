// Tests of the public client on loopback sockets: a rack and clients of it.
#pragma once

#include "rain/client.h"

#include <gtest/gtest.h>

#include "test_rack.h"

namespace rain {

class ClientTest : public testing::Test {
 protected:
  Client open(ClientOptions options = {}) {
    options.switch_address = rack.switch_address();
    auto client = Client::open(options);
    EXPECT_TRUE(client) << client.error().message();
    return *std::move(client);
  }
  /// Steps rack and client until `done()`.
  template <typename Done>
  bool run(Client& client, Done done) {
    return step_until([&] { rack.poll(), client.poll(); }, done);
  }
  /// A socket that nobody answers on.
  static transport::UdpTransport mute() {
    return transport::UdpTransport::open({.listen = Endpoint::v4(127, 0, 0, 1, 0)}).value();
  }
  static void send_raw(transport::UdpTransport& from, std::string_view bytes, std::uint16_t port) {
    from.send({}, as_payload(bytes), Endpoint::v4(127, 0, 0, 1, port));
    from.flush({});
  }

  TestRack rack;
};

}  // namespace rain
