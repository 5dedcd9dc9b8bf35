// Packets that wait for their time: the bounded storage under the memory network and the fault decorators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/endpoint.h"
#include "base/page_buffer.h"
#include "base/time.h"

namespace rain::transport {

/// Takes copies of packets and hands them out by (due time, order of putting). Allocates when made and never
/// after.
class PacketStore {
 public:
  struct Packet {
    std::span<std::byte> bytes;  ///< kHeadroomBytes before it are writable
    Endpoint peer;
    Nanos due;
  };

  /// Room for `capacity` waiting packets and, beside them, `lent` that were taken and not yet recycled.
  PacketStore(std::size_t capacity, std::size_t lent);

  /// False, and nothing stored, when the store is full or the packet larger than a buffer.
  bool put(Nanos due, std::span<const std::byte> bytes, const Endpoint& peer);

  /// The number of the packet that was put last.
  std::uint64_t last_sequence() const { return next_sequence_ - 1; }
  /// Changes the due time of the packet with that number; nothing if it waits no more.
  void make_due(std::uint64_t sequence, Nanos due);

  /// When the next packet is due; Nanos::max() when none waits.
  Nanos next_due() const { return waiting_.empty() ? Nanos::max() : slots_[waiting_.front()].due; }
  /// True when take() would find a packet.
  bool has_due(Nanos now) const { return next_due() <= now && lent_.size() < lent_limit_; }
  /// The next packet; valid until recycle(). Only when has_due().
  Packet take();
  /// Ends the use of all taken packets.
  void recycle();

  std::size_t size() const { return waiting_.size(); }

 private:
  struct Slot {
    Nanos due{};
    std::uint64_t sequence = 0;
    Endpoint peer{};
    std::size_t size_bytes = 0;
  };
  struct Later;
  std::byte* buffer(std::size_t slot) { return buffers_.bytes().data() + slot * buffer_bytes_; }

  std::size_t capacity_;
  std::size_t lent_limit_;
  std::size_t buffer_bytes_;
  std::vector<Slot> slots_;
  PageBuffer buffers_;
  std::vector<std::size_t> free_;
  std::vector<std::size_t> waiting_;  // a heap, the next packet first
  std::vector<std::size_t> lent_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace rain::transport
