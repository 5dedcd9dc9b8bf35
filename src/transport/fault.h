// What networks do to packets, as a decorator around any transport: loss, duplication, delay, reordering and
// partition, drawn from a seed. The same decorator serves simulations in virtual time and processes on real
// sockets, so no product code knows that it is being tested.
//
// Faults strike each direction by itself, in this order, at most one a packet: partition, loss, delay,
// reorder; a packet that escaped all of them may be duplicated. Packets that must wait are copied into
// bounded storage; when it is full they pass unharmed and are counted. A delayed packet never comes earlier
// than its time, and goes out or comes in with the first call (send excepted) at or after it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/endpoint.h"
#include "base/prng.h"
#include "base/time.h"
#include "transport/packet_store.h"
#include "transport/transport.h"

namespace rain::transport {

/// Probabilities are per packet and direction, 0..1.
struct FaultOptions {
  double loss = 0;
  double duplicate = 0;  ///< the copy follows within max_delay
  double delay = 0;      ///< by a time uniform in [0, max_delay]
  double reorder = 0;    ///< waits until the next packet has overtaken it
  Nanos max_delay = microseconds(100);
  Nanos reorder_patience = microseconds(50);  ///< how long at most a reordered packet waits for the next one
  bool on_send = true;                        ///< faults (other than partition) strike packets that leave
  bool on_receive = true;                     ///< faults (other than partition) strike packets that come
  std::size_t storage_packets = 256;          ///< waiting packets of one direction
};

struct FaultCounters {
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t delayed = 0;
  std::uint64_t reordered = 0;
  std::uint64_t partitioned = 0;
  std::uint64_t storage_full = 0;  ///< a fault that needed storage was drawn and not applied
};

/// The faults of one direction.
class FaultLine {
 public:
  FaultLine(const FaultOptions& options, std::uint64_t seed, std::uint64_t stream, std::size_t lent)
      : options_(options), prng_(seed, stream), store_(options.storage_packets, lent) {}

  /// Draws the packet's fate; false: it does not pass now (it is lost or waits in store()).
  bool passes(Nanos now, std::span<const std::byte> bytes, const Endpoint& peer, FaultCounters& counters);

  PacketStore& store() { return store_; }
  const PacketStore& store() const { return store_; }
  void set_options(const FaultOptions& options) { options_ = options; }

 private:
  bool put(Nanos due, std::span<const std::byte> bytes, const Endpoint& peer, FaultCounters& counters,
           std::uint64_t& counter);
  Nanos draw_delay();

  FaultOptions options_;
  Prng prng_;
  PacketStore store_;
  bool one_waits_to_be_overtaken_ = false;
  std::uint64_t waiting_sequence_ = 0;
};

template <Transport Inner>
class FaultTransport {
 public:
  FaultTransport(Inner inner, const FaultOptions& options, std::uint64_t seed)
      : inner_(std::move(inner)),
        options_(options),
        outgoing_(options, seed, 1, options.storage_packets),
        incoming_(options, seed, 2, kBatch) {}

  // concept Transport
  std::span<RxPacket> receive(Nanos now) {
    last_now_ = now;
    if (outgoing_.store().has_due(now)) flush(now);
    PacketStore& store = incoming_.store();
    store.recycle();
    std::size_t count = 0;
    // Packets whose time has come are a batch of their own: the inner transport's may fill a whole one.
    while (store.has_due(now)) {
      const PacketStore::Packet packet = store.take();
      packets_[count++] = {packet.bytes, packet.peer, packet.due};
    }
    if (count > 0) return {packets_.data(), count};
    for (const RxPacket& packet : inner_.receive(now)) {
      if (is_partitioned(packet.source)) continue;
      if (options_.on_receive && !incoming_.passes(now, packet.bytes, packet.source, counters_)) continue;
      packets_[count++] = packet;
    }
    return {packets_.data(), count};
  }

  void send(Nanos now, std::span<const std::byte> bytes, const Endpoint& peer) {
    if (is_partitioned(peer)) return;
    if (options_.on_send && !outgoing_.passes(now, bytes, peer, counters_)) return;
    inner_.send(now, bytes, peer);
  }

  void flush(Nanos now) {
    last_now_ = now;
    PacketStore& store = outgoing_.store();
    while (store.has_due(now)) {
      const PacketStore::Packet packet = store.take();
      inner_.send(now, packet.bytes, packet.peer);
    }
    inner_.flush(now);
    store.recycle();
  }

  std::uint64_t send_failures() const { return inner_.send_failures(); }

  /// Blocks no longer than until the next delayed packet is due.
  void wait(Nanos timeout) {
    const Nanos next = next_release();
    if (next != Nanos::max()) timeout = std::min(timeout, next - last_now_);
    if (timeout > Nanos{}) inner_.wait(timeout);
  }

  const Endpoint& local() const { return inner_.local(); }

  /// When the next delayed packet, of either direction, is due; Nanos::max() when none waits.
  Nanos next_release() const { return std::min(outgoing_.store().next_due(), incoming_.store().next_due()); }

  /// Changes the faults from the next packet on; storage_packets stays as it was. FaultOptions{} heals the
  /// network (packets that wait still come).
  void set_options(const FaultOptions& options) {
    options_ = options;
    outgoing_.set_options(options);
    incoming_.set_options(options);
  }

  /// Cuts the connection with a peer, both directions, until it is healed.
  void partition(const Endpoint& peer) {
    if (!contains(peer))
      partitioned_.insert(std::lower_bound(partitioned_.begin(), partitioned_.end(), peer), peer);
  }
  void heal(const Endpoint& peer) { std::erase(partitioned_, peer); }
  void heal_all() { partitioned_.clear(); }

  const FaultCounters& counters() const { return counters_; }
  Inner& inner() { return inner_; }
  const Inner& inner() const { return inner_; }

 private:
  bool contains(const Endpoint& peer) const {
    return std::binary_search(partitioned_.begin(), partitioned_.end(), peer);
  }
  bool is_partitioned(const Endpoint& peer) {
    if (partitioned_.empty() || !contains(peer)) return false;
    ++counters_.partitioned;
    return true;
  }

  Inner inner_;
  FaultOptions options_;
  FaultCounters counters_;
  FaultLine outgoing_;
  FaultLine incoming_;
  std::vector<Endpoint> partitioned_;  // sorted
  std::array<RxPacket, kBatch> packets_{};
  Nanos last_now_{};
};

}  // namespace rain::transport
