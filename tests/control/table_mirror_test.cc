#include "control/table_mirror.h"

#include "control/registry_fixture.h"
#include "softswitch/table_change.h"

namespace rain::control {
namespace {

using softswitch::SwitchOptions;
using testing::RegistryTest;
using testing::server;
using testing::slice;
using testing::worker;

/// A registry, its mirror and a switch's tables behind it.
class TableMirrorTest : public RegistryTest {
 protected:
  TableMirrorTest() {
    switch_.max_slices = 8;
    switch_.max_workers = 16;
    room_ = {.slices = 8, .workers = 16, .task_ring = 1 << 18, .token_ring = 64, .hold_slots = 0};
  }

  /// What is new goes to the switch as `only` says; must not be refused.
  void follow() {
    const Changes changes = registry_.changes_since(mirror_.instance(), mirror_.version());
    mirror_.take(changes);
    apply(changes.reset ? mirror_.everything() : mirror_.only(changes));
  }
  void apply(const std::vector<softswitch::TableChange>& changes) {
    auto after = softswitch::changed(switch_, changes, std::span(&room_, 1));
    ASSERT_TRUE(after) << after.error();
    switch_ = std::move(*after);
  }
  /// The switch has the registry's tables.
  void expect_same() {
    TableMirror fresh;
    fresh.take(registry_.changes_since(0, 0));
    SwitchOptions whole;
    whole.max_slices = 8;
    auto after = softswitch::changed(whole, fresh.everything(), std::span(&room_, 1));
    ASSERT_TRUE(after) << after.error();
    const auto by_id = [](auto rows) {
      std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
      return rows;
    };
    auto mine = by_id(switch_.slices), theirs = by_id(after->slices);
    for (auto* slices : {&mine, &theirs}) {
      for (auto& one : *slices) std::sort(one.task_types.begin(), one.task_types.end());
    }
    EXPECT_TRUE(mine == theirs);
    EXPECT_TRUE(by_id(switch_.workers) == by_id(after->workers));
  }

  TableMirror mirror_;
  SwitchOptions switch_;
  dataplane::MemoryShape room_;
};

TEST_F(TableMirrorTest, only__each_change_leads_to_the_registrys_tables) {
  follow();
  expect_same();
  enter(server("s", {worker(0), worker(1), worker(2, "b")}));
  follow();
  expect_same();
  EXPECT_EQ(switch_.workers.size(), 3u);
  ASSERT_TRUE(registry_.move({0}, "b", false));
  follow();
  expect_same();
  ASSERT_TRUE(registry_.add_slice(slice("c")));
  ASSERT_TRUE(registry_.add_type({1}, "c", true));
  ASSERT_TRUE(registry_.move({0}, "c", false));
  follow();
  expect_same();
  ASSERT_TRUE(registry_.add_type({7}, "a", false));
  follow();
  expect_same();
  ASSERT_TRUE(registry_.remove_type({1}));
  ASSERT_TRUE(registry_.remove({0}, true));
  ASSERT_TRUE(registry_.remove_slice("c"));
  follow();
  expect_same();
  EXPECT_EQ(switch_.slices.size(), 2u);
  ASSERT_TRUE(registry_.set_master("a", {1}));
  follow();
  expect_same();
  ASSERT_EQ(switch_.slices.size(), 3u);
  EXPECT_EQ(switch_.slices[2].host, SliceId{0});
  const auto in_switch = [this](std::uint16_t id) {
    return std::find_if(switch_.workers.begin(), switch_.workers.end(),
                        [id](const softswitch::SwitchWorker& one) { return one.id.value == id; })
        ->slice;
  };
  EXPECT_EQ(in_switch(1), switch_.slices[2].id);
  enter(server("t", {worker(3)}));
  ASSERT_TRUE(registry_.set_master("a", {3}));
  follow();
  expect_same();
  EXPECT_EQ(in_switch(1), SliceId{0});
  EXPECT_EQ(in_switch(3), switch_.slices[2].id);
  ASSERT_TRUE(registry_.drain({3}, false));
  follow();
  expect_same();
  ASSERT_TRUE(registry_.remove({3}, false));
  follow();
  expect_same();
  EXPECT_EQ(switch_.slices.size(), 2u) << "no master, no slice for it";
  SlicePatch patch;
  patch.spill = 3;
  ASSERT_TRUE(registry_.set_slice("a", patch));
  follow();
  expect_same();
}

TEST_F(TableMirrorTest, only__twice_or_late__changes_nothing) {
  enter(server("s", {worker(0), worker(1)}));
  follow();
  const Changes late = registry_.changes_since(mirror_.instance(), mirror_.version() - 1);
  ASSERT_TRUE(registry_.remove({0}, false));
  follow();
  mirror_.take(late);
  expect_same();
  apply(mirror_.everything());
  expect_same();
}

TEST_F(TableMirrorTest, everything__replaces_whatever_the_switch_had) {
  switch_.slices.push_back({.name = "old", .id = {5}, .task_types = {{1}}, .other_types = false});
  switch_.workers.push_back({.id = {9}, .slice = {5}, .address = testing::address(9)});
  follow();
  expect_same();
}

TEST_F(TableMirrorTest, take__rows_of_another_instance_without_reset__are_not_taken) {
  follow();
  Changes foreign = registry_.changes_since(mirror_.instance(), mirror_.version());
  foreign.instance = 99;
  foreign.version = 1000;
  mirror_.take(foreign);
  EXPECT_EQ(mirror_.instance(), 7u);
  EXPECT_EQ(mirror_.version(), registry_.version());
}

TEST_F(TableMirrorTest, workers__those_that_are_out_too) {
  enter(server("s", {worker(0), worker(1)}));
  follow();
  ASSERT_TRUE(registry_.remove({0}, false));
  follow();
  ASSERT_EQ(mirror_.workers().size(), 2u);
  EXPECT_EQ(mirror_.workers()[0].state, WorkerState::kRemoved);
}

}  // namespace
}  // namespace rain::control
