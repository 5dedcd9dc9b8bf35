// Program `random`: each task to a worker of the slice drawn uniformly. Freestanding.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/push.h"

namespace rain::dataplane {

template <typename M>
class RandomProgram {
  static_assert(Memory<M>);
  // A pipeline has a random-number unit; in software it is a 64-bit state that each task advances
  // (splitmix64: a counter and a mixing function). Per slice, so that slices on different threads share
  // nothing.
  struct StateSpec {
    static constexpr RegisterSpec value{"random_state", 0, 0, 1, Extent::kSlices, 64, 8, false};
  };
  using State = Register<std::uint64_t, StateSpec>;

 public:
  static constexpr std::array kRegisters{StateSpec::value};

  explicit RandomProgram(M& memory) : memory_(memory) {}

  /// Control plane, at start: the same seed gives the same choices.
  void seed(std::uint64_t seed) {
    for (std::uint32_t slice = 0; slice < memory_.shape().slices; ++slice) {
      *memory_.template cell<std::uint64_t>(StateSpec::value.id, slice) = mix(seed + slice);
    }
  }

  Verdict pass(const PacketView& packet, Nanos) {
    if (packet.message.type == wire::MessageType::kFeedback) return report(packet);
    if (packet.message.type != wire::MessageType::kRequest) return ignore(DropReason::kUnexpectedMessage);
    SliceId id{};
    const SliceEntry* slice = nullptr;
    const DropReason reason = match_pushed_task(memory_, packet.message, id, slice);
    if (reason != DropReason::kNone) return refuse_task(id, reason);
    Pass pass;
    std::uint64_t& state = State::at(pass, memory_, id.value);
    state += 0x9E3779B97F4A7C15u;
    // The upper half of a 32 x 16-bit product: uniform to one part in 2^16 at worst, without a division.
    const std::uint64_t draw = mix(state) >> 32;
    return push_to(id, memory_.member(id, static_cast<std::uint32_t>((draw * slice->member_count) >> 32)));
  }

  void forget_dead_tokens(SliceId) {}

 private:
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  Verdict report(const PacketView& packet) {
    const WorkerEntry* worker = nullptr;
    const DropReason reason = match_report(memory_, packet, worker);
    if (reason != DropReason::kNone) return ignore(reason);
    return {.action = Action::kConsume, .slice = worker->slice};
  }

  M& memory_;
};

}  // namespace rain::dataplane
