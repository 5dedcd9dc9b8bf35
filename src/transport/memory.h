// A network inside one thread and one virtual time, for tests and simulations: agents that run on UDP run on
// it unchanged. It has no clock and no randomness, so a run depends on nothing but its calls: a packet sent
// at `now` arrives at now + latency, and packets that arrive together do so in the order in which they were
// sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "base/endpoint.h"
#include "base/time.h"
#include "transport/transport.h"

namespace rain::transport {

struct MemoryNetworkOptions {
  Nanos latency = microseconds(1);  ///< from any flush() to the arrival at the peer; 0: at once
  std::size_t queue_packets =
      1024;  ///< packets that may be on their way to one endpoint, like a socket's buffer
};

class MemoryTransport;

/// Must outlive its transports. Allocates in open() only.
class MemoryNetwork {
 public:
  explicit MemoryNetwork(MemoryNetworkOptions options = {});
  MemoryNetwork(const MemoryNetwork&) = delete;
  MemoryNetwork& operator=(const MemoryNetwork&) = delete;
  ~MemoryNetwork();

  /// An endpoint of this network; free again when the transport is destroyed. A bug when it is taken.
  MemoryTransport open(const Endpoint& endpoint);

  /// When the next packet that is on its way arrives; Nanos::max() when there is none. What a driver in
  /// virtual time advances to when all agents are idle.
  Nanos next_arrival() const;

  std::uint64_t overflows() const { return overflows_; }          ///< lost: the receiver's queue was full
  std::uint64_t undeliverable() const { return undeliverable_; }  ///< lost: nobody has the address

 private:
  friend class MemoryTransport;
  struct Port;
  void deliver(Nanos now, std::span<const std::byte> bytes, const Endpoint& source, const Endpoint& peer);

  MemoryNetworkOptions options_;
  std::map<Endpoint, std::unique_ptr<Port>> ports_;
  std::uint64_t overflows_ = 0;
  std::uint64_t undeliverable_ = 0;
};

class MemoryTransport {
 public:
  MemoryTransport(MemoryTransport&& other) noexcept;
  MemoryTransport& operator=(MemoryTransport&& other) noexcept;
  ~MemoryTransport();

  // concept Transport
  std::span<RxPacket> receive(Nanos now);
  void send(Nanos now, std::span<const std::byte> bytes, const Endpoint& peer);
  void flush(Nanos now);
  std::uint64_t send_failures() const { return send_failures_; }  ///< packets larger than a buffer
  void wait(Nanos) {}
  const Endpoint& local() const { return local_; }

  Nanos next_arrival() const;  ///< as MemoryNetwork's, for this endpoint

 private:
  friend class MemoryNetwork;
  struct Queued {
    std::span<const std::byte> bytes;
    Endpoint peer;
  };
  MemoryTransport(MemoryNetwork& network, MemoryNetwork::Port& port, const Endpoint& local);

  MemoryNetwork* network_;
  MemoryNetwork::Port* port_;
  Endpoint local_;
  std::array<Queued, kBatch> queue_{};
  std::size_t queued_ = 0;
  std::uint64_t send_failures_ = 0;
};

static_assert(Transport<MemoryTransport>);

}  // namespace rain::transport
