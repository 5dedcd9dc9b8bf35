// `rain budget SCHEDULER`: what a scheduler would cost on a programmable switch, beside the figures of the Rain
// paper's prototype (section 4). The arithmetic is dataplane/budget.h's; this prints it.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "dataplane/budget.h"
#include "dataplane/programs.h"
#include "tools/command.h"
#include "tools/input_error.h"
#include "tools/suggest.h"
#include "tools/toml_reader.h"

namespace rain::tools {
namespace {

using dataplane::Budget;
using dataplane::MemoryShape;
using dataplane::ProgramId;
using dataplane::RegisterSpec;
using nlohmann::ordered_json;

struct BudgetFlags {
  std::string program;
  FlagTexts numbers;
  bool json = false;
};

struct Question {
  const dataplane::ProgramInfo* program = nullptr;
  unsigned levels = 4;
  MemoryShape shape{};
};

template <std::size_t... kIndex>
std::span<const RegisterSpec> rain_registers(unsigned levels, std::index_sequence<kIndex...>) {
  constexpr std::array<std::span<const RegisterSpec>, sizeof...(kIndex)> kByLevels{
      dataplane::RainProgram<dataplane::SoftMemory, kIndex + 1>::kRegisters...};
  return kByLevels[levels - 1];
}

/// The registers of a program with exactly these levels; running switches round levels up to 2, 4 or 8.
std::span<const RegisterSpec> registers_of(ProgramId program, unsigned levels) {
  if (program == ProgramId::kRain) return rain_registers(levels, std::make_index_sequence<kMaxQuota>());
  return dataplane::visit_program<dataplane::SoftMemory>(
      program, levels,
      []<typename Tag>(Tag) -> std::span<const RegisterSpec> { return Tag::type::kRegisters; });
}

Question read_question(const BudgetFlags& flags) {
  Question question;
  std::vector<std::string_view> names;
  for (const dataplane::ProgramInfo& info : dataplane::kPrograms) names.push_back(info.name);
  question.program = dataplane::find_program(flags.program);
  if (question.program == nullptr) {
    throw InputError(fmt::format("SCHEDULER = {}: one of {}{}", flags.program, comma_list(names),
                                 did_you_mean(flags.program, names)));
  }
  std::uint32_t workers = 32;
  std::uint32_t queue = dataplane::kDefaultQueueCapacity;
  std::uint32_t slices = 1;
  const toml::table table = flags_as_table(flags.numbers);
  const std::string no_file;
  TomlReader reader(table, "", no_file);
  reader.integer("levels", question.levels, 1, kMaxQuota);
  reader.integer("workers", workers, 1, dataplane::kMaxWorkers);
  reader.integer("slices", slices, 1, dataplane::kMaxSlices);
  reader.integer("queue_capacity", queue, 1, dataplane::kMaxQueueCapacity, "tasks");
  reader.finish();
  question.shape = {.slices = slices,
                    .workers = workers,
                    .task_ring = std::bit_ceil(queue),
                    .token_ring = std::bit_ceil(workers),
                    .hold_slots = 0};
  return question;
}

bool is_in_stage(const RegisterSpec& spec, unsigned stage) {
  return stage >= spec.first_stage && stage < unsigned{spec.first_stage} + spec.stages;
}

ordered_json budget_json(const Question& question, std::span<const RegisterSpec> registers,
                         const Budget& budget) {
  ordered_json stages = ordered_json::array();
  for (unsigned stage = 0; stage < budget.stage_count; ++stage) {
    ordered_json names = ordered_json::array();
    for (const RegisterSpec& spec : registers) {
      if (is_in_stage(spec, stage)) names.push_back(spec.name);
    }
    stages.push_back({{"stage", stage},
                      {"stateful_units", budget.stages[stage].units},
                      {"sram_blocks", budget.stages[stage].sram_blocks},
                      {"registers", names}});
  }
  return {{"schema", "rain.budget/1"},
          {"scheduler", question.program->name},
          {"levels", question.levels},
          {"workers", question.shape.workers},
          {"slices", question.shape.slices},
          {"task_entries", question.shape.task_ring},
          {"fits", budget.fits()},
          {"needs_scan", budget.needs_scan},
          {"stages", budget.stage_count},
          {"sram_share", budget.sram_permille() / 1000.0},
          {"per_stage", stages},
          {"switch",
           {{"stages", dataplane::kSwitchStages},
            {"sram_blocks_per_stage", dataplane::kSramBlocksPerStage},
            {"sram_block_bytes", dataplane::kSramBlockBytes},
            {"stateful_units_per_stage", dataplane::kStatefulUnitsPerStage}}},
          {"paper_prototype",
           {{"stages", dataplane::kPaperStages}, {"sram_share", dataplane::kPaperSramPermille / 1000.0}}}};
}

std::string verdict(const Budget& budget) {
  if (budget.needs_scan) return "software only: one decision reads a range of cells";
  if (budget.stage_count > dataplane::kSwitchStages) {
    return fmt::format("too long for a switch of {} stages; runs in software", dataplane::kSwitchStages);
  }
  return budget.fits() ? "fits"
                       : "more stateful units or SRAM in a stage than the switch has; runs in software";
}

void print_table(const Question& question, std::span<const RegisterSpec> registers, const Budget& budget) {
  fmt::print("scheduler {}: {}\n", question.program->name, question.program->help);
  fmt::print("{} level{}, {} worker{}, {} slice{}, {} task entries a slice\n\n", question.levels,
             question.levels == 1 ? "" : "s", question.shape.workers, question.shape.workers == 1 ? "" : "s",
             question.shape.slices, question.shape.slices == 1 ? "" : "s", question.shape.task_ring);
  fmt::print("  {:>5}{:>8}{:>8}  {}\n", "stage", "units", "SRAM", "registers");
  for (unsigned stage = 0; stage < budget.stage_count; ++stage) {
    std::string names;
    for (const RegisterSpec& spec : registers) {
      if (is_in_stage(spec, stage)) names += fmt::format("{}{}", names.empty() ? "" : ", ", spec.name);
    }
    fmt::print("  {:>5}{:>8}{:>8}  {}\n", stage, budget.stages[stage].units, budget.stages[stage].sram_blocks,
               names);
  }
  fmt::print("\n  {:<22}{:>14}{:>20}\n", "", question.program->name, "paper's prototype");
  fmt::print("  {:<22}{:>14}{:>20}\n", fmt::format("stages, of {}", dataplane::kSwitchStages),
             budget.stage_count, dataplane::kPaperStages);
  fmt::print("  {:<22}{:>14}{:>20}\n", "SRAM", fmt::format("{:.1f} %", budget.sram_permille() / 10.0),
             fmt::format("{:.1f} %", dataplane::kPaperSramPermille / 10.0));
  fmt::print("  {:<22}{:>14}{:>20}\n", "TCAM", "0 %", "0 %");
  fmt::print("\n  per stage: at most {} stateful units and {} SRAM blocks of {} KiB: {}\n",
             dataplane::kStatefulUnitsPerStage, dataplane::kSramBlocksPerStage,
             dataplane::kSramBlockBytes / 1024, verdict(budget));
}

int run_budget(const BudgetFlags& flags) {
  const Question question = read_question(flags);
  const std::span<const RegisterSpec> registers = registers_of(question.program->id, question.levels);
  const Budget budget = dataplane::budget(registers, question.shape);
  if (flags.json) {
    fmt::print("{}\n", budget_json(question, registers, budget).dump(2));
  } else {
    print_table(question, registers, budget);
  }
  return kExitOk;
}

}  // namespace

Run declare_budget(CLI::App& app) {
  auto flags = std::make_shared<BudgetFlags>();
  app.add_option("SCHEDULER", flags->program, "one of those that README.md lists")->required();
  declare_key_flag(app, flags->numbers, "levels", "largest quota of a worker, 1..8 (4)", "N");
  declare_key_flag(app, flags->numbers, "workers", "worker table entries (32)", "N");
  declare_key_flag(app, flags->numbers, "slices", "slices (1)", "N");
  declare_key_flag(app, flags->numbers, "queue_capacity", "task entries of a slice (131072)", "N");
  app.add_flag("--json", flags->json, "one JSON object instead of a table");
  return [flags] { return run_budget(*flags); };
}

}  // namespace rain::tools
