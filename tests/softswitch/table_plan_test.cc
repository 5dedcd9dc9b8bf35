// What threads are told to do, and in which order, for the tables to become what they shall be.
#include "softswitch/table_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "softswitch/switch_tables.h"

namespace rain::softswitch {
namespace {

using dataplane::SoftMemory;
using testing::ElementsAre;
using testing::IsEmpty;

/// "a" (type 1) and "b" (type 2) on thread 0, "c" (type 3) on thread 1; workers 0..3 in a, a, b, c.
SwitchOptions three_slices() {
  SwitchOptions options;
  options.slices = {
      {.name = "a", .id = {10}, .task_types = {TaskType{1}}, .queue_capacity = 64, .spill = 1},
      {.name = "b", .id = {11}, .task_types = {TaskType{2}}, .queue_capacity = 64, .spill = 1},
      {.name = "c", .id = {12}, .task_types = {TaskType{3}}, .queue_capacity = 64, .spill = 1, .group = 1}};
  const std::uint16_t slices[] = {10, 10, 11, 12};
  for (std::uint16_t id = 0; id < 4; ++id) {
    options.workers.push_back(
        {.id = {id}, .slice = {slices[id]}, .address = Endpoint::v4(10, 0, 0, 1, 9100)});
  }
  return options;
}

struct Planned {
  explicit Planned(const SwitchOptions& before) {
    for (unsigned group = 0; group < 2; ++group) places.emplace_back(before, group, 3);
  }
  std::vector<SlicePlaces> places;
  TablePlan plan;
};

Planned plan(const SwitchOptions& before, const SwitchOptions& after) {
  Planned planned(before);
  planned.plan = plan_change(before, after, planned.places);
  return planned;
}

TEST(TablePlan, plan_change__nothing_for_no_change) {
  const auto [places, plan_made] = plan(three_slices(), three_slices());
  for (unsigned group = 0; group < 2; ++group) {
    EXPECT_TRUE(plan_made.first[group].empty());
    EXPECT_TRUE(plan_made.second[group].empty());
  }
  EXPECT_FALSE(plan_made.steer);
}

TEST(TablePlan, plan_change__a_moved_worker_leaves_its_tokens) {
  SwitchOptions after = three_slices();
  after.workers[1].slice = {11};
  after.workers[1].epoch = {1};
  const Planned planned = plan(three_slices(), after);
  const GroupUpdate& update = planned.plan.first[0];
  ASSERT_EQ(update.workers.size(), 1u);
  EXPECT_EQ(update.workers[0].id.value, 1);
  EXPECT_EQ(update.workers[0].entry.slice.value, 1) << "the place of b";
  EXPECT_EQ(update.workers[0].entry.epoch.value, 1);
  EXPECT_THAT(update.forget, ElementsAre(SliceId{0}));
  EXPECT_TRUE(planned.plan.first[1].empty());
  EXPECT_FALSE(planned.plan.steer) << "it stays with its thread";
}

TEST(TablePlan, plan_change__a_weight_kills_no_token) {
  SwitchOptions after = three_slices();
  after.workers[0].weight = 2;
  const Planned planned = plan(three_slices(), after);
  EXPECT_EQ(planned.plan.first[0].workers.size(), 1u);
  EXPECT_THAT(planned.plan.first[0].forget, IsEmpty());
}

TEST(TablePlan, plan_change__spill_by_default_follows_the_workers) {
  SwitchOptions before = three_slices();
  before.slices[0].spill.reset();
  for (std::uint16_t id = 4; id < 8; ++id) {
    before.workers.push_back({.id = {id}, .slice = {10}, .address = Endpoint::v4(10, 0, 0, 1, 9100)});
  }
  SwitchOptions after = before;
  after.workers.resize(5);
  const Planned planned = plan(before, after);
  ASSERT_EQ(planned.plan.first[0].slices.size(), 1u);
  EXPECT_EQ(planned.plan.first[0].slices[0].entry.spill, 0u);
  EXPECT_FALSE(planned.plan.first[0].slices[0].fresh);
  EXPECT_EQ(planned.plan.first[0].workers.size(), 3u);
  EXPECT_TRUE(planned.plan.steer) << "workers have left";
}

TEST(TablePlan, plan_change__a_type_is_known_on_both_sides_until_it_is_steered) {
  SwitchOptions after = three_slices();
  after.slices[0].task_types = {TaskType{1}, TaskType{3}};
  after.slices[2].task_types = {TaskType{4}};
  const Planned planned = plan(three_slices(), after);
  EXPECT_TRUE(planned.plan.steer);
  const TypeTable& gains = planned.plan.first[0].types;
  EXPECT_EQ(gains[1].value, 0);
  EXPECT_EQ(gains[3].value, 0);
  EXPECT_EQ(gains[4], dataplane::kNoSlice);
  EXPECT_TRUE(planned.plan.second[0].empty()) << "it has lost none";
  EXPECT_EQ(planned.plan.first[1].types[3].value, 0) << "still there";
  EXPECT_EQ(planned.plan.first[1].types[4].value, 0);
  EXPECT_EQ(planned.plan.second[1].types[3], dataplane::kNoSlice);
  EXPECT_EQ(planned.plan.second[1].types[4].value, 0);
  EXPECT_TRUE(planned.plan.second[1].settle);
}

TEST(TablePlan, plan_change__a_removed_slice_goes_last_and_frees_its_place) {
  SwitchOptions after = three_slices();
  after.slices.erase(after.slices.begin());
  after.workers.erase(after.workers.begin(), after.workers.begin() + 2);
  after.slices.push_back({.name = "d", .id = {13}, .other_types = false, .queue_capacity = 64});
  Planned planned = plan(three_slices(), after);
  const GroupUpdate& first = planned.plan.first[0];
  ASSERT_EQ(first.slices.size(), 1u);
  EXPECT_EQ(first.slices[0].index.value, 2) << "not the place of the one that goes";
  EXPECT_TRUE(first.slices[0].fresh);
  ASSERT_EQ(first.workers.size(), 2u);
  EXPECT_FALSE(first.workers[0].entry.present);
  EXPECT_THAT(first.forget, ElementsAre(SliceId{0}));
  EXPECT_THAT(planned.plan.second[0].removed, ElementsAre(SliceId{0}));
  EXPECT_EQ(planned.places[0].add(SliceId{14}).value, 0);
}

TEST(TablePlan, plan_change__a_worker_goes_to_another_thread) {
  SwitchOptions after = three_slices();
  after.workers[0].slice = {12};
  after.workers[0].epoch = {1};
  const TablePlan made = plan(three_slices(), after).plan;
  EXPECT_TRUE(made.steer) << "its tokens come from elsewhere";
  ASSERT_EQ(made.first[0].workers.size(), 1u);
  EXPECT_FALSE(made.first[0].workers[0].entry.present);
  EXPECT_THAT(made.first[0].forget, ElementsAre(SliceId{0}));
  ASSERT_EQ(made.first[1].workers.size(), 1u);
  EXPECT_TRUE(made.first[1].workers[0].entry.present);
  EXPECT_EQ(made.first[1].workers[0].entry.slice.value, 0) << "the place of c";
  EXPECT_TRUE(made.second[0].empty());
}

TEST(TablePlan, plan_change__a_slice_goes_to_another_thread_with_its_workers) {
  SwitchOptions after = three_slices();
  after.slices[0].group = 1;
  Planned planned = plan(three_slices(), after);
  const TablePlan& made = planned.plan;
  EXPECT_TRUE(made.steer);
  EXPECT_THAT(made.first[0].slices, IsEmpty());
  ASSERT_EQ(made.first[1].slices.size(), 1u);
  EXPECT_TRUE(made.first[1].slices[0].fresh);
  EXPECT_EQ(made.first[1].slices[0].index.value, 1);
  EXPECT_EQ(made.first[1].workers.size(), 2u) << "although their rows are as before";
  EXPECT_EQ(made.first[0].types[1].value, 0) << "until it is steered";
  EXPECT_EQ(made.first[1].types[1].value, 1);
  EXPECT_EQ(made.second[0].types[1], dataplane::kNoSlice);
  EXPECT_THAT(made.second[0].removed, ElementsAre(SliceId{0}));
  EXPECT_FALSE(planned.places[0].has({10}));
  EXPECT_EQ(planned.places[1].index_of({10}).value, 1);
}

/// Two places on thread 0, both taken; "d" comes for "a".
TEST(TablePlan, plan_change__what_leaves_a_full_thread_leaves_at_once) {
  SwitchOptions after = three_slices();
  after.slices[0] = {.name = "d", .id = {13}, .task_types = {TaskType{1}}, .queue_capacity = 64, .spill = 0};
  after.workers.erase(after.workers.begin(), after.workers.begin() + 2);
  std::vector<SlicePlaces> places{SlicePlaces(three_slices(), 0, 2), SlicePlaces(three_slices(), 1, 2)};
  const TablePlan made = plan_change(three_slices(), after, places);
  EXPECT_THAT(made.first[0].vacated, ElementsAre(SliceId{0}));
  ASSERT_EQ(made.first[0].slices.size(), 1u);
  EXPECT_EQ(made.first[0].slices[0].index.value, 0);
  EXPECT_TRUE(made.first[0].slices[0].fresh);
  EXPECT_THAT(made.first[0].forget, IsEmpty()) << "nothing is filed in a slice that is gone";
  EXPECT_THAT(made.second[0].removed, IsEmpty());
  EXPECT_THAT(made.back[0].vacated, ElementsAre(SliceId{0}));
  ASSERT_EQ(made.back[0].slices.size(), 1u);
  EXPECT_EQ(made.back[0].slices[0].entry.spill, 1u);
  EXPECT_EQ(made.back[0].workers.size(), 2u);
}

TEST(TablePlan, plan_change__the_way_back_undoes_the_first_round) {
  SwitchOptions after = three_slices();
  after.slices[0].group = 1;
  after.slices[1].spill = 7;
  after.slices.push_back({.name = "d", .id = {13}, .task_types = {TaskType{4}}, .queue_capacity = 64});
  after.workers[0].slice = {13};  // stays with thread 0
  after.workers[0].epoch = {1};
  after.workers[2].epoch = {1};
  after.workers.pop_back();
  const TablePlan made = plan(three_slices(), after).plan;
  const GroupUpdate& back = made.back[0];
  ASSERT_EQ(back.slices.size(), 1u);
  EXPECT_EQ(back.slices[0].index.value, 1);
  EXPECT_EQ(back.slices[0].entry.spill, 1u);
  EXPECT_THAT(back.removed, ElementsAre(SliceId{2}));
  ASSERT_EQ(back.workers.size(), 3u);  // 1 has left, 0 and 2 have changed
  for (const GroupUpdate::Worker& worker : back.workers) {
    EXPECT_TRUE(worker.entry.present);
    EXPECT_EQ(worker.entry.slice.value, worker.id.value == 2 ? 1 : 0);
    EXPECT_EQ(worker.entry.epoch.value, 0);
  }
  EXPECT_THAT(back.forget, testing::UnorderedElementsAre(SliceId{1}, SliceId{2}));
  EXPECT_EQ(back.types[1].value, 0);
  EXPECT_EQ(back.types[4], dataplane::kNoSlice);
  EXPECT_THAT(made.back[1].removed, ElementsAre(SliceId{1}));
  ASSERT_EQ(made.back[1].workers.size(), 2u);  // 3 has left, 1 has come
  EXPECT_TRUE(made.back[1].workers[0].entry.present);
  EXPECT_EQ(made.back[1].workers[1].id.value, 1);
  EXPECT_FALSE(made.back[1].workers[1].entry.present);
  EXPECT_EQ(made.back[1].types[1], dataplane::kNoSlice);
}

TEST(TablePlan, plan_change__a_slice_for_sticky_tasks_and_its_host_name_each_other) {
  SwitchOptions after = three_slices();
  after.slices.push_back({.name = "master", .id = {13}, .host = SliceId{11}, .queue_capacity = 64});
  after.workers[2].slice = {13};
  after.workers[2].epoch = {1};
  const Planned planned = plan(three_slices(), after);
  const GroupUpdate& first = planned.plan.first[0];
  ASSERT_EQ(first.slices.size(), 2u);
  EXPECT_EQ(first.slices[0].index.value, 1) << "the place of b";
  EXPECT_EQ(first.slices[0].entry.master_slice.value, 2);
  EXPECT_EQ(first.slices[0].entry.host, dataplane::kNoSlice);
  EXPECT_EQ(first.slices[1].index.value, 2);
  EXPECT_EQ(first.slices[1].entry.host.value, 1);
  EXPECT_EQ(first.slices[1].entry.master_slice, dataplane::kNoSlice);
  EXPECT_EQ(first.workers.at(0).entry.slice.value, 2);

  const Planned back = plan(after, three_slices());
  ASSERT_EQ(back.plan.first[0].slices.size(), 1u);
  EXPECT_EQ(back.plan.first[0].slices[0].entry.master_slice, dataplane::kNoSlice);
  EXPECT_THAT(back.plan.second[0].removed, ElementsAre(SliceId{2})) << "after b has forgotten it";
}

TEST(TablePlan, plan_change__one_thread_needs_one_round_for_types) {
  SwitchOptions before = three_slices();
  before.slices.pop_back();
  before.workers.pop_back();
  SwitchOptions after = before;
  after.slices[0].task_types = {};
  after.slices[0].other_types = true;
  std::vector<SlicePlaces> places{SlicePlaces(before, 0, 2)};
  const TablePlan made = plan_change(before, after, places);
  EXPECT_EQ(made.first[0].types[1].value, 0);
  EXPECT_EQ(made.first[0].types[2].value, 1);
  EXPECT_EQ(made.first[0].types[60000].value, 0);
  EXPECT_TRUE(made.second[0].empty());
}

}  // namespace
}  // namespace rain::softswitch
