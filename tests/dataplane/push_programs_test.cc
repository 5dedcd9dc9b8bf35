// Properties of the programs that push, each as its definition says: uniform, in strict turn, to the fewest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"
#include "dataplane/program_runner.h"
#include "dataplane/random.h"
#include "dataplane/test_memory.h"

namespace rain::packet_table {
namespace {

using dataplane::Action;
using dataplane::ProgramId;

/// 99.9 % of truly uniform draws stay below it, with one degree of freedom fewer than there are workers:
/// Wilson and Hilferty's approximation, good to 1 %.
double chi_square_limit(unsigned workers) {
  const double freedom = workers - 1;
  const double root = 1 - 2 / (9 * freedom) + 3.09 * std::sqrt(2 / (9 * freedom));
  return freedom * root * root * root;
}

double chi_square(const std::vector<std::uint64_t>& counts, double expected) {
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  return sum;
}

/// Draws of program `random`, by worker.
std::vector<unsigned> random_draws(unsigned workers, std::uint64_t seed, unsigned count) {
  using Program = dataplane::RandomProgram<dataplane::SoftMemory>;
  const Rack rack = small_rack(workers);
  dataplane::TestMemory memory(Program::kRegisters, rack.shape());
  memory.get().set_slice({0}, rack.slices[0]);
  for (std::uint16_t i = 0; i < workers; ++i) memory.get().set_worker({i}, rack.workers[i]);
  memory.get().set_type({0}, {0});
  Program program(memory.get());
  program.seed(seed);
  const Packet packet = task();
  std::vector<unsigned> draws;
  for (unsigned i = 0; i < count; ++i) draws.push_back(program.pass(packet.view(), Nanos{}).worker.value);
  return draws;
}

TEST(random_program, pass__is_uniform) {
  for (const unsigned workers : {2u, 3u, 7u, 32u, 100u}) {
    const unsigned count = workers * 2'000;
    std::vector<std::uint64_t> single(workers);
    std::vector<std::uint64_t> pairs(workers * workers);
    unsigned last = 0;
    for (const unsigned worker : random_draws(workers, 42, count)) {
      ASSERT_LT(worker, workers);
      ++single[worker];
      ++pairs[last * workers + worker];
      last = worker;
    }
    EXPECT_LT(chi_square(single, 2'000), chi_square_limit(workers)) << workers << " workers";
    // Nor does one draw say anything of the next.
    EXPECT_LT(chi_square(pairs, 2'000.0 / workers), chi_square_limit(workers * workers)) << workers;
  }
}

TEST(random_program, seed__decides_the_draws) {
  EXPECT_EQ(random_draws(32, 1, 100), random_draws(32, 1, 100));
  EXPECT_NE(random_draws(32, 1, 100), random_draws(32, 2, 100));
}

TEST(random_program, seed__gives_each_slice_its_own_draws) {
  using Program = dataplane::RandomProgram<dataplane::SoftMemory>;
  Rack rack;
  rack.slice({}).slice({}).type(0, 0).type(1, 1);
  for (unsigned i = 0; i < 16; ++i) rack.worker(i % 2);
  dataplane::TestMemory memory(Program::kRegisters, rack.shape());
  for (std::uint16_t i = 0; i < 2; ++i) {
    memory.get().set_slice({i}, rack.slices[i]);
    memory.get().set_type({i}, {i});
  }
  for (std::uint16_t i = 0; i < 16; ++i) memory.get().set_worker({i}, rack.workers[i]);
  Program program(memory.get());
  program.seed(5);
  unsigned equal = 0;
  for (unsigned i = 0; i < 100; ++i) {
    const unsigned first = program.pass(task().type(0).view(), Nanos{}).worker.value;
    const unsigned second = program.pass(task().type(1).view(), Nanos{}).worker.value;
    EXPECT_EQ(first % 2, 0u);
    EXPECT_EQ(second % 2, 1u);
    equal += first / 2 == second / 2 ? 1 : 0;
  }
  EXPECT_LT(equal, 50u);  // 12.5 expected
}

/// A random rack of three slices for a push program, driven by tasks and reports.
struct PushRack {
  explicit PushRack(ProgramId program, std::uint64_t seed) : prng(seed) {
    Rack rack;
    for (unsigned slice = 0; slice < kSlices; ++slice) rack.slice({}).type(slice, slice);
    const auto workers = static_cast<unsigned>(kSlices + prng.below(12));
    for (unsigned i = 0; i < workers; ++i) {
      const unsigned slice = i < kSlices ? i : static_cast<unsigned>(prng.below(kSlices));
      rack.worker(slice);
      members[slice].push_back(i);
    }
    unfinished.resize(workers);
    runner = make_program_runner(program, 1, rack);
  }

  /// A task for a random slice; returns the slice and the chosen worker.
  std::pair<unsigned, unsigned> send() {
    const auto slice = static_cast<unsigned>(prng.below(kSlices));
    const Outcome outcome = runner->inject(task().type(slice).view(), Nanos{});
    EXPECT_EQ(outcome.action, Action::kForward);
    return {slice, outcome.worker.value};
  }
  void finish(unsigned worker) {
    --unfinished[worker];
    EXPECT_EQ(runner->inject(report(worker).view(), Nanos{}).action, Action::kConsume);
  }

  static constexpr unsigned kSlices = 3;
  Prng prng;
  std::vector<unsigned> members[kSlices];
  std::vector<unsigned> unfinished;
  std::unique_ptr<Runner> runner;
};

TEST(round_robin_program, pass__rotates_strictly_in_each_slice) {
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PushRack rack(ProgramId::kRoundRobin, seed);
    std::size_t turn[PushRack::kSlices] = {};
    for (unsigned i = 0; i < 200; ++i) {
      const auto [slice, worker] = rack.send();
      EXPECT_EQ(worker, rack.members[slice][turn[slice]++ % rack.members[slice].size()]);
    }
  }
}

TEST(jsq_program, pass__takes_a_worker_with_the_fewest_unfinished_tasks) {
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PushRack rack(ProgramId::kJsq, seed);
    std::vector<unsigned>& unfinished = rack.unfinished;
    for (unsigned i = 0; i < 400; ++i) {
      const auto busy = static_cast<unsigned>(rack.prng.below(unfinished.size()));
      if (rack.prng.chance(0.6) && unfinished[busy] > 0) {
        rack.finish(busy);
        continue;
      }
      const auto [slice, worker] = rack.send();
      ASSERT_TRUE(std::ranges::count(rack.members[slice], worker) == 1);
      for (const unsigned member : rack.members[slice]) EXPECT_LE(unfinished[worker], unfinished[member]);
      ++unfinished[worker];
    }
  }
}

/// Without turns among equals an idle rack would send every task to its first worker.
TEST(jsq_program, pass__spreads_tasks_over_equals) {
  PushRack rack(ProgramId::kJsq, 1);
  std::vector<unsigned> served(rack.unfinished.size());
  for (unsigned i = 0; i < 600; ++i) {
    const auto [slice, worker] = rack.send();
    ++served[worker];
    ++rack.unfinished[worker];
    rack.finish(worker);
  }
  for (const std::vector<unsigned>& members : rack.members) {
    unsigned total = 0;
    for (const unsigned member : members) total += served[member];
    for (const unsigned member : members)
      EXPECT_NEAR(served[member], total / static_cast<unsigned>(members.size()), 1);
  }
}

}  // namespace
}  // namespace rain::packet_table
