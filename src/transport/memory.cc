#include "transport/memory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"
#include "transport/packet_store.h"

namespace rain::transport {

// Packets on their way to one endpoint. What the last receive() lent out comes on top of the queue's
// capacity, so that a slow reader does not shrink it.
struct MemoryNetwork::Port {
  explicit Port(std::size_t capacity) : store(capacity, kBatch) {}

  PacketStore store;
  std::array<RxPacket, kBatch> packets{};
};

MemoryNetwork::MemoryNetwork(MemoryNetworkOptions options) : options_(options) {
  RAIN_ASSERT(options.queue_packets > 0 && options.latency >= Nanos{});
}

MemoryNetwork::~MemoryNetwork() { RAIN_ASSERT(ports_.empty()); }

MemoryTransport MemoryNetwork::open(const Endpoint& endpoint) {
  auto [at, is_new] = ports_.try_emplace(endpoint, nullptr);
  RAIN_ASSERT(is_new);
  at->second = std::make_unique<Port>(options_.queue_packets);
  return {*this, *at->second, endpoint};
}

Nanos MemoryNetwork::next_arrival() const {
  Nanos next = Nanos::max();
  for (const auto& [endpoint, port] : ports_) next = std::min(next, port->store.next_due());
  return next;
}

void MemoryNetwork::deliver(Nanos now, std::span<const std::byte> bytes, const Endpoint& source,
                            const Endpoint& peer) {
  const auto at = ports_.find(peer);
  if (at == ports_.end()) {
    ++undeliverable_;
    return;
  }
  if (!at->second->store.put(now + options_.latency, bytes, source)) ++overflows_;
}

MemoryTransport::MemoryTransport(MemoryNetwork& network, MemoryNetwork::Port& port, const Endpoint& local)
    : network_(&network), port_(&port), local_(local) {}

MemoryTransport::MemoryTransport(MemoryTransport&& other) noexcept
    : network_(std::exchange(other.network_, nullptr)),
      port_(std::exchange(other.port_, nullptr)),
      local_(other.local_),
      queue_(other.queue_),
      queued_(std::exchange(other.queued_, 0)),
      send_failures_(other.send_failures_) {}

MemoryTransport& MemoryTransport::operator=(MemoryTransport&& other) noexcept {
  std::swap(network_, other.network_);
  std::swap(port_, other.port_);
  std::swap(local_, other.local_);
  std::swap(queue_, other.queue_);
  std::swap(queued_, other.queued_);
  std::swap(send_failures_, other.send_failures_);
  return *this;
}

MemoryTransport::~MemoryTransport() {
  if (network_ != nullptr) network_->ports_.erase(local_);
}

std::span<RxPacket> MemoryTransport::receive(Nanos now) {
  PacketStore& store = port_->store;
  store.recycle();
  std::size_t count = 0;
  while (store.has_due(now)) {
    const PacketStore::Packet packet = store.take();
    port_->packets[count++] = {packet.bytes, packet.peer, packet.due};
  }
  return {port_->packets.data(), count};
}

void MemoryTransport::send(Nanos now, std::span<const std::byte> bytes, const Endpoint& peer) {
  if (bytes.size() > kBufferBytes - kHeadroomBytes) {
    ++send_failures_;
    return;
  }
  queue_[queued_] = {bytes, peer};
  if (++queued_ == kBatch) flush(now);
}

void MemoryTransport::flush(Nanos now) {
  for (std::size_t i = 0; i < queued_; ++i) network_->deliver(now, queue_[i].bytes, local_, queue_[i].peer);
  queued_ = 0;
}

Nanos MemoryTransport::next_arrival() const { return port_->store.next_due(); }

}  // namespace rain::transport
