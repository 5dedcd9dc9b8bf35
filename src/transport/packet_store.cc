#include "transport/packet_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "transport/transport.h"

namespace rain::transport {

struct PacketStore::Later {
  const std::vector<Slot>& slots;
  bool operator()(std::size_t a, std::size_t b) const {
    return std::pair(slots[a].due, slots[a].sequence) > std::pair(slots[b].due, slots[b].sequence);
  }
};

PacketStore::PacketStore(std::size_t capacity, std::size_t lent)
    : capacity_(capacity),
      lent_limit_(lent),
      buffer_bytes_(kBufferBytes),
      slots_(capacity + lent),
      buffers_((capacity + lent) * buffer_bytes_) {
  free_.reserve(slots_.size());
  for (std::size_t i = slots_.size(); i > 0; --i) free_.push_back(i - 1);
  waiting_.reserve(capacity);
  lent_.reserve(lent);
}

bool PacketStore::put(Nanos due, std::span<const std::byte> bytes, const Endpoint& peer) {
  if (waiting_.size() == capacity_ || bytes.size() > buffer_bytes_ - kHeadroomBytes) return false;
  const std::size_t at = free_.back();
  free_.pop_back();
  slots_[at] = {due, next_sequence_++, peer, bytes.size()};
  if (!bytes.empty()) std::memcpy(buffer(at) + kHeadroomBytes, bytes.data(), bytes.size());
  waiting_.push_back(at);
  std::push_heap(waiting_.begin(), waiting_.end(), Later{slots_});
  return true;
}

void PacketStore::make_due(std::uint64_t sequence, Nanos due) {
  const auto at = std::find_if(waiting_.begin(), waiting_.end(),
                               [&](std::size_t slot) { return slots_[slot].sequence == sequence; });
  if (at == waiting_.end()) return;
  slots_[*at].due = due;
  std::make_heap(waiting_.begin(), waiting_.end(), Later{slots_});
}

PacketStore::Packet PacketStore::take() {
  RAIN_ASSERT(!waiting_.empty() && lent_.size() < lent_limit_);
  std::pop_heap(waiting_.begin(), waiting_.end(), Later{slots_});
  const std::size_t at = waiting_.back();
  waiting_.pop_back();
  lent_.push_back(at);
  const Slot& slot = slots_[at];
  return {{buffer(at) + kHeadroomBytes, slot.size_bytes}, slot.peer, slot.due};
}

void PacketStore::recycle() {
  free_.insert(free_.end(), lent_.begin(), lent_.end());
  lent_.clear();
}

}  // namespace rain::transport
