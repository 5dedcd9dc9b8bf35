// The pass rule stops a program that no pipeline could run: at the second touch of a register array, and at a
// step back to an earlier stage. Built with RAIN_PASS_RULE=1 in every build.
#include <gtest/gtest.h>

#include <array>

#include "dataplane/pass.h"
#include "dataplane/test_memory.h"

namespace rain::dataplane {
namespace {

struct EarlySpec {
  static constexpr RegisterSpec value{"early", 0, 1, 1, Extent::kSlices, 32, 4, false};
};
struct LateSpec {
  static constexpr RegisterSpec value{"late", 1, 2, 1, Extent::kSlices, 32, 4, false};
};
struct LateTooSpec {
  static constexpr RegisterSpec value{"late_too", 2, 2, 1, Extent::kSlices, 32, 4, false};
};
/// Striped over stages 2 to 9: it is entered at its first.
struct WideSpec {
  static constexpr RegisterSpec value{"wide", 3, 2, 8, Extent::kSlices, 32, 4, false};
};
using Early = Register<std::uint32_t, EarlySpec>;
using Late = Register<std::uint32_t, LateSpec>;
using LateToo = Register<std::uint32_t, LateTooSpec>;
using Wide = Register<std::uint32_t, WideSpec>;
constexpr std::array kRegisters{EarlySpec::value, LateSpec::value, LateTooSpec::value, WideSpec::value};

/// A program in miniature: what it touches, in order.
template <typename... Registers>
void make_pass() {
  TestMemory memory(kRegisters, {.slices = 2});
  Pass pass;
  ((Registers::at(pass, memory.get(), 0) += 1), ...);
}

TEST(pass_rule, touch__allows_a_feed_forward_pass) {
  make_pass<Early, Late, LateToo, Wide>();
  make_pass<Early, LateToo, Late>();  // within a stage the order is free
  make_pass<Wide, LateToo>();
  make_pass<LateToo>();
}

TEST(pass_rule, touch__starts_anew_with_each_pass) {
  TestMemory memory(kRegisters, {.slices = 2});
  for (unsigned packet = 0; packet < 3; ++packet) {
    Pass pass;
    Late::at(pass, memory.get(), 1) += 1;
  }
  EXPECT_EQ(*memory.get().cell<std::uint32_t>(LateSpec::value.id, 1), 3u);
}

using pass_ruleDeathTest = ::testing::Test;

TEST(pass_ruleDeathTest, touch__dies_at_the_second_of_one_array) {
  EXPECT_DEATH((make_pass<Early, Late, Late>()), "pass.h:[0-9]+: assertion failed: .*touched_");
  EXPECT_DEATH((make_pass<Wide, Wide>()), "touched_");
}

TEST(pass_ruleDeathTest, touch__dies_at_the_second_cell_of_one_array) {
  const auto two_cells = [] {
    TestMemory memory(kRegisters, {.slices = 2});
    Pass pass;
    Late::at(pass, memory.get(), 0) += 1;
    Late::at(pass, memory.get(), 1) += 1;
  };
  EXPECT_DEATH(two_cells(), "touched_");
}

TEST(pass_ruleDeathTest, touch__dies_at_a_step_back) {
  EXPECT_DEATH((make_pass<Late, Early>()), "pass.h:[0-9]+: assertion failed: .*first_stage");
  EXPECT_DEATH((make_pass<Wide, Early>()), "first_stage");
}

}  // namespace
}  // namespace rain::dataplane
