// A client on a transport: the run loop's step around ClientCore. The public Client runs it on UDP, the tests in virtual
// time on a faulty network in memory.
#pragma once

#include <utility>

#include "rpc/client_core.h"
#include "rpc/packet_sender.h"
#include "transport/transport.h"

namespace rain::client {

template <transport::Transport T>
class ClientAgent {
 public:
  ClientAgent(T transport, const rpc::ClientCoreOptions& options, Nanos now)
      : transport_(std::move(transport)), sender_(transport_), core_(options, now) {}
  ClientAgent(const ClientAgent&) = delete;
  ClientAgent& operator=(const ClientAgent&) = delete;

  /// As ClientCore::submit(). The request leaves with the next poll() or flush(), or when a batch is full.
  tl::expected<RequestId, ErrorKind> submit(Payload payload, const rpc::CallSpec& call, Nanos now) {
    sender_.set_now(now);
    return core_.submit(payload, call, now, sender_);
  }

  /// Hands queued requests to the network.
  void flush(Nanos now) {
    sender_.set_now(now);
    if (!sender_.empty()) sender_.flush();
  }

  /// One step: sends, receives at most a batch, expires; `on_outcome(const rpc::Outcome&)` for each request that ended.
  /// Returns how many packets and timers it handled.
  template <typename OnOutcome>
  std::size_t poll(Nanos now, OnOutcome&& on_outcome) {
    flush(now);
    std::size_t work = 0;
    for (const transport::RxPacket& packet : transport_.receive(now)) {
      ++work;
      const DropReason reason = wire::decode(packet.bytes, received_);
      if (reason == DropReason::kNone) {
        core_.on_message(received_, packet.arrival, on_outcome);
      } else {
        core_.on_malformed(reason);
      }
    }
    work += core_.poll(now, sender_, on_outcome);
    flush(now);
    return work;
  }

  /// When poll() has something to do without a packet; Nanos::max() if never.
  Nanos next_due() const { return core_.next_due(); }

  rpc::ClientCore& core() { return core_; }
  const rpc::ClientCore& core() const { return core_; }
  T& transport() { return transport_; }
  const T& transport() const { return transport_; }

 private:
  T transport_;
  rpc::PacketSender<T, transport::kBatch> sender_;
  rpc::ClientCore core_;
  wire::Message received_;
};

}  // namespace rain::client
