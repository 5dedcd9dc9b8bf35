// Program `pallas`: tasks separated by type onto a worker subset each, weighted round robin in it, pushed at
// once to unbounded queues (Rain paper, section 5.2). Freestanding.
//
// The subset is the slice of the task's type. Its round is a table of slots, in which a worker of weight w
// stands w times.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/push.h"

namespace rain::dataplane {

template <typename M>
class PallasProgram {
  static_assert(Memory<M>);
  struct SlotSpec {
    static constexpr RegisterSpec value{"next_slot", 0, 0, 1, Extent::kSlices, 32, 4, false};
  };
  using Slot = Register<std::uint32_t, SlotSpec>;

 public:
  static constexpr std::array kRegisters{SlotSpec::value};

  explicit PallasProgram(M& memory) : memory_(memory) {}

  Verdict pass(const PacketView& packet, Nanos) {
    if (packet.message.type == wire::MessageType::kFeedback) return consume_report(memory_, packet);
    if (packet.message.type != wire::MessageType::kRequest) return ignore(DropReason::kUnexpectedMessage);
    SliceId id{};
    const SliceEntry* slice = nullptr;
    const DropReason reason = match_pushed_task(memory_, packet.message, id, slice);
    if (reason != DropReason::kNone) return refuse_task(id, reason);
    Pass pass;
    std::uint32_t& slot = Slot::at(pass, memory_, id.value);
    if (slot >= slice->slot_count) slot = 0;
    return push_to(id, memory_.slot(id, slot++));
  }

  void forget_dead_tokens(SliceId) {}

 private:
  M& memory_;
};

}  // namespace rain::dataplane
