// What the rows of a running switch may become, and the line that refuses the rest.
#include "softswitch/table_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "softswitch/switch_tables.h"

namespace rain::softswitch {
namespace {

/// "a" (types 1, 2), "rest" on thread 0, "b" (type 9) on thread 1; workers 0, 1 in a, 2 in rest, 3 in b.
SwitchOptions three_slices() {
  SwitchOptions options;
  options.slices = {{.name = "a", .id = {0}, .task_types = {TaskType{1}, TaskType{2}}, .queue_capacity = 64},
                    {.name = "rest", .id = {1}, .queue_capacity = 64},
                    {.name = "b", .id = {2}, .task_types = {TaskType{9}}, .queue_capacity = 64, .group = 1}};
  options.max_workers = 8;
  options.max_slices = 3;
  options.max_queue_capacity = 64;
  for (std::uint16_t id = 0; id < 4; ++id) {
    options.workers.push_back({.id = {id},
                               .slice = {static_cast<std::uint16_t>(id == 0 ? 0 : id - 1)},
                               .address = Endpoint::v4(10, 0, 0, 1, static_cast<std::uint16_t>(9100 + id)),
                               .epoch = {5}});
  }
  EXPECT_TRUE(options.validate().has_value());
  return options;
}

tl::expected<SwitchOptions, std::string> change(const SwitchOptions& now, std::vector<TableChange> changes) {
  const std::vector<dataplane::MemoryShape> room{memory_shape(now, 0), memory_shape(now, 1)};
  return changed(now, changes, room);
}

SwitchWorker worker(std::uint16_t id) { return three_slices().workers[id]; }

/// One more.
SetSlice new_slice(const char* name, std::uint16_t id, std::optional<SliceId> host = {}) {
  return {{.name = name, .id = {id}, .other_types = false, .host = host, .queue_capacity = 64}};
}

TEST(TableChange, changed__nothing_by_nothing) {
  const auto after = change(three_slices(), {});
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->slices, three_slices().slices);
  EXPECT_EQ(after->workers, three_slices().workers);
}

TEST(TableChange, changed__rows_that_are_there_and_rows_that_are_not) {
  const SwitchOptions now = three_slices();
  const auto after = change(now, {SetSlice{now.slices[0]}, SetWorker{now.workers[2]}, RemoveWorker{{7}},
                                  RemoveSlice{{60}}, RemoveType{{4000}}, SetType{{2}, {0}}});
  ASSERT_TRUE(after.has_value()) << after.error();
  EXPECT_EQ(after->workers, now.workers);
  EXPECT_EQ(after->slices[0].task_types, now.slices[0].task_types);
}

TEST(TableChange, changed__a_type_has_one_slice) {
  const auto after = change(three_slices(), {SetType{{1}, {2}}, SetType{{77}, {0}}});
  ASSERT_TRUE(after.has_value()) << after.error();
  EXPECT_THAT(after->slices[0].task_types, testing::ElementsAre(TaskType{2}, TaskType{77}));
  EXPECT_THAT(after->slices[2].task_types, testing::ElementsAre(TaskType{9}, TaskType{1}));
}

TEST(TableChange, changed__a_slice_that_loses_its_last_type_serves_none) {
  const auto after = change(three_slices(), {RemoveType{{9}}});
  ASSERT_TRUE(after.has_value()) << after.error();
  EXPECT_TRUE(after->slices[2].task_types.empty());
  EXPECT_FALSE(after->slices[2].takes_other_types());
  EXPECT_TRUE(after->slices[1].takes_other_types());
}

TEST(TableChange, changed__a_slice_and_its_workers_leave_together) {
  const auto after = change(three_slices(), {RemoveSlice{{2}}, RemoveWorker{{3}}});
  ASSERT_TRUE(after.has_value()) << after.error();
  EXPECT_EQ(after->slices.size(), 2u);
  EXPECT_EQ(after->workers.size(), 3u);
}

/// Whoever missed that worker and slice went and came sees them on another thread.
TEST(TableChange, changed__slices_and_workers_may_change_threads) {
  SwitchWorker second = worker(2);
  second.slice = {2};
  second.epoch = {6};
  SwitchSlice a = three_slices().slices[0];
  a.group = 1;
  const auto after = change(three_slices(), {SetSlice{a}, SetWorker{second}});
  ASSERT_TRUE(after.has_value()) << after.error();
  EXPECT_EQ(after->slices[0], a);
  EXPECT_EQ(after->workers[2], second);
  EXPECT_EQ(after->workers[0], worker(0));
}

/// Whoever missed one change after the other sees more slices go and come than there is room for.
TEST(TableChange, changed__a_slice_has_room_where_another_leaves) {
  const auto after =
      change(three_slices(), {ClearTables{}, new_slice("c", 3), new_slice("d", 4), new_slice("e", 5)});
  ASSERT_TRUE(after.has_value()) << after.error();
  EXPECT_EQ(after->slices.size(), 3u);
}

TEST(TableChange, changed__all_there_is) {
  SwitchWorker only = worker(0);
  only.weight = 3;
  const auto after =
      change(three_slices(), {ClearTables{}, SetSlice{three_slices().slices[0]}, SetWorker{only}});
  ASSERT_TRUE(after.has_value()) << after.error();
  EXPECT_EQ(after->slices.size(), 1u);
  EXPECT_THAT(after->workers, testing::ElementsAre(only));
  const auto none = change(three_slices(), {ClearTables{}});
  ASSERT_TRUE(none.has_value()) << none.error();
  EXPECT_TRUE(none->slices.empty());
}

TEST(TableChange, changed__an_operators_slice_may_be_called_like_a_masters) {
  const auto after =
      change(three_slices(), {new_slice("b (master)", 3), SetSlice{master_slice(three_slices().slices[2])}});
  ASSERT_TRUE(after.has_value()) << after.error();
  EXPECT_EQ(after->slices.size(), 5u);
}

struct BadChange {
  const char* name;
  std::vector<TableChange> changes;
  std::string problem;
};

/// The slice of three_slices() with this index, as `edit` makes it.
template <typename Edit>
SetSlice edited_slice(unsigned index, Edit edit) {
  SwitchSlice slice = three_slices().slices[index];
  edit(slice);
  return {slice};
}

template <typename Edit>
SetWorker edited_worker(std::uint16_t id, Edit edit) {
  SwitchWorker row = worker(id);
  edit(row);
  return {row};
}

std::vector<BadChange> bad_slices() {
  return {
      {"slice_group",
       {edited_slice(0, [](auto& s) { s.group = 2; })},
       "slice \"a\": group = 2: the switch runs 2 threads, 0 to 1 is allowed"},
      {"slice_capacity",
       {edited_slice(0, [](auto& s) { s.queue_capacity = 65; })},
       "slice \"a\": queue_capacity = 65: the switch has room for 64 (max_queue_capacity)"},
      {"slice_room",
       {new_slice("c", 3), new_slice("d", 4)},
       "4 slices on thread 0: it has room for 3 (max_slices)"},
      {"slice_name_twice",
       {edited_slice(0, [](auto& s) { s.name = std::string("b"); })},
       "slice \"b\": name: another slice has it; names differ"},
      {"slice_with_workers", {RemoveSlice{{2}}}, "worker 3: slice = 2: no slice has this id"},
      {"type_without_slice", {SetType{{5}, {9}}}, "type 5: slice = 9: no slice has this id"},
      {"rest_twice",
       {edited_slice(0, [](auto& s) { s.task_types.clear(); })},
       "slice \"rest\": types is empty: slice \"a\" takes all other types already; one slice may"},
  };
}

std::vector<BadChange> bad_master_slices() {
  const auto hosted_by = [](std::uint16_t host) {
    return edited_slice(1, [host](auto& s) { s.host = SliceId{host}; });
  };
  return {
      {"host_unknown", {hosted_by(9)}, "slice \"rest\": host = 9: no slice has this id"},
      {"host_itself",
       {hosted_by(1)},
       "slice \"rest\": host = 1: slice \"rest\" takes sticky tasks itself; one that serves task types is "
       "allowed"},
      {"host_is_a_master_slice",
       {hosted_by(0), new_slice("c", 3, SliceId{1})},
       "slice \"c\": host = 1: slice \"rest\" takes sticky tasks itself; one that serves task types is "
       "allowed"},
      {"host_on_another_thread",
       {hosted_by(2)},
       "slice \"rest\": host = 2: group = 0: slice \"b\" has group 1; both need the same"},
      {"host_of_two",
       {hosted_by(0), new_slice("c", 3, SliceId{0})},
       "slice \"rest\": host = 0: slice \"c\" takes the sticky tasks of \"a\" already; one slice may"},
      {"host_removed", {hosted_by(2), RemoveSlice{{2}}}, "slice \"rest\": host = 2: no slice has this id"},
  };
}

std::vector<BadChange> bad_workers() {
  const std::string epoch_needed =
      "worker 0: epoch = 5: with another slice, address or key it needs another epoch";
  return {
      {"worker_id",
       {edited_worker(3, [](auto& w) { w.id = {8}; })},
       "worker 8: id: the switch has room for ids 0 to 7 (max_workers)"},
      {"worker_slice",
       {edited_worker(3, [](auto& w) { w.slice = {9}; })},
       "worker 3: slice = 9: no slice has this id"},
      {"worker_epoch", {edited_worker(0, [](auto& w) { w.slice = {1}; })}, epoch_needed},
      {"worker_key", {edited_worker(0, [](auto& w) { w.token_key = 1; })}, epoch_needed},
      {"worker_address",
       {edited_worker(0, [](auto& w) { w.address.port = 0; })},
       "worker 0: address = 10.0.0.1:0: port 1 to 65535 is allowed"},
      {"second_of_two",
       {SetType{{5}, {0}}, edited_worker(0, [](auto& w) { w.weight = 0; })},
       "worker 0: weight is 0; allowed: 1..8"},
  };
}

class BadChanges : public testing::TestWithParam<BadChange> {};

TEST_P(BadChanges, changed__refused_with_the_reason) {
  const auto after = change(three_slices(), GetParam().changes);
  ASSERT_FALSE(after.has_value());
  EXPECT_EQ(after.error(), GetParam().problem);
}

std::string name_of(const testing::TestParamInfo<BadChange>& one) { return one.param.name; }

INSTANTIATE_TEST_SUITE_P(Slices, BadChanges, testing::ValuesIn(bad_slices()), name_of);
INSTANTIATE_TEST_SUITE_P(MasterSlices, BadChanges, testing::ValuesIn(bad_master_slices()), name_of);
INSTANTIATE_TEST_SUITE_P(Workers, BadChanges, testing::ValuesIn(bad_workers()), name_of);

TEST(TableChange, changed__room_for_the_tokens_of_the_workers_there_were) {
  SwitchOptions now = three_slices();
  now.max_workers = 0;  // two workers at most in a slice of thread 0
  SwitchWorker third = worker(2);
  third.slice = {0};
  third.epoch = {6};
  SwitchWorker second = worker(1);
  second.epoch = {6};
  second.slice = {0};
  now.workers[1].slice = {0};
  ASSERT_TRUE(change(now, {SetWorker{second}}).has_value());
  const auto after = change(now, {SetWorker{third}});
  ASSERT_FALSE(after.has_value());
  EXPECT_EQ(after.error(), "slice \"a\": 3 workers: the switch has room for the tokens of 2 (max_workers)");
}

}  // namespace
}  // namespace rain::softswitch
