// Packet I/O as the agents see it: batches in, batches out, one wait. What packets mean is not known here.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/endpoint.h"
#include "base/time.h"

namespace rain::transport {

inline constexpr std::size_t kBatch = 64;           ///< packets received or sent by one call at most
inline constexpr std::size_t kBufferBytes = 2048;   ///< largest packet + headroom
inline constexpr std::size_t kHeadroomBytes = 128;  ///< writable bytes before each received packet

/// A received packet. `bytes` lies in a buffer of the transport with kHeadroomBytes writable bytes before it
/// and is valid until the next receive(), so that a header can be replaced in place and the packet sent on
/// without a copy.
struct RxPacket {
  std::span<std::byte> bytes;
  Endpoint source;
  Nanos
      arrival;  ///< when the host received it where the transport knows (kernel time stamp; it may be after `now`),
                ///< else `now`
};

// clang-format off
/// Implementations: UdpTransport, MemoryTransport, FaultTransport<Transport>. All calls from one thread.
template <typename T>
concept Transport = requires(T& transport, Nanos now, Nanos timeout, std::span<const std::byte> bytes,
                                 const Endpoint& peer) {
  // Up to kBatch packets that have arrived by `now`; never blocks.
  { transport.receive(now) } -> std::same_as<std::span<RxPacket>>;
  // Queues a packet. `bytes` must stay valid until flush(). Flushes by itself when kBatch packets are queued.
  { transport.send(now, bytes, peer) } -> std::same_as<void>;
  // Hands queued packets to the network.
  { transport.flush(now) } -> std::same_as<void>;
  // Packets the network refused since the start; each is lost, counted here, and never retried.
  { transport.send_failures() } -> std::same_as<std::uint64_t>;
  // Blocks until a packet may have arrived or `timeout` has passed. Transports in virtual time return at once.
  { transport.wait(timeout) } -> std::same_as<void>;
  { transport.local() } -> std::same_as<const Endpoint&>;
};
// clang-format on

}  // namespace rain::transport
