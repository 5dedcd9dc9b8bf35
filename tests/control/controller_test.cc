#include "control/controller.h"

#include <thread>

#include "control/registry_fixture.h"

namespace rain::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::server;
using testing::worker;

struct Fixture {
  explicit Fixture(std::optional<SavedState> state = std::nullopt) {
    ControllerOptions options{.registry = testing::options(),
                              .slices = {testing::slice("a"), testing::slice("b", true)},
                              .types = {{{1}, {0}}},
                              .saved = std::move(state)};
    options.save = [this](const SavedState& newest) { return saved.push_back(newest), save_problem; };
    options.note = [this](const std::string& text) { notes.push_back(text); };
    auto opened = Controller::open(std::move(options), seconds(10));
    EXPECT_TRUE(opened);
    controller = std::move(*opened);
  }
  std::uint64_t enter(Nanos now = seconds(10)) {
    return *controller->change([&](Registry& registry) {
      return registry.enter(server("s", {worker(0), worker(1)}), now);
    });
  }

  std::vector<SavedState> saved;
  std::string save_problem;
  std::vector<std::string> notes;
  std::unique_ptr<Controller> controller;
};

void tick(Controller& controller, Nanos now) {
  controller.tick([now] { return now; });
}

TEST(Controller, open__begins_with_the_files_slices_and_saves_them) {
  Fixture fixture;
  ASSERT_EQ(fixture.saved.size(), 1u);
  EXPECT_EQ(fixture.saved[0].registry.slices.size(), 2u);
  EXPECT_EQ(fixture.saved[0].registry.types[0].row, (TypeRow{{1}, {0}}));
}

TEST(Controller, open__the_saved_state_wins) {
  Fixture before;
  before.enter();
  ASSERT_TRUE(before.controller->change([](Registry& registry) { return registry.move({0}, "b", false); }));
  const Fixture after(before.saved.back());
  EXPECT_TRUE(after.saved.empty()) << "nothing is new";
  after.controller->read([](const Registry& registry, const auto&, const auto&) {
    EXPECT_EQ(registry.workers()[0].slice, SliceId{1});
    return 0;
  });
}

TEST(Controller, change__saves_each_change_of_a_table_and_no_report) {
  Fixture fixture;
  const std::uint64_t session = fixture.enter();
  EXPECT_EQ(fixture.saved.size(), 2u);
  ASSERT_TRUE(fixture.controller->change(
      [&](Registry& registry) { return registry.report("s", session, {}, seconds(11)); }));
  EXPECT_EQ(fixture.saved.size(), 2u);
}

TEST(Controller, change__a_state_that_cannot_be_saved__is_said_and_the_rack_goes_on) {
  Fixture fixture;
  fixture.save_problem = "state: cannot be written: No space left on device";
  fixture.enter();
  EXPECT_THAT(fixture.notes, ElementsAre("state: cannot be written: No space left on device"));
  EXPECT_EQ(fixture.controller->failed_saves(), 1u);
}

// The disk refuses a change that the switch is told; the controller ends, comes back with the older file, and by other changes
// to the same version. The switch must not be taken for one that knows them.
TEST(Controller, change__told_but_not_saved__a_controller_that_comes_back_tells_everything) {
  Fixture before;
  before.enter();
  const SavedState kept = before.saved.back();
  before.save_problem = "No space left on device";
  ASSERT_TRUE(before.controller->change([](Registry& registry) { return registry.move({0}, "b", false); }));
  const Changes told = before.controller->changes_since(0, 0);
  EXPECT_NE(told.instance, kept.registry.instance);
  Fixture after(kept);
  ASSERT_TRUE(after.controller->change([](Registry& registry) { return registry.set_quota({1}, 2); }));
  ASSERT_TRUE(after.controller->change([](Registry& registry) { return registry.set_quota({1}, 3); }));
  const Changes again = after.controller->changes_since(told.instance, told.version);
  EXPECT_TRUE(again.reset);
  EXPECT_EQ(again.workers.size(), 2u);
}

TEST(Controller, change__saved_again__a_further_failure_is_another_instance) {
  Fixture fixture;
  const auto enter_with = [&](const std::string& problem, Nanos now) {
    fixture.save_problem = problem;
    fixture.controller->change([&](Registry& registry) {
      return registry.enter(server("s", {worker(0)}, static_cast<std::uint64_t>(now.value)), now);
    });
    return fixture.controller->changes_since(0, 0).instance;
  };
  const std::uint64_t first = enter_with("full", seconds(10));
  EXPECT_EQ(enter_with("full", seconds(20)), first) << "the file has an older number anyway";
  EXPECT_EQ(enter_with("", seconds(30)), first);
  EXPECT_EQ(fixture.saved.back().registry.instance, first);
  EXPECT_NE(enter_with("full", seconds(40)), first);
}

TEST(Controller, change_clients__shares_follow_the_room) {
  Fixture fixture;
  fixture.enter();
  const auto enter = [&](const std::string& name) {
    return fixture.controller->change_clients(
        [&](ClientShares& clients) { return clients.enter({.name = name, .incarnation = 1}, seconds(10)); });
  };
  EXPECT_EQ(enter("c")->share, 2000u + 8);
  ASSERT_TRUE(fixture.controller->change([](Registry& registry) { return registry.remove({0}, false); }));
  EXPECT_EQ(enter("c")->share, 2000u + 4);
}

TEST(Controller, change_clients__ordered_weights_are_saved) {
  Fixture fixture;
  fixture.controller->change_clients(
      [&](ClientShares& clients) { return clients.enter({.name = "c", .incarnation = 1}, seconds(10)); });
  const std::size_t before = fixture.saved.size();
  ASSERT_TRUE(
      fixture.controller->change_clients([](ClientShares& clients) { return clients.order_weight("c", 5); }));
  ASSERT_EQ(fixture.saved.size(), before + 1);
  EXPECT_EQ(fixture.saved.back().client_weights.at("c"), 5u);
  const Fixture after(fixture.saved.back());
  const auto again = after.controller->change_clients(
      [&](ClientShares& clients) { return clients.enter({.name = "c", .incarnation = 2}, seconds(10)); });
  EXPECT_EQ(again->weight, 5u);
}

TEST(Controller, tick__says_who_was_taken_out) {
  Fixture fixture;
  fixture.enter();
  for (int second = 11; second <= 13; ++second) tick(*fixture.controller, seconds(second));
  EXPECT_THAT(fixture.notes, ElementsAre(HasSubstr("server \"s\": its lease has ended, 2 workers")));
}

TEST(Controller, tick__clients_expire_but_not_by_a_jump_of_the_clock) {
  Fixture fixture;
  tick(*fixture.controller, seconds(10));
  fixture.controller->change_clients(
      [&](ClientShares& clients) { return clients.enter({.name = "c", .incarnation = 1}, seconds(10)); });
  const auto clients = [&] {
    return fixture.controller->read(
        [](const auto&, const ClientShares& shares, const auto&) { return shares.rows().size(); });
  };
  tick(*fixture.controller, seconds(1000));
  EXPECT_EQ(clients(), 1u);
  for (int second = 1001; second <= 1003; ++second) tick(*fixture.controller, seconds(second));
  EXPECT_EQ(clients(), 0u);
}

TEST(Controller, wait_for_changes__a_change_ends_the_wait) {
  Fixture fixture;
  std::atomic<bool> interrupted{false};
  const Changes before = fixture.controller->changes_since(0, 0);
  std::thread other([&] { fixture.enter(); });
  Changes changes = before;
  while (changes.version == before.version)
    changes = fixture.controller->wait_for_changes(before.instance, before.version, interrupted);
  other.join();
  EXPECT_EQ(changes.workers.size(), 2u);
}

TEST(Controller, wait_for_changes__wake_ends_it_without) {
  Fixture fixture;
  std::atomic<bool> interrupted{true};
  const Changes all = fixture.controller->changes_since(0, 0);
  fixture.controller->wake();
  EXPECT_TRUE(fixture.controller->wait_for_changes(all.instance, all.version, interrupted).empty());
  EXPECT_FALSE(interrupted.load());
}

TEST(Controller, answer_switch__what_it_applied_and_refused) {
  Fixture fixture;
  const auto row = [&] {
    return fixture.controller->read(
        [](const auto&, const auto&, const std::map<std::string, SwitchRow>& switches) {
          return switches.at("sw");
        });
  };
  const std::uint64_t session = fixture.controller->attach_switch("sw", {1});
  fixture.controller->answer_switch("sw", session, 3, "");
  EXPECT_EQ(row().version, 3u);
  fixture.controller->answer_switch("sw", session, 4, "no room");
  EXPECT_EQ(row().version, 3u);
  EXPECT_EQ(row().refusal, "no room");
  EXPECT_THAT(fixture.notes, ElementsAre("switch sw refused its tables: no room"));
  fixture.controller->answer_switch("sw", session - 1, 9, "");
  EXPECT_EQ(row().version, 3u) << "an older session's answer";
  fixture.controller->detach_switch("sw", session);
  EXPECT_FALSE(row().attached);
}

TEST(Controller, attach_switch__those_that_have_gone_do_not_add_up) {
  Fixture fixture;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "sw" + std::to_string(i);
    fixture.controller->detach_switch(name, fixture.controller->attach_switch(name, {1}));
  }
  fixture.controller->read([](const auto&, const auto&, const std::map<std::string, SwitchRow>& switches) {
    EXPECT_LE(switches.size(), 64u);
    return 0;
  });
}

}  // namespace
}  // namespace rain::control
