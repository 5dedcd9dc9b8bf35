// What a program would cost on a switch: stages, stateful units and SRAM. Freestanding.
//
// The model: 12 stages; in each, 80 SRAM blocks of 16 KiB and 4 stateful units of up to 64 bits (a
// switch like that of the paper's prototype). A register array takes one unit for every 64 bits of its
// cell in a stage, and whole blocks; its width in a stage is rounded up to 8, 16, 32 or 64 bits, as the units
// have it. Match tables are exact-match in SRAM and counted without hash overhead. Parser, action and
// packet-buffer resources are outside the model.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dataplane/pass.h"
#include "dataplane/soft_memory.h"

namespace rain::dataplane {

inline constexpr unsigned kSwitchStages = 12;
inline constexpr unsigned kSramBlocksPerStage = 80;
inline constexpr unsigned kSramBlockBytes = 16 * 1024;
inline constexpr unsigned kStatefulUnitsPerStage = 4;

/// The paper's figures for its prototype (section 4): 11 of 12 stages, 24.1 % of SRAM, no TCAM, 128 K
/// entries.
inline constexpr unsigned kPaperStages = 11;
inline constexpr unsigned kPaperSramPermille = 241;

struct StageBudget {
  std::uint32_t units = 0;
  std::uint32_t sram_blocks = 0;
};

struct Budget {
  static constexpr unsigned kMaxStages = 32;
  std::array<StageBudget, kMaxStages> stages{};
  std::uint32_t stage_count = 0;
  std::uint32_t sram_blocks = 0;
  bool needs_scan = false;

  /// Share of the 12-stage switch's SRAM, in 1/1000.
  constexpr std::uint32_t sram_permille() const {
    return sram_blocks * 1000 / (kSwitchStages * kSramBlocksPerStage);
  }
  constexpr bool fits() const {
    if (needs_scan || stage_count > kSwitchStages) return false;
    for (const StageBudget& stage : stages) {
      if (stage.units > kStatefulUnitsPerStage || stage.sram_blocks > kSramBlocksPerStage) return false;
    }
    return true;
  }
};

/// Bits of one cell in one stage, before rounding.
constexpr std::uint32_t stage_bits(const RegisterSpec& spec) {
  return (std::uint32_t{spec.cell_bits} + spec.stages - 1) / spec.stages;
}

/// Bits that the stateful units of one stage really hold of it.
constexpr std::uint32_t rounded_stage_bits(const RegisterSpec& spec) {
  const std::uint32_t bits = stage_bits(spec);
  if (bits > 64) return (bits + 63) / 64 * 64;
  std::uint32_t width = 8;
  while (width < bits) width *= 2;
  return width;
}

constexpr std::uint32_t stage_units(const RegisterSpec& spec) { return (stage_bits(spec) + 63) / 64; }

constexpr std::uint32_t blocks_for_bits(std::uint64_t bits) {
  const std::uint64_t block_bits = std::uint64_t{kSramBlockBytes} * 8;
  return static_cast<std::uint32_t>((bits + block_bits - 1) / block_bits);
}

/// Blocks of one stage for a register array under `shape`.
constexpr std::uint32_t stage_blocks(const RegisterSpec& spec, const MemoryShape& shape) {
  return blocks_for_bits(cell_count(spec.extent, shape) * rounded_stage_bits(spec));
}

/// Match tables, all in stage 0 except the second worker table, which asks whether a filed token is alive.
constexpr std::uint32_t table_blocks(const MemoryShape& shape) {
  const std::uint32_t types = blocks_for_bits(65536ull * 16);
  const std::uint32_t workers = blocks_for_bits(std::uint64_t{shape.workers} * (16 + 48 + 16 + 16 + 32));
  const std::uint32_t slices = blocks_for_bits(std::uint64_t{shape.slices} * 128);
  return types + workers + slices;
}

constexpr Budget budget(std::span<const RegisterSpec> registers, const MemoryShape& shape) {
  Budget total;
  total.stages[0].sram_blocks = table_blocks(shape);
  for (const RegisterSpec& spec : registers) {
    total.needs_scan = total.needs_scan || spec.needs_scan;
    for (unsigned i = 0; i < spec.stages; ++i) {
      StageBudget& stage = total.stages[spec.first_stage + i];
      stage.units += stage_units(spec);
      stage.sram_blocks += stage_blocks(spec, shape);
    }
    const std::uint32_t last = std::uint32_t{spec.first_stage} + spec.stages;
    if (last > total.stage_count) total.stage_count = last;
  }
  for (const StageBudget& stage : total.stages) total.sram_blocks += stage.sram_blocks;
  return total;
}

}  // namespace rain::dataplane
