#include "transport/udp.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/endpoint_text.h"

// From linux/sock_diag.h, whose other contents clash with the C library's headers in older releases.
#include <linux/sock_diag.h>

namespace rain::transport {
namespace {

// One wait for room in a full send buffer, and how many of them one flush() may take: kSendPatience in all.
constexpr unsigned kSendWaits = 4;
constexpr Nanos kSendWait = kSendPatience / kSendWaits;

union SocketAddress {
  sockaddr generic;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

socklen_t to_socket_address(const Endpoint& endpoint, bool ipv4, SocketAddress& out) {
  if (ipv4) {
    out.v4 = {};
    out.v4.sin_family = AF_INET;
    out.v4.sin_port = htons(endpoint.port);
    std::memcpy(&out.v4.sin_addr, endpoint.address.data() + 12, 4);
    return sizeof(out.v4);
  }
  out.v6 = {};
  out.v6.sin6_family = AF_INET6;
  out.v6.sin6_port = htons(endpoint.port);
  std::memcpy(&out.v6.sin6_addr, endpoint.address.data(), 16);
  return sizeof(out.v6);
}

Endpoint from_socket_address(const SocketAddress& address) {
  Endpoint endpoint;
  if (address.generic.sa_family == AF_INET) {
    endpoint = Endpoint::v4(0, 0, 0, 0, ntohs(address.v4.sin_port));
    std::memcpy(endpoint.address.data() + 12, &address.v4.sin_addr, 4);
  } else {
    endpoint.port = ntohs(address.v6.sin6_port);
    std::memcpy(endpoint.address.data(), &address.v6.sin6_addr, 16);
  }
  return endpoint;
}

// "cannot bind 127.0.0.1:9000: address already in use"
std::string failure(const std::string& what) {
  std::string why = std::system_category().message(errno);
  if (!why.empty()) why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  return "cannot " + what + ": " + why;
}

bool set_option(int socket, int level, int name, int value) {
  return setsockopt(socket, level, name, &value, sizeof(value)) == 0;
}

// The forced form passes the system's limit, with privilege; without, the kernel grants up to the limit.
void set_buffer_size(int socket, int forced_name, int name, std::size_t bytes) {
  const int value = static_cast<int>(std::min<std::size_t>(bytes, INT32_MAX / 2));
  if (!set_option(socket, SOL_SOCKET, forced_name, value)) set_option(socket, SOL_SOCKET, name, value);
}

tl::expected<void, std::string> configure(int socket, const UdpOptions& options) {
  if (!options.listen.is_v4() && !set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0)) {
    return tl::unexpected(failure("make an IPv6 socket that accepts IPv4"));
  }
  if (options.receive_buffer_bytes != 0) {
    set_buffer_size(socket, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer_bytes);
  }
  if (options.send_buffer_bytes != 0) {
    set_buffer_size(socket, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer_bytes);
  }
  if (options.kernel_busy_poll.value > 0) {
    const std::int64_t microseconds =
        std::min<std::int64_t>(options.kernel_busy_poll.value / 1000, 1'000'000);
    if (!set_option(socket, SOL_SOCKET, SO_BUSY_POLL, static_cast<int>(microseconds))) {
      return tl::unexpected(failure("set SO_BUSY_POLL to " + std::to_string(microseconds) + " us"));
    }
  }
  if (options.kernel_time_stamps && !set_option(socket, SOL_SOCKET, SO_TIMESTAMPNS, 1)) {
    return tl::unexpected(failure("have received packets time-stamped"));
  }
  return {};
}

struct Bound {
  Descriptor socket;
  Endpoint local;
};

tl::expected<Bound, std::string> bind_socket(const UdpOptions& options, bool join_group) {
  const bool ipv4 = options.listen.is_v4();
  Descriptor socket(
      ::socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
  if (!socket.valid()) return tl::unexpected(failure(ipv4 ? "open an IPv4 socket" : "open an IPv6 socket"));
  if (auto configured = configure(socket.get(), options); !configured) {
    return tl::unexpected(std::move(configured.error()));
  }
  if (join_group && !set_option(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1)) {
    return tl::unexpected(failure("share " + format_endpoint(options.listen) + " between threads"));
  }
  SocketAddress address;
  socklen_t length = to_socket_address(options.listen, ipv4, address);
  if (bind(socket.get(), &address.generic, length) != 0) {
    return tl::unexpected(failure("bind " + format_endpoint(options.listen)));
  }
  length = sizeof(address);
  if (getsockname(socket.get(), &address.generic, &length) != 0) {
    return tl::unexpected(failure("read the address of a socket"));
  }
  return Bound{std::move(socket), from_socket_address(address)};
}

}  // namespace

struct UdpTransport::Rings {
  static constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(timespec));
  struct alignas(cmsghdr) Control {
    std::array<std::byte, kControlBytes> bytes;
  };

  std::array<mmsghdr, kBatch> receive_headers{};
  std::array<iovec, kBatch> receive_vectors{};
  std::array<SocketAddress, kBatch> sources{};
  std::array<Control, kBatch> controls{};
  std::array<RxPacket, kBatch> packets{};

  std::array<mmsghdr, kBatch> send_headers{};
  std::array<iovec, kBatch> send_vectors{};
  std::array<SocketAddress, kBatch> peers{};

  struct alignas(64) Buffer {
    std::array<std::byte, kBufferBytes> bytes;
  };
  std::array<Buffer, kBatch> buffers;

  explicit Rings(bool time_stamps) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      receive_vectors[i] = {buffers[i].bytes.data() + kHeadroomBytes, kBufferBytes - kHeadroomBytes};
      receive_headers[i].msg_hdr.msg_name = &sources[i];
      receive_headers[i].msg_hdr.msg_iov = &receive_vectors[i];
      receive_headers[i].msg_hdr.msg_iovlen = 1;
      if (time_stamps) receive_headers[i].msg_hdr.msg_control = controls[i].bytes.data();
      rearm(i, time_stamps);
      send_headers[i].msg_hdr.msg_name = &peers[i];
      send_headers[i].msg_hdr.msg_iov = &send_vectors[i];
      send_headers[i].msg_hdr.msg_iovlen = 1;
    }
  }

  // The kernel overwrites the capacities that it was given with what it used.
  void rearm(std::size_t i, bool time_stamps) {
    receive_headers[i].msg_hdr.msg_namelen = sizeof(SocketAddress);
    if (time_stamps) receive_headers[i].msg_hdr.msg_controllen = kControlBytes;
  }

  // Zero when the kernel gave none.
  Nanos kernel_time(std::size_t i) {
    msghdr& header = receive_headers[i].msg_hdr;
    for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
         control = CMSG_NXTHDR(&header, control)) {
      if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_TIMESTAMPNS) continue;
      timespec time{};
      std::memcpy(&time, CMSG_DATA(control), sizeof(time));
      return {std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
    }
    return {};
  }
};

tl::expected<UdpTransport, std::string> UdpTransport::open(const UdpOptions& options) {
  auto bound = bind_socket(options, false);
  if (!bound) return tl::unexpected(std::move(bound.error()));
  return UdpTransport(std::move(bound->socket), bound->local, options);
}

tl::expected<std::vector<UdpTransport>, std::string> UdpTransport::open_group(const UdpOptions& options,
                                                                              std::size_t count,
                                                                              const Steering& steering) {
  RAIN_ASSERT(count > 0);
  std::vector<UdpTransport> group;
  if (count > 1) group.reserve(count);
  auto first = open(options);  // without SO_REUSEPORT: so a port that another process has is refused
  if (!first) return tl::unexpected(std::move(first.error()));
  group.push_back(std::move(*first));
  if (count == 1) return group;

  const int first_socket = group.front().socket_.get();
  if (!set_option(first_socket, SOL_SOCKET, SO_REUSEPORT, 1)) {
    return tl::unexpected(failure("share " + format_endpoint(options.listen) + " between threads"));
  }
  UdpOptions member = options;
  member.listen.port = group.front().local_.port;
  while (group.size() < count) {
    auto bound = bind_socket(member, true);
    if (!bound) return tl::unexpected(std::move(bound.error()));
    group.push_back(UdpTransport(std::move(bound->socket), bound->local, member));
  }

  if (auto steered = group.front().steer(steering); !steered) {
    return tl::unexpected(std::move(steered.error()));
  }
  for (UdpTransport& transport : group) transport.discard_received();
  return group;
}

UdpTransport::UdpTransport(Descriptor socket, const Endpoint& local, const UdpOptions& options)
    : socket_(std::move(socket)),
      ipv4_(options.listen.is_v4()),
      busy_poll_(options.busy_poll),
      kernel_time_stamps_(options.kernel_time_stamps),
      local_(local),
      rings_(std::make_unique<Rings>(options.kernel_time_stamps)) {}

UdpTransport::UdpTransport(UdpTransport&&) noexcept = default;
UdpTransport& UdpTransport::operator=(UdpTransport&&) noexcept = default;
UdpTransport::~UdpTransport() = default;

std::span<RxPacket> UdpTransport::receive(Nanos now) {
  Rings& rings = *rings_;
  int count = recvmmsg(socket_.get(), rings.receive_headers.data(), kBatch, MSG_DONTWAIT, nullptr);
  if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
    // An ICMP error (or a signal) took the place of the packets; reading the error has cleared it.
    count = recvmmsg(socket_.get(), rings.receive_headers.data(), kBatch, MSG_DONTWAIT, nullptr);
  }
  if (count <= 0) return {};

  // Kernel stamps are wall-clock time. Both clocks are read next to each other for every batch, because the wall clock
  // may be set while we run. No packet came later than it was read; but it may have come after `now`, as the answer to
  // what this cycle has just sent.
  const Nanos read = kernel_time_stamps_ ? monotonic_now() : now;
  const Nanos wall_offset = kernel_time_stamps_ ? wall_clock_now() - read : Nanos{};
  const auto received = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < received; ++i) {
    RxPacket& packet = rings.packets[i];
    packet.bytes = {rings.buffers[i].bytes.data() + kHeadroomBytes, rings.receive_headers[i].msg_len};
    packet.source = from_socket_address(rings.sources[i]);
    packet.arrival = read;
    if (kernel_time_stamps_) {
      const Nanos stamp = rings.kernel_time(i);
      if (stamp != Nanos{}) packet.arrival = std::min(read, stamp - wall_offset);
    }
    if ((rings.receive_headers[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) ++cut_packets_;
    rings.rearm(i, kernel_time_stamps_);
  }
  return {rings.packets.data(), received};
}

void UdpTransport::send(Nanos now, std::span<const std::byte> bytes, const Endpoint& peer) {
  if (ipv4_ && !peer.is_v4()) {
    ++send_failures_;
    return;
  }
  Rings& rings = *rings_;
  // iovec serves reading and writing alike and therefore takes no const; sending only reads.
  rings.send_vectors[queued_] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  rings.send_headers[queued_].msg_hdr.msg_namelen = to_socket_address(peer, ipv4_, rings.peers[queued_]);
  if (++queued_ == kBatch) flush(now);
}

void UdpTransport::flush(Nanos) {
  unsigned waits_left = kSendWaits;
  std::size_t next = 0;
  std::size_t last_refused = kBatch;
  while (next < queued_) {
    const int sent = sendmmsg(socket_.get(), rings_->send_headers.data() + next,
                              static_cast<unsigned>(queued_ - next), MSG_DONTWAIT);
    if (sent > 0) {
      next += static_cast<std::size_t>(sent);
      continue;
    }
    switch (errno) {
      case EAGAIN:
      case ENOBUFS:
        if (waits_left-- > 0) {
          pollfd writable{socket_.get(), POLLOUT, 0};
          const timespec wait = to_timespec(kSendWait);
          ppoll(&writable, 1, &wait, nullptr);
        } else {
          send_failures_ += queued_ - next;
          next = queued_;
        }
        break;
      case EINTR:
        break;
      case ECONNREFUSED:
        // An earlier packet's ICMP error was handed over instead of sending this one: once is no verdict on
        // it.
        if (last_refused != next) {
          last_refused = next;
          break;
        }
        [[fallthrough]];
      default:
        ++send_failures_;
        ++next;
    }
  }
  queued_ = 0;
}

void UdpTransport::wait(Nanos timeout) {
  if (busy_poll_ || timeout <= Nanos{}) return;
  pollfd readable{socket_.get(), POLLIN, 0};
  const timespec limit = to_timespec(timeout);
  ppoll(&readable, 1, &limit, nullptr);
}

void UdpTransport::wait(Nanos timeout, const WakeEvent& wake) {
  if (busy_poll_ || timeout <= Nanos{}) return;
  std::array<pollfd, 2> readable{{{socket_.get(), POLLIN, 0}, {wake.descriptor(), POLLIN, 0}}};
  const timespec limit = to_timespec(timeout);
  ppoll(readable.data(), readable.size(), &limit, nullptr);
}

tl::expected<void, std::string> UdpTransport::steer(const Steering& steering) {
  auto filter = compile_steering(steering);
  if (!filter) return tl::unexpected(std::move(filter.error()));
  const sock_fprog program{static_cast<unsigned short>(filter->size()), filter->data()};
  if (setsockopt(socket_.get(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) != 0) {
    return tl::unexpected(failure("steer packets of " + format_endpoint(local_) + " to threads"));
  }
  return {};
}

std::uint64_t UdpTransport::receive_overflows() const {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t length = sizeof(info);
  if (getsockopt(socket_.get(), SOL_SOCKET, SO_MEMINFO, info.data(), &length) != 0) return 0;
  return info[SK_MEMINFO_DROPS];
}

std::size_t UdpTransport::receive_buffer_bytes() const {
  int bytes = 0;
  socklen_t length = sizeof(bytes);
  getsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  return static_cast<std::size_t>(bytes);
}

void UdpTransport::discard_received() {
  constexpr unsigned kBatches = 1024;  // a bound under flood: what comes later was steered
  for (unsigned i = 0; i < kBatches && !receive({}).empty(); ++i) {
  }
}

}  // namespace rain::transport
