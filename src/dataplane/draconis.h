// Program `draconis`: tasks queue in the switch, workers pull (Rain paper, section 5.2). Freestanding.
//
// An idle worker sends PULL and repeats it while the answer is "no task", which approximates JBSQ(1). The
// entry stores small payloads only; a larger one stays with the client and costs the worker a fetch round
// trip. The original keeps two free-running pointers and repairs them by recirculation when a pull finds the
// queue empty or a task finds it full; here one count decides in one pass, which favours `draconis` in every
// comparison.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/push.h"
#include "dataplane/task_queue.h"

namespace rain::dataplane {

template <typename M>
class DraconisProgram {
  static_assert(Memory<M>);
  struct WaitingSpec {
    static constexpr RegisterSpec value{"waiting", 0, 0, 1, Extent::kSlices, 32, 4, false};
  };
  using Waiting = Register<std::uint32_t, WaitingSpec>;
  using Tasks = TaskQueue<1, 1, PayloadStore::kFetch>;

 public:
  static constexpr std::array kRegisters{WaitingSpec::value, Tasks::HeadSpec::value, Tasks::TailSpec::value,
                                         Tasks::EntrySpec::value};

  explicit DraconisProgram(M& memory) : memory_(memory) {}

  Verdict pass(const PacketView& packet, Nanos now) {
    if (packet.message.type == wire::MessageType::kPull) return pull(packet, now);
    if (packet.message.type == wire::MessageType::kFeedback) return consume_report(memory_, packet);
    if (packet.message.type != wire::MessageType::kRequest) return ignore(DropReason::kUnexpectedMessage);
    SliceId id{};
    const SliceEntry* slice = nullptr;
    const DropReason reason = match_task(memory_, packet.message, id, slice);
    if (reason != DropReason::kNone) return refuse_task(id, reason);

    Pass pass;
    std::uint32_t& waiting = Waiting::at(pass, memory_, id.value);
    if (waiting >= slice->queue_capacity) {
      return reply_drop(id, DropReason::kQueueFull, saturate_to_u16(waiting));
    }
    ++waiting;
    Tasks::push(pass, memory_, id, packet, now);
    return buffered(id, saturate_to_u16(waiting));
  }

  void forget_dead_tokens(SliceId) {}

 private:
  Verdict pull(const PacketView& packet, Nanos now) {
    const WorkerEntry* worker = nullptr;
    const DropReason reason = match_report(memory_, packet, worker);
    if (reason != DropReason::kNone) return ignore(reason);
    Pass pass;
    const SliceId id = worker->slice;
    std::uint32_t& waiting = Waiting::at(pass, memory_, id.value);
    if (waiting == 0) return reply_drop(id, DropReason::kNoTask);
    --waiting;
    const TaskEntry& head = Tasks::pop(pass, memory_, id);
    if (expired(head, now, packet.carried)) {
      return expire(id, head, packet.carried, saturate_to_u16(waiting));
    }
    const TokenCell no_token{.worker = packet.message.token.worker, .level = kNoLevel};
    return dispatch(id, no_token, head, now, saturate_to_u16(waiting));
  }

  M& memory_;
};

}  // namespace rain::dataplane
