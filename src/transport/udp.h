// Packet I/O on a UDP socket: batches by recvmmsg and sendmmsg, buffers allocated once. The embedded default:
// any machine, any container, no privilege.
//
// Sending never fails loudly: a packet that the kernel refuses is counted (send_failures) and lost, as on any
// network. When the socket's send buffer is full, flush() waits for room, but at most kSendPatience in all;
// what is still unsent then is counted and dropped, so that a stuck interface cannot stop the agent. ICMP errors
// that peers' closed ports send back are not looked at: the kernel keeps them from a socket that is not
// connected, and one that it hands over all the same costs at most one more system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/descriptor.h"
#include "base/endpoint.h"
#include "base/time.h"
#include "transport/steering.h"
#include "transport/transport.h"
#include "transport/wake_event.h"

namespace rain::transport {

struct UdpOptions {
  /// Local address. Port 0: the kernel chooses. An IPv4 address gives a socket that reaches IPv4 peers only;
  /// `::` (all zero, the default) gives one that reaches both families.
  Endpoint listen{};
  bool busy_poll = false;    ///< wait() returns at once: lowest latency, one core always busy
  Nanos kernel_busy_poll{};  ///< SO_BUSY_POLL: how long a blocked wait spins on the device; 0: off
  std::size_t receive_buffer_bytes = 0;  ///< SO_RCVBUF; 0: the system's default
  std::size_t send_buffer_bytes = 0;     ///< SO_SNDBUF; 0: the system's default
  /// RxPacket::arrival is when the host received it, not when we read it. The first such socket of a host
  /// starts the stamping a moment after it was opened.
  bool kernel_time_stamps = false;
};

/// Longest time that one flush() waits for room in a full send buffer.
inline constexpr Nanos kSendPatience = microseconds(1000);

/// Transport over one UDP socket. Longer datagrams than kBufferBytes - kHeadroomBytes arrive cut to that
/// size.
class UdpTransport {
 public:
  /// Errors read like "cannot bind 127.0.0.1:9000: address already in use".
  static tl::expected<UdpTransport, std::string> open(const UdpOptions& options);

  /// `count` sockets on one address, each for a thread of its own; the kernel steers each packet to one of
  /// them. The address is still refused while any other process has it. Packets that came before the steering
  /// are discarded.
  static tl::expected<std::vector<UdpTransport>, std::string> open_group(const UdpOptions& options,
                                                                         std::size_t count,
                                                                         const Steering& steering);

  UdpTransport(UdpTransport&& other) noexcept;
  UdpTransport& operator=(UdpTransport&& other) noexcept;
  ~UdpTransport();

  // concept Transport
  std::span<RxPacket> receive(Nanos now);
  void send(Nanos now, std::span<const std::byte> bytes, const Endpoint& peer);
  void flush(Nanos now);
  std::uint64_t send_failures() const { return send_failures_; }
  void wait(Nanos timeout);
  const Endpoint& local() const { return local_; }

  /// wait() that also ends when `wake` is signalled.
  void wait(Nanos timeout, const WakeEvent& wake);
  /// Steers the packets of the group that this socket was opened with, instead of what was steered before.
  tl::expected<void, std::string> steer(const Steering& steering);

  std::uint64_t cut_packets() const { return cut_packets_; }  ///< received longer than a buffer
  std::uint64_t receive_overflows() const;   ///< lost because the receive buffer was full (a system call)
  std::size_t receive_buffer_bytes() const;  ///< what the kernel granted (a system call)

 private:
  struct Rings;  // the batch of each direction as the kernel wants it
  UdpTransport(Descriptor socket, const Endpoint& local, const UdpOptions& options);
  void discard_received();

  Descriptor socket_;
  bool ipv4_ = false;
  bool busy_poll_ = false;
  bool kernel_time_stamps_ = false;
  Endpoint local_{};
  std::size_t queued_ = 0;
  std::uint64_t send_failures_ = 0;
  std::uint64_t cut_packets_ = 0;
  std::unique_ptr<Rings> rings_;
};

static_assert(Transport<UdpTransport>);

}  // namespace rain::transport
