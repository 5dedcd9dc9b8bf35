// Tests of the spill thresholds that agents ask for, and of operators' words over them.
#include <fmt/format.h>

#include "control/registry_fixture.h"

namespace rain::control::testing {
namespace {

TEST(SpillWishes, agreed_spill__mean_of_workers_for_all_that_serve) {
  const SpillWish alone[] = {{.threshold = 6, .asked_for = 8, .workers = 8}};
  EXPECT_EQ(agreed_spill(alone, 8, 100), 6u);
  EXPECT_EQ(agreed_spill(alone, 16, 100), 12u) << "another server's workers, of which nothing is known";
  const SpillWish two[] = {{.threshold = 6, .asked_for = 6, .workers = 6},
                           {.threshold = 0, .asked_for = 2, .workers = 2}};
  EXPECT_EQ(agreed_spill(two, 8, 100), 6u);
  const SpillWish moved[] = {{.threshold = 6, .asked_for = 6, .workers = 3},
                             {.threshold = 0, .asked_for = 1, .workers = 3}};
  EXPECT_EQ(agreed_spill(moved, 6, 100), 3u) << "three of the first have gone";
}

TEST(SpillWishes, agreed_spill__bounds) {
  EXPECT_EQ(agreed_spill({}, 4, 100), std::nullopt);
  const SpillWish gone[] = {{.threshold = 6, .asked_for = 2, .workers = 0}};
  EXPECT_EQ(agreed_spill(gone, 4, 100), std::nullopt);
  const SpillWish large[] = {{.threshold = UINT32_MAX, .asked_for = 1, .workers = 1024}};
  EXPECT_EQ(agreed_spill(large, 1024, 100), 100u);
  const SpillWish none[] = {{.threshold = 0, .asked_for = 1, .workers = 1}};
  EXPECT_EQ(agreed_spill(none, 1, 100), 0u);
}

class RegistrySpills : public RegistryTest {
 protected:
  RegistrySpills()
      : s_(enter(server("s", {worker(0), worker(1), worker(2, "b")}))),
        t_(enter(server("t", {worker(3), worker(4)}))) {}

  SliceRow slice_a() const { return registry_.slices()[0]; }

  std::uint64_t s_;
  std::uint64_t t_;
};

TEST_F(RegistrySpills, request_spill__counts_for_all_workers_until_others_speak) {
  ASSERT_TRUE(registry_.request_spill("s", s_, "a", 2, now_));
  EXPECT_EQ(slice_a().agents_spill, 4u);
  EXPECT_EQ(slice_a().spill_in_force(), 4u);
  ASSERT_TRUE(registry_.request_spill("t", t_, "a", 0, now_));
  EXPECT_EQ(slice_a().agents_spill, 2u);
  const Version before = registry_.version();
  ASSERT_TRUE(registry_.request_spill("t", t_, "a", 0, now_));
  EXPECT_EQ(registry_.version(), before) << "nothing to write or to push";
}

TEST_F(RegistrySpills, request_spill__counts_no_longer_than_the_lease) {
  ASSERT_TRUE(registry_.request_spill("s", s_, "a", 2, now_));
  ASSERT_TRUE(registry_.request_spill("t", t_, "a", 0, now_));
  for (int i = 0; i < 4; ++i) {
    pass(seconds(1));
    ASSERT_TRUE(registry_.report("s", s_, {}, now_));
  }
  EXPECT_EQ(row(3).state, WorkerState::kCrashed);
  EXPECT_EQ(slice_a().agents_spill, 2u) << "two workers are left, and their agent wished 2";
  ASSERT_TRUE(registry_.leave("s", s_, now_));
  pass(milliseconds(500));
  EXPECT_EQ(slice_a().agents_spill, 2u) << "nobody is left: it stays";
}

TEST_F(RegistrySpills, request_spill__follows_workers_that_move) {
  ASSERT_TRUE(registry_.request_spill("s", s_, "a", 2, now_));
  ASSERT_TRUE(registry_.request_spill("t", t_, "a", 0, now_));
  ASSERT_TRUE(registry_.move({3}, "b", false));
  pass(milliseconds(500));
  EXPECT_EQ(slice_a().agents_spill, 2u) << "2 of 3 workers wish 1 each: 2/3 for each of 3";
  ASSERT_TRUE(registry_.move({4}, "b", false));
  ASSERT_TRUE(registry_.move({0}, "b", false));
  pass(milliseconds(500));
  EXPECT_EQ(slice_a().agents_spill, 1u);
}

TEST_F(RegistrySpills, request_spill__an_operator_wins_until_spill_is_default_again) {
  ASSERT_TRUE(registry_.request_spill("s", s_, "a", 2, now_));
  SlicePatch patch;
  patch.spill = 9;
  ASSERT_TRUE(registry_.set_slice("a", patch));
  const Version before = registry_.version();
  const auto done = registry_.request_spill("s", s_, "a", 1, now_);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->note, "an operator has set 9");
  pass(milliseconds(500));
  EXPECT_EQ(registry_.version(), before);
  EXPECT_EQ(slice_a().spill_in_force(), 9u);
  patch = {};
  patch.default_spill = true;
  ASSERT_TRUE(registry_.set_slice("a", patch));
  EXPECT_EQ(slice_a().spill_in_force(), 2u) << "1 for 2 workers: 2 for 4";
}

TEST_F(RegistrySpills, set_slice__less_capacity_than_the_agents_threshold) {
  ASSERT_TRUE(registry_.request_spill("s", s_, "a", 100, now_));
  EXPECT_EQ(slice_a().agents_spill, 200u);
  SlicePatch patch;
  patch.queue_capacity = 150;
  ASSERT_TRUE(registry_.set_slice("a", patch));
  EXPECT_EQ(slice_a().agents_spill, 150u);
}

TEST_F(RegistrySpills, request_spill__survives_a_restart_of_the_controller) {
  ASSERT_TRUE(registry_.request_spill("s", s_, "a", 2, now_));
  auto restored = Registry::restore(testing::options(), registry_.state(), now_);
  ASSERT_TRUE(restored);
  EXPECT_TRUE(restored->tick(now_ + milliseconds(500)));
  EXPECT_EQ(restored->slices()[0].spill_in_force(), 4u);
}

TEST_F(RegistrySpills, request_spill__bad_input__changes_nothing) {
  const RegistryState before = registry_.state();
  expect_refused(registry_.request_spill("s", s_, "a", 1001, now_), Reason::kOutOfRange,
                 "spill 1001: at most its capacity, 1000");
  expect_refused(registry_.request_spill("t", t_, "b", 5, now_), Reason::kWrongState,
                 "none of its workers serves slice \"b\"");
  expect_refused(registry_.request_spill("t", t_, "z", 5, now_), Reason::kUnknown, "slice \"z\" is unknown");
  expect_refused(registry_.request_spill("t", t_ + 7, "a", 5, now_), Reason::kStale, "a newer session");
  expect_refused(registry_.request_spill("u", 1, "a", 5, now_), Reason::kUnknown, "server \"u\" is unknown");
  EXPECT_EQ(registry_.state().slices, before.slices);
}

TEST_F(RegistrySpills, remove_slice__forgets_the_wishes) {
  ASSERT_TRUE(registry_.request_spill("s", s_, "b", 2, now_));
  ASSERT_TRUE(registry_.move({2}, "a", true));
  ASSERT_TRUE(registry_.remove_slice("b"));
  for (int i = 2; i < 64; ++i) ASSERT_TRUE(registry_.add_slice(testing::slice(fmt::format("s{}", i))));
  ASSERT_TRUE(registry_.add_slice(testing::slice("c")));
  EXPECT_EQ(registry_.slices()[1].name, "c");
  ASSERT_TRUE(registry_.move({2}, "c", false));
  pass(milliseconds(500));
  EXPECT_EQ(registry_.slices()[1].agents_spill, std::nullopt) << "the wish was for the slice before";
}

}  // namespace
}  // namespace rain::control::testing
