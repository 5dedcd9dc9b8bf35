// Tests of the registry's servers.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "control/registry_fixture.h"

namespace rain::control::testing {
namespace {

using ::testing::HasSubstr;

class RegistryServers : public RegistryTest {};

TEST_F(RegistryServers, enter__workers_get_keys_and_serve) {
  two_servers();
  EXPECT_EQ(row(0).state, WorkerState::kServing);
  EXPECT_EQ(row(0).slice, SliceId{0});
  EXPECT_EQ(row(2).slice, SliceId{1});
  EXPECT_NE(row(0).token_key, 0u);
  EXPECT_NE(row(0).token_key, row(1).token_key);
  EXPECT_EQ(registry_.room(), 2000u + 4 * 4);
}

TEST_F(RegistryServers, enter__a_key_of_the_servers_own_is_kept) {
  WorkerClaim claim = worker(0);
  claim.token_key = 42;
  enter(server("s", {claim}));
  EXPECT_EQ(row(0).token_key, 42u);
}

TEST_F(RegistryServers, enter__same_life_again__changes_no_row) {
  enter(server("s", {worker(0), worker(1)}));
  const Version before = registry_.version();
  enter(server("s", {worker(0), worker(1)}));
  EXPECT_EQ(registry_.version(), before);
}

TEST_F(RegistryServers, enter__new_life__old_tokens_die) {
  const std::uint64_t session = enter(server("s", {worker(0), worker(1)}, 1));
  const WorkerRow before = row(0);
  ASSERT_TRUE(registry_.move({0}, "b", false));
  registry_.detach("s", session);
  enter(server("s", {worker(0), worker(1)}, 2));
  EXPECT_EQ(row(0).epoch.value, before.epoch.value + 2);
  EXPECT_EQ(row(0).slice, SliceId{1}) << "a move outlives the server";
  EXPECT_EQ(row(0).token_key, before.token_key);
}

TEST_F(RegistryServers, enter__new_life_while_the_old_one_is_attached__is_refused_until_its_lease_ends) {
  enter(server("s", {worker(0)}, 1));
  now_ += seconds(1);
  expect_refused(registry_.enter(server("s", {worker(0)}, 2), now_), Reason::kDuplicate,
                 "is attached and its lease has 2000 ms to go");
  now_ += seconds(2);
  EXPECT_TRUE(registry_.enter(server("s", {worker(0)}, 2), now_));
}

TEST_F(RegistryServers, enter__fewer_workers__the_others_have_left) {
  registry_.detach("s", enter(server("s", {worker(0), worker(1)}, 1)));
  enter(server("s", {worker(0)}, 2));
  EXPECT_EQ(row(1).state, WorkerState::kLeft);
}

TEST_F(RegistryServers, enter__unknown_worker_with_state__is_believed) {
  WorkerClaim claim = worker(0, "b");
  claim.has_state = true;
  claim.epoch = {17};
  claim.token_key = 5;
  enter(server("s", {claim}));
  EXPECT_EQ(row(0).epoch, Epoch{18}) << "it may have been a master then, or not";
  EXPECT_EQ(row(0).token_key, 5u);
  EXPECT_EQ(row(0).slice, SliceId{1});
}

TEST_F(RegistryServers, enter__another_server_takes_a_masters_id_elsewhere__it_is_none_any_more) {
  const std::uint64_t session = enter(server("s", {worker(0), worker(1)}));
  ASSERT_TRUE(registry_.set_master("a", {0}));
  ASSERT_TRUE(registry_.leave("s", session, now_));
  EXPECT_EQ(registry_.slices()[0].master, WorkerId{0}) << "it may come back";
  enter(server("t", {worker(0, "b")}));
  EXPECT_EQ(registry_.slices()[0].master, std::nullopt);
}

TEST_F(RegistryServers, enter__another_server_takes_a_masters_id_in_its_slice__is_no_master_by_that) {
  const std::uint64_t session = enter(server("s", {worker(0), worker(1)}));
  ASSERT_TRUE(registry_.set_master("a", {0}));
  ASSERT_TRUE(registry_.leave("s", session, now_));
  enter(server("s", {worker(0), worker(1)}, 2));
  EXPECT_EQ(registry_.slices()[0].master, WorkerId{0}) << "its own server's new life";
  WorkerReport dead = report(0);
  dead.alive = false;
  ASSERT_TRUE(registry_.report("s", registry_.servers()[0].session, std::vector{dead}, now_));
  EXPECT_EQ(registry_.slices()[0].master, WorkerId{0});
  enter(server("t", {worker(0)}));
  EXPECT_EQ(registry_.slices()[0].master, std::nullopt);
  EXPECT_EQ(row(0).state, WorkerState::kServing);
}

TEST_F(RegistryServers, enter__a_master_that_was_named_before_it_came) {
  SliceRow with_master = slice("c");
  with_master.master = WorkerId{5};
  ASSERT_TRUE(registry_.add_slice(with_master));
  enter(server("s", {worker(5, "c")}));
  EXPECT_EQ(registry_.slices()[2].master, WorkerId{5});
}

TEST_F(RegistryServers, enter__one_that_was_named_a_master_comes_elsewhere__it_is_none) {
  SliceRow with_master = slice("c");
  with_master.master = WorkerId{5};
  ASSERT_TRUE(registry_.add_slice(with_master));
  enter(server("s", {worker(5, "a")}));
  EXPECT_EQ(registry_.slices()[2].master, std::nullopt);
}

TEST_F(RegistryServers, enter__has_heard_of_a_newer_epoch__gets_one_that_is_newer_still) {
  enter(server("s", {worker(0), worker(1)}));
  WorkerClaim claim = worker(0);
  claim.has_state = true;
  claim.epoch = {5};
  enter(server("s", {claim, worker(1)}));
  EXPECT_EQ(row(0).epoch, Epoch{6}) << "it was told 5 by a controller whose disk refused to keep it";
  claim.epoch = {3};
  const Version before = registry_.version();
  enter(server("s", {claim, worker(1)}));
  EXPECT_EQ(row(0).epoch, Epoch{6});
  EXPECT_EQ(registry_.version(), before);
}

TEST_F(RegistryServers, tick__servers_that_have_gone_and_own_no_worker_are_forgotten) {
  const auto names = [this] {
    std::vector<std::string> all;
    for (const ServerRow& one : registry_.servers()) all.push_back(one.name);
    return all;
  };
  for (const char* name : {"s", "t", "u"}) {
    const std::uint64_t session = enter(server(name, {worker(0)}));
    pass(milliseconds(500));
    ASSERT_TRUE(registry_.leave(name, session, now_));
  }
  pass(milliseconds(500));
  EXPECT_THAT(names(), ::testing::ElementsAre("s", "t", "u")) << "their leases go on";
  for (int i = 0; i < 6; ++i) pass(milliseconds(500));
  EXPECT_THAT(names(), ::testing::ElementsAre("u")) << "worker 0 belongs to it, and it may come back";
  EXPECT_TRUE(Registry::restore(testing::options(), registry_.state(), now_));
  enter(server("s", {worker(0)}));
  EXPECT_EQ(row(0).epoch, Epoch{3}) << "a worker's epoch outlives its servers";
}

TEST_F(RegistryServers, enter__more_servers_than_can_be__is_refused) {
  // All stay attached while the next one takes over their only worker.
  for (unsigned i = 0; i < 2 * dataplane::kMaxWorkers; ++i) {
    ASSERT_TRUE(registry_.enter(server(fmt::format("s{}", i), {worker(0)}), now_));
    ASSERT_TRUE(registry_.remove({0}, true));
  }
  expect_refused(registry_.enter(server("t", {worker(1)}), now_), Reason::kNoRoom,
                 "server \"t\": there are 2048 servers, the most that can be");
  EXPECT_TRUE(registry_.enter(server("s7", {worker(1)}), now_)) << "one that is known";
}

TEST_F(RegistryServers, enter__bad_input__changes_nothing) {
  two_servers();
  const Version before = registry_.version();
  const auto refused = [this](std::vector<WorkerClaim> workers, Reason reason, const std::string& text,
                              const std::string& name = "u") {
    expect_refused(registry_.enter(server(name, std::move(workers)), now_), reason, text);
  };
  refused({}, Reason::kOutOfRange, "it has no workers");
  refused({worker(7)}, Reason::kOutOfRange, "a name of 1 to 64 bytes", "a\nb");
  refused({worker(1024)}, Reason::kNoRoom, "ids are 0 to 1023");
  refused({worker(7), worker(7)}, Reason::kDuplicate, "it is there twice");
  refused({worker(0)}, Reason::kDuplicate, "server \"s\" has this id");
  refused({worker(7, "z")}, Reason::kUnknown, "slice \"z\" is unknown; there are: a, b");
  refused({worker(7, "")}, Reason::kUnknown, "slice \"\" is unknown");
  WorkerClaim claim = worker(7);
  claim.address = testing::address(0);
  refused({claim}, Reason::kDuplicate, "worker 0 of server \"s\" has address 10.0.0.1:9100");
  claim.address = Endpoint::v4(0, 0, 0, 0, 9100);
  refused({claim}, Reason::kOutOfRange, "address 0.0.0.0:9100: the switch cannot send there");
  claim = worker(7);
  claim.quota = 9;
  refused({claim}, Reason::kOutOfRange, "quota 9: 1 to 8 is allowed");
  claim = worker(7);
  claim.weight = 9;
  refused({claim}, Reason::kOutOfRange, "weight 9: 1 to 8 is allowed");
  EXPECT_EQ(registry_.version(), before);
  EXPECT_EQ(registry_.servers().size(), 2u);
  EXPECT_EQ(registry_.refusals()[static_cast<std::size_t>(Reason::kDuplicate)], 3u);
}

TEST_F(RegistryServers, tick__a_silent_servers_workers_are_taken_out) {
  const std::uint64_t t = two_servers();
  now_ += seconds(1);
  ASSERT_TRUE(registry_.tick(now_));
  now_ += seconds(1);
  ASSERT_TRUE(registry_.report("t", t, {}, now_));
  ASSERT_TRUE(registry_.tick(now_));
  now_ += seconds(1);
  const auto done = registry_.tick(now_);
  EXPECT_EQ(done->note, "server \"s\": its lease has ended, 2 workers are taken out");
  EXPECT_EQ(row(0).state, WorkerState::kCrashed);
  EXPECT_EQ(row(0).epoch, Epoch{1});
  EXPECT_EQ(row(2).state, WorkerState::kServing);
  EXPECT_THAT(registry_.warnings(), ::testing::ElementsAre(HasSubstr("slice \"a\" has no worker")));
  // The partition heals: the same life comes back, its epoch stays the new one.
  enter(server("s", {worker(0), worker(1)}));
  EXPECT_EQ(row(0).state, WorkerState::kServing);
  EXPECT_EQ(row(0).epoch, Epoch{1});
}

TEST_F(RegistryServers, report__a_dead_worker_is_taken_out_and_comes_back) {
  const std::uint64_t t = two_servers();
  WorkerReport dead = report(2);
  dead.alive = false;
  ASSERT_TRUE(registry_.report("t", t, std::vector{dead}, now_));
  EXPECT_EQ(row(2).state, WorkerState::kCrashed);
  EXPECT_EQ(row(2).epoch, Epoch{1});
  ASSERT_TRUE(registry_.report("t", t, std::vector{report(2)}, now_));
  EXPECT_EQ(row(2).state, WorkerState::kServing);
  EXPECT_EQ(row(2).epoch, Epoch{1});
}

TEST_F(RegistryServers, report__after_the_lease_has_ended__brings_back_all_but_the_dead) {
  const std::uint64_t t = two_servers();
  WorkerReport dead = report(2);
  dead.alive = false;
  ASSERT_TRUE(registry_.report("t", t, std::vector{dead}, now_));
  for (int second = 0; second < 3; ++second) pass(seconds(1));
  EXPECT_EQ(row(3).state, WorkerState::kCrashed);
  ASSERT_TRUE(registry_.report("t", t, {}, now_));
  EXPECT_EQ(row(3).state, WorkerState::kServing);
  EXPECT_EQ(row(3).epoch, Epoch{1});
  EXPECT_EQ(row(2).state, WorkerState::kCrashed);
}

TEST_F(RegistryServers, report__whose_slice_was_removed_stays_out) {
  const std::uint64_t t = two_servers();
  for (const std::uint16_t id : {std::uint16_t{2}, std::uint16_t{3}}) {
    WorkerReport dead = report(id);
    dead.alive = false;
    ASSERT_TRUE(registry_.report("t", t, std::vector{dead}, now_));
  }
  ASSERT_TRUE(registry_.remove_slice("b"));
  ASSERT_TRUE(registry_.report("t", t, std::vector{report(2), report(3)}, now_));
  EXPECT_EQ(row(2).state, WorkerState::kCrashed);
  EXPECT_TRUE(Registry::restore(testing::options(), registry_.state(), now_));
}

TEST_F(RegistryServers, report__a_draining_worker_that_dies_has_left) {
  const std::uint64_t t = two_servers();
  ASSERT_TRUE(registry_.drain({2}, false));
  WorkerReport dead = report(2);
  dead.alive = false;
  ASSERT_TRUE(registry_.report("t", t, std::vector{dead}, now_));
  EXPECT_EQ(row(2).state, WorkerState::kDrained);
  ASSERT_TRUE(registry_.report("t", t, std::vector{report(2)}, now_));
  EXPECT_EQ(row(2).state, WorkerState::kDrained);
  ASSERT_TRUE(registry_.drain({3}, true));
  for (int second = 0; second < 3; ++second) pass(seconds(1));
  EXPECT_EQ(row(3).state, WorkerState::kDrained);
}

TEST_F(RegistryServers, report__nonsense_is_refused_but_renews_the_lease) {
  const std::uint64_t t = two_servers();
  now_ += seconds(1);
  registry_.tick(now_);
  now_ += seconds(1);
  const auto refused = [&](const WorkerReport& one, const std::string& text,
                           Reason reason = Reason::kNonsense) {
    expect_refused(registry_.report("t", t, std::vector{report(3), one}, now_), reason, text);
  };
  WorkerReport one = report(2);
  one.idleness = std::nan("");
  refused(one, "idleness nan: 0 to 1");
  one.idleness = -0.1;
  refused(one, "idleness -0.1");
  one.idleness = 1.5;
  refused(one, "idleness 1.5");
  one = report(2);
  one.slowdown_p99 = std::numeric_limits<double>::infinity();
  refused(one, "slowdown inf: 0 to 1e+09");
  one.slowdown_p99 = std::nan("");
  refused(one, "slowdown nan");
  one = report(2);
  one.quota = 9;
  refused(one, "quota 9: 0 to 8");
  one = report(2);
  one.held = UINT32_MAX;
  refused(one, "holds 4294967295 tasks");
  one = report(2);
  one.served = UINT64_MAX;
  refused(one, "served 18446744073709551615 tasks");
  refused(report(0), "worker 0 is none of its", Reason::kUnknown);
  EXPECT_EQ(registry_.report_of({3}), nullptr) << "of a report with nonsense in it nothing is taken";
  now_ += seconds(1);
  registry_.tick(now_);
  EXPECT_EQ(row(2).state, WorkerState::kServing);
}

TEST_F(RegistryServers, report__of_an_older_session_is_stale) {
  const std::uint64_t t = two_servers();
  enter(server("t", {worker(2, "b"), worker(3, "b")}));
  expect_refused(registry_.report("t", t, {}, now_), Reason::kStale, "a newer session has taken its place");
  expect_refused(registry_.report("x", 1, {}, now_), Reason::kUnknown, "server \"x\" is unknown");
}

TEST_F(RegistryServers, leave__workers_leave_at_once) {
  const std::uint64_t t = two_servers();
  const auto done = registry_.leave("t", t, now_);
  ASSERT_TRUE(done);
  EXPECT_THAT(done->note, HasSubstr("slice \"b\" has no worker"));
  EXPECT_EQ(row(2).state, WorkerState::kLeft);
  expect_refused(registry_.resume({2}), Reason::kWrongState, "comes back when its server \"t\" does");
  enter(server("t", {worker(2, "b"), worker(3, "b")}, 2));
  EXPECT_EQ(row(2).state, WorkerState::kServing);
  EXPECT_EQ(row(2).epoch, Epoch{1});
}

}  // namespace
}  // namespace rain::control::testing
