// Packets a second of program `rain` in memory, on one core: 32 workers, 4 levels, one slice of 128 Ki
// entries. `program` is the state machine alone; `wire` decodes and encodes around it as a switch does.
// Neither counts the network.
//
//   waiting   the queue half full: every task waits, every token serves the head
//   idle      the queue empty: every token is filed, every task finds one
//   mixed     workers of quota 4 in a closed loop: tasks and tokens at all levels, about a spill's worth of
//             tasks waiting
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/page_buffer.h"
#include "base/prng.h"
#include "dataplane/rain.h"
#include "dataplane/soft_memory.h"
#include "wire/codec.h"
#include "wire/message.h"

namespace rain::dataplane {
namespace {

using Program = RainProgram<SoftMemory, 4>;

constexpr std::uint32_t kWorkers = 32;
constexpr std::uint32_t kCapacity = kDefaultQueueCapacity;
constexpr MemoryShape kShape{
    .slices = 1, .workers = kWorkers, .task_ring = kCapacity, .token_ring = kWorkers, .hold_slots = 0};
constexpr std::uint32_t kTokenKey = 7;
constexpr int kPairsPerIteration = 512;

Endpoint worker_address(std::uint32_t worker) {
  return Endpoint::v4(10, 0, 0, static_cast<std::uint8_t>(worker), 9000);
}

PacketView task_view() {
  PacketView view;
  view.source = Endpoint::v4(10, 1, 0, 1, 4000);
  view.message.type = wire::MessageType::kRequest;
  view.message.first = view.message.last = view.message.has_extension = true;
  view.message.packet = 1;
  return view;
}

PacketView token_view() {
  PacketView view;
  view.message.type = wire::MessageType::kFeedback;
  view.message.first = view.message.last = view.message.has_extension = true;
  view.message.packet = 1;
  view.message.token.epoch = {1};
  view.message.token.token_key = kTokenKey;
  return view;
}

/// A switch with its tables installed.
struct Switch {
  Switch()
      : storage(SoftMemory::storage_bytes(Program::kRegisters, kShape)),
        memory(Program::kRegisters, kShape, storage.bytes()),
        program(memory) {
    memory.set_slice({0}, {.present = true, .queue_capacity = kCapacity, .spill = kWorkers / 4, .drain = 4});
    memory.set_type({0}, {0});
    for (std::uint16_t i = 0; i < kWorkers; ++i) {
      memory.set_worker({i}, {.present = true,
                              .slice = {0},
                              .epoch = {1},
                              .token_key = kTokenKey,
                              .address = worker_address(i)});
      addresses[i] = worker_address(i);
    }
  }
  Generation next_generation(std::uint32_t worker, unsigned level) {
    return {++generations[worker * kMaxQuota + level]};
  }

  PageBuffer storage;
  SoftMemory memory;
  Program program;
  std::array<Endpoint, kWorkers> addresses{};
  std::array<std::uint32_t, kWorkers * kMaxQuota> generations{};
  Nanos now{};
};

/// Packets that a parser has left in a view: the fields that differ are changed, and of the verdict is read
/// what a rim reads before it sends.
class ProgramAlone : public Switch {
 public:
  ProgramAlone() { task_.message.payload = payload_; }

  Verdict task() {
    now.value += 25;
    ++task_.message.request_id.value;
    task_.source.port = static_cast<std::uint16_t>(4000 + task_.message.request_id.value % 64);
    return look(program.pass(task_, now));
  }
  Verdict token(std::uint32_t worker, unsigned level) {
    now.value += 25;
    token_.source = addresses[worker];
    token_.message.token.worker = {static_cast<std::uint16_t>(worker)};
    token_.message.token.level = {static_cast<std::uint8_t>(level)};
    token_.message.token.generation = next_generation(worker, level);
    return look(program.pass(token_, now));
  }

 private:
  Verdict look(const Verdict& verdict) {
    if (verdict.action == Action::kDispatch) {
      sum_ += verdict.task->request_id.value + verdict.task->client.port;
    }
    sum_ += verdict.worker.value + verdict.generation.value + verdict.queue_length;
    benchmark::DoNotOptimize(sum_);
    return verdict;
  }

  PacketView task_ = task_view();
  PacketView token_ = token_view();
  std::array<std::byte, kInlinePayloadBytes> payload_{};
  std::uint64_t sum_ = 0;
};

/// Packets as bytes in the buffers of a batch, decoded, and encoded again in place when they or a waiting task
/// leave.
class ThroughWire : public Switch {
 public:
  ThroughWire() {
    PacketView task = task_view();
    task.message.payload = payload_;
    task_bytes_ = wire::encode(task.message, task_template_).size();
    token_bytes_ = wire::encode(token_view().message, token_template_).size();
  }

  Verdict task() {
    std::byte* packet = next_buffer();
    std::memcpy(packet, task_template_.data(), task_template_.size());
    const std::uint16_t id = ++request_id_;
    const std::byte wire_id[2] = {static_cast<std::byte>(id >> 8), static_cast<std::byte>(id)};
    std::memcpy(packet + offsetof(wire::BaseHeader, request_id), wire_id, sizeof(wire_id));
    view_.source = Endpoint::v4(10, 1, 0, 1, static_cast<std::uint16_t>(4000 + id % 64));
    return run(packet, task_bytes_);
  }
  Verdict token(std::uint32_t worker, unsigned level) {
    std::byte* packet = next_buffer();
    std::memcpy(packet, token_template_.data(), token_template_.size());
    wire::TokenFields fields = {.worker = {static_cast<std::uint16_t>(worker)},
                                .epoch = {1},
                                .token_key = kTokenKey,
                                .generation = next_generation(worker, level),
                                .level = {static_cast<std::uint8_t>(level)}};
    wire::detail::pack(packet + wire::kBaseHeaderBytes, fields);
    view_.source = addresses[worker];
    return run(packet, token_bytes_);
  }

 private:
  static constexpr std::size_t kBuffers = 64;
  static constexpr std::size_t kBufferBytes = 2048;
  static constexpr std::size_t kHeadroomBytes = 128;

  std::byte* next_buffer() { return &buffers_[next_++ % kBuffers * kBufferBytes + kHeadroomBytes]; }

  Verdict run(std::byte* packet, std::size_t bytes) {
    now.value += 25;
    wire::Message& message = view_.message;
    const DropReason reason = wire::decode({packet, bytes}, message);
    RAIN_ASSERT(reason == DropReason::kNone);
    const Verdict verdict = program.pass(view_, now);
    if (verdict.action == Action::kForward) {
      std::byte* payload = packet + bytes - message.payload.size();
      send(verdict, view_.source, payload);
    } else if (verdict.action == Action::kDispatch) {
      const TaskEntry& entry = *verdict.task;
      message.layout = entry.layout;
      message.type = wire::MessageType::kRequest;
      message.policy = entry.policy;
      message.last = entry.last;
      message.request_id = entry.request_id;
      message.packet = entry.packet_count;
      message.request = {.task_type = entry.task_type, .deadline_us = entry.deadline_us};
      std::memcpy(packet, entry.inline_payload, kInlinePayloadBytes);
      send(verdict, entry.client, packet);
    }
    return verdict;
  }

  void send(const Verdict& verdict, const Endpoint& client, std::byte* payload) {
    wire::Message& message = view_.message;
    message.has_dispatch = true;
    message.dispatch = {.client = client,
                        .worker = verdict.worker,
                        .level = verdict.level,
                        .generation = verdict.generation,
                        .switch_delay_ns = saturate_to_u32(verdict.queue_delay),
                        .queue_length = verdict.queue_length};
    benchmark::DoNotOptimize(wire::encode_header_before(message, payload));
    benchmark::ClobberMemory();
  }

  PacketView view_{};
  std::array<std::byte, 24> task_template_{};
  std::array<std::byte, 24> token_template_{};
  std::array<std::byte, kInlinePayloadBytes> payload_{};
  std::size_t task_bytes_ = 0;
  std::size_t token_bytes_ = 0;
  std::array<std::byte, kBuffers * kBufferBytes> buffers_{};
  std::size_t next_ = 0;
  std::uint16_t request_id_ = 0;
};

void expect(benchmark::State& state, bool holds, const char* what) {
  if (!holds) state.SkipWithError(what);
}

void count_packets(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * kPairsPerIteration * 2);
}

template <typename Rig>
void waiting(benchmark::State& state) {
  auto rig = std::make_unique<Rig>();
  for (std::uint32_t i = 0; i < kCapacity / 2; ++i) rig->task();
  std::uint32_t worker = 0;
  for (auto _ : state) {
    for (int i = 0; i < kPairsPerIteration; ++i) {
      rig->task();
      rig->token(worker, 0);
      worker = (worker + 1) % kWorkers;
    }
  }
  expect(state, rig->program.gate({0}).balance == -static_cast<std::int32_t>(kCapacity / 2),
         "the queue did not stay half full");
  count_packets(state);
}

template <typename Rig>
void idle(benchmark::State& state) {
  auto rig = std::make_unique<Rig>();
  for (std::uint32_t i = 0; i < kWorkers / 2; ++i) rig->token(i, 0);
  std::uint32_t worker = kWorkers / 2;
  for (auto _ : state) {
    for (int i = 0; i < kPairsPerIteration; ++i) {
      rig->token(worker, 0);
      rig->task();
      worker = (worker + 1) % kWorkers;
    }
  }
  expect(state, rig->program.gate({0}).balance == kWorkers / 2, "the queue did not stay empty");
  count_packets(state);
}

/// The rule of levels on a wire without delay; 64 tasks are in service and 8 wait, on average.
template <typename Rig>
void mixed(benchmark::State& state) {
  auto rig = std::make_unique<Rig>();
  std::array<std::uint8_t, 4096> draws{};
  Prng prng(1);
  for (std::uint8_t& draw : draws) draw = static_cast<std::uint8_t>(prng.below(kWorkers));
  std::array<unsigned, kWorkers> held{};
  const auto hand_over = [&](const Verdict& verdict) {
    if (verdict.action == Action::kForward || verdict.action == Action::kDispatch)
      ++held[verdict.worker.value];
  };
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    for (unsigned level = 0; level < 4; ++level) rig->token(worker, level);
  }
  for (unsigned i = 0; i < 72; ++i) hand_over(rig->task());
  std::size_t draw = 0;
  for (auto _ : state) {
    for (int i = 0; i < kPairsPerIteration; ++i) {
      hand_over(rig->task());
      std::uint32_t worker = draws[draw++ % draws.size()];
      while (held[worker] == 0) worker = (worker + 1) % kWorkers;
      hand_over(rig->token(worker, --held[worker]));
    }
  }
  const Gate gate = rig->program.gate({0});
  expect(state, gate.balance < 0 && gate.spare > 0, "the loop ran empty");
  count_packets(state);
}

BENCHMARK(waiting<ProgramAlone>)->Name("program/waiting");
BENCHMARK(idle<ProgramAlone>)->Name("program/idle");
BENCHMARK(mixed<ProgramAlone>)->Name("program/mixed");
BENCHMARK(waiting<ThroughWire>)->Name("wire/waiting");
BENCHMARK(idle<ThroughWire>)->Name("wire/idle");
BENCHMARK(mixed<ThroughWire>)->Name("wire/mixed");

}  // namespace
}  // namespace rain::dataplane

BENCHMARK_MAIN();
