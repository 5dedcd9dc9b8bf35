// For tests of the controller and its links over TCP on this machine.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/controller_fixture.h"
#include "control/rpc/admin_client.h"
#include "control/rpc/server_link.h"
#include "control/rpc/switch_link.h"

namespace rain::control::testing {

inline constexpr Nanos kPatience = seconds(60);  // fails a test that would otherwise hang

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

class Rpc : public ControllerFixture {
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

}  // namespace rain::control::testing
