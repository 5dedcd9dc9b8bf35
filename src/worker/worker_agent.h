// A worker on a transport: the run loop's step around WorkerCore, tasks run to completion. The public Worker runs it on
// UDP, the tests in virtual time on a faulty network in memory.
#pragma once

#include <optional>
#include <tl/expected.hpp>
#include <utility>

#include "rpc/packet_sender.h"
#include "rpc/worker_core.h"
#include "transport/transport.h"
#include "worker/control_hook.h"

namespace rain::worker {

/// Batches received at most before the agent turns to its tasks again: a flood of packets cannot stop it.
inline constexpr unsigned kDrainBatches = 4;

template <transport::Transport T>
class WorkerAgent {
 public:
  WorkerAgent(T transport, const rpc::WorkerCoreOptions& options, Nanos now)
      : transport_(std::move(transport)), sender_(transport_), core_(options, now) {}
  WorkerAgent(const WorkerAgent&) = delete;
  WorkerAgent& operator=(const WorkerAgent&) = delete;

  /// From now on measures and quota go by the agent's control block.
  void attach(const agent::WorkerPort& port) { hook_.emplace(port); }

  /// One step: receives, runs at most one task, answers. `clock()` reads the time; `serve(const rpc::TaskView&)` gives
  /// tl::expected<Payload, DropReason>: the reply, valid until the next call, or why there is none.
  /// Returns how many packets and tasks it handled.
  template <typename Clock, typename Serve>
  std::size_t poll(Clock&& clock, Serve&& serve) {
    Nanos now = clock();
    sender_.set_now(now);
    // While a task waits, the socket was drained when the last one ended.
    std::size_t work = core_.held() == 0 ? drain(now) : 0;
    if (hook_) hook_->obey(core_, now, sender_);
    core_.poll(now, sender_);
    if (const rpc::TaskView* task = core_.begin(now, sender_)) {
      ++work;
      const tl::expected<Payload, DropReason> reply = serve(*task);
      now = clock();
      sender_.set_now(now);
      work += drain(now);  // before the level of the token is chosen
      if (reply) {
        core_.finish(*reply, now, sender_);
      } else {
        core_.finish_refused(reply.error(), now, sender_);
      }
    }
    if (!sender_.empty()) sender_.flush();
    if (hook_) {
      hook_->sample(core_);
      hook_->publish(core_, now);
    }
    return work;
  }

  /// A quota of 0, whatever the agent wants from now on.
  void leave(Nanos now) {
    if (hook_) hook_->leave();
    set_quota(0, now);
  }

  /// As WorkerCore::set_quota().
  void set_quota(unsigned quota, Nanos now) {
    sender_.set_now(now);
    core_.set_quota(quota, now, sender_);
    if (!sender_.empty()) sender_.flush();
  }

  /// When poll() has something to do without a packet; Nanos::max() if never.
  Nanos next_due() const { return core_.held() > 0 ? Nanos{INT64_MIN} : core_.next_due(); }

  rpc::WorkerCore& core() { return core_; }
  const rpc::WorkerCore& core() const { return core_; }
  const DropCounters& malformed() const { return malformed_; }  ///< packets that did not decode
  T& transport() { return transport_; }
  const T& transport() const { return transport_; }

 private:
  std::size_t drain(Nanos now) {
    std::size_t received = 0;
    for (unsigned batch = 0; batch < kDrainBatches; ++batch) {
      const std::span<transport::RxPacket> packets = transport_.receive(now);
      for (const transport::RxPacket& packet : packets) {
        const DropReason reason = wire::decode(packet.bytes, received_);
        if (reason == DropReason::kNone) {
          core_.on_message(received_, packet.source, packet.arrival, now, sender_);
        } else {
          malformed_.add(reason);
        }
      }
      received += packets.size();
      if (packets.size() < transport::kBatch) break;
    }
    return received;
  }

  T transport_;
  rpc::PacketSender<T, transport::kBatch> sender_;
  rpc::WorkerCore core_;
  std::optional<ControlHook> hook_;
  DropCounters malformed_;
  wire::Message received_;
};

}  // namespace rain::worker
