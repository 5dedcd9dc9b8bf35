// The list of programs: name, one line of help, and the type behind it. Hosted, the only file of this folder
// that is: the substrates that take a program include its own header.
//
// A new program is one file, one line in RAIN_PROGRAMS, and its row in the tests' and the budget's tables
// follows from it.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "dataplane/draconis.h"
#include "dataplane/jsq.h"
#include "dataplane/pallas.h"
#include "dataplane/r2p2.h"
#include "dataplane/racksched.h"
#include "dataplane/rain.h"
#include "dataplane/rain_paper.h"
#include "dataplane/random.h"
#include "dataplane/round_robin.h"

namespace rain::dataplane {

// X(identifier, name, uses tokens, runs on sockets, help)
// Without tokens, workers have unbounded queues (quota 0) and report each finished task. Not on sockets yet:
// `r2p2`, whose waiting tasks would spin in a software switch, and `draconis`, whose workers pull.
// clang-format off
#define RAIN_PROGRAMS(X)                                                                                         \
  X(kRain, "rain", true, true, "levelled tokens with a spill threshold: exact JBSQ(n), tasks held centrally")   \
  X(kRainPaper, "rain-paper", true, true, "the Rain paper's bidirectional queue: one FIFO of tokens and tasks") \
  X(kR2p2, "r2p2", false, false, "JBSQ(n) by recirculation")                                                    \
  X(kRacksched, "racksched", false, true, "power of two choices over reported queue lengths")                   \
  X(kDraconis, "draconis", false, false, "tasks queue in the switch, idle workers pull")                        \
  X(kPallas, "pallas", false, true, "weighted round robin over the workers of the task's type")                 \
  X(kRandom, "random", false, true, "each task to a random worker at once")                                     \
  X(kRoundRobin, "round-robin", false, true, "each task to the next worker at once")                            \
  X(kJsq, "jsq", false, true, "each task to the worker with the fewest unfinished tasks at once")
// clang-format on

enum class ProgramId : std::uint8_t {
#define RAIN_X(identifier, name, tokens, live, help) identifier,
  RAIN_PROGRAMS(RAIN_X)
#undef RAIN_X
};

struct ProgramInfo {
  ProgramId id;
  std::string_view name;
  bool uses_tokens;  ///< false: workers have unbounded queues (quota 0)
  bool on_sockets;   ///< false: simulator only
  std::string_view help;
};

inline constexpr ProgramInfo kPrograms[] = {
#define RAIN_X(identifier, name, tokens, live, help) {ProgramId::identifier, name, tokens, live, help},
    RAIN_PROGRAMS(RAIN_X)
#undef RAIN_X
};

/// nullptr: no program has this name.
constexpr const ProgramInfo* find_program(std::string_view name) {
  for (const ProgramInfo& info : kPrograms) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

/// A type as a value, for visitors.
template <typename T>
struct TypeTag {
  using type = T;
};

/// Calls `visit(TypeTag<Program>{})` with the program's type over memory `M` and returns its result. `levels`
/// (the largest quota of a worker, 1..kMaxQuota) is rounded up to the next of 2, 4, 8 for program `rain`: the
/// instances this build has.
template <typename M, typename Visitor>
decltype(auto) visit_program(ProgramId id, unsigned levels, Visitor&& visit) {
  switch (id) {
    case ProgramId::kRain:
      if (levels <= 2) return visit(TypeTag<RainProgram<M, 2>>{});
      if (levels <= 4) return visit(TypeTag<RainProgram<M, 4>>{});
      return visit(TypeTag<RainProgram<M, 8>>{});
    case ProgramId::kRainPaper:
      return visit(TypeTag<RainPaperProgram<M>>{});
    case ProgramId::kR2p2:
      return visit(TypeTag<R2p2Program<M>>{});
    case ProgramId::kRacksched:
      return visit(TypeTag<RackschedProgram<M>>{});
    case ProgramId::kDraconis:
      return visit(TypeTag<DraconisProgram<M>>{});
    case ProgramId::kPallas:
      return visit(TypeTag<PallasProgram<M>>{});
    case ProgramId::kRandom:
      return visit(TypeTag<RandomProgram<M>>{});
    case ProgramId::kRoundRobin:
      return visit(TypeTag<RoundRobinProgram<M>>{});
    case ProgramId::kJsq:
      return visit(TypeTag<JsqProgram<M>>{});
  }
  RAIN_ASSERT(false && "program id outside the list");
  return visit(TypeTag<RandomProgram<M>>{});
}

}  // namespace rain::dataplane
