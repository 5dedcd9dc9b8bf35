// The switch: runs a program of the data plane, unchanged, on the memory of a software switch.
//
// Packets are views that are used again and again; only what differs from the last packet is written.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <span>

#include "base/page_buffer.h"
#include "dataplane/programs.h"
#include "dataplane/soft_memory.h"
#include "sim/rack_spec.h"
#include "sim/request_pool.h"

namespace rain::sim {

inline constexpr std::uint32_t kTokenKey = 0x7261696E;  ///< any number: the simulated network has no stranger
inline constexpr Epoch kEpoch{1};

/// Slices as the model uses them: those of the spec, or one for all workers and types.
std::vector<SliceSpec> effective_slices(const RackSpec& spec);
dataplane::MemoryShape memory_shape(const RackSpec& spec);
/// Fills the match tables.
void configure(dataplane::SoftMemory& memory, const RackSpec& spec);

/// Workers differ by their port, requests by the client's port and the request id.
constexpr Endpoint worker_address(WorkerId worker) {
  return Endpoint::v4(10, 0, 1, 1, static_cast<std::uint16_t>(9100 + worker.value));
}
constexpr Endpoint client_address(RequestIndex request) {
  return Endpoint::v4(10, 0, 2, 1, static_cast<std::uint16_t>(request >> 16));
}
constexpr RequestIndex request_of(const Endpoint& client, RequestId id) {
  return (RequestIndex{client.port} << 16) | id.value;
}

/// `Program`: over dataplane::SoftMemory.
template <typename Program>
class Switch {
 public:
  explicit Switch(const RackSpec& spec)
      : storage_(dataplane::SoftMemory::storage_bytes(Program::kRegisters, memory_shape(spec))),
        memory_(Program::kRegisters, memory_shape(spec), storage_.bytes()),
        program_(memory_) {
    configure(memory_, spec);
    if constexpr (requires { program_.seed(spec.seed); }) program_.seed(spec.seed);
    task_.source = client_address(0);
    report_.source = worker_address(WorkerId{0});
    task_.message.type = wire::MessageType::kRequest;
    report_.message.type = wire::MessageType::kFeedback;
    report_.message.token.token_key = kTokenKey;
    for (dataplane::PacketView* packet : {&task_, &report_}) {
      packet->message.first = packet->message.last = packet->message.has_extension = true;
      packet->message.packet = 1;
    }
  }
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  dataplane::Verdict task(RequestIndex index, const Request& request, TaskType type, Nanos now) {
    task_.source.port = client_address(index).port;
    task_.message.request_id = {static_cast<std::uint16_t>(index)};
    task_.message.request.task_type = type;
    task_.message.payload = std::span<const std::byte>(payload_).first(request.payload_bytes);
    task_.carried = request.carried;
    return program_.pass(task_, now);
  }

  /// FEEDBACK, PULL or SYNC.
  struct Report {
    wire::MessageType type{};
    WorkerId worker{};
    Epoch epoch = kEpoch;
    Level level = kNoLevel;
    Generation generation{};
    std::uint16_t held = 0;
    bool recall = false;  ///< SYNC
  };
  dataplane::Verdict report(const Report& report, Nanos now) {
    report_.source.port = worker_address(report.worker).port;
    report_.message.type = report.type;
    report_.message.token.worker = report.worker;
    report_.message.token.epoch = report.epoch;
    report_.message.token.level = report.level;
    report_.message.token.generation = report.generation;
    report_.message.token.queue_length = report.held;
    report_.message.token.recall = report.recall;
    report_.carried = {};
    return program_.pass(report_, now);
  }

  /// The last report once more: its FIFO was full of tokens that were recalled. What the control plane does about it
  /// costs no time here.
  dataplane::Verdict sweep_and_report_again(const dataplane::Verdict& full, Nanos now) {
    RAIN_ASSERT(full.reason == DropReason::kTokenQueueFull);
    program_.forget_dead_tokens(full.slice);
    report_.carried = full.carried;
    return program_.pass(report_, now);
  }

  /// Control plane: the worker serves another slice from now on. Its filed tokens are dead.
  void move(WorkerId id, SliceId to) {
    dataplane::WorkerEntry entry = *memory_.worker(id);
    const SliceId from = entry.slice;
    entry.slice = to;
    ++entry.epoch.value;
    memory_.set_worker(id, entry);
    program_.forget_dead_tokens(from);
  }
  void set_spill(SliceId id, unsigned spill) {
    dataplane::SliceEntry entry = *memory_.slice(id);
    entry.spill = spill;
    memory_.set_slice(id, entry);
  }

  /// The request that a kDispatch verdict is about; its payload has left the switch.
  RequestIndex dispatched(const dataplane::Verdict& verdict) {
    if (verdict.task->hold != dataplane::kNoHold) memory_.release(verdict.task->hold);
    return request_of(verdict.task->client, verdict.task->request_id);
  }

 private:
  PageBuffer storage_;
  dataplane::SoftMemory memory_;
  Program program_;
  dataplane::PacketView task_, report_;
  std::array<std::byte, wire::kMaxPayloadBytes> payload_{};
};

}  // namespace rain::sim
