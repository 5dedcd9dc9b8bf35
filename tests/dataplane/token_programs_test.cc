// Properties of the programs `rain` and `rain-paper` over thousands of random racks: see TokenRack for what is
// checked at every event, and reference_switch.h for the model that every answer is held against.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "dataplane/program_runner.h"
#include "dataplane/token_rack.h"

namespace rain::packet_table {
namespace {

using dataplane::ProgramId;

constexpr unsigned kRacks = 1'000;
constexpr unsigned kEvents = 300;

/// Runs one rack per seed, 0, 1, 2 ...; stops at the first that fails and says which.
void run_racks(ProgramId program, const std::function<void(TokenRack::Options&)>& adjust) {
  std::uint64_t dispatches = 0;
  for (std::uint64_t seed = 0; seed < kRacks && !::testing::Test::HasFailure(); ++seed) {
    Prng prng(seed);
    TokenRack::Options options = TokenRack::random_options(program, prng);
    adjust(options);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + TokenRack::describe(options));
    TokenRack rack(options, make_program_runner, prng);
    rack.run(kEvents);
    rack.settle();
    dispatches += rack.dispatches();
  }
  EXPECT_GT(dispatches, kRacks * kEvents / 10) << "the racks stood still";
}

void no_spill(TokenRack::Options& options) {
  for (Rack::SliceOptions& slice : options.slices) slice.spill = 0;
}

TEST(rain_program, pass__agrees_with_the_reference) {
  run_racks(ProgramId::kRain, [](TokenRack::Options&) {});
}

TEST(rain_program, pass__agrees_with_the_reference_when_tokens_are_repeated) {
  run_racks(ProgramId::kRain, [](TokenRack::Options& options) { options.repeats = true; });
}

TEST(rain_program, pass__agrees_with_the_reference_when_tokens_are_recalled) {
  run_racks(ProgramId::kRain, [](TokenRack::Options& options) { options.recalls = options.repeats = true; });
}

TEST(rain_program, pass__agrees_with_the_reference_when_workers_recall_and_begin_new_lives) {
  run_racks(ProgramId::kRain, [](TokenRack::Options& options) {
    options.recalls = options.new_lives = options.repeats = true;
  });
}

TEST(rain_program, pass__agrees_with_the_reference_when_workers_begin_new_lives) {
  run_racks(ProgramId::kRain,
            [](TokenRack::Options& options) { options.new_lives = options.repeats = true; });
}

TEST(rain_program, pass__is_exact_jbsq_with_spill_0_and_no_delay) {
  run_racks(ProgramId::kRain, [](TokenRack::Options& options) {
    no_spill(options);
    options.no_delay = true;
  });
}

TEST(rain_program, pass__keeps_all_tasks_in_order_with_spill_0) { run_racks(ProgramId::kRain, no_spill); }

TEST(rain_program, pass__gives_newcomers_to_the_emptiest_worker_with_any_spill_and_no_delay) {
  run_racks(ProgramId::kRain, [](TokenRack::Options& options) { options.no_delay = true; });
}

TEST(rain_paper_program, pass__agrees_with_the_reference) {
  run_racks(ProgramId::kRainPaper, [](TokenRack::Options&) {});
}

TEST(rain_paper_program, pass__agrees_with_the_reference_when_tokens_are_recalled) {
  run_racks(ProgramId::kRainPaper,
            [](TokenRack::Options& options) { options.recalls = options.repeats = true; });
}

TEST(rain_paper_program, pass__agrees_with_the_reference_when_workers_recall_and_begin_new_lives) {
  run_racks(ProgramId::kRainPaper, [](TokenRack::Options& options) {
    options.recalls = options.new_lives = options.repeats = true;
  });
}

TEST(rain_paper_program, pass__agrees_with_the_reference_when_workers_begin_new_lives) {
  run_racks(ProgramId::kRainPaper,
            [](TokenRack::Options& options) { options.new_lives = options.repeats = true; });
}

/// Long enough for request ids to go round.
TEST(rain_program, pass__agrees_with_the_reference_for_long) {
  for (const ProgramId program : {ProgramId::kRain, ProgramId::kRainPaper}) {
    TokenRack::Options options;
    options.program = program;
    options.slices = {{.capacity = 6, .spill = 1, .drain = 4}};
    options.workers = {{.slice = 0, .quota = 2}, {.slice = 0, .quota = 1}, {.slice = 0, .quota = 4}};
    options.no_delay = true;
    TokenRack rack(options, make_program_runner, Prng(1));
    rack.run(200'000);
    rack.settle();
    EXPECT_GT(rack.dispatches(), 20'000u);
  }
}

/// The head of a token ring has 16 bits. Ring of 4, never empty and never full, once round them all.
TEST(token_fifo, pop__keeps_order_when_the_head_wraps) {
  for (const ProgramId program : {ProgramId::kRain, ProgramId::kRainPaper}) {
    const auto runner = make_program_runner(program, 2, small_rack(3).tokens(4));
    Packet tokens[] = {token(0), token(1), token(2)};
    const auto file = [&](unsigned worker) {
      ASSERT_EQ(runner->inject(tokens[worker].view(), Nanos{}).action, dataplane::Action::kConsume);
      tokens[worker].advance();
    };
    file(0);
    file(1);
    for (unsigned i = 0; i < 70'000 && !HasFailure(); ++i) {
      file((i + 2) % 3);
      const Outcome outcome = runner->inject(task().view(), Nanos{});
      ASSERT_EQ(outcome.action, dataplane::Action::kForward);
      ASSERT_EQ(outcome.worker.value, i % 3);
      ASSERT_EQ(outcome.generation.value, i / 3 + 1);
    }
    EXPECT_EQ(runner->counts({0}), (Counts{.balance = 2}));
  }
}

}  // namespace
}  // namespace rain::packet_table
