// Any sequence of packets and table changes into every program, on small racks: no crash, no access beyond a
// table, no count out of range, no queue above its capacity, and tasks leave in the order in which they came.
//
// An input is a list of bytes: the first choose the program and the rack, each further one an operation, which
// takes its arguments from the bytes that follow. Packets come as fields and as bytes for wire::decode().
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "dataplane/programs.h"
#include "dataplane/soft_memory.h"
#include "dataplane/test_memory.h"
#include "fuzz/fuzz.h"
#include "wire/message.h"

namespace rain::fuzz {

namespace {

using namespace rain::dataplane;

constexpr unsigned kSlices = 2;
constexpr unsigned kTypes = 3;  // one that no slice serves
constexpr unsigned kWorkers = 4;
constexpr unsigned kTaskRing = 4;
constexpr unsigned kMaxPasses = 64;

enum class Operation : std::uint8_t {
  kTask,
  kToken,
  kRepeatToken,  // of the newest generation
  kSync,
  kPull,
  kBytes,
  kSetWorker,
  kRemoveWorker,
  kSetSlice,
  kForget,
  kRecall,  // of the newest generation, or the one before
};
constexpr unsigned kOperations = 11;

Endpoint address(unsigned number) { return Endpoint::v4(10, 0, 0, static_cast<std::uint8_t>(number), 1); }
std::uint32_t key(unsigned worker) { return 100 + worker; }

/// The input, byte by byte; 0 when it has ended.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> input) : rest_(input) {}
  bool empty() const { return rest_.empty(); }
  unsigned byte() {
    if (rest_.empty()) return 0;
    const auto value = std::to_integer<unsigned>(rest_.front());
    rest_ = rest_.subspan(1);
    return value;
  }
  unsigned below(unsigned bound) { return byte() % bound; }
  std::span<const std::byte> bytes(std::size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const std::byte> rest_;
};

template <typename Program>
class Rack {
 public:
  explicit Rack(Reader& reader)
      : reader_(reader),
        hold_slots_(reader.below(3)),
        has_master_(reader.below(2) == 1),
        storage_(Program::kRegisters, {.slices = kSlices,
                                       .workers = kWorkers,
                                       .task_ring = kTaskRing,
                                       .token_ring = 1u << reader.below(4),
                                       .hold_slots = hold_slots_}),
        memory_(storage_.get()),
        program_(memory_) {
    for (std::uint16_t i = 0; i < kSlices; ++i) set_slice({i});
    for (std::uint16_t i = 0; i < kWorkers; ++i) set_worker({i});
    for (std::uint16_t i = 0; i < kTypes - 1; ++i) memory_.set_type({i}, {static_cast<std::uint16_t>(i % 2)});
  }

  void run() {
    while (!reader_.empty()) {
      operate(static_cast<Operation>(reader_.below(kOperations)));
      check_counts();
    }
  }

 private:
  void operate(Operation operation) {
    switch (operation) {
      case Operation::kTask:
        return task();
      case Operation::kToken:
        return token(wire::MessageType::kFeedback, 1 + reader_.below(2));
      case Operation::kRepeatToken:
        return token(wire::MessageType::kFeedback, 0);
      case Operation::kSync:
        return token(wire::MessageType::kSync, 0);
      case Operation::kPull:
        return token(wire::MessageType::kPull, 0);
      case Operation::kBytes:
        return bytes();
      case Operation::kSetWorker:
        return set_worker(random_worker());
      case Operation::kRemoveWorker:
        return memory_.set_worker(random_worker(), {});
      case Operation::kSetSlice:
        return set_slice(random_slice());
      case Operation::kForget:
        return program_.forget_dead_tokens(random_slice());
      case Operation::kRecall:
        return token(wire::MessageType::kSync, 0, true);
    }
  }

  WorkerId random_worker() { return {static_cast<std::uint16_t>(reader_.below(kWorkers))}; }
  SliceId random_slice() { return {static_cast<std::uint16_t>(reader_.below(kSlices))}; }

  void set_worker(WorkerId id) {
    const unsigned choice = reader_.byte();
    memory_.set_worker(id, {.present = true,
                            .slice = {static_cast<std::uint16_t>(choice % kSlices)},
                            .epoch = {static_cast<std::uint16_t>(choice / kSlices % 4)},
                            .token_key = key(id.value),
                            .weight = static_cast<std::uint8_t>(1 + choice % kMaxWeight),
                            .address = address(id.value)});
  }
  void set_slice(SliceId id) {
    const unsigned choice = reader_.byte();
    memory_.set_slice(id, {.present = choice != 0xFF,
                           .queue_capacity = 1 + choice % kTaskRing,
                           .spill = choice / 4 % 6,
                           .drain = static_cast<std::uint16_t>(choice / 16 % 4),
                           .depth = static_cast<std::uint8_t>(1 + choice % kMaxQuota),
                           .recirculate = choice >= 128,
                           .master_slice = has_master_ && id.value == 0 ? SliceId{1} : kNoSlice,
                           .host = has_master_ && id.value == 1 ? SliceId{0} : kNoSlice});
  }

  void task() {
    PacketView view;
    const unsigned choice = reader_.byte();
    view.source = address(50 + choice % 3);
    view.message.type = wire::MessageType::kRequest;
    view.message.first = choice % 16 != 0;
    view.message.last = true;
    view.message.packet = 1;
    view.message.policy = choice % 8 == 1 ? wire::Policy::kSticky : wire::Policy::kUnrestricted;
    view.message.request = {.task_type = {static_cast<std::uint16_t>(choice % kTypes)},
                            .deadline_us = choice / 64};  // packets come 250 ns apart
    const std::size_t sizes[] = {0, 3, kInlinePayloadBytes, kInlinePayloadBytes + 1, wire::kMaxPayloadBytes};
    view.message.payload = std::span(kPayload).first(sizes[reader_.below(5)]);
    send(view);
  }

  void token(wire::MessageType type, std::uint32_t step, bool recall = false) {
    PacketView view;
    const WorkerId worker = random_worker();
    const unsigned choice = reader_.byte();
    const unsigned level = choice % 16 == 15 ? kNoLevel.value : choice % kMaxQuota;
    view.source = address(worker.value);
    view.message.type = type;
    view.message.first = view.message.last = view.message.has_extension = true;
    std::uint32_t& generation = generations_[worker.value * kMaxQuota + level % kMaxQuota];
    view.message.token = {.worker = worker,
                          .epoch = {static_cast<std::uint16_t>(choice / 16 % 4)},
                          .token_key = key(worker.value),
                          .generation = {(generation += step) - (recall ? choice / 128 : 0)},
                          .level = {static_cast<std::uint8_t>(level)},
                          .queue_length = static_cast<std::uint16_t>(choice),
                          .recall = recall};
    send(view);
  }

  void bytes() {
    PacketView view;
    view.source = address(reader_.below(kWorkers + 1));
    if (wire::decode(reader_.bytes(reader_.byte()), view.message) == DropReason::kNone) send(view);
  }

  /// What a switch does with a packet, and what it relies on.
  void send(PacketView view) {
    view.message.request_id = {next_request_++};
    now_.value += 250;
    for (unsigned pass = 0; pass < kMaxPasses; ++pass) {
      const Verdict verdict = program_.pass(view, now_);
      if (verdict.action == Action::kExpired) {
        RAIN_ASSERT(view.message.type != wire::MessageType::kRequest);
        RAIN_ASSERT(now_ - verdict.task->arrival > microseconds(verdict.task->deadline_us));
        take(*verdict.task, verdict.slice);
        check_queue_length(verdict);
      } else if (verdict.action != Action::kRecirculate) {
        return act(verdict, view);
      } else if (verdict.reason == DropReason::kTokenQueueFull) {
        program_.forget_dead_tokens(verdict.slice);
      }
      view.carried = verdict.carried;
    }
    // The push programs alone pass without end, when no worker has room.
    RAIN_ASSERT(view.message.type == wire::MessageType::kRequest);
  }

  void act(const Verdict& verdict, const PacketView& view) {
    const bool is_task = view.message.type == wire::MessageType::kRequest;
    switch (verdict.action) {
      case Action::kForward:
        RAIN_ASSERT(is_task);
        return check_receiver(verdict);
      case Action::kBuffered:
        RAIN_ASSERT(is_task && view.message.payload.size() <= wire::kMaxPayloadBytes);
        waiting(verdict.slice).push_back(view.message.request_id.value);
        return check_queue_length(verdict);
      case Action::kDispatch:
        RAIN_ASSERT(!is_task);
        check_receiver(verdict);
        RAIN_ASSERT(verdict.queue_delay == now_ - verdict.task->arrival);
        take(*verdict.task, verdict.slice);
        return check_queue_length(verdict);
      case Action::kReplyDrop:
        RAIN_ASSERT(verdict.reason != DropReason::kNone);
        RAIN_ASSERT(is_task || verdict.reason == DropReason::kNoTask);
        return;
      case Action::kReplySync:
        RAIN_ASSERT(view.message.type == wire::MessageType::kSync);
        RAIN_ASSERT(!verdict.sync.consumed.newer_than(verdict.sync.seen));
        RAIN_ASSERT(view.message.token.recall || !verdict.sync.recalled);
        return;
      case Action::kConsume:
        RAIN_ASSERT(!is_task);
        return;
      case Action::kIgnore:
        RAIN_ASSERT(verdict.reason != DropReason::kNone);
        return;
      case Action::kRecirculate:
      case Action::kExpired:
        break;
    }
    RAIN_ASSERT(false && "no such action");
  }

  std::deque<std::uint16_t>& waiting(SliceId slice) {
    RAIN_ASSERT(slice.value < kSlices);
    return waiting_[slice.value];
  }

  void check_receiver(const Verdict& verdict) {
    const WorkerEntry* worker = memory_.worker(verdict.worker);
    RAIN_ASSERT(worker != nullptr);
    const bool lent = has_master_ && worker->slice.value == 1 && verdict.slice.value == 0;
    RAIN_ASSERT(worker->slice == verdict.slice || lent);
    RAIN_ASSERT(verdict.level == kNoLevel || verdict.level.value < kMaxQuota);
  }

  /// The head of the queue, whole.
  void take(const TaskEntry& task, SliceId slice) {
    RAIN_ASSERT(!waiting(slice).empty());
    RAIN_ASSERT(waiting(slice).front() == task.request_id.value);
    waiting(slice).pop_front();
    RAIN_ASSERT(task.arrival < now_);
    RAIN_ASSERT(task.payload_bytes <= wire::kMaxPayloadBytes);
    if (task.hold == kNoHold) return;
    RAIN_ASSERT(task.hold < hold_slots_ && task.payload_bytes > kInlinePayloadBytes);
    memory_.release(task.hold);
  }

  void check_queue_length(const Verdict& verdict) {
    RAIN_ASSERT(verdict.queue_length == waiting(verdict.slice).size());
    RAIN_ASSERT(verdict.queue_length <= kTaskRing);
  }

  /// Waiting tasks and idle tokens never coexist, so a balance below 0 is the number of waiting tasks, exactly.
  void check_counts() {
    for (std::uint16_t i = 0; i < kSlices; ++i) {
      const auto waiting = static_cast<std::int64_t>(waiting_[i].size());
      RAIN_ASSERT(waiting <= kTaskRing);
      if constexpr (requires { program_.gate(SliceId{i}); }) {
        RAIN_ASSERT(std::max<std::int64_t>(-program_.gate({i}).balance, 0) == waiting);
        RAIN_ASSERT(program_.gate({i}).balance <= next_request_ && program_.gate({i}).spare <= next_request_);
      } else if constexpr (requires { program_.balance(SliceId{i}); }) {
        RAIN_ASSERT(std::max<std::int64_t>(-program_.balance({i}), 0) == waiting);
        RAIN_ASSERT(program_.balance({i}) <= next_request_);
      }
    }
    RAIN_ASSERT(memory_.free_holds() <= hold_slots_);
    RAIN_ASSERT(hold_slots_ - memory_.free_holds() <= waiting_[0].size() + waiting_[1].size());
  }

  static constexpr std::byte kPayload[wire::kMaxPayloadBytes] = {};

  Reader& reader_;
  std::uint32_t hold_slots_;
  bool has_master_;
  TestMemory storage_;
  SoftMemory& memory_;
  Program program_;
  std::uint32_t generations_[kWorkers * kMaxQuota] = {};
  std::deque<std::uint16_t> waiting_[kSlices];
  std::uint16_t next_request_ = 0;  // also counts packets: an input is shorter than 2^16 bytes
  Nanos now_{};
};

/// A head that chooses `program`, quota 2, 4 or 8, one hold, rings of 4 tokens, and plain tables.
Input head(unsigned program, unsigned levels) {
  Input input{static_cast<std::byte>(program), static_cast<std::byte>(levels), std::byte{1}, std::byte{2}};
  input.resize(input.size() + kSlices + kWorkers, std::byte{3});
  return input;
}

void append_packet(Input& input, const wire::Message& message, unsigned source) {
  std::byte packet[wire::kMaxPacketBytes];
  const auto bytes = wire::encode(message, packet);
  input.push_back(static_cast<std::byte>(Operation::kBytes));
  input.push_back(static_cast<std::byte>(source));
  input.push_back(static_cast<std::byte>(bytes.size()));
  input.insert(input.end(), bytes.begin(), bytes.end());
}

}  // namespace

void one_input(std::span<const std::byte> input) {
  Reader reader(input.first(std::min<std::size_t>(input.size(), 4096)));
  const auto program = static_cast<ProgramId>(reader.below(std::size(kPrograms)));
  const unsigned levels = 2u << reader.below(3);
  visit_program<SoftMemory>(program, levels, [&](auto tag) {
    auto rack = std::make_unique<Rack<typename decltype(tag)::type>>(reader);
    rack->run();
  });
}

std::vector<Input> seeds() {
  std::vector<Input> all;
  for (unsigned program = 0; program < std::size(kPrograms); ++program) {
    for (unsigned levels = 0; levels < 3; ++levels) {
      // Each operation with each of a few arguments, so that queues and token FIFOs fill and empty.
      Input input = head(program, levels);
      for (unsigned argument = 2; argument < 60; argument += 5) {
        for (unsigned operation = 0; operation < static_cast<unsigned>(Operation::kBytes); ++operation) {
          for (unsigned i = 0; i < 3; ++i) {
            for (const unsigned byte : {operation, argument + i, argument * 3 + i, i}) {
              input.push_back(static_cast<std::byte>(byte));
            }
          }
        }
        for (unsigned operation = static_cast<unsigned>(Operation::kSetWorker); operation < kOperations;
             ++operation) {
          for (const unsigned byte : {operation, argument, argument * 7}) {
            input.push_back(static_cast<std::byte>(byte));
          }
        }
      }
      all.push_back(input);

      wire::Message message;
      message.first = message.last = message.has_extension = true;
      message.packet = 1;
      input = head(program, levels);
      append_packet(input, message, kWorkers);
      for (const auto type : {wire::MessageType::kFeedback, wire::MessageType::kSync}) {
        message.type = type;
        message.token = {.worker = {1}, .epoch = {1}, .token_key = key(1), .generation = {1}, .level = {0}};
        append_packet(input, message, 1);
      }
      all.push_back(input);
    }
  }
  return all;
}

}  // namespace rain::fuzz
