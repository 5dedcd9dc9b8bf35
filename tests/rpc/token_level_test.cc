#include "rpc/token_level.h"

#include <gtest/gtest.h>

namespace rain::rpc {
namespace {

constexpr Nanos kInterval = milliseconds(100);
constexpr Nanos kNow = seconds(1);

/// Its token of generation 5 is out.
TokenLevel outstanding() {
  TokenLevel level;
  level.renumber({5});
  level.state = TokenLevel::State::kOutstanding;
  return level;
}

TEST(longest_sync_pause, is_4_intervals_but_half_a_second_and_never_less_than_the_interval) {
  EXPECT_EQ(longest_sync_pause(milliseconds(1)), milliseconds(4));
  EXPECT_EQ(longest_sync_pause(milliseconds(100)), milliseconds(400));
  EXPECT_EQ(longest_sync_pause(milliseconds(200)), milliseconds(500));
  EXPECT_EQ(longest_sync_pause(seconds(3)), seconds(3));
}

TEST(TokenLevel, spend__the_token_that_is_out_once) {
  TokenLevel level = outstanding();
  EXPECT_EQ(level.spend({6}), Spend::kRefused) << "never issued";
  EXPECT_EQ(level.spend({5}), Spend::kAccepted);
  EXPECT_EQ(level.spend({5}), Spend::kRepeated);
  EXPECT_EQ(level.spend({4}), Spend::kRefused) << "given up";
  EXPECT_EQ(level.spend({4}), Spend::kRepeated) << "its client was told";
  level.renumber({4 + TokenLevel::kAnsweredWindow});
  EXPECT_EQ(level.spend({4}), Spend::kRepeated) << "too long ago to know";
}

TEST(TokenLevel, ask__pauses_grow_while_all_is_well) {
  TokenLevel level = outstanding();
  level.ask(1, 0, kNow, kInterval);
  EXPECT_EQ(level.due, kNow + kInterval);
  for (const int intervals : {2, 4, 4}) {
    level.hear();
    level.all_is_well(kNow, kInterval);
    EXPECT_EQ(level.due, kNow + kInterval * intervals);
    level.ask(2, 0, kNow, kInterval);
  }
  level.ask(3, 1, kNow, kInterval);
  EXPECT_EQ(level.pause, Nanos{}) << "the one before was not answered";
}

TEST(TokenLevel, ask__is_silent_when_only_others_are_answered) {
  TokenLevel level = outstanding();
  for (std::uint16_t i = 0; i <= 2 * kUnansweredLimit; ++i) level.ask(i, 7, kNow, kInterval);
  EXPECT_FALSE(level.is_silent()) << "nobody is answered";
  for (std::uint16_t i = 0; i < kUnansweredLimit; ++i) level.ask(i, 8u + i, kNow, kInterval);
  EXPECT_TRUE(level.is_silent());
  EXPECT_EQ(level.due, kNow + kSilentLevelPause);
  level.hear();
  EXPECT_FALSE(level.is_silent());
}

TEST(TokenLevel, forget_boot__nothing_is_known_of_what_was_out) {
  TokenLevel level = outstanding();
  level.ask(1, 0, kNow, kInterval);
  level.forget_boot(kNow);
  EXPECT_EQ(level.state, TokenLevel::State::kUnknown);
  EXPECT_FALSE(level.asked) << "the answer would be that of the switch that is gone";
  EXPECT_EQ(level.due, kNow);
  EXPECT_EQ(level.spend({5}), Spend::kRefused);
}

}  // namespace
}  // namespace rain::rpc
