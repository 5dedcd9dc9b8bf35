// The switch as an agent: packets in, one pass of the program each, packets out. It decides nothing (the program does)
// and waits for nothing (its thread does), so that the same code serves sockets and simulations.
//
// No packet is copied. A task that goes on at once is sent from the buffer that it came in, with a longer header
// written in front of its payload. A task that waited is sent from the store that held its payload, or, when the
// payload was small enough for the task's entry, from the buffer of the token that fetched it. Held payloads are
// given back after the flush, when the network has them.
//
// Every packet that ends here is counted under a named reason; only a well-formed REQUEST is ever answered with DROP,
// and only a SYNC that the program accepted with SYNC_ACK, so the switch cannot be made to answer garbage.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/assert.h"
#include "dataplane/packet.h"
#include "dataplane/program.h"
#include "dataplane/tables.h"
#include "softswitch/switch_counters.h"
#include "transport/transport.h"
#include "wire/message.h"

namespace rain::softswitch {

/// Passes that one packet may make. Programs need a second one when a filed token turns out to be dead, once for each
/// such token, and when a token finds an expired task, once for each; a packet that still recirculates then ends with
/// recirculation_limit.
inline constexpr unsigned kMaxPasses = 64;
static_assert(kMaxPasses > dataplane::kMaxExpired + 1);

/// Dead tokens that a task may meet before all of its slice's are taken out of the FIFOs: quotas that fall leave many,
/// and none of them may cost a task its passes.
inline constexpr unsigned kMaxDeadMet = 8;
static_assert(kMaxDeadMet < kMaxPasses);

template <typename Program, typename Memory, transport::Transport Transport>
class SwitchAgent {
  // A header must fit in front of any payload that is sent in place, whatever header the packet had.
  static_assert(wire::kMaxHeaderBytes <= transport::kHeadroomBytes);
  static_assert(wire::kMaxHeaderBytes <= Memory::kHoldHeadroomBytes);

 public:
  /// All parts are the caller's and outlive the agent. `counters` has a place for each of the memory's slices.
  SwitchAgent(Program& program, Memory& memory, Transport& transport, SwitchCounters& counters,
              BootId boot_id)
      : program_(program), memory_(memory), transport_(transport), counters_(counters), boot_id_(boot_id) {
    RAIN_ASSERT(counters.slice_count() >= memory.shape().slices);
  }
  SwitchAgent(const SwitchAgent&) = delete;
  SwitchAgent& operator=(const SwitchAgent&) = delete;

  /// One cycle; never blocks. Returns how many packets came in.
  std::size_t poll(Nanos now) {
    const std::span<transport::RxPacket> batch = transport_.receive(now);
    for (transport::RxPacket& packet : batch) {
      if (!parse(packet)) continue;
      if (refuse_new_task(packet, now)) continue;
      act(run_program(now), packet, now);
    }
    transport_.flush(now);
    refused_count_ = 0;
    release_sent_holds();
    count_batch(batch.size());
    return batch.size();
  }

  /// Control plane, between polls: the slice goes, with a DROP for each task that waits in it.
  void remove_slice(SliceId slice, Nanos now) {
    const auto refuse_task = [&](const dataplane::TaskEntry& task) {
      refuse_waiting(task, DropReason::kSliceRemoved, now);
    };
    if constexpr (requires { program_.remove_tasks(slice, refuse_task); })
      program_.remove_tasks(slice, refuse_task);
    transport_.flush(now);
    refused_count_ = 0;
    memory_.remove_slice(slice, Program::kRegisters);
    count_batch(0);
  }

  /// From now on new tasks are refused with shutting_down; those that wait are still dispatched.
  void drain() { draining_ = true; }
  bool draining() const { return draining_; }
  /// Tasks that wait in the switch.
  std::uint64_t waiting() const { return waiting_; }

 private:
  bool parse(const transport::RxPacket& packet) {
    const DropReason reason = wire::decode(packet.bytes, view_.message);
    if (reason != DropReason::kNone) {
      ignore(reason);
      return false;
    }
    view_.source = packet.source;
    return true;
  }

  bool refuse_new_task(transport::RxPacket& packet, Nanos now) {
    if (!draining_ || view_.message.type != wire::MessageType::kRequest || !view_.message.first) return false;
    refuse(DropReason::kShuttingDown, packet, now);
    return true;
  }

  dataplane::Verdict run_program(Nanos now) {
    view_.carried = {};
    unsigned dead_met = 0;
    for (unsigned passes = 0; passes < kMaxPasses; ++passes) {
      const dataplane::Verdict verdict = program_.pass(view_, now);
      if (verdict.action == dataplane::Action::kExpired) {
        expire(verdict, now);
      } else if (verdict.action == dataplane::Action::kRecirculate) {
        counters_.add(SwitchCounter::kRecirculations);
        const bool dead = verdict.reason == DropReason::kStaleToken;
        if (dead) counters_.drops().add(verdict.reason);
        if ((dead && ++dead_met == kMaxDeadMet) || verdict.reason == DropReason::kTokenQueueFull) {
          program_.forget_dead_tokens(verdict.slice);
        }
      } else {
        return verdict;
      }
      view_.carried = verdict.carried;
    }
    const bool is_task = view_.message.type == wire::MessageType::kRequest;
    return {.action = is_task ? dataplane::Action::kReplyDrop : dataplane::Action::kIgnore,
            .reason = DropReason::kRecirculationLimit};
  }

  void act(const dataplane::Verdict& verdict, transport::RxPacket& packet, Nanos now) {
    switch (verdict.action) {
      case dataplane::Action::kForward:
        return forward(verdict, packet, now);
      case dataplane::Action::kBuffered:
        return count_buffered(verdict);
      case dataplane::Action::kDispatch:
        return dispatch(verdict, packet, now);
      case dataplane::Action::kReplyDrop:
        return refuse(verdict.reason, packet, now);
      case dataplane::Action::kReplySync:
        return acknowledge(verdict, packet, now);
      case dataplane::Action::kConsume:
        return counters_.add(SwitchCounter::kConsumed);
      case dataplane::Action::kIgnore:
        return ignore(verdict.reason);
      case dataplane::Action::kRecirculate:
      case dataplane::Action::kExpired:
        break;  // run_program() ends these
    }
    RAIN_ASSERT(false && "no such action");
  }

  /// The task itself goes on, from the buffer that it came in.
  void forward(const dataplane::Verdict& verdict, transport::RxPacket& packet, Nanos now) {
    wire::Message& task = view_.message;
    set_dispatch(task, verdict, packet.source);
    task.dispatch.switch_delay_ns = saturate_to_u32(now - packet.arrival);
    send_before(packet.bytes.data() + (packet.bytes.size() - task.payload.size()), task.payload.size(), task,
                worker_address(verdict.worker), now);

    counters_.add(SwitchCounter::kForwarded);
    SliceCounters& slice = counters_.slice(verdict.slice);
    slice.forwarded.add();
    slice.queue_length.record(Nanos{verdict.queue_length});
    slice.queue_delay.record(Nanos{});
  }

  void count_buffered(const dataplane::Verdict& verdict) {
    ++waiting_;
    counters_.add(SwitchCounter::kBuffered);
    SliceCounters& slice = counters_.slice(verdict.slice);
    slice.buffered.add();
    slice.queue_length.record(Nanos{verdict.queue_length});
  }

  /// A task that waited goes out; `packet` is the token that fetched it, whose buffer is free for use.
  void dispatch(const dataplane::Verdict& verdict, transport::RxPacket& packet, Nanos now) {
    const dataplane::TaskEntry& entry = *verdict.task;
    wire::Message& task = view_.message;
    task.layout = entry.layout;
    task.type = wire::MessageType::kRequest;
    task.policy = entry.policy;
    task.first = true;
    task.last = entry.last;
    task.request_id = entry.request_id;
    task.packet = entry.packet_count;
    task.request = {.task_type = entry.task_type, .deadline_us = entry.deadline_us};
    set_dispatch(task, verdict, entry.client);
    task.dispatch.switch_delay_ns = saturate_to_u32(verdict.queue_delay);

    std::byte* payload = packet.bytes.data();
    if (entry.hold == dataplane::kNoHold) {
      std::memcpy(payload, entry.inline_payload, sizeof(entry.inline_payload));
    } else {
      payload = memory_.held(entry.hold);
      // It has left the cache while it waited, and the kernel reads it only after the rest of the batch: 1000 B, 1024
      // tasks held, 0.86 of a bare forwarder's rate instead of 0.82 (bench/forward_bench.cc).
      for (std::size_t at = 0; at < entry.payload_bytes; at += 64) __builtin_prefetch(payload + at);
      sent_holds_[sent_hold_count_++] = entry.hold;
    }
    send_before(payload, entry.payload_bytes, task, worker_address(verdict.worker), now);

    RAIN_ASSERT(waiting_ > 0);
    --waiting_;
    counters_.add(SwitchCounter::kDispatched);
    SliceCounters& slice = counters_.slice(verdict.slice);
    slice.dispatched.add();
    slice.queue_delay.record(verdict.queue_delay);
  }

  void expire(const dataplane::Verdict& verdict, Nanos now) {
    counters_.slice(verdict.slice).expired.add();
    refuse_waiting(*verdict.task, DropReason::kDeadlinePassed, now);
  }

  /// DROP to the client of a task that waited. The packet that found it passes on, so its buffer is not free.
  void refuse_waiting(const dataplane::TaskEntry& entry, DropReason reason, Nanos now) {
    counters_.add(SwitchCounter::kRefused);
    counters_.drops().add(reason);
    RAIN_ASSERT(waiting_ > 0);
    --waiting_;
    if (entry.hold != dataplane::kNoHold) memory_.release(entry.hold);  // nothing of it is sent
    if (refused_count_ == refused_.size()) {
      transport_.flush(now);
      refused_count_ = 0;
    }
    wire::Message reply;
    reply.layout = entry.layout;
    reply.type = wire::MessageType::kDrop;
    reply.first = reply.last = true;
    reply.request_id = entry.request_id;
    reply.packet = 1;
    reply.has_extension = true;
    reply.drop.reason = reason;
    auto& buffer = refused_[refused_count_++];
    send_before(buffer.data() + buffer.size(), 0, reply, entry.client, now);
  }

  /// DROP to the sender of a task, in the layout of its request, from the request's buffer.
  void refuse(DropReason reason, transport::RxPacket& packet, Nanos now) {
    counters_.add(SwitchCounter::kRefused);
    counters_.drops().add(reason);
    wire::Message& reply = view_.message;
    reply.type = wire::MessageType::kDrop;
    reply.policy = wire::Policy::kUnrestricted;
    reply.first = reply.last = true;
    reply.packet = 1;
    reply.has_extension = true;
    reply.drop.reason = reason;
    send_before(packet.bytes.data(), 0, reply, packet.source, now);
  }

  /// SYNC_ACK to a worker; its request id is the worker's sequence number.
  void acknowledge(const dataplane::Verdict& verdict, transport::RxPacket& packet, Nanos now) {
    counters_.add(SwitchCounter::kSyncAcks);
    if (verdict.reason != DropReason::kNone) counters_.drops().add(verdict.reason);
    wire::Message& reply = view_.message;
    reply.type = wire::MessageType::kSyncAck;
    reply.first = reply.last = true;
    reply.packet = 1;
    reply.has_extension = true;
    reply.sync_ack = verdict.sync;
    reply.sync_ack.boot_id = boot_id_;
    send_before(packet.bytes.data(), 0, reply, packet.source, now);
  }

  void ignore(DropReason reason) {
    counters_.add(SwitchCounter::kIgnored);
    counters_.drops().add(reason);
  }

  static void set_dispatch(wire::Message& task, const dataplane::Verdict& verdict, const Endpoint& client) {
    task.has_dispatch = true;
    task.dispatch.client = client;
    task.dispatch.worker = verdict.worker;
    task.dispatch.level = verdict.level;
    task.dispatch.generation = verdict.generation;
    task.dispatch.queue_length = verdict.queue_length;
  }

  /// Writes the header so that it ends where the payload begins, and queues both.
  void send_before(std::byte* payload, std::size_t payload_bytes, const wire::Message& message,
                   const Endpoint& to, Nanos now) {
    const std::byte* const start = wire::encode_header_before(message, payload);
    transport_.send(now, {start, payload + payload_bytes}, to);
    ++sent_;
  }

  const Endpoint& worker_address(WorkerId id) const {
    const dataplane::WorkerEntry* worker = memory_.worker(id);
    RAIN_ASSERT(worker != nullptr);  // tables change between packets only, and the program has just looked
    return worker->address;
  }

  void release_sent_holds() {
    for (std::size_t i = 0; i < sent_hold_count_; ++i) memory_.release(sent_holds_[i]);
    sent_hold_count_ = 0;
  }

  void count_batch(std::size_t received) {
    counters_.add(SwitchCounter::kPacketsIn, received);
    counters_.add(SwitchCounter::kPacketsOut, sent_);
    sent_ = 0;
    const std::uint64_t failures = transport_.send_failures();
    if (failures == seen_send_failures_) return;
    counters_.drops().add(DropReason::kSendFailed, failures - seen_send_failures_);
    seen_send_failures_ = failures;
  }

  Program& program_;
  Memory& memory_;
  Transport& transport_;
  SwitchCounters& counters_;
  BootId boot_id_;
  bool draining_ = false;
  std::uint64_t waiting_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t seen_send_failures_ = 0;
  dataplane::PacketView view_{};
  std::array<dataplane::HoldHandle, transport::kBatch> sent_holds_{};
  std::size_t sent_hold_count_ = 0;
  std::array<std::array<std::byte, wire::kMaxHeaderBytes>, transport::kBatch>
      refused_{};  // DROPs till the flush
  std::size_t refused_count_ = 0;
};

}  // namespace rain::softswitch
