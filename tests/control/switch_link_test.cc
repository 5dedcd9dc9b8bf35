// A switch's link to a live controller: all tables, then what changes.
#include "control/rpc/switch_link.h"

#include "control/rpc_fixture.h"

namespace rain::control::testing {
namespace {

TEST_F(Rpc, switch_link__gets_all_then_what_changes) {
  start();
  const auto link = server_link(server("s", {worker(0), worker(1)}));
  ASSERT_TRUE(link->wait_for_orders(kPatience));
  const auto in_switch = switch_link();
  ASSERT_TRUE(applied_.wait_until([](const Applied& all) { return !all.empty(); }));
  EXPECT_EQ(applied_.get()[0].size(), 1u + 2 + 2) << "clear, slices, workers";
  order(MoveOrder{{0}, "b"});
  ASSERT_TRUE(applied_.wait_until([](const Applied& all) { return all.size() >= 2; }));
  const Applied all = applied_.get();
  ASSERT_EQ(all[1].size(), 1u);
  const auto& moved = std::get<softswitch::SetWorker>(all[1][0]).worker;
  EXPECT_EQ(moved.id, WorkerId{0});
  EXPECT_EQ(moved.slice, SliceId{1});
}

TEST_F(Rpc, switch_link__restarted_switch__gets_everything_again) {
  start();
  switch_link({1});
  applied_.set({});
  const auto again = switch_link({2});
  ASSERT_TRUE(applied_.wait_until([](const Applied& all) { return !all.empty(); }));
  EXPECT_TRUE(std::holds_alternative<softswitch::ClearTables>(applied_.get()[0][0]));
}

TEST_F(Rpc, switch_link__restarted_controller__only_what_is_new) {
  start();
  const auto link = switch_link();
  ASSERT_TRUE(applied_.wait_until([](const Applied& all) { return all.size() == 1; }));
  restart(true);
  order(AddTypeOrder{{5}, "a"});
  ASSERT_TRUE(applied_.wait_until([](const Applied& all) { return all.size() == 2; }));
  EXPECT_EQ(applied_.get()[1].size(), 1u) << "no table was sent again";
  restart(false);
  ASSERT_TRUE(applied_.wait_until([](const Applied& all) { return all.size() == 3; }));
  EXPECT_TRUE(std::holds_alternative<softswitch::ClearTables>(applied_.get()[2][0]));
}

TEST_F(Rpc, switch_link__refuses__is_shown_and_told_everything_next) {
  start();
  answer_ = "worker 0: no room";
  const auto link = switch_link();
  ASSERT_TRUE(applied_.wait_until([](const Applied& all) { return all.size() == 1; }));
  const Nanos give_up = monotonic_now() + kPatience;
  RackStatus now = status();
  while ((now.switches.empty() || now.switches[0].refusal.empty()) && monotonic_now() < give_up)
    now = status();
  ASSERT_EQ(now.switches.size(), 1u);
  EXPECT_EQ(now.switches[0].refusal, "worker 0: no room");
  EXPECT_EQ(now.switches[0].version, 0u);
  applied_.change([this](Applied&) { answer_.clear(); });
  order(AddTypeOrder{{5}, "a"});
  ASSERT_TRUE(applied_.wait_until([](const Applied& all) { return all.size() == 2; }));
  EXPECT_TRUE(std::holds_alternative<softswitch::ClearTables>(applied_.get()[1][0]));
}

}  // namespace
}  // namespace rain::control::testing
