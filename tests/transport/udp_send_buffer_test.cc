// A full send buffer, provoked for real: packets to a neighbour that never answers its address request stay
// charged to the socket. Needs a network namespace with a tap device, so it runs in a child process and only
// where that is allowed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "transport/packets.h"
#include "transport/udp.h"

namespace rain::transport {
namespace {

enum ChildResult { kPassed = 0, kFailed = 1, kNotPossible = 77 };

// An interface with 10.77.0.1/8 and nobody behind it; lives as long as the child.
bool make_silent_interface() {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  const int tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  if (tap < 0) return false;
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(tap, TUNSETIFF, &request) != 0) return false;
  const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (control < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(0x0A4D0001);
  std::memcpy(&request.ifr_addr, &address, sizeof(address));
  if (ioctl(control, SIOCSIFADDR, &request) != 0) return false;
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool up = ioctl(control, SIOCSIFFLAGS, &request) == 0;
  close(control);
  return up;
}

ChildResult fill_send_buffer() {
  if (!make_silent_interface()) return kNotPossible;
  auto transport = UdpTransport::open({.listen = Endpoint::v4(10, 77, 0, 1, 0), .send_buffer_bytes = 4096});
  if (!transport) return kNotPossible;
  const std::string payload(1400, 'x');
  for (std::size_t i = 0; i < 2 * kBatch; ++i) {
    transport->send(Nanos{1}, bytes_of(payload), Endpoint::v4(10, 77, 0, 2, 9));
  }
  transport->flush(Nanos{1});
  if (transport->send_failures() == 0 || transport->send_failures() >= 2 * kBatch) return kFailed;

  // The refused packets are gone: nothing is sent twice, and another flush does nothing.
  const std::uint64_t failures = transport->send_failures();
  transport->flush(Nanos{1});
  return transport->send_failures() == failures ? kPassed : kFailed;
}

TEST(UdpSendBuffer, flush__full_buffer_ends_in_counted_failures) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(fill_send_buffer());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotPossible)
    GTEST_SKIP() << "no network namespace or tap device to be had here";
  EXPECT_EQ(WEXITSTATUS(status), kPassed);
}

}  // namespace
}  // namespace rain::transport
