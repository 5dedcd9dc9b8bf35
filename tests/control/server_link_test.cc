// A server's link to a live controller: what each says reaches the other, whoever is away comes back.
#include "control/rpc/server_link.h"

#include <cmath>

#include "control/rpc_fixture.h"

namespace rain::control::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(Rpc, server_link__registers_and_hears_its_workers) {
  start();
  const auto link = server_link(server("s", {worker(0), worker(1, "b")}));
  const auto orders = link->wait_for_orders(kPatience);
  ASSERT_TRUE(orders);
  ASSERT_EQ(orders->workers.size(), 2u);
  EXPECT_NE(orders->workers[0].token_key, 0u);
  EXPECT_EQ(orders->workers[1].slice, SliceId{1});
  EXPECT_EQ(orders->slices.size(), 2u);
  EXPECT_EQ(orders->types.size(), 1u);
}

TEST_F(Rpc, server_link__hears_orders_and_nothing_of_others_workers) {
  start();
  const auto link = server_link(server("s", {worker(0), worker(1)}));
  const auto other = ServerLink::open({address_, server("t", {worker(2), worker(3)})}, {});
  ASSERT_TRUE(other) << other.error();
  ASSERT_TRUE(link->wait_for_orders(kPatience) && (*other)->wait_for_orders(kPatience));
  order(DrainOrder{{0}});
  ASSERT_TRUE(wait_for_state({0}, WorkerState::kDraining));
  EXPECT_EQ(link->wait_for_orders(kPatience)->workers.size(), 2u);
  link->report({report(0, true), report(1)});
  ASSERT_TRUE(wait_for_state({0}, WorkerState::kDrained));
  order(ResumeOrder{{0}});
  ASSERT_TRUE(wait_for_state({0}, WorkerState::kServing));
}

TEST_F(Rpc, server_link__asks_for_a_move) {
  start();
  const auto link = server_link(server("s", {worker(0), worker(1), worker(2, "b")}));
  ASSERT_TRUE(link->wait_for_orders(kPatience));
  link->request_move({0}, "b");
  ASSERT_TRUE(orders_.wait_until([](const ServerOrders& orders) {
    return !orders.workers.empty() && orders.workers[0].slice == SliceId{1};
  }));
  link->request_move({1}, "b");
  ASSERT_TRUE(refused_.wait_until([](const Refused& refused) { return !refused.text.empty(); }));
  EXPECT_THAT(refused_.get().text, HasSubstr("worker 1 is the last one that serves slice \"a\""));
  EXPECT_EQ(refused_.get().move, WorkerId{1});
}

TEST_F(Rpc, server_link__asks_for_a_spill_threshold) {
  start();
  const auto link = server_link(server("s", {worker(0)}));
  ASSERT_TRUE(link->wait_for_orders(kPatience));
  link->request_spill("a", 3);
  link->request_spill("a", 4);
  EXPECT_TRUE(orders_.wait_until([](const ServerOrders& orders) {
    return !orders.slices.empty() && orders.slices[0].agents_spill == 4u;
  }));
  EXPECT_EQ(status().slices[0].agents_spill, 4u);
}

TEST_F(Rpc, server_link__nonsense_is_refused_and_the_link_stays) {
  start();
  const auto link = server_link(server("s", {worker(0)}));
  ASSERT_TRUE(link->wait_for_orders(kPatience));
  WorkerReport nonsense = report(0);
  nonsense.idleness = std::nan("");
  nonsense.drained = true;  // urgent
  link->report({nonsense});
  ASSERT_TRUE(refused_.wait_until([](const Refused& refused) { return !refused.text.empty(); }));
  EXPECT_THAT(refused_.get().text, HasSubstr("idleness nan"));
  EXPECT_EQ(refused_.get().move, std::nullopt);
  order(QuotaOrder{{0}, 2});
  EXPECT_TRUE(orders_.wait_until(
      [](const ServerOrders& orders) { return !orders.workers.empty() && orders.workers[0].quota == 2; }));
}

TEST_F(Rpc, server_link__leaves) {
  start();
  {
    const auto link = server_link(server("s", {worker(0)}));
    ASSERT_TRUE(link->wait_for_orders(kPatience));
    EXPECT_TRUE(link->leave(kPatience));
  }
  EXPECT_EQ(status().workers.at(0).row.state, WorkerState::kLeft);
}

TEST_F(Rpc, server_link__dies__its_lease_ends) {
  start();
  server_link(server("s", {worker(0)}))->wait_for_orders(kPatience);
  EXPECT_EQ(status().workers.at(0).row.state, WorkerState::kServing);
  const Nanos now = monotonic_now();
  for (int second = 0; second <= 4; ++second) controller_->tick([&] { return now + seconds(second); });
  EXPECT_EQ(status().workers.at(0).row.state, WorkerState::kCrashed);
}

TEST_F(Rpc, server_link__controller_restarts__with_and_without_its_memory) {
  start();
  const auto link = server_link(server("s", {worker(0), worker(1)}));
  const auto first = link->wait_for_orders(kPatience);
  ASSERT_TRUE(first);
  order(MoveOrder{{0}, "b"});
  ASSERT_TRUE(orders_.wait_until([](const ServerOrders& orders) {
    return !orders.workers.empty() && orders.workers[0].slice == SliceId{1};
  }));
  const WorkerRow before = orders_.get().workers[0];
  for (const bool keeps_state : {true, false}) {
    orders_.set({});
    restart(keeps_state);
    ASSERT_TRUE(orders_.wait_until([](const ServerOrders& orders) { return !orders.workers.empty(); }));
    const ServerOrders again = orders_.get();
    const WorkerRow& after = again.workers.at(0);
    EXPECT_EQ(after.slice, before.slice) << keeps_state;
    EXPECT_EQ(after.epoch.value, before.epoch.value + (keeps_state ? 0 : 1));
    EXPECT_EQ(after.token_key, before.token_key) << keeps_state;
  }
}

TEST_F(Rpc, server_link__refused_at_the_door__says_why_and_tries_again) {
  start();
  const auto link = server_link(server("s", {worker(0)}));
  ASSERT_TRUE(link->wait_for_orders(kPatience));
  const auto twin = server_link(server("s", {worker(0)}, 2));
  ASSERT_TRUE(notes_.wait_until([](const std::string& text) { return text.find("attached") != text.npos; }));
  EXPECT_THAT(notes_.get(), HasSubstr("server \"s\": one of this name is attached"));
  EXPECT_FALSE(twin->wait_for_orders(Nanos{}));
}

TEST_F(Rpc, server_link__replaced_by_a_newer_session__says_so) {
  start();
  const auto first = server_link(server("s", {worker(0)}));
  ASSERT_TRUE(first->wait_for_orders(kPatience));
  const auto second = ServerLink::open({address_, server("s", {worker(0)})}, {});
  ASSERT_TRUE(second) << second.error();
  ASSERT_TRUE((*second)->wait_for_orders(kPatience));
  // It goes on by taking its place back, which is said next.
  ASSERT_TRUE(all_notes_.wait_until([](const std::vector<std::string>& notes) {
    return std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
      return note == "server \"s\": a newer session has taken its place; trying again";
    });
  }));
}

}  // namespace
}  // namespace rain::control::testing
