// Program `jsq`: each task to the slice's worker with the fewest unfinished tasks, the next in turn among
// equals. Freestanding.
//
// Finding a minimum over all workers and raising it is one indivisible access here, and more than a pipeline
// can do (section 2.3.1 of the Rain paper): its register is marked `needs_scan`, and `rain budget` says so. A
// lost dispatch or report shifts its worker's count for good: the price of counting events, which the
// least-connections balancers it stands for pay too.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/push.h"

namespace rain::dataplane {

template <typename M>
class JsqProgram {
  static_assert(Memory<M>);
  struct StartSpec {
    static constexpr RegisterSpec value{"scan_start", 0, 0, 1, Extent::kSlices, 32, 4, false};
  };
  struct LoadSpec {
    static constexpr RegisterSpec value{"load", 1, 1, 1, Extent::kWorkers, 32, 4, true};
  };
  using Start = Register<std::uint32_t, StartSpec>;
  using Load = Register<std::uint32_t, LoadSpec>;

 public:
  static constexpr std::array kRegisters{StartSpec::value, LoadSpec::value};

  explicit JsqProgram(M& memory) : memory_(memory) {}

  Verdict pass(const PacketView& packet, Nanos) {
    if (packet.message.type == wire::MessageType::kFeedback) return report(packet);
    if (packet.message.type != wire::MessageType::kRequest) return ignore(DropReason::kUnexpectedMessage);
    SliceId id{};
    const SliceEntry* slice = nullptr;
    const DropReason reason = match_pushed_task(memory_, packet.message, id, slice);
    if (reason != DropReason::kNone) return refuse_task(id, reason);
    Pass pass;
    std::uint32_t& start = Start::at(pass, memory_, id.value);
    if (start >= slice->member_count) start = 0;
    return push_to(id, take_least_loaded(pass, id, slice->member_count, start++));
  }

  void forget_dead_tokens(SliceId) {}

 private:
  WorkerId take_least_loaded(Pass& pass, SliceId id, std::uint32_t members, std::uint32_t start) {
    std::uint32_t* loads = &Load::at(pass, memory_, 0);
    WorkerId least = memory_.member(id, start);
    for (std::uint32_t i = 1; i < members; ++i) {
      const WorkerId worker = memory_.member(id, start + i < members ? start + i : start + i - members);
      if (loads[worker.value] < loads[least.value]) least = worker;
    }
    ++loads[least.value];
    return least;
  }

  Verdict report(const PacketView& packet) {
    const WorkerEntry* worker = nullptr;
    const DropReason reason = match_report(memory_, packet, worker);
    if (reason != DropReason::kNone) return ignore(reason);
    Pass pass;
    std::uint32_t& load = Load::at(pass, memory_, packet.message.token.worker.value);
    if (load > 0) --load;
    return consumed(worker->slice);
  }

  M& memory_;
};

}  // namespace rain::dataplane
