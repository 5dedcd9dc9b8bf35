#include "dataplane/program_runner.h"

#include <gtest/gtest.h>

#include <span>

#include "dataplane/soft_memory.h"
#include "dataplane/test_memory.h"

namespace rain::packet_table {

using dataplane::Action;
using dataplane::PacketView;
using dataplane::SoftMemory;
using dataplane::Verdict;

namespace {

template <typename Program>
class ProgramRunner final : public Runner {
 public:
  explicit ProgramRunner(const Rack& rack)
      : memory_(Program::kRegisters, rack.shape()), program_(memory_.get()) {
    for (std::size_t i = 0; i < rack.slices.size(); ++i) {
      set_slice({static_cast<std::uint16_t>(i)}, rack.slices[i]);
    }
    for (std::size_t i = 0; i < rack.workers.size(); ++i) {
      set_worker({static_cast<std::uint16_t>(i)}, rack.workers[i]);
    }
    for (const auto& [type, slice] : rack.types) memory_.get().set_type(type, slice);
  }

  Outcome inject(const PacketView& packet, Nanos now) override {
    Outcome outcome;
    PacketView passing = packet;
    Verdict verdict = program_.pass(passing, now);
    while ((verdict.action == Action::kRecirculate || verdict.action == Action::kExpired) &&
           outcome.recirculations < kMaxPasses) {
      ++outcome.recirculations;
      if (verdict.action == Action::kExpired) outcome.expired.push_back(take_expired(*verdict.task));
      if (verdict.reason == DropReason::kTokenQueueFull) program_.forget_dead_tokens(verdict.slice);
      passing.carried = verdict.carried;
      verdict = program_.pass(passing, now);
    }
    outcome.action = verdict.action;
    outcome.reason = verdict.reason;
    outcome.queue_length = verdict.queue_length;
    switch (verdict.action) {
      case Action::kForward:
        take_packet(packet, outcome);
        take_dispatch(verdict, outcome);
        break;
      case Action::kDispatch:
        take_entry(*verdict.task, outcome);
        take_dispatch(verdict, outcome);
        break;
      case Action::kReplyDrop:
        take_packet(packet, outcome);
        outcome.receiver = packet.source;
        break;
      case Action::kReplySync:
        outcome.receiver = packet.source;
        outcome.sync = verdict.sync;
        break;
      default:
        break;
    }
    return outcome;
  }

  void set_worker(WorkerId id, const dataplane::WorkerEntry& entry) override {
    memory_.get().set_worker(id, entry);
  }
  void set_slice(SliceId id, const dataplane::SliceEntry& entry) override {
    memory_.get().set_slice(id, entry);
  }
  void forget_dead_tokens(SliceId slice) override { program_.forget_dead_tokens(slice); }

  std::optional<Counts> counts(SliceId slice) override {
    if constexpr (requires { program_.gate(slice); }) {
      return Counts{program_.gate(slice).balance, program_.gate(slice).spare};
    } else if constexpr (requires { program_.balance(slice); }) {
      return Counts{program_.balance(slice), 0};
    } else {
      return std::nullopt;
    }
  }

 private:
  static void take_packet(const PacketView& packet, Outcome& outcome) {
    const wire::Message& message = packet.message;
    outcome.request_id = message.request_id;
    outcome.layout = message.layout;
    outcome.client = packet.source;
    outcome.task_type = message.request.task_type;
    outcome.deadline_us = message.request.deadline_us;
    outcome.packet_count = message.packet;
    outcome.last = message.last;
    outcome.payload.assign(message.payload.begin(), message.payload.end());
  }

  void take_entry(const dataplane::TaskEntry& entry, Outcome& outcome) {
    outcome.request_id = entry.request_id;
    outcome.layout = entry.layout;
    outcome.client = entry.client;
    outcome.task_type = entry.task_type;
    outcome.deadline_us = entry.deadline_us;
    outcome.packet_count = entry.packet_count;
    outcome.last = entry.last;
    const std::byte* payload = std::as_bytes(std::span(entry.inline_payload)).data();
    if (entry.hold != dataplane::kNoHold) {
      payload = memory_.get().held(entry.hold);
    } else if (entry.payload_bytes > dataplane::kInlinePayloadBytes) {
      outcome.fetch_bytes = entry.payload_bytes;
      return;
    }
    outcome.payload.assign(payload, payload + entry.payload_bytes);
    if (entry.hold != dataplane::kNoHold) memory_.get().release(entry.hold);
  }

  Expiry take_expired(const dataplane::TaskEntry& entry) {
    if (entry.hold != dataplane::kNoHold) memory_.get().release(entry.hold);
    return {.client = entry.client, .request_id = entry.request_id, .layout = entry.layout};
  }

  void take_dispatch(const Verdict& verdict, Outcome& outcome) {
    const dataplane::WorkerEntry* worker = memory_.get().worker(verdict.worker);
    ASSERT_NE(worker, nullptr);
    outcome.receiver = worker->address;
    outcome.worker = verdict.worker;
    outcome.level = verdict.level;
    outcome.generation = verdict.generation;
    outcome.switch_delay_ns = saturate_to_u32(verdict.queue_delay);
  }

  dataplane::TestMemory memory_;
  Program program_;
};

}  // namespace

std::unique_ptr<Runner> make_program_runner(dataplane::ProgramId program, unsigned levels, const Rack& rack) {
  return dataplane::visit_program<SoftMemory>(program, levels, [&](auto tag) -> std::unique_ptr<Runner> {
    return std::make_unique<ProgramRunner<typename decltype(tag)::type>>(rack);
  });
}

}  // namespace rain::packet_table
