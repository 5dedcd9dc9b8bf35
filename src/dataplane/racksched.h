// Program `racksched`: power of k choices, k = 2, over cached queue lengths (Rain paper, section 5.2).
// Freestanding.
//
// A task draws two workers of its slice and goes at once to the one with the shorter queue, as far as the
// switch knows; workers' queues are unbounded. A pass can read one cell of an array, so there are two copies
// of the lengths, one for each draw. Two ways to keep them fresh, chosen per slice:
//   reports       (recirculate = false)  each FEEDBACK carries the worker's queue length, which replaces the
//   cached one;
//                                        what has been sent since is not counted, and so bursts herd
//   recirculation (recirculate = true)   a chosen worker's length is raised by a second pass of the task,
//   FEEDBACK lowers it
// A report beats what is known, so lost packets heal in the first mode and shift a count for good in the
// second.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/push.h"
#include "dataplane/random_unit.h"

namespace rain::dataplane {

template <typename M>
class RackschedProgram {
  static_assert(Memory<M>);
  using Random = RandomUnit<0, 0>;
  struct FirstSpec {
    static constexpr RegisterSpec value{"length_first", 1, 1, 1, Extent::kWorkers, 32, 4, false};
  };
  struct SecondSpec {
    static constexpr RegisterSpec value{"length_second", 2, 2, 1, Extent::kWorkers, 32, 4, false};
  };
  using First = Register<std::uint32_t, FirstSpec>;
  using Second = Register<std::uint32_t, SecondSpec>;

 public:
  static constexpr std::array kRegisters{Random::Spec::value, FirstSpec::value, SecondSpec::value};

  explicit RackschedProgram(M& memory) : memory_(memory) {}

  /// Control plane, at start: the same seed gives the same choices.
  void seed(std::uint64_t seed) { Random::seed(memory_, seed); }

  Verdict pass(const PacketView& packet, Nanos) {
    if (packet.message.type == wire::MessageType::kFeedback) return feedback(packet);
    if (packet.message.type != wire::MessageType::kRequest) return ignore(DropReason::kUnexpectedMessage);
    SliceId id{};
    const SliceEntry* slice = nullptr;
    const DropReason reason = match_pushed_task(memory_, packet.message, id, slice);
    if (reason != DropReason::kNone) return refuse_task(id, reason);

    Pass pass;
    if (packet.carried.passes > 0) return count_and_push(pass, id, packet.carried.worker);
    const WorkerId worker = choose(pass, id, slice->member_count);
    if (!slice->recirculate) return push_to(id, worker);
    return {.action = Action::kRecirculate, .slice = id, .carried = {.passes = 1, .worker = worker}};
  }

  void forget_dead_tokens(SliceId) {}

 private:
  /// The less loaded of two different workers; the only one when there is one.
  WorkerId choose(Pass& pass, SliceId id, std::uint32_t members) {
    const std::uint64_t draw = Random::next(pass, memory_, id);
    const std::uint32_t first = Random::below(static_cast<std::uint32_t>(draw), members);
    if (members == 1) return memory_.member(id, first);
    const std::uint32_t step = 1 + Random::below(static_cast<std::uint32_t>(draw >> 32), members - 1);
    const std::uint32_t second = first + step < members ? first + step : first + step - members;
    const WorkerId a = memory_.member(id, first);
    const WorkerId b = memory_.member(id, second);
    const std::uint32_t length_a = First::at(pass, memory_, a.value);
    const std::uint32_t length_b = Second::at(pass, memory_, b.value);
    return length_b < length_a ? b : a;
  }

  Verdict count_and_push(Pass& pass, SliceId id, WorkerId worker) {
    ++First::at(pass, memory_, worker.value);
    ++Second::at(pass, memory_, worker.value);
    return push_to(id, worker);
  }

  Verdict feedback(const PacketView& packet) {
    const WorkerEntry* worker = nullptr;
    const DropReason reason = match_report(memory_, packet, worker);
    if (reason != DropReason::kNone) return ignore(reason);
    const SliceEntry* slice = memory_.slice(worker->slice);
    if (slice == nullptr) return ignore(DropReason::kUnknownWorker);
    Pass pass;
    const wire::TokenFields& report = packet.message.token;
    for (std::uint32_t* length :
         {&First::at(pass, memory_, report.worker.value), &Second::at(pass, memory_, report.worker.value)}) {
      if (!slice->recirculate) {
        *length = report.queue_length;
      } else if (*length > 0) {
        --*length;
      }
    }
    return consumed(worker->slice);
  }

  M& memory_;
};

}  // namespace rain::dataplane
