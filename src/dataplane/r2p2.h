// Program `r2p2`: JBSQ(n) by recirculation, as the R2P2 router does it on a switch (R2P2 paper, on its
// implementation; Rain paper, section 5.2). Freestanding.
//
// The switch counts each worker's unfinished tasks itself. The workers of a slice stand in groups; one pass
// checks one group, each of its counters in a stage of its own, and takes the first that is below the depth
// looked for. A task begins at the group where the last one was looked for, at depth 1; after a full round
// the depth goes up by one, to n at most; while there is no room it goes on recirculating. No queue exists: a
// task that circulates can be overtaken by one that has just come, and it costs the recirculation port a
// packet a pass. FEEDBACK frees a slot. A lost FEEDBACK loses its slot for good, as in the original.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "dataplane/push.h"

namespace rain::dataplane {

template <typename M>
class R2p2Program {
  static_assert(Memory<M>);
  struct LastGroupSpec {
    static constexpr RegisterSpec value{"last_group", 0, 0, 1, Extent::kSlices, 16, 2, false};
  };
  using LastGroup = Register<std::uint16_t, LastGroupSpec>;
  template <unsigned kPosition>
  struct CountSpec {
    static constexpr RegisterSpec value{
        "unfinished", 1 + kPosition, 1 + kPosition, 1, Extent::kWorkerGroups, 8, 1, false};
  };
  template <unsigned kPosition>
  using Count = Register<std::uint8_t, CountSpec<kPosition>>;

 public:
  static constexpr std::array<RegisterSpec, 1 + kWorkersPerGroup> kRegisters = [] {
    std::array<RegisterSpec, 1 + kWorkersPerGroup> list{LastGroupSpec::value};
    [&]<unsigned... kPosition>(std::integer_sequence<unsigned, kPosition...>) {
      ((list[1 + kPosition] = CountSpec<kPosition>::value), ...);
    }
    (std::make_integer_sequence<unsigned, kWorkersPerGroup>{});
    return list;
  }();

  explicit R2p2Program(M& memory) : memory_(memory) {}

  Verdict pass(const PacketView& packet, Nanos) {
    if (packet.message.type == wire::MessageType::kFeedback) return feedback(packet);
    if (packet.message.type != wire::MessageType::kRequest) return ignore(DropReason::kUnexpectedMessage);
    SliceId id{};
    const SliceEntry* slice = nullptr;
    const DropReason reason = match_pushed_task(memory_, packet.message, id, slice);
    if (reason != DropReason::kNone) return refuse_task(id, reason);

    Pass pass;
    const auto groups =
        static_cast<std::uint16_t>((slice->member_count + kWorkersPerGroup - 1) / kWorkersPerGroup);
    const Carried look = where_to_look(pass, id, packet.carried, groups);
    WorkerId worker{};
    if (take_below<0>(pass, id, *slice, look, worker)) return push_to(id, worker);
    return {.action = Action::kRecirculate, .slice = id, .carried = look_next(look, groups, slice->depth)};
  }

  void forget_dead_tokens(SliceId) {}

 private:
  /// First pass: begin where the last task was looked for. Later ones: go on, and let others begin here.
  Carried where_to_look(Pass& pass, SliceId id, const Carried& carried, std::uint16_t groups) {
    std::uint16_t& last = LastGroup::at(pass, memory_, id.value);
    Carried look = carried;
    if (look.passes == 0) {
      look.start = last < groups ? last : std::uint16_t{0};
      look.group = look.start;
      look.depth = 1;
    } else {
      if (look.group >= groups) look.group = 0;  // workers have left meanwhile
      last = look.group;
    }
    return look;
  }

  static Carried look_next(Carried look, std::uint16_t groups, std::uint8_t max_depth) {
    ++look.passes;
    look.group = static_cast<std::uint16_t>(look.group + 1 < groups ? look.group + 1 : 0);
    if (look.group == look.start && look.depth < max_depth) ++look.depth;
    return look;
  }

  template <unsigned kPosition>
  bool take_below(Pass& pass, SliceId id, const SliceEntry& slice, const Carried& look, WorkerId& worker) {
    if constexpr (kPosition < kWorkersPerGroup) {
      const std::uint32_t member = look.group * kWorkersPerGroup + kPosition;
      if (member >= slice.member_count) return false;
      std::uint8_t& unfinished = Count<kPosition>::at(pass, memory_, cell(id, look.group));
      if (unfinished >= look.depth) return take_below<kPosition + 1>(pass, id, slice, look, worker);
      ++unfinished;
      worker = memory_.member(id, member);
      return true;
    } else {
      return false;
    }
  }

  Verdict feedback(const PacketView& packet) {
    const WorkerEntry* worker = nullptr;
    const DropReason reason = match_report(memory_, packet, worker);
    if (reason != DropReason::kNone) return ignore(reason);
    Pass pass;
    free_slot<0>(pass, *worker);
    return consumed(worker->slice);
  }

  template <unsigned kPosition>
  void free_slot(Pass& pass, const WorkerEntry& worker) {
    if constexpr (kPosition < kWorkersPerGroup) {
      if (worker.member % kWorkersPerGroup != kPosition) return free_slot<kPosition + 1>(pass, worker);
      std::uint8_t& unfinished =
          Count<kPosition>::at(pass, memory_, cell(worker.slice, worker.member / kWorkersPerGroup));
      if (unfinished > 0) --unfinished;
    }
  }

  std::uint32_t cell(SliceId id, std::uint32_t group) const {
    const std::uint32_t groups = (memory_.shape().workers + kWorkersPerGroup - 1) / kWorkersPerGroup;
    return id.value * groups + group;
  }

  M& memory_;
};

}  // namespace rain::dataplane
