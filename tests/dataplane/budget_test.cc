// What each program costs on a switch, pinned: a change of a program that needs a stage, a unit or a block
// more shows here first.
#include "dataplane/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "dataplane/programs.h"

namespace rain::dataplane {
namespace {

/// A rack of the paper's size (section 4): 128 K task entries, 32 workers.
constexpr MemoryShape kPaperRack{
    .slices = 1, .workers = 32, .task_ring = kDefaultQueueCapacity, .token_ring = 32, .hold_slots = 0};
Budget budget_of(ProgramId program, unsigned levels, const MemoryShape& shape) {
  return visit_program<SoftMemory>(program, levels,
                                   [&](auto tag) { return budget(decltype(tag)::type::kRegisters, shape); });
}

struct Row {
  ProgramId program;
  unsigned levels;
  std::uint32_t stages, units, blocks;  // units: of the fullest stage; blocks: in all
  bool fits, needs_scan;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << kPrograms[static_cast<unsigned>(row.program)].name << " with " << row.levels << " levels";
}

const std::vector<Row> kRows{
    {ProgramId::kRain, 2, 12, 4, 276, true, false},                                                       //
    {ProgramId::kRain, 4, 12, 4, 280, true, false},                                                       //
    {ProgramId::kRain, 8, 13, 4, 288, false, false},                                                      //
    {ProgramId::kRainPaper, 8, 11, 3, 273, true, false}, {ProgramId::kR2p2, 1, 9, 1, 19, true, false},    //
    {ProgramId::kRacksched, 1, 3, 1, 13, true, false},                                                    //
    {ProgramId::kDraconis, 1, 10, 2, 269, true, false},  {ProgramId::kPallas, 1, 1, 1, 11, true, false},  //
    {ProgramId::kRandom, 1, 1, 1, 11, true, false},                                                       //
    {ProgramId::kRoundRobin, 1, 1, 1, 11, true, false},  {ProgramId::kJsq, 1, 2, 1, 12, false, true},
};

class ProgramBudget : public ::testing::TestWithParam<Row> {};

TEST_P(ProgramBudget, is_as_pinned) {
  const Row& row = GetParam();
  const Budget budget = budget_of(row.program, row.levels, kPaperRack);
  std::uint32_t units = 0;
  for (const StageBudget& stage : budget.stages) units = std::max(units, stage.units);
  EXPECT_EQ(budget.stage_count, row.stages);
  EXPECT_EQ(units, row.units);
  EXPECT_EQ(budget.sram_blocks, row.blocks);
  EXPECT_EQ(budget.fits(), row.fits);
  EXPECT_EQ(budget.needs_scan, row.needs_scan);
}

INSTANTIATE_TEST_SUITE_P(budget, ProgramBudget, ::testing::ValuesIn(kRows), [](const auto& row) {
  std::string name(kPrograms[static_cast<unsigned>(row.param.program)].name);
  std::ranges::replace(name, '-', '_');
  return name + "__levels_" + std::to_string(row.param.levels);
});

/// Every program of the list has a row, every instance of `rain` too.
TEST(budget, rows__cover_all_programs) {
  for (const ProgramInfo& info : kPrograms) {
    const auto rows = std::ranges::count(kRows, info.id, &Row::program);
    EXPECT_EQ(rows, info.id == ProgramId::kRain ? 3 : 1) << info.name;
  }
}

TEST(budget, budget__counts_units_and_blocks_stage_by_stage) {
  const Budget rain = budget_of(ProgramId::kRain, 4, kPaperRack);
  // Stage 0: tables (types 8 blocks, workers, slices) and token_seen. 1: drain. 2: gate. 3: head, tail, two
  // rings. 4 to 11: a stripe of the entries, 32 blocks; beside it the cells, the other rings, and consumed.
  constexpr std::uint32_t kUnits[] = {1, 1, 1, 4, 4, 3, 2, 1, 2, 1, 1, 1};
  for (unsigned stage = 0; stage < 12; ++stage) EXPECT_EQ(rain.stages[stage].units, kUnits[stage]) << stage;
  constexpr std::uint32_t kBlocks[] = {11, 1, 1, 4, 35, 34, 33, 32, 33, 32, 32, 32};
  for (unsigned stage = 0; stage < 12; ++stage) {
    EXPECT_EQ(rain.stages[stage].sram_blocks, kBlocks[stage]) << stage;
  }
  EXPECT_EQ(rain.sram_permille(), 291u);
}

TEST(budget, fits__ends_at_the_blocks_of_a_stage) {
  MemoryShape shape = kPaperRack;
  shape.slices = 2;
  EXPECT_TRUE(budget_of(ProgramId::kRain, 2, shape).fits());
  shape.slices = 3;  // 96 blocks of entries in each of 8 stages
  EXPECT_FALSE(budget_of(ProgramId::kRain, 2, shape).fits());
}

TEST(budget, fits__ends_at_the_units_of_a_stage) {
  constexpr RegisterSpec kOne{"one", 0, 3, 1, Extent::kSlices, 64, 8, false};
  constexpr RegisterSpec kWide{"wide", 1, 3, 1, Extent::kSlices, 65, 16, false};  // two units
  constexpr std::array kFour{kOne, kOne, kWide};
  constexpr std::array kFive{kOne, kWide, kWide};
  static_assert(budget(kFour, kPaperRack).stages[3].units == 4);
  static_assert(budget(kFour, kPaperRack).fits());
  static_assert(!budget(kFive, kPaperRack).fits());
}

TEST(budget, stage_blocks__round_up_as_the_units_have_it) {
  const auto stripe = [](std::uint16_t bits, std::uint8_t stages) {
    return RegisterSpec{"stripe", 0, 0, stages, Extent::kTasks, bits, 4, false};
  };
  EXPECT_EQ(rounded_stage_bits(stripe(1, 1)), 8u);
  EXPECT_EQ(rounded_stage_bits(stripe(9, 1)), 16u);
  EXPECT_EQ(rounded_stage_bits(stripe(248, 8)), 32u);
  EXPECT_EQ(rounded_stage_bits(stripe(248, 3)), 128u);
  EXPECT_EQ(stage_units(stripe(248, 3)), 2u);
  EXPECT_EQ(blocks_for_bits(0), 0u);
  EXPECT_EQ(blocks_for_bits(1), 1u);
  EXPECT_EQ(blocks_for_bits(std::uint64_t{kSramBlockBytes} * 8), 1u);
  EXPECT_EQ(blocks_for_bits(std::uint64_t{kSramBlockBytes} * 8 + 1), 2u);
}

}  // namespace
}  // namespace rain::dataplane
