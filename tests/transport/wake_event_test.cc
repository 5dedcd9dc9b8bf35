#include "transport/wake_event.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "transport/udp.h"

namespace rain::transport {
namespace {

bool readable(const WakeEvent& event) {
  pollfd descriptor{event.descriptor(), POLLIN, 0};
  return poll(&descriptor, 1, 0) == 1;
}

TEST(WakeEvent, signal__is_there_until_it_is_cleared) {
  const WakeEvent event;
  EXPECT_FALSE(readable(event));
  event.clear();  // nothing to clear: must not block
  event.signal();
  event.signal();
  EXPECT_TRUE(readable(event));
  event.clear();
  EXPECT_FALSE(readable(event));
}

TEST(WakeEvent, signal__ends_the_wait_of_a_transport) {
  const WakeEvent event;
  auto transport = UdpTransport::open({.listen = Endpoint::v4(127, 0, 0, 1, 0)});
  ASSERT_TRUE(transport.has_value());
  event.signal();
  transport->wait(seconds(3600), event);  // returns, or the test never ends
  event.wait(seconds(3600));              // likewise
}

}  // namespace
}  // namespace rain::transport
