// How often the worker's half of the token ledger asks, and after what: less and less while all is well, hardly at all
// where the switch has no place, and above its quota when an earlier life had more.
#include <algorithm>

#include "token_ledger_fixture.h"

namespace rain::rpc {
namespace {

constexpr Nanos kLongest = longest_sync_pause(kInterval);

class TokenLedgerSyncTest : public TokenLedgerTest {
 protected:
  /// Time passes to `until` in steps of 1 ms; each question is answered as a switch with `levels` levels would that has
  /// filed every token. Returns how many questions there were.
  std::int64_t pass(Nanos until, unsigned levels = kMaxQuota) {
    std::int64_t questions = 0;
    for (; now < until; now += milliseconds(1)) {
      ledger.poll(held, now, sink);
      while (!sink.empty()) {
        const wire::Message message = sink.take().message;
        if (message.type != MessageType::kSync) continue;
        ++questions;
        ++asked[message.token.level.value];
        if (message.token.level.value >= levels || switch_away) continue;
        const std::uint32_t filed = ledger.generation(message.token.level).value;
        answer(message, {.seen = filed, .consumed = filed == 0 ? 0 : filed - 1, .boot = boot});
      }
    }
    return questions;
  }
  wire::Message expect_question(unsigned level, bool recall, std::uint32_t generation) {
    const auto questions = questions_of(level);
    EXPECT_EQ(questions.size(), 1u) << "level " << level;
    if (questions.empty()) return {};
    EXPECT_EQ(questions[0].token.recall, recall);
    if (recall) {
      EXPECT_EQ(questions[0].token.generation.value, generation);
    }
    return questions[0];
  }
  std::vector<wire::Message> questions_of(unsigned level) {
    ledger.poll(held, now, sink);
    std::vector<wire::Message> found;
    for (std::size_t i = 0; i < sink.size(); ++i) {
      const wire::Message& message = sink[i].message;
      if (message.type == MessageType::kSync && message.token.level.value == level) found.push_back(message);
    }
    sink.clear();
    return found;
  }

  std::array<unsigned, kMaxQuota> asked{};
  bool switch_away = false;
  std::uint32_t boot = 100;
};

TEST_F(TokenLedgerSyncTest, poll__an_idle_worker_asks_less_and_less) {
  pass(seconds(1));
  const std::int64_t in_a_second = pass(seconds(2));
  const std::int64_t fewest = 2 * seconds(1).value / kLongest.value;  // of two levels
  EXPECT_LE(in_a_second, fewest + 2);
  EXPECT_GE(in_a_second, fewest - 2) << "it goes on asking";
}

TEST_F(TokenLedgerSyncTest, poll__a_new_token_is_asked_after_soon) {
  pass(seconds(1));
  ASSERT_EQ(accept(0, ledger.generation(Level{0}).value), Spend::kAccepted);
  const Nanos issued = now;
  finish();
  asked = {};
  pass(issued + kInterval);
  EXPECT_EQ(asked[0], 0u);
  pass(issued + kInterval + milliseconds(1));
  EXPECT_EQ(asked[0], 1u);
}

TEST_F(TokenLedgerSyncTest, poll__a_switch_that_comes_back_is_found_within_the_longest_pause) {
  pass(seconds(1));
  switch_away = true;
  for (Nanos away = milliseconds(1); away < kLongest * 3; away += milliseconds(7)) {
    switch_away = true;
    pass(now + away);
    switch_away = false;
    asked = {};
    pass(now + kLongest + milliseconds(1));
    EXPECT_GE(asked[0], 1u) << "away for " << away.value << " ns";
    EXPECT_GE(asked[1], 1u);
  }
}

TEST_F(TokenLedgerSyncTest, poll__while_nobody_answers_the_interval_is_kept) {
  pass(seconds(1));
  switch_away = true;
  pass(now + kLongest);
  asked = {};
  pass(now + kInterval * 10);
  EXPECT_GE(asked[0], 9u);
  EXPECT_EQ(ledger.silent_levels(), 0u) << "it is the switch that is silent";
}

TEST_F(TokenLedgerSyncTest, silent_levels__those_that_the_switch_lacks_are_hardly_asked_after) {
  pass(kInterval * 200, 1);
  EXPECT_EQ(ledger.silent_levels(), 1u);
  asked = {};
  const Nanos begin = now;
  pass(begin + kSilentLevelPause * 2 + kInterval, 1);
  EXPECT_LE(asked[1], 3u);
  EXPECT_GE(asked[1], 1u) << "should all its questions have been lost, it heals";
  EXPECT_GT(asked[0], 100u);
}

TEST_F(TokenLedgerSyncTest, silent_levels__a_switch_of_another_boot_is_asked_at_once) {
  pass(kInterval * 200, 1);
  ASSERT_EQ(ledger.silent_levels(), 1u);
  boot = 101;
  pass(now + kLongest + milliseconds(2));
  EXPECT_EQ(ledger.silent_levels(), 0u);
  EXPECT_TRUE(ledger.outstanding(Level{1}));
}

TEST_F(TokenLedgerSyncTest, first_ack__an_earlier_life_with_a_higher_quota_is_taken_back) {
  const auto questions = ask();
  EXPECT_TRUE(answer(questions[0], {.seen = 5, .consumed = 5}));
  sink.clear();
  const wire::Message third = expect_question(3, false, 0);
  EXPECT_TRUE(answer(third, {.seen = 9, .consumed = 8}));
  EXPECT_FALSE(ledger.outstanding(Level{3})) << "it is not ours to spend";
  EXPECT_EQ(accept(3, 9), Spend::kRefused) << "a task that was bound to it meanwhile";
  ASSERT_EQ(sink.size(), 1u);
  const wire::Message recall = sink.take().message;
  EXPECT_TRUE(recall.token.recall);
  EXPECT_EQ(recall.token.generation, Generation{9});
  EXPECT_FALSE(ledger.settled());
  EXPECT_TRUE(answer(recall, {.seen = 9, .consumed = 9, .recalled = true}));
  now += kLongest;
  EXPECT_TRUE(questions_of(3).empty()) << "it is home";
}

TEST_F(TokenLedgerSyncTest, first_ack__a_recall_that_is_lost_is_asked_again) {
  const auto questions = ask();
  EXPECT_TRUE(answer(questions[0], {.seen = 5, .consumed = 5}));
  sink.clear();
  EXPECT_TRUE(answer(expect_question(7, false, 0), {.seen = 2, .consumed = 1}));
  sink.clear();
  now += kInterval;
  EXPECT_TRUE(answer(expect_question(7, true, 2), {.seen = 2, .consumed = 2, .recalled = true}));
  now += kInterval;
  EXPECT_TRUE(questions_of(7).empty());
}

TEST_F(TokenLedgerSyncTest, first_ack__the_first_life_asks_after_its_quota_alone) {
  pass(seconds(1));
  EXPECT_EQ(std::count_if(asked.begin() + 2, asked.end(), [](unsigned n) { return n > 0; }), 0);
}

TEST_F(TokenLedgerSyncTest, first_ack__levels_above_the_quota_that_the_switch_lacks_are_let_be) {
  EXPECT_TRUE(answer(ask()[0], {.seen = 5, .consumed = 5}));
  pass(kInterval * 200, 2);
  asked = {};
  pass(now + kSilentLevelPause * 2, 2);
  EXPECT_EQ(asked[7], 0u);
  EXPECT_EQ(ledger.silent_levels(), 0u) << "of the quota";
  EXPECT_TRUE(ledger.settled());
}

TEST_F(TokenLedgerSyncTest, set_quota__raised_over_a_level_that_is_being_taken_back) {
  EXPECT_TRUE(answer(ask()[0], {.seen = 5, .consumed = 5}));
  sink.clear();
  const wire::Message question = expect_question(2, false, 0);
  EXPECT_TRUE(answer(question, {.seen = 9, .consumed = 8}));
  sink.clear();
  ledger.set_quota(3, held, now, sink);
  EXPECT_TRUE(ledger.outstanding(Level{2}));
  EXPECT_EQ(ledger.generation(Level{2}), Generation{10});
  EXPECT_EQ(accept(2, 9), Spend::kRefused);
  EXPECT_EQ(accept(2, 10), Spend::kAccepted);
}

}  // namespace
}  // namespace rain::rpc
