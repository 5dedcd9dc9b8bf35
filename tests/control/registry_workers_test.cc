// Tests of what operators and agents order of workers.
#include "control/registry_fixture.h"

namespace rain::control::testing {
namespace {

using ::testing::HasSubstr;

class RegistryWorkers : public RegistryTest {};

TEST_F(RegistryWorkers, drain__serves_what_it_holds_then_leaves_the_switch) {
  two_servers();
  const std::uint64_t s = enter(server("s", {worker(0), worker(1)}));
  ASSERT_TRUE(registry_.drain({0}, false));
  EXPECT_EQ(row(0).state, WorkerState::kDraining);
  EXPECT_EQ(row(0).epoch, Epoch{0}) << "its tokens live until they are recalled";
  ASSERT_TRUE(registry_.report("s", s, std::vector{report(0)}, now_));
  EXPECT_EQ(row(0).state, WorkerState::kDraining);
  WorkerReport drained = report(0);
  drained.drained = true;
  ASSERT_TRUE(registry_.report("s", s, std::vector{drained}, now_));
  EXPECT_EQ(row(0).state, WorkerState::kDrained);
  EXPECT_EQ(row(0).epoch, Epoch{1});
  EXPECT_EQ(registry_.drain({0}, false)->note, "nothing changes");
  enter(server("s", {worker(0), worker(1)}));
  EXPECT_EQ(row(0).state, WorkerState::kDrained) << "coming back to the controller does not undo it";
  ASSERT_TRUE(registry_.resume({0}));
  EXPECT_EQ(row(0).state, WorkerState::kServing);
}

TEST_F(RegistryWorkers, drain__the_last_one_of_a_slice_only_by_force) {
  two_servers();
  ASSERT_TRUE(registry_.drain({0}, false));
  expect_refused(registry_.drain({1}, false), Reason::kLastWorker,
                 "worker 1 is the last one that serves slice \"a\"");
  expect_refused(registry_.remove({1}, false), Reason::kLastWorker, "worker 1 is the last one");
  expect_refused(registry_.move({1}, "b", false), Reason::kLastWorker, "worker 1 is the last one");
  EXPECT_THAT(registry_.drain({1}, true)->note, HasSubstr("slice \"a\" has no worker"));
}

TEST_F(RegistryWorkers, remove__at_once_and_for_good) {
  two_servers();
  ASSERT_TRUE(registry_.remove({0}, false));
  EXPECT_EQ(row(0).state, WorkerState::kRemoved);
  EXPECT_EQ(row(0).epoch, Epoch{1});
  enter(server("s", {worker(0), worker(1)}));
  EXPECT_EQ(row(0).state, WorkerState::kRemoved);
  expect_refused(registry_.remove({9}, false), Reason::kUnknown, "worker 9 is unknown");
  expect_refused(registry_.drain({0}, false), Reason::kWrongState, "worker 0 is removed");
}

TEST_F(RegistryWorkers, move__new_slice_and_epoch) {
  two_servers();
  ASSERT_TRUE(registry_.move({0}, "b", false));
  EXPECT_EQ(row(0).slice, SliceId{1});
  EXPECT_EQ(row(0).epoch, Epoch{1});
  EXPECT_EQ(registry_.move({0}, "b", false)->note, "nothing changes");
  expect_refused(registry_.move({0}, "z", false), Reason::kUnknown, "slice \"z\" is unknown");
  ASSERT_TRUE(registry_.drain({2}, false));
  expect_refused(registry_.move({2}, "a", false), Reason::kWrongState, "worker 2 is draining");
}

TEST_F(RegistryWorkers, move__to_a_slice_of_another_switch_thread) {
  ASSERT_TRUE(registry_.add_slice(slice("c", false, 1)));
  const std::uint64_t t = two_servers();
  ASSERT_TRUE(registry_.move({0}, "c", false));
  EXPECT_EQ(row(0).slice, SliceId{2});
  EXPECT_EQ(row(0).epoch, Epoch{1});
  EXPECT_TRUE(registry_.request_move("t", t, {2}, "c", now_)) << "an agent may as well";
}

/// The switches' scheduler pushes: a master takes sticky tasks alone.
class RegistryOfPushedTasks : public RegistryTest {
 protected:
  RegistryOfPushedTasks()
      : RegistryTest([] {
          RegistryOptions pushing = options();
          pushing.uses_tokens = false;
          return pushing;
        }()) {}
};

TEST_F(RegistryOfPushedTasks, drain__says_that_the_master_alone_is_left) {
  two_servers();
  EXPECT_EQ(registry_.set_master("a", {1})->note, "");
  const std::string alone =
      "slice \"a\" has no worker but its master, 1, which takes sticky tasks alone with this scheduler: "
      "others are "
      "refused";
  EXPECT_EQ(registry_.drain({0}, false)->note, alone);
  EXPECT_THAT(registry_.warnings(), ::testing::ElementsAre(alone));
  ASSERT_TRUE(registry_.resume({0}));
  EXPECT_EQ(registry_.move({0}, "b", false)->note, alone);
  EXPECT_EQ(registry_.drain({1}, true)->note,
            "slice \"a\" is without its master: sticky tasks are refused until another is named; slice \"a\" "
            "has no "
            "worker that serves: its tasks are refused");
}

TEST_F(RegistryOfPushedTasks, set_master__says_that_nobody_is_left_for_the_rest) {
  enter(server("s", {worker(0)}));
  EXPECT_THAT(registry_.set_master("a", {0})->note, HasSubstr("has no worker but its master, 0"));
}

TEST_F(RegistryWorkers, drain__a_master_that_is_left_serves_the_rest) {
  two_servers();
  ASSERT_TRUE(registry_.set_master("a", {1}));
  EXPECT_EQ(registry_.drain({0}, false)->note, "");
}

TEST_F(RegistryWorkers, remove__of_the_master_says_that_the_slice_has_none) {
  two_servers();
  ASSERT_TRUE(registry_.set_master("a", {1}));
  EXPECT_EQ(registry_.remove({1}, false)->note,
            "slice \"a\" has no master now: sticky tasks are refused until one is named");
  ASSERT_TRUE(registry_.resume({1}));
  EXPECT_EQ(registry_.remove({1}, false)->note, "") << "it came back as a worker like others";
}

TEST_F(RegistryWorkers, move__of_the_master_says_that_the_slice_has_none) {
  two_servers();
  ASSERT_TRUE(registry_.set_master("a", {1}));
  EXPECT_EQ(registry_.move({1}, "b", false)->note,
            "slice \"a\" has no master now: sticky tasks are refused until one is named");
}

TEST_F(RegistryWorkers, request_move__only_of_its_own) {
  const std::uint64_t t = two_servers();
  ASSERT_TRUE(registry_.request_move("t", t, {2}, "a", now_));
  EXPECT_EQ(row(2).slice, SliceId{0});
  expect_refused(registry_.request_move("t", t, {0}, "b", now_), Reason::kUnknown, "worker 0 is none of its");
  expect_refused(registry_.request_move("t", t, {3}, "a", now_), Reason::kLastWorker,
                 "worker 3 is the last one");
  ASSERT_TRUE(registry_.drain({2}, false));
  expect_refused(registry_.request_move("t", t, {2}, "b", now_), Reason::kWrongState, "worker 2 is draining");
}

TEST_F(RegistryWorkers, set_quota__is_an_order) {
  two_servers();
  ASSERT_TRUE(registry_.set_quota({0}, 2));
  EXPECT_EQ(row(0).quota, 2u);
  EXPECT_EQ(row(0).quota_order, 1u);
  expect_refused(registry_.set_quota({0}, 0), Reason::kOutOfRange, "quota 0: 1 to 8 is allowed");
  expect_refused(registry_.set_quota({0}, 9), Reason::kOutOfRange, "quota 9: 1 to 8 is allowed");
  WorkerReport adapted = report(1);
  adapted.quota = 7;
  ASSERT_TRUE(registry_.report("s", registry_.servers()[0].session, std::vector{adapted}, now_));
  EXPECT_EQ(registry_.room(), 2000u + 2 + 7 + 4 + 4) << "what agents made of their quotas counts";
}

TEST_F(RegistryWorkers, set_quota__the_same_again__changes_nothing_unless_the_agent_has_another) {
  two_servers();
  ASSERT_TRUE(registry_.set_quota({0}, 2));
  const Version before = registry_.version();
  EXPECT_EQ(registry_.set_quota({0}, 2)->note, "nothing changes");
  WorkerReport adapted = report(0);
  adapted.quota = 2;
  ASSERT_TRUE(registry_.report("s", registry_.servers()[0].session, std::vector{adapted}, now_));
  EXPECT_EQ(registry_.set_quota({0}, 2)->note, "nothing changes");
  EXPECT_EQ(registry_.version(), before);
  adapted.quota = 7;
  ASSERT_TRUE(registry_.report("s", registry_.servers()[0].session, std::vector{adapted}, now_));
  EXPECT_EQ(registry_.set_quota({0}, 2)->note, "");
  EXPECT_EQ(row(0).quota_order, 2u);
}

TEST_F(RegistryWorkers, worker_with__unknown__says_what_there_is) {
  pass(seconds(1));
  pass(seconds(1));
  expect_refused(registry_.drain({9}, false), Reason::kUnknown,
                 "worker 9 is unknown: no server has registered yet; the controller began 1 s ago");
  two_servers();
  expect_refused(registry_.drain({9}, false), Reason::kUnknown, "worker 9 is unknown; there are: 0, 1, 2, 3");
}

}  // namespace
}  // namespace rain::control::testing
