// Tests of the registry's slices and types.
#include <fmt/format.h>

#include "control/registry_fixture.h"

namespace rain::control::testing {
namespace {

using ::testing::HasSubstr;

class RegistrySlices : public RegistryTest {};

TEST_F(RegistrySlices, add_slice__gets_the_next_id_and_is_said_to_have_no_workers) {
  const auto done = registry_.add_slice(slice("c"));
  ASSERT_TRUE(done);
  EXPECT_THAT(done->note, HasSubstr("slice \"c\" has no worker that serves"));
  EXPECT_EQ(registry_.slices()[2].id, SliceId{2});
  EXPECT_EQ(registry_.slices()[2].name, "c");
}

TEST_F(RegistrySlices, add_slice__capacity_0_is_the_default) {
  ASSERT_TRUE(registry_.add_slice([] {
    SliceRow row = slice("c");
    row.queue_capacity = 0;
    return row;
  }()));
  EXPECT_EQ(registry_.slices()[2].queue_capacity, dataplane::kDefaultQueueCapacity);
}

TEST_F(RegistrySlices, add_slice__bad_input) {
  expect_refused(registry_.add_slice(slice("a")), Reason::kDuplicate,
                 "slice \"a\": there is one of this name");
  expect_refused(registry_.add_slice(slice("c", true)), Reason::kDuplicate,
                 "slice \"b\" takes all other types");
  expect_refused(registry_.add_slice(slice("")), Reason::kOutOfRange, "a name of 1 to 64 bytes");
  SliceRow row = slice("c");
  row.queue_capacity = 1048577;
  expect_refused(registry_.add_slice(row), Reason::kOutOfRange, "capacity 1048577: 1 to 1048576");
  row.queue_capacity = 10;
  row.spill = 11;
  expect_refused(registry_.add_slice(row), Reason::kOutOfRange, "spill 11: at most its capacity, 10");
  for (int i = 2; i < 64; ++i) ASSERT_TRUE(registry_.add_slice(slice(fmt::format("s{}", i))));
  expect_refused(registry_.add_slice(slice("c")), Reason::kNoRoom, "room for 64 slices");
}

TEST_F(RegistrySlices, remove_slice__only_when_nothing_belongs_to_it) {
  ASSERT_TRUE(registry_.add_slice(slice("c")));
  ASSERT_TRUE(registry_.add_type({9}, "c", false));
  enter(server("s", {worker(0, "c"), worker(1, "a")}));
  expect_refused(registry_.remove_slice("c"), Reason::kInUse, "worker 0 belongs to it");
  ASSERT_TRUE(registry_.move({0}, "a", true));
  expect_refused(registry_.remove_slice("c"), Reason::kInUse, "type 9 belongs to it");
  ASSERT_TRUE(registry_.remove_type({9}));
  ASSERT_TRUE(registry_.remove_slice("c"));
  expect_refused(registry_.remove_slice("c"), Reason::kUnknown, "slice \"c\" is unknown; there are: a, b");
}

TEST_F(RegistrySlices, add_slice__reuses_the_id_of_a_removed_one_last) {
  ASSERT_TRUE(registry_.add_slice(slice("c")));
  ASSERT_TRUE(registry_.remove_slice("c"));
  ASSERT_TRUE(registry_.add_slice(slice("d")));
  EXPECT_EQ(registry_.slices().back().id, SliceId{3});
  for (int i = 4; i < 64; ++i) ASSERT_TRUE(registry_.add_slice(slice(fmt::format("s{}", i))));
  ASSERT_TRUE(registry_.add_slice(slice("e")));
  EXPECT_EQ(registry_.slices()[2].name, "e");
}

TEST_F(RegistrySlices, set_slice__changes_what_is_given) {
  SlicePatch patch;
  patch.spill = 5;
  ASSERT_TRUE(registry_.set_slice("a", patch));
  EXPECT_EQ(registry_.slices()[0].spill, 5u);
  EXPECT_EQ(registry_.slices()[0].drain, 4u);
  const Version before = registry_.version();
  EXPECT_EQ(registry_.set_slice("a", patch)->note, "nothing changes");
  EXPECT_EQ(registry_.version(), before);
  patch = {};
  patch.default_spill = true;
  patch.drain = 0;
  patch.queue_capacity = 77;
  ASSERT_TRUE(registry_.set_slice("a", patch));
  EXPECT_EQ(registry_.slices()[0].spill, std::nullopt);
  EXPECT_EQ(registry_.slices()[0].drain, 0u);
  EXPECT_EQ(registry_.slices()[0].queue_capacity, 77u);
}

TEST_F(RegistrySlices, set_slice__bad_input__changes_nothing) {
  const RegistryState before = registry_.state();
  SlicePatch patch;
  patch.spill = 1001;
  expect_refused(registry_.set_slice("a", patch), Reason::kOutOfRange,
                 "spill 1001: at most its capacity, 1000");
  patch = {};
  patch.queue_capacity = 0;
  expect_refused(registry_.set_slice("a", patch), Reason::kOutOfRange, "capacity 0");
  expect_refused(registry_.set_slice("z", {}), Reason::kUnknown, "slice \"z\" is unknown; there are: a, b");
  EXPECT_EQ(registry_.state().slices, before.slices);
}

TEST_F(RegistrySlices, add_type__belongs_to_one_slice) {
  ASSERT_TRUE(registry_.add_type({3}, "b", false));
  EXPECT_EQ(registry_.add_type({3}, "b", false)->note, "nothing changes");
  expect_refused(registry_.add_type({3}, "a", false), Reason::kDuplicate, "type 3 belongs to slice \"b\"");
  ASSERT_TRUE(registry_.add_type({3}, "a", true));
  EXPECT_EQ(registry_.types().back(), (TypeRow{{3}, {0}}));
  expect_refused(registry_.add_type({4}, "z", false), Reason::kUnknown, "slice \"z\" is unknown");
}

TEST_F(RegistrySlices, remove_type__says_where_its_tasks_go) {
  EXPECT_THAT(registry_.remove_type({1})->note, HasSubstr("go to slice \"b\""));
  expect_refused(registry_.remove_type({1}), Reason::kUnknown, "type 1 belongs to no slice");
  ASSERT_TRUE(registry_.remove_slice("b"));
  EXPECT_THAT(registry_.remove_type({2})->note, HasSubstr("refused now"));
}

TEST_F(RegistrySlices, set_master__counts_as_a_slice_of_the_switch) {
  enter(server("s", {worker(0), worker(1), worker(2, "b")}));
  for (int i = 0; i < 61; ++i) ASSERT_TRUE(registry_.add_slice(slice(fmt::format("s{}", i))));
  ASSERT_TRUE(registry_.set_master("a", {0}));
  expect_refused(registry_.set_master("b", {2}), Reason::kNoRoom,
                 "room for 64 slices, and one with a master");
  expect_refused(registry_.add_slice(slice("z")), Reason::kNoRoom, "room for 64 slices");
  EXPECT_TRUE(registry_.set_master("a", {1})) << "another one in its place";
}

TEST_F(RegistrySlices, set_master__one_that_serves_there) {
  enter(server("s", {worker(0), worker(1), worker(2, "b")}));
  expect_refused(registry_.set_master("a", {2}), Reason::kWrongState, "worker 2 is serving in slice \"b\"");
  expect_refused(registry_.set_master("a", {9}), Reason::kUnknown, "worker 9 is unknown");
  ASSERT_TRUE(registry_.set_master("a", {0}));
  EXPECT_EQ(registry_.slices()[0].master, WorkerId{0});
  EXPECT_THAT(registry_.drain({0}, false)->note, HasSubstr("without its master"));
  EXPECT_EQ(registry_.slices()[0].master, WorkerId{0}) << "sticky tasks wait";
  ASSERT_TRUE(registry_.resume({0}));
  const auto epoch_of = [this](std::uint16_t id) { return registry_.workers()[id].epoch; };
  const Epoch old_master = epoch_of(0), new_master = epoch_of(1);
  ASSERT_TRUE(registry_.set_master("a", {1}));
  EXPECT_NE(epoch_of(0), old_master) << "both change places in the switch";
  EXPECT_NE(epoch_of(1), new_master);
  ASSERT_TRUE(registry_.move({1}, "b", false));
  EXPECT_EQ(registry_.slices()[0].master, std::nullopt) << "an operator has moved it";
}

}  // namespace
}  // namespace rain::control::testing
