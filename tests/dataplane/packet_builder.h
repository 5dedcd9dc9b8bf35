// A fluent builder for packets, the first half of what packet tables are written with:
//
//   task().type(3).request(7).payload(1400).client(2)      token(0).level(1).generation(5)      sync(0)
//
// Everything that is not said has a valid default, so that a test names only what it is about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/packet.h"
#include "wire/message.h"

namespace rain::packet_table {

/// Addresses and keys follow from the number, in tables of workers and in packets alike.
inline Endpoint worker_address(unsigned worker) {
  return Endpoint::v4(10, 0, static_cast<std::uint8_t>(worker >> 8), static_cast<std::uint8_t>(worker), 9000);
}
inline std::uint32_t worker_key(unsigned worker) { return 0xC0DE'0000u + worker; }
inline Endpoint client_address(unsigned client) {
  return Endpoint::v4(10, 1, static_cast<std::uint8_t>(client >> 8), static_cast<std::uint8_t>(client),
                      40000);
}
inline constexpr std::uint16_t kFirstEpoch = 1;

/// One packet on its way into the switch.
class Packet {
 public:
  Packet(wire::MessageType type, const Endpoint& source) : source_(source) {
    message_.type = type;
    message_.first = message_.last = true;
    message_.packet = 1;
    message_.has_extension = true;
  }

  Packet& from(const Endpoint& source) { return source_ = source, *this; }
  Packet& layout(wire::Layout layout) { return message_.layout = layout, *this; }
  Packet& request(unsigned id) {
    message_.request_id = {static_cast<std::uint16_t>(id)};
    return fill_payload();
  }
  /// Without Rain's extension, as any R2P2 endpoint sends it.
  Packet& bare() { return message_.has_extension = false, *this; }

  // REQUEST
  Packet& client(unsigned number) { return from(client_address(number)); }
  Packet& type(unsigned value) {
    return message_.request.task_type = {static_cast<std::uint16_t>(value)}, *this;
  }
  Packet& deadline_us(std::uint32_t deadline) { return message_.request.deadline_us = deadline, *this; }
  Packet& policy(wire::Policy policy) { return message_.policy = policy, *this; }
  /// The first of `packets` packets.
  Packet& first_of(std::uint16_t packets) {
    message_.last = packets == 1;
    return message_.packet = packets, *this;
  }
  Packet& not_first() { return message_.first = false, *this; }
  /// That many bytes, different in each request and at each place.
  Packet& payload(std::size_t bytes) {
    payload_.resize(bytes);
    return fill_payload();
  }

  // FEEDBACK and SYNC
  Packet& worker(unsigned id) { return message_.token.worker = {static_cast<std::uint16_t>(id)}, *this; }
  Packet& level(unsigned level) { return message_.token.level = {static_cast<std::uint8_t>(level)}, *this; }
  Packet& generation(std::uint32_t value) { return message_.token.generation = {value}, *this; }
  Packet& epoch(unsigned epoch) { return message_.token.epoch = {static_cast<std::uint16_t>(epoch)}, *this; }
  Packet& queue_length(unsigned tasks) {
    return message_.token.queue_length = static_cast<std::uint16_t>(tasks), *this;
  }
  Packet& recall() { return message_.token.recall = true, *this; }
  Packet& key(std::uint32_t key) { return message_.token.token_key = key, *this; }

  /// The next of a series: another request id, or another generation of the token.
  Packet& advance() {
    if (message_.type == wire::MessageType::kRequest) return request(message_.request_id.value + 1u);
    return generation(message_.token.generation.value + 1);
  }

  /// The payload of the view points into this packet.
  dataplane::PacketView view() const {
    dataplane::PacketView view{message_, source_};
    view.message.payload = payload_;
    return view;
  }

 private:
  Packet& fill_payload() {
    for (std::size_t i = 0; i < payload_.size(); ++i) {
      payload_[i] = static_cast<std::byte>(1 + i * 7 + message_.request_id.value * 31u);
    }
    return *this;
  }

  wire::Message message_{};
  Endpoint source_{};
  std::vector<std::byte> payload_;
};

/// REQ0 of type 0 with 8 bytes of payload from client 0.
inline Packet task() {
  return Packet(wire::MessageType::kRequest, client_address(0)).payload(dataplane::kInlinePayloadBytes);
}

/// FEEDBACK: the first token of level 0 in the worker's first epoch.
inline Packet token(unsigned worker) {
  return Packet(wire::MessageType::kFeedback, worker_address(worker))
      .worker(worker)
      .key(worker_key(worker))
      .epoch(kFirstEpoch)
      .level(0)
      .generation(1);
}

/// FEEDBACK of a worker without quota: one task is finished.
inline Packet report(unsigned worker) { return token(worker).level(kNoLevel.value).generation(0); }

/// PULL: an idle worker asks for a task.
inline Packet pull(unsigned worker) {
  return Packet(wire::MessageType::kPull, worker_address(worker)).worker(worker).key(worker_key(worker));
}

/// SYNC: the question after level 0.
inline Packet sync(unsigned worker) {
  Packet packet(wire::MessageType::kSync, worker_address(worker));
  return packet.worker(worker).key(worker_key(worker)).epoch(kFirstEpoch).level(0).generation(1);
}

}  // namespace rain::packet_table
