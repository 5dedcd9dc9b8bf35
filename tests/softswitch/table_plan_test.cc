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
  EXPECT_EQ(gains[4], SoftMemory::kNoSlice);
  EXPECT_TRUE(planned.plan.second[0].empty()) << "it has lost none";
  EXPECT_EQ(planned.plan.first[1].types[3].value, 0) << "still there";
  EXPECT_EQ(planned.plan.first[1].types[4].value, 0);
  EXPECT_EQ(planned.plan.second[1].types[3], SoftMemory::kNoSlice);
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
