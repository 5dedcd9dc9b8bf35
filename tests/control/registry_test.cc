// Tests of the registry's versions, clock, saving and restoring.
#include "control/registry.h"

#include "control/registry_fixture.h"

namespace rain::control::testing {
namespace {

TEST_F(RegistryTest, changes_since__only_what_is_newer) {
  enter(server("s", {worker(0), worker(1)}));
  const Version before = registry_.version();
  EXPECT_TRUE(registry_.changes_since(7, before).empty());
  ASSERT_TRUE(registry_.move({0}, "b", false));
  const Changes changes = registry_.changes_since(7, before);
  EXPECT_FALSE(changes.reset);
  EXPECT_EQ(changes.version, registry_.version());
  ASSERT_EQ(changes.workers.size(), 1u);
  EXPECT_EQ(changes.workers[0].row, row(0));
  EXPECT_TRUE(changes.slices.empty());
}

TEST_F(RegistryTest, changes_since__a_removed_row_is_a_tombstone) {
  const Version before = registry_.version();
  ASSERT_TRUE(registry_.remove_type({1}));
  const Changes changes = registry_.changes_since(7, before);
  ASSERT_EQ(changes.types.size(), 1u);
  EXPECT_TRUE(changes.types[0].removed);
}

TEST_F(RegistryTest, changes_since__other_instance_or_unknown_version__everything_that_is) {
  ASSERT_TRUE(registry_.remove_type({1}));
  for (const auto& [instance, version] :
       {std::pair<std::uint64_t, Version>{8, registry_.version()}, {7, registry_.version() + 1}, {7, 0}}) {
    const Changes changes = registry_.changes_since(instance, version);
    EXPECT_TRUE(changes.reset);
    EXPECT_EQ(changes.slices.size(), 2u);
    EXPECT_EQ(changes.types.size(), 1u) << "no tombstone: who forgets all needs none";
  }
}

TEST_F(RegistryTest, changes_since__everything__has_the_workers_that_are_out) {
  enter(server("s", {worker(0), worker(1)}));
  ASSERT_TRUE(registry_.remove({1}, false));
  const Changes changes = registry_.changes_since(8, 3);
  ASSERT_EQ(changes.workers.size(), 2u);
  EXPECT_TRUE(changes.workers[1].removed) << "its server must hear that it has to stop";
}

TEST_F(RegistryTest, renew_instance__whoever_follows_gets_everything) {
  const Version version = registry_.version();
  registry_.renew_instance();
  EXPECT_NE(registry_.instance(), 7u);
  EXPECT_EQ(registry_.version(), version);
  EXPECT_TRUE(registry_.changes_since(7, version).reset);
}

TEST_F(RegistryTest, check_version__another_than_the_present_one_is_stale) {
  EXPECT_TRUE(registry_.check_version(registry_.version()));
  expect_refused(registry_.check_version(registry_.version() - 1), Reason::kStale, "is not the present one");
}

TEST_F(RegistryTest, tick__clock_goes_back__is_refused) {
  enter(server("s", {worker(0)}));
  expect_refused(registry_.tick(now_ - milliseconds(5)), Reason::kClock, "went back by 5 ms");
  expect_refused(registry_.enter(server("t", {worker(1)}), now_ - seconds(1)), Reason::kClock,
                 "went back by 1000 ms");
  EXPECT_TRUE(registry_.tick(now_)) << "and goes on when the time is back";
}

TEST_F(RegistryTest, tick__clock_jumps_ahead__extends_leases) {
  enter(server("s", {worker(0)}));
  now_ += seconds(3600);
  EXPECT_EQ(registry_.tick(now_)->note, "the controller stood still for 3600000 ms: leases are extended");
  EXPECT_EQ(registry_.last_jump(), seconds(3600));
  EXPECT_EQ(row(0).state, WorkerState::kServing);
  pass(seconds(1));
  pass(seconds(1));
  EXPECT_EQ(row(0).state, WorkerState::kServing);
  pass(seconds(1));
  EXPECT_EQ(row(0).state, WorkerState::kCrashed);
}

TEST_F(RegistryTest, restore__is_what_was_saved_with_new_leases) {
  enter(server("s", {worker(0), worker(1)}));
  ASSERT_TRUE(registry_.remove({1}, false));
  ASSERT_TRUE(registry_.remove_type({1}));
  const RegistryState saved = registry_.state();
  auto restored = Registry::restore(options(99), saved, seconds(5));
  ASSERT_TRUE(restored) << restored.error().text;
  EXPECT_EQ(restored->instance(), 7u);
  EXPECT_EQ(restored->version(), registry_.version());
  const RegistryState again = restored->state();
  EXPECT_EQ(again.slices, saved.slices);
  EXPECT_EQ(again.types, saved.types);
  EXPECT_EQ(again.workers, saved.workers);
  ASSERT_TRUE(restored->tick(seconds(6)));
  ASSERT_TRUE(restored->tick(seconds(7)));
  EXPECT_EQ(restored->workers()[0].state, WorkerState::kServing);
  ASSERT_TRUE(restored->tick(seconds(8)));
  EXPECT_EQ(restored->workers()[0].state, WorkerState::kCrashed);
}

TEST_F(RegistryTest, restore__servers_come_back__no_row_changes) {
  enter(server("s", {worker(0), worker(1)}));
  auto restored = Registry::restore(options(), registry_.state(), {});
  ASSERT_TRUE(restored);
  ASSERT_TRUE(restored->enter(server("s", {worker(0), worker(1)}), {}));
  EXPECT_EQ(restored->version(), registry_.version());
}

TEST_F(RegistryTest, restore__a_state_that_cannot_be__is_refused) {
  enter(server("s", {worker(0), worker(1)}));
  const RegistryState good = registry_.state();
  const auto refused = [](const RegistryState& state, const std::string& text) {
    expect_refused(Registry::restore(options(), state, {}), Reason::kOutOfRange, text);
  };
  RegistryState bad = good;
  bad.version = 1;
  refused(bad, "newer than the whole");
  bad = good;
  bad.slices.push_back(bad.slices[0]);
  refused(bad, "slices with the same id");
  bad = good;
  bad.workers.push_back(bad.workers[0]);
  refused(bad, "workers with the same id");
  bad = good;
  bad.types[0].row.slice = {9};
  refused(bad, "type 1 has slice 9, which does not exist");
  bad = good;
  bad.workers[0].row.slice = {9};
  refused(bad, "worker 0");
  bad = good;
  bad.workers[0].row.quota = 0;
  refused(bad, "worker 0");
  bad = good;
  bad.servers.clear();
  refused(bad, "worker 0 has server \"s\", which does not exist");
  bad = good;
  bad.slices[0].row.name = "";
  refused(bad, "slice 0");
}

}  // namespace
}  // namespace rain::control::testing
