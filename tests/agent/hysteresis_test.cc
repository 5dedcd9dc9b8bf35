// Loans in one direction go on at once; the way back waits, each time twice as long, and the stated bound holds.
#include "agent/hysteresis.h"

#include <gtest/gtest.h>

#include <array>

namespace rain::agent {
namespace {

constexpr AdaptiveSlice kLends{.state = SliceState::kUnderloaded, .moved = true};
constexpr AdaptiveSlice kBorrows{.state = SliceState::kOverloaded, .moved = true};
constexpr AdaptiveSlice kStays{};

/// Two slices of which slice 0 does what is said, and slice 1 the contrary.
class TwoSlices {
 public:
  explicit TwoSlices(const HysteresisOptions& options = {}) : hysteresis_(options, 2) {}

  void lend() { hysteresis_.on_interval(std::array{kLends, kBorrows}); }
  void borrow() { hysteresis_.on_interval(std::array{kBorrows, kLends}); }
  void stay() { hysteresis_.on_interval(std::array{kStays, kStays}); }
  bool may_lend() const { return hysteresis_.permits()[0].lend && hysteresis_.permits()[1].borrow; }
  bool may_borrow() const { return hysteresis_.permits()[0].borrow && hysteresis_.permits()[1].lend; }
  std::uint64_t role_changes() const { return hysteresis_.role_changes(); }

  /// Intervals until the way is free.
  unsigned wait_to_borrow() {
    unsigned waited = 0;
    for (; !may_borrow(); ++waited) stay();
    return waited;
  }
  unsigned wait_to_lend() {
    unsigned waited = 0;
    for (; !may_lend(); ++waited) stay();
    return waited;
  }

 private:
  Hysteresis hysteresis_;
};

TEST(Hysteresis, permits__all_at_first) {
  const TwoSlices slices;
  EXPECT_TRUE(slices.may_lend() && slices.may_borrow());
}

TEST(Hysteresis, permits__the_same_direction_every_interval) {
  TwoSlices slices;
  for (int i = 0; i < 20; ++i) {
    slices.lend();
    EXPECT_TRUE(slices.may_lend());
    EXPECT_FALSE(slices.may_borrow());
  }
}

TEST(Hysteresis, permits__the_way_back_waits_from_the_last_loan_on) {
  TwoSlices slices({.hold = 10, .longest_hold = 100});
  slices.lend();
  for (int i = 0; i < 5; ++i) slices.stay();
  slices.lend();
  EXPECT_EQ(slices.wait_to_borrow(), 10u);
}

TEST(Hysteresis, permits__each_change_of_role_waits_twice_as_long) {
  TwoSlices slices({.hold = 10, .longest_hold = 70});
  slices.lend();
  EXPECT_EQ(slices.wait_to_borrow(), 10u);
  slices.borrow();
  EXPECT_EQ(slices.wait_to_lend(), 20u);
  slices.lend();
  EXPECT_EQ(slices.wait_to_borrow(), 40u);
  slices.borrow();
  EXPECT_EQ(slices.wait_to_lend(), 70u);  // not 80
  EXPECT_EQ(slices.role_changes(), 2u * 3);
}

TEST(Hysteresis, permits__begin_again_after_a_long_time_in_one_role) {
  TwoSlices slices({.hold = 10, .longest_hold = 40});
  slices.lend();
  EXPECT_EQ(slices.wait_to_borrow(), 10u);
  slices.borrow();
  for (int i = 0; i < 40; ++i) slices.stay();
  slices.lend();
  EXPECT_EQ(slices.wait_to_borrow(), 10u);
}

TEST(Hysteresis, permits__no_hold_no_wait) {
  TwoSlices slices({.hold = 0, .longest_hold = 0});
  for (int i = 0; i < 5; ++i) {
    slices.lend();
    ASSERT_TRUE(slices.may_borrow());
    slices.borrow();
    ASSERT_TRUE(slices.may_lend());
  }
}

// An hour of statistics that ask for the opposite move whenever it is allowed.
TEST(Hysteresis, role_changes__at_most_six_in_any_minute) {
  constexpr unsigned kMinute = 6000;  // intervals of 10 ms
  TwoSlices slices;
  std::vector<unsigned> changes;
  bool lends = true;
  for (unsigned at = 0; at < 60 * kMinute; ++at) {
    const bool turns = lends ? slices.may_borrow() : slices.may_lend();
    const std::uint64_t before = slices.role_changes();
    if (turns) lends = !lends;
    turns ? (lends ? slices.lend() : slices.borrow()) : slices.stay();
    if (slices.role_changes() != before) changes.push_back(at);
  }
  ASSERT_GT(changes.size(), 100u);
  for (std::size_t i = 6; i < changes.size(); ++i) EXPECT_GE(changes[i] - changes[i - 6], kMinute);
}

TEST(HysteresisOptions, problem__names_what_is_out_of_range) {
  EXPECT_EQ(HysteresisOptions{}.problem(), nullptr);
  EXPECT_STREQ((HysteresisOptions{.hold = 7, .longest_hold = 6}.problem()), "hold: up to the longest hold");
  EXPECT_STREQ((HysteresisOptions{.longest_hold = (1u << 20) + 1}.problem()),
               "longest hold: up to 1048576 intervals");
}

}  // namespace
}  // namespace rain::agent
