// The admission windows: what a drop takes, what service gives back, and which limit counts.
#include "rpc/admission.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/prng.h"

namespace rain::rpc {
namespace {

TEST(Admission, signals_overload__load_and_nothing_else) {
  for (const DropReason reason :
       {DropReason::kQueueFull, DropReason::kPayloadStoreFull, DropReason::kWorkerQueueFull,
        DropReason::kRecirculationLimit, DropReason::kDeadlinePassed}) {
    EXPECT_EQ(window_end_of(reason), WindowEnd::kOverloaded) << drop_reason_name(reason);
  }
  for (const DropReason reason : {DropReason::kUnknownTaskType, DropReason::kNoWorkers,
                                  DropReason::kShuttingDown, DropReason::kStaleDispatch}) {
    EXPECT_EQ(window_end_of(reason), WindowEnd::kOther) << drop_reason_name(reason);
  }
  EXPECT_EQ(window_end_of(DropReason::kHandlerFailed), WindowEnd::kServed);
}

/// Requests of one window, oldest first.
class OpenRequests {
 public:
  explicit OpenRequests(std::uint32_t largest) : window(largest) {}
  void open(unsigned count) {
    for (unsigned i = 0; i < count; ++i) rounds_.push_back(window.opened());
  }
  void fill() {
    while (!window.full()) open(1);
  }
  unsigned end(unsigned count, WindowEnd how) {
    unsigned decreases = 0;
    for (unsigned i = 0; i < count; ++i) {
      decreases += window.ended(rounds_.front(), how) ? 1u : 0u;
      rounds_.pop_front();
    }
    return decreases;
  }

  BackOffWindow window;

 private:
  std::deque<BackOffWindow::Round> rounds_;
};

TEST(BackOffWindow, opened__is_full_at_its_size) {
  OpenRequests requests(3);
  requests.open(2);
  EXPECT_FALSE(requests.window.full());
  requests.open(1);
  EXPECT_TRUE(requests.window.full());
  requests.end(1, WindowEnd::kOther);
  EXPECT_FALSE(requests.window.full());
  EXPECT_EQ(requests.window.size(), 3u);
}

TEST(BackOffWindow, ended__a_drop_takes_an_eighth) {
  OpenRequests requests(64);
  requests.fill();
  EXPECT_EQ(requests.end(1, WindowEnd::kOverloaded), 1u);
  EXPECT_EQ(requests.window.size(), 56u);
}

TEST(BackOffWindow, ended__an_eighth_of_what_was_open_and_not_of_room_that_nobody_used) {
  OpenRequests requests(4096);
  requests.open(80);
  requests.end(1, WindowEnd::kOverloaded);
  EXPECT_EQ(requests.window.size(), 70u);
}

TEST(BackOffWindow, ended__drops_of_one_round_count_once) {
  OpenRequests requests(64);
  requests.fill();
  EXPECT_EQ(requests.end(8, WindowEnd::kOverloaded), 1u);
  EXPECT_EQ(requests.window.size(), 56u);
}

TEST(BackOffWindow, ended__what_fitted_remains_when_most_was_dropped) {
  OpenRequests requests(4096);
  requests.fill();
  EXPECT_EQ(requests.end(4046, WindowEnd::kOverloaded), 1u);
  EXPECT_EQ(requests.window.size(), 50u);
}

TEST(BackOffWindow, ended__the_next_round_decreases_anew) {
  OpenRequests requests(64);
  requests.fill();
  requests.end(1, WindowEnd::kOverloaded);
  requests.end(63, WindowEnd::kServed);
  requests.fill();
  EXPECT_EQ(requests.window.size(), 56u) << "those were of before the decrease";
  EXPECT_EQ(requests.end(1, WindowEnd::kOverloaded), 1u);
  EXPECT_EQ(requests.window.size(), 49u);
}

TEST(BackOffWindow, ended__a_drop_of_two_rounds_ago_is_old_news) {
  BackOffWindow window(64);
  const auto old = window.opened();
  for (int round = 0; round < 2; ++round) {
    std::deque<BackOffWindow::Round> rounds;
    while (!window.full()) rounds.push_back(window.opened());
    for (const auto one : rounds) {
      window.ended(one, one == rounds.front() ? WindowEnd::kOverloaded : WindowEnd::kOther);
    }
  }
  const std::uint32_t before = window.size();
  EXPECT_FALSE(window.ended(old, WindowEnd::kOverloaded));
  EXPECT_EQ(window.size(), before);
  EXPECT_EQ(window.open(), 0u);
}

TEST(BackOffWindow, ended__never_below_one) {
  OpenRequests requests(3);
  for (int i = 0; i < 20; ++i) {
    requests.fill();
    requests.end(requests.window.open(), WindowEnd::kOverloaded);
    EXPECT_GE(requests.window.size(), 1u);
  }
  EXPECT_EQ(requests.window.size(), 1u);
}

TEST(BackOffWindow, ended__one_more_for_each_window_served) {
  OpenRequests requests(64);
  requests.fill();
  requests.end(54, WindowEnd::kOverloaded);
  requests.end(10, WindowEnd::kOther);
  ASSERT_EQ(requests.window.size(), 10u);
  for (std::uint32_t size = 10; size < 20; ++size) {
    requests.fill();
    requests.end(size, WindowEnd::kServed);
    EXPECT_EQ(requests.window.size(), size + 1);
  }
}

TEST(BackOffWindow, ended__grows_up_to_its_largest) {
  OpenRequests requests(8);
  requests.fill();
  requests.end(1, WindowEnd::kOverloaded);
  ASSERT_EQ(requests.window.size(), 7u);
  for (int i = 0; i < 100; ++i) {
    requests.fill();
    requests.end(requests.window.open(), WindowEnd::kServed);
  }
  EXPECT_EQ(requests.window.size(), 8u);
}

TEST(BackOffWindow, ended__a_client_that_wants_less_learns_nothing) {
  OpenRequests requests(64);
  requests.fill();
  requests.end(1, WindowEnd::kOverloaded);
  requests.end(63, WindowEnd::kOther);
  for (int i = 0; i < 1000; ++i) {
    requests.open(5);
    requests.end(5, WindowEnd::kServed);
  }
  EXPECT_EQ(requests.window.size(), 56u);
}

TEST(AdmissionControl, limit__the_least_of_the_three) {
  AdmissionControl admission(4, true);
  admission.opened({1});
  EXPECT_EQ(admission.limit({1}), Limit::kNone);
  admission.set_share(1);
  EXPECT_EQ(admission.limit({1}), Limit::kShare);
  admission.set_share(AdmissionControl::kNoShare);
  for (int i = 0; i < 3; ++i) admission.opened({1});
  EXPECT_EQ(admission.limit({1}), Limit::kMaxOutstanding);
  admission.ended({1}, 0, WindowEnd::kOverloaded);
  EXPECT_EQ(admission.window({1}), 3u);
  EXPECT_EQ(admission.limit({1}), Limit::kWindow);
  admission.set_share(0);
  EXPECT_EQ(admission.limit({2}), Limit::kShare);
}

TEST(AdmissionControl, limit__another_type_has_another_window) {
  AdmissionControl admission(64, true);
  for (int i = 0; i < 8; ++i) admission.opened({1});
  for (int i = 0; i < 7; ++i) admission.ended({1}, 0, WindowEnd::kOverloaded);
  EXPECT_EQ(admission.limit({1}), Limit::kWindow);
  EXPECT_EQ(admission.limit({2}), Limit::kNone);
  EXPECT_EQ(admission.window({2}), 64u);
  EXPECT_EQ(admission.window({1 + AdmissionControl::kWindows}), 1u) << "they share one";
  EXPECT_EQ(admission.back_offs(), 1u);
}

TEST(AdmissionControl, ended__without_back_off_windows_stay_open) {
  AdmissionControl admission(64, false);
  admission.opened({1});
  admission.ended({1}, 0, WindowEnd::kOverloaded);
  EXPECT_EQ(admission.window({1}), 64u);
  EXPECT_EQ(admission.back_offs(), 0u);
}

TEST(AdmissionControl, room_again__once_for_all_refusals_before) {
  AdmissionControl admission(2, true);
  admission.opened({1}), admission.opened({2});
  EXPECT_FALSE(admission.room_again()) << "nobody was refused";
  admission.refused({1}, admission.limit({1}));
  admission.refused({2}, admission.limit({2}));
  EXPECT_TRUE(admission.room_wanted());
  EXPECT_FALSE(admission.room_again());
  admission.ended({1}, 0, WindowEnd::kOther);
  EXPECT_TRUE(admission.room_again());
  EXPECT_FALSE(admission.room_again());
  EXPECT_EQ(admission.refusals(Limit::kMaxOutstanding), 2u);
  EXPECT_EQ(admission.last_refusal(), Limit::kMaxOutstanding);
}

TEST(AdmissionControl, room_again__not_for_a_type_that_nobody_asked_for) {
  AdmissionControl admission(64, true);
  for (int i = 0; i < 2; ++i) admission.opened({1});
  admission.ended({1}, 0, WindowEnd::kOverloaded);
  ASSERT_EQ(admission.limit({1}), Limit::kWindow);
  admission.refused({1}, Limit::kWindow);
  EXPECT_FALSE(admission.room_again()) << "type 2 has room, type 1 has none";
  admission.ended({1}, 0, WindowEnd::kOther);
  EXPECT_TRUE(admission.room_again());
}

TEST(AdmissionControl, anything__keeps_every_bound) {
  Prng prng(7);
  AdmissionControl admission(40, true);
  struct Open {
    TaskType type;
    AdmissionControl::Round round;
  };
  std::deque<Open> open;
  for (int step = 0; step < 200'000; ++step) {
    const TaskType type{static_cast<std::uint16_t>(prng.below(3))};
    if (step % 1000 == 0) admission.set_share(static_cast<std::uint32_t>(prng.below(60)));
    if (prng.chance(0.55)) {
      if (admission.limit(type) != Limit::kNone) continue;
      ASSERT_LT(open.size(), 40u);
      ASSERT_LT(open.size(), admission.share());
      open.push_back({type, admission.opened(type)});
    } else if (!open.empty()) {
      std::swap(open.front(), open[prng.below(open.size())]);
      const WindowEnd end = prng.chance(0.1) ? WindowEnd::kOverloaded : WindowEnd::kServed;
      admission.ended(open.front().type, open.front().round, end);
      open.pop_front();
    }
    ASSERT_EQ(admission.open(), open.size());
    ASSERT_GE(admission.window(type), 1u);
    ASSERT_LE(admission.window(type), 40u);
  }
  EXPECT_GT(admission.back_offs(), 100u);
}

}  // namespace
}  // namespace rain::rpc
