// A sink that keeps what was sent, payloads copied, for the tests of this layer.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "rpc/sink.h"

namespace rain::rpc {

struct SentPacket {
  wire::Message message;
  Endpoint to;
  std::vector<std::byte> payload;
};

class RecordingSink {
 public:
  void send(const wire::Message& message, const Endpoint& to) {
    SentPacket& packet =
        sent_.emplace_back(SentPacket{message, to, {message.payload.begin(), message.payload.end()}});
    packet.message.payload = {};
  }

  std::size_t size() const { return sent_.size(); }
  bool empty() const { return sent_.empty(); }
  void clear() { sent_.clear(); }
  const SentPacket& operator[](std::size_t index) const { return sent_.at(index); }

  /// The oldest packet; none: the test has failed.
  SentPacket take() {
    SentPacket packet = sent_.at(0);
    sent_.pop_front();
    return packet;
  }

  std::size_t count(wire::MessageType type) const {
    std::size_t found = 0;
    for (const SentPacket& packet : sent_) found += packet.message.type == type ? 1u : 0u;
    return found;
  }

 private:
  std::deque<SentPacket> sent_;
};
static_assert(Sink<RecordingSink>);

}  // namespace rain::rpc
