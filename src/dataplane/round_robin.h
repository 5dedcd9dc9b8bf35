// Program `round-robin`: each task to the slice's next worker. Freestanding.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/push.h"

namespace rain::dataplane {

template <typename M>
class RoundRobinProgram {
  static_assert(Memory<M>);
  struct NextSpec {
    static constexpr RegisterSpec value{"next", 0, 0, 1, Extent::kSlices, 32, 4, false};
  };
  using Next = Register<std::uint32_t, NextSpec>;

 public:
  static constexpr std::array kRegisters{NextSpec::value};

  explicit RoundRobinProgram(M& memory) : memory_(memory) {}

  Verdict pass(const PacketView& packet, Nanos) {
    if (packet.message.type == wire::MessageType::kFeedback) return consume_report(memory_, packet);
    if (packet.message.type != wire::MessageType::kRequest) return ignore(DropReason::kUnexpectedMessage);
    SliceId id{};
    const SliceEntry* slice = nullptr;
    const DropReason reason = match_pushed_task(memory_, packet.message, id, slice);
    if (reason != DropReason::kNone) return refuse_task(id, reason);
    Pass pass;
    std::uint32_t& next = Next::at(pass, memory_, id.value);
    if (next >= slice->member_count) next = 0;
    return push_to(id, memory_.member(id, next++));
  }

  void forget_dead_tokens(SliceId) {}

 private:
  M& memory_;
};

}  // namespace rain::dataplane
