// Compiled alone with -ffreestanding -fno-exceptions -fno-rtti, and with clang for -target bpf: every program
// must stay free of the hosted library, so that it can move into a kernel hook. It is compiled, not run.
#include "dataplane/budget.h"
#include "dataplane/draconis.h"
#include "dataplane/jsq.h"
#include "dataplane/pallas.h"
#include "dataplane/r2p2.h"
#include "dataplane/racksched.h"
#include "dataplane/rain.h"
#include "dataplane/rain_paper.h"
#include "dataplane/random.h"
#include "dataplane/round_robin.h"
#include "dataplane/soft_memory.h"

namespace rain::dataplane {

/// What a kernel hook would offer: arrays behind pointers, and no payload store.
struct KernelLikeMemory {
  std::byte* cells[32];
  MemoryShape geometry;
  WorkerEntry* workers;
  SliceEntry* slices;
  SliceId* types;
  WorkerId* members;

  template <typename Cell>
  Cell* cell(std::uint8_t id, std::uint32_t index) {
    return reinterpret_cast<Cell*>(cells[id]) + index;
  }
  const MemoryShape& shape() const { return geometry; }
  const WorkerEntry* worker(WorkerId id) const {
    return id.value < geometry.workers ? &workers[id.value] : nullptr;
  }
  const SliceEntry* slice(SliceId id) const {
    return id.value < geometry.slices ? &slices[id.value] : nullptr;
  }
  const SliceId* slice_of(TaskType type) const { return &types[type.value]; }
  WorkerId member(SliceId slice, std::uint32_t index) const {
    return members[slice.value * geometry.workers + index];
  }
  WorkerId slot(SliceId slice, std::uint32_t index) const { return member(slice, index); }
  std::uint32_t free_holds() const { return 0; }
  HoldHandle hold(std::span<const std::byte>) { return kNoHold; }
};

/// One pass, as a kernel hook would make it: everything inlined, results through memory.
template <typename Program>
[[gnu::always_inline]] inline int pass_once(KernelLikeMemory& memory, const PacketView& packet,
                                            Verdict& verdict, long now) {
  Program program(memory);
  verdict = program.pass(packet, Nanos{now});
  return static_cast<int>(verdict.action);
}

// clang-format off
#define ENTRY(name, ...)                                                                                     \
  extern "C" int name(KernelLikeMemory* memory, const PacketView* packet, Verdict* verdict, long now) {            \
    return pass_once<__VA_ARGS__>(*memory, *packet, *verdict, now);                                          \
  }
ENTRY(pass_rain_2, RainProgram<KernelLikeMemory, 2>)
ENTRY(pass_rain_4, RainProgram<KernelLikeMemory, 4>)
ENTRY(pass_rain_8, RainProgram<KernelLikeMemory, 8>)
ENTRY(pass_rain_paper, RainPaperProgram<KernelLikeMemory>)
ENTRY(pass_r2p2, R2p2Program<KernelLikeMemory>)
ENTRY(pass_racksched, RackschedProgram<KernelLikeMemory>)
ENTRY(pass_draconis, DraconisProgram<KernelLikeMemory>)
ENTRY(pass_pallas, PallasProgram<KernelLikeMemory>)
ENTRY(pass_random, RandomProgram<KernelLikeMemory>)
ENTRY(pass_round_robin, RoundRobinProgram<KernelLikeMemory>)
ENTRY(pass_jsq, JsqProgram<KernelLikeMemory>)
// clang-format on

static_assert(budget(RainProgram<KernelLikeMemory, 2>::kRegisters, MemoryShape{}).fits());

}  // namespace rain::dataplane
