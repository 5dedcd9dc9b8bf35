// The controller and its links over TCP on this machine: what each says reaches the other, whoever is away comes back.
#include <condition_variable>
#include <deque>

#include "control/certificates.h"
#include "control/controller_fixture.h"
#include "control/rpc/admin_client.h"
#include "control/rpc/client_link.h"
#include "control/rpc/server_link.h"
#include "control/rpc/switch_link.h"

namespace rain::control {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using testing::Authority;
using ::testing::HasSubstr;
using testing::server;
using testing::worker;

constexpr Nanos kPatience = seconds(60);  // fails a test that would otherwise hang

/// Something that another thread changes and this one waits for.
template <typename T>
class Watched {
 public:
  void set(T value) {
    {
      const std::lock_guard lock(mutex_);
      value_ = std::move(value);
    }
    changed_.notify_all();
  }
  template <typename Change>
  void change(Change change) {
    {
      const std::lock_guard lock(mutex_);
      change(value_);
    }
    changed_.notify_all();
  }
  template <typename Is>
  bool wait_until(Is is) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::nanoseconds(kPatience.value), [&] { return is(value_); });
  }
  T get() {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  T value_{};
};

class Rpc : public testing::ControllerFixture {
 protected:
  std::unique_ptr<ServerLink> server_link(const ServerClaim& claim) {
    auto link = ServerLink::open({address_, claim},
                                 {.orders = [this](const ServerOrders& orders) { orders_.set(orders); },
                                  .refused =
                                      [this](const std::string& text, std::optional<WorkerId> move) {
                                        refused_.set({text, move});
                                      },
                                  .note = [this](const std::string& text) { note(text); }});
    EXPECT_TRUE(link) << link.error();
    return std::move(*link);
  }
  std::unique_ptr<SwitchLink> switch_link(BootId boot = {1}) {
    auto link = SwitchLink::open({address_, "127.0.0.1:9000", boot},
                                 {.apply =
                                      [this](std::span<const softswitch::TableChange> changes) {
                                        std::string answer;
                                        applied_.change([&](auto& all) {
                                          all.emplace_back(changes.begin(), changes.end());
                                          answer = answer_;
                                        });
                                        return answer;
                                      },
                                  .note = [this](const std::string& text) { notes_.set(text); }});
    EXPECT_TRUE(link) << link.error();
    return std::move(*link);
  }
  void note(const std::string& text) {
    notes_.set(text);
    all_notes_.change([&](std::vector<std::string>& all) { all.push_back(text); });
  }
  std::unique_ptr<AdminClient> admin() {
    auto client = AdminClient::open(address_);
    EXPECT_TRUE(client) << client.error();
    return std::move(*client);
  }
  RackStatus status() {
    auto status = admin()->status(kPatience);
    EXPECT_TRUE(status) << status.error().text;
    return status.value_or(RackStatus{});
  }
  template <typename Order>
  void order(const Order& order) {
    const auto done = admin()->order(order, 0, kPatience);
    EXPECT_TRUE(done) << done.error().text;
  }
  bool wait_for_state(WorkerId id, WorkerState state) {
    return orders_.wait_until([&](const ServerOrders& orders) {
      return std::any_of(orders.workers.begin(), orders.workers.end(),
                         [&](const WorkerRow& row) { return row.id == id && row.state == state; });
    });
  }
  static WorkerReport report(std::uint16_t id, bool drained = false) {
    WorkerReport one;
    one.id = {id};
    one.quota = 4;
    one.drained = drained;
    return one;
  }

  struct Refused {
    std::string text{};
    std::optional<WorkerId> move{};
  };
  using Applied = std::deque<std::vector<softswitch::TableChange>>;

  Watched<ServerOrders> orders_;
  Watched<Refused> refused_;
  Watched<std::string> notes_;
  Watched<std::vector<std::string>> all_notes_;
  Watched<Applied> applied_;
  std::string answer_;
};

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

TEST_F(Rpc, client_link__hears_its_share) {
  start();
  const auto workers = server_link(server("s", {worker(0)}));
  ASSERT_TRUE(workers->wait_for_orders(kPatience));
  Watched<std::uint32_t> share;
  const auto client = [&](const std::string& name, Watched<std::uint32_t>& told, std::uint32_t wanted) {
    return *ClientLink::open({.controller = address_, .name = name},
                             {.usage =
                                  [wanted] {
                                    return ClientUsage{0, wanted};
                                  },
                              .share = [&told](std::uint32_t n) { told.set(n); }});
  };
  const auto first = client("c", share, 10000);
  ASSERT_TRUE(share.wait_until([](std::uint32_t n) { return n == 2004; }));
  {
    Watched<std::uint32_t> other;
    const auto second = client("d", other, 10000);
    EXPECT_TRUE(other.wait_until([](std::uint32_t n) { return n == 1002; }));
    EXPECT_TRUE(share.wait_until([](std::uint32_t n) { return n == 1002; }));
    order(WeightOrder{"d", 3});
    EXPECT_TRUE(other.wait_until([](std::uint32_t n) { return n >= 1500; }));
  }
  EXPECT_TRUE(share.wait_until([](std::uint32_t n) { return n == 2004; })) << "what the other had comes back";
}

TEST_F(Rpc, client_link__controller_restarts__goes_on) {
  start();
  Watched<std::uint32_t> share;
  const auto client = *ClientLink::open({.controller = address_, .name = "c"},
                                        {.usage = [] { return ClientUsage{}; },
                                         .share = [&](std::uint32_t n) { share.set(n); },
                                         .note = [this](const std::string& text) { notes_.set(text); }});
  ASSERT_TRUE(share.wait_until([](std::uint32_t n) { return n == 2000; }));
  stop();
  ASSERT_TRUE(
      notes_.wait_until([](const std::string& text) { return text.find("trying again") != text.npos; }));
  EXPECT_EQ(share.get(), 2000u);
  start({}, address_.endpoint.port);
  order(AddSliceOrder{testing::slice("c")});
  EXPECT_TRUE(share.wait_until([](std::uint32_t n) { return n == 3000; }));
}

TEST_F(Rpc, admin__status_and_refusals) {
  start();
  const auto link = server_link(server("s", {worker(0)}));
  ASSERT_TRUE(link->wait_for_orders(kPatience));
  const RackStatus now = status();
  EXPECT_EQ(now.slices.size(), 2u);
  EXPECT_EQ(now.workers.at(0).row.token_key, 0u) << "a secret";
  EXPECT_EQ(now.servers.at(0).name, "s");
  EXPECT_TRUE(now.servers.at(0).attached);
  EXPECT_THAT(now.warnings, ::testing::ElementsAre(HasSubstr("slice \"b\" has no worker")));
  auto done = admin()->order(MoveOrder{{9}, "b"}, 0, kPatience);
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().bad_input);
  EXPECT_EQ(done.error().text, "worker 9 is unknown; there are: 0");
  done = admin()->order(DrainOrder{{0}}, 0, kPatience);
  ASSERT_FALSE(done);
  EXPECT_FALSE(done.error().bad_input);
  EXPECT_THAT(done.error().text, HasSubstr("the last one that serves"));
  done = admin()->order(AddTypeOrder{{5}, "a"}, now.version + 1, kPatience);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("is not the present one"));
  EXPECT_TRUE(admin()->order(AddTypeOrder{{5}, "a"}, now.version, kPatience));
}

TEST_F(Rpc, admin__nobody_listens) {
  start();
  const auto client = admin();
  stop();
  const auto done = client->status(seconds(2));
  ASSERT_FALSE(done);
  EXPECT_FALSE(done.error().bad_input);
  EXPECT_THAT(done.error().text, HasSubstr("the controller at 127.0.0.1:"));
}

TEST_F(Rpc, start__the_port_is_taken) {
  start();
  const auto second = ControllerServer::start(*controller_, address_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr("cannot listen on 127.0.0.1:"));
}

TEST_F(Rpc, tls__both_sides_have_certificates) {
  Authority authority("rack");
  start(authority.issue("controller"));
  address_.tls = authority.issue("operator");
  EXPECT_EQ(status().slices.size(), 2u);
}

TEST_F(Rpc, tls__a_certificate_of_another_authority__is_refused) {
  Authority authority("rack");
  Authority other("elsewhere");
  start(authority.issue("controller"));
  address_.tls = other.issue("operator");
  const auto problem = [this] {
    const auto status = admin()->status(seconds(10));
    return status ? "" : status.error().text;
  };
  EXPECT_THAT(problem(), HasSubstr("its certificate is not of the authority " + address_.tls.authority));
  // Trusts the controller, but is none of its own.
  address_.tls.authority = authority.issue("x").authority;
  EXPECT_THAT(problem(), HasSubstr("it ended the connection while certificates were checked: " +
                                   address_.tls.certificate + " must be of its authority"));
  address_.tls = {};
  EXPECT_THAT(problem(), HasSubstr("it ended the connection at once: it may want TLS"));
}

}  // namespace
}  // namespace rain::control
