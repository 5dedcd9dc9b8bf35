// The least that clients and workers take for a switch, on any transport: tokens and tasks in one FIFO each, SYNC answered
// from a map, recalls obeyed. For tests of the layers below the real one.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "transport/transport.h"
#include "wire/message.h"

namespace rain::rpc {

template <transport::Transport T>
class MinimalSwitch {
 public:
  explicit MinimalSwitch(T transport) : transport_(std::move(transport)) {}

  std::size_t poll(Nanos now) {
    const auto packets = transport_.receive(now);
    for (const transport::RxPacket& packet : packets) {
      wire::Message message;
      if (wire::decode(packet.bytes, message) != DropReason::kNone) continue;
      if (message.type == wire::MessageType::kSync && message.token.level.value >= levels) continue;
      if (message.type == wire::MessageType::kRequest) {
        tasks_.push_back({message, {message.payload.begin(), message.payload.end()}, packet.source, now});
        if (push_to) dispatch(now, {.worker = push_to->first}, push_to->second);
      } else if (message.type == wire::MessageType::kFeedback) {
        if (message.token.level == kNoLevel) {
          ++reports;
        } else if (message.token.generation.newer_than(ledger(message.token).first)) {
          ledger(message.token).first = message.token.generation;
          tokens_.push_back({message.token, packet.source});
        }
      } else if (message.type == wire::MessageType::kSync) {
        answer(now, message, packet.source);
      }
    }
    while (!tokens_.empty() && !tasks_.empty()) {
      const auto [token, worker] = tokens_.front();
      tokens_.pop_front();
      ledger(token).second = token.generation;
      dispatch(now, token, worker);
    }
    return packets.size();
  }

  /// Sends these bytes as they are.
  void send_raw(Nanos now, std::span<const std::byte> bytes, const Endpoint& to) {
    transport_.send(now, bytes, to);
    transport_.flush(now);
  }
  /// As a restart does.
  void forget() {
    tasks_.clear();
    tokens_.clear();
    ledger_.clear();
  }

  const Endpoint& local() const { return transport_.local(); }
  std::size_t tokens() const { return tokens_.size(); }
  std::size_t tasks() const { return tasks_.size(); }

  std::optional<std::pair<WorkerId, Endpoint>> push_to;  ///< set: every task is pushed there, without a token
  std::uint64_t reports = 0;                             ///< FEEDBACK without level
  BootId boot{1};
  unsigned levels = kMaxQuota;  ///< tokens of higher ones are unknown to it

 private:
  struct Task {
    wire::Message message;
    std::vector<std::byte> payload;
    Endpoint client;
    Nanos arrival;
  };

  std::pair<Generation, Generation>& ledger(const wire::TokenFields& token) {
    return ledger_[{token.worker, token.level}];
  }
  void dispatch(Nanos now, const wire::TokenFields& token, const Endpoint& worker) {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    task.message.has_dispatch = task.message.has_extension = true;
    task.message.dispatch = {.client = task.client,
                             .worker = token.worker,
                             .level = token.level,
                             .generation = token.generation,
                             .switch_delay_ns = saturate_to_u32(now - task.arrival)};
    task.message.payload = task.payload;
    send(now, task.message, worker);
  }
  void answer(Nanos now, const wire::Message& question, const Endpoint& worker) {
    const wire::TokenFields& token = question.token;
    const bool recalled = token.recall && token.generation.newer_than(ledger(token).second);
    if (recalled) {
      ledger(token) = {token.generation, token.generation};
      std::erase_if(tokens_, [&](const auto& filed) {
        return filed.first.worker == token.worker && filed.first.level == token.level;
      });
    }
    const auto [seen, consumed] = ledger(token);
    wire::Message ack;
    ack.type = wire::MessageType::kSyncAck;
    ack.first = ack.last = ack.has_extension = true;
    ack.packet = 1;
    ack.request_id = question.request_id;
    ack.sync_ack = {.worker = token.worker,
                    .epoch = {1},
                    .boot_id = boot,
                    .seen = seen,
                    .consumed = consumed,
                    .level = token.level,
                    .recalled = recalled};
    send(now, ack, worker);
  }
  void send(Nanos now, const wire::Message& message, const Endpoint& to) {
    std::array<std::byte, wire::kMaxPacketBytes> buffer;
    send_raw(now, wire::encode(message, buffer), to);
  }

  T transport_;
  std::deque<Task> tasks_;
  std::deque<std::pair<wire::TokenFields, Endpoint>> tokens_;
  std::map<std::pair<WorkerId, Level>, std::pair<Generation, Generation>> ledger_;  // seen, consumed
};

}  // namespace rain::rpc
