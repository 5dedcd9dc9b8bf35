// The sink of every agent: encodes packets into buffers of its own and queues them on a transport, so that all that an
// agent's step has to say leaves in one batch.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "base/time.h"
#include "rpc/sink.h"
#include "wire/message.h"

namespace rain::rpc {

/// `T`: a Transport (send(now, bytes, peer) and flush(now)); it must outlive the sender. `kSlots`: packets per
/// batch at most.
template <typename T, std::size_t kSlots>
class PacketSender {
 public:
  explicit PacketSender(T& transport)
      : transport_(&transport), buffers_(std::make_unique_for_overwrite<Buffers>()) {}

  /// The time of the packets that follow.
  void set_now(Nanos now) { now_ = now; }

  void send(const wire::Message& message, const Endpoint& to) {
    // A transport may hold packets back or drop them, so it is asked to flush before a buffer is used again.
    if (queued_ == kSlots) flush();
    transport_->send(now_, wire::encode(message, (*buffers_)[queued_++]), to);
  }

  void flush() {
    transport_->flush(now_);
    queued_ = 0;
  }
  bool empty() const { return queued_ == 0; }

 private:
  using Buffers = std::array<std::array<std::byte, wire::kMaxPacketBytes>, kSlots>;

  T* transport_;
  std::unique_ptr<Buffers> buffers_;  // used from the first on: a step that sends two packets touches two
  std::size_t queued_ = 0;
  Nanos now_{};
};

}  // namespace rain::rpc
