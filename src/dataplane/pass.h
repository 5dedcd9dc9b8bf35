// Registers and the pass rule. Freestanding.
//
// A switch pipeline is feed-forward: a register array lives in one stage, a packet goes through the stages
// once, in order, and may do one read-modify-write on one cell of each array (section 2.3.1 of the Rain
// paper). Programs are written against that rule. RAIN_PASS_RULE=1 (debug builds and tests) stops the process
// at the first access that a pipeline could not do; release builds compile the check away, so that a Pass is
// an empty object.
#pragma once

#include <cstdint>

#include "base/assert.h"

namespace rain::dataplane {

/// Program `r2p2`: workers whose depth one pass can check, each in a stage of its own.
inline constexpr std::uint32_t kWorkersPerGroup = 8;

/// How many cells a register array has, as a function of the switch's configuration.
enum class Extent : std::uint8_t {
  kSlices,        ///< one cell a slice
  kWorkers,       ///< one cell a worker
  kWorkerGroups,  ///< one cell a (slice, group of kWorkersPerGroup workers)
  kWorkerLevels,  ///< one cell a (worker, level)
  kTasks,         ///< slices x task queue ring
  kTokens,        ///< slices x token FIFO ring
};

/// A register array as the compiler and `rain budget` see it.
struct RegisterSpec {
  const char* name;
  std::uint8_t id;  ///< index into the program's register list
  std::uint8_t first_stage;
  std::uint8_t stages;  ///< > 1: the cell is striped over that many stages, an equal share in each
  Extent extent;
  std::uint16_t cell_bits;   ///< on the switch; the software cell may be padded
  std::uint16_t cell_bytes;  ///< in software
  bool needs_scan;           ///< one access reads a range of cells: software only
};

/// One packet's way through the pipeline.
class Pass {
 public:
#if RAIN_PASS_RULE
  void touch(const RegisterSpec& spec) {
    RAIN_ASSERT(spec.first_stage >= stage_);
    RAIN_ASSERT((touched_ & (std::uint64_t{1} << spec.id)) == 0);
    stage_ = spec.first_stage;
    touched_ |= std::uint64_t{1} << spec.id;
  }

 private:
  std::uint8_t stage_ = 0;
  std::uint64_t touched_ = 0;
#else
  void touch(const RegisterSpec&) {}
#endif
};

/// A register array of `Cell`, named by its spec. `Spec` is a type with `static constexpr RegisterSpec
/// value`.
template <typename CellType, typename Spec>
struct Register {
  using Cell = CellType;
  static constexpr RegisterSpec spec = Spec::value;

  /// The one access of a pass. `index` must be in range: it is derived from tables that were validated on
  /// update.
  template <typename Memory>
  static Cell& at(Pass& pass, Memory& memory, std::uint32_t index) {
    pass.touch(spec);
    return *memory.template cell<Cell>(spec.id, index);
  }
};

}  // namespace rain::dataplane
