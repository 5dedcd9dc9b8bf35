// Tests of emulated_server.h on a real socket; the agent inside has its own tests in virtual time.
#include "tools/emulated_server.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "base/clock.h"
#include "transport/udp.h"
#include "wire/message.h"

namespace rain::tools {
namespace {

TEST(EmulatedServer, drops__refused_sends_are_counted) {
  // A socket of IPv4 cannot send to an address of IPv6: each SYNC is refused.
  Endpoint unreachable;
  unreachable.address[15] = 1;
  unreachable.port = 9;
  auto client = transport::UdpTransport::open({.listen = Endpoint::v4(127, 0, 0, 1, 0)}).value();
  const Endpoint listen =
      transport::UdpTransport::open({.listen = Endpoint::v4(127, 0, 0, 1, 0)}).value().local();
  EmulatedServer server({.listen = listen, .switch_address = unreachable, .sync_interval = milliseconds(1)});
  std::thread thread([&server] { server.run(); });

  // A request that did not come through a switch is answered: so the server has made a step. Its first question comes
  // within a few milliseconds of them.
  wire::Message request;
  request.first = request.last = true;
  request.packet = 1;
  std::array<std::byte, wire::kMaxPacketBytes> buffer;
  unsigned answers = 0;
  const Nanos asked = monotonic_now() + milliseconds(100);
  for (const Nanos limit = monotonic_now() + seconds(10);
       monotonic_now() < limit && (answers == 0 || monotonic_now() < asked);) {
    client.send({}, wire::encode(request, buffer), listen);
    client.flush({});
    client.wait(milliseconds(10));
    answers += static_cast<unsigned>(client.receive({}).size());
  }
  server.stop();
  thread.join();
  answers += static_cast<unsigned>(client.receive({}).size());  // it goes on answering until it has left
  EXPECT_GT(answers, 0u);
  EXPECT_EQ(server.drops()[static_cast<std::size_t>(DropReason::kUnexpectedMessage)], answers);
  EXPECT_GT(server.drops()[static_cast<std::size_t>(DropReason::kSendFailed)], 0u);
}

}  // namespace
}  // namespace rain::tools
