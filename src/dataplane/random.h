// Program `random`: each task to a worker of the slice drawn uniformly. Freestanding.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/push.h"
#include "dataplane/random_unit.h"

namespace rain::dataplane {

template <typename M>
class RandomProgram {
  static_assert(Memory<M>);
  using Random = RandomUnit<0, 0>;

 public:
  static constexpr std::array kRegisters{Random::Spec::value};

  explicit RandomProgram(M& memory) : memory_(memory) {}

  /// Control plane, at start: the same seed gives the same choices.
  void seed(std::uint64_t seed) { Random::seed(memory_, seed); }

  Verdict pass(const PacketView& packet, Nanos) {
    if (packet.message.type == wire::MessageType::kFeedback) return consume_report(memory_, packet);
    if (packet.message.type != wire::MessageType::kRequest) return ignore(DropReason::kUnexpectedMessage);
    SliceId id{};
    const SliceEntry* slice = nullptr;
    const DropReason reason = match_pushed_task(memory_, packet.message, id, slice);
    if (reason != DropReason::kNone) return refuse_task(id, reason);
    Pass pass;
    const auto bits = static_cast<std::uint32_t>(Random::next(pass, memory_, id) >> 32);
    return push_to(id, memory_.member(id, Random::below(bits, slice->member_count)));
  }

  void forget_dead_tokens(SliceId) {}

 private:
  M& memory_;
};

}  // namespace rain::dataplane
