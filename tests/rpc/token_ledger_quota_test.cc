// The token ledger when its quota changes: tokens come home, tasks end without one, tokens are issued again.
#include "token_ledger_fixture.h"

namespace rain::rpc {
namespace {

class TokenLedgerQuotaTest : public TokenLedgerTest {
 protected:
  TokenLedgerQuotaTest() : TokenLedgerTest(4) {}

  void set_quota(unsigned quota) { ledger.set_quota(quota, held, now, sink); }
  /// The next packet out is a recall of this token; returns it.
  wire::Message expect_recall(unsigned level, std::uint32_t generation) {
    if (sink.empty()) {
      ADD_FAILURE() << "nothing was sent";
      return {};
    }
    const wire::Message message = sink.take().message;
    EXPECT_EQ(message.type, MessageType::kSync);
    EXPECT_TRUE(message.token.recall);
    EXPECT_EQ(message.token.level.value, level);
    EXPECT_EQ(message.token.generation.value, generation);
    return message;
  }
  /// The only question of this level that an interval brings.
  wire::Message ask_level(unsigned level) {
    for (const wire::Message& question : ask()) {
      if (question.token.level.value == level) return question;
    }
    ADD_FAILURE() << "level " << level << " was not asked after";
    return {};
  }
};

TEST_F(TokenLedgerQuotaTest, set_quota__lower_recalls_the_levels_above_and_no_other) {
  establish();
  set_quota(2);
  EXPECT_FALSE(ledger.settled());
  EXPECT_EQ(ledger.recalling(), 2u);
  const auto second = expect_recall(2, 1);
  const auto third = expect_recall(3, 1);
  EXPECT_TRUE(sink.empty());
  EXPECT_TRUE(answer(second, {.seen = 1, .consumed = 1, .recalled = true}));
  EXPECT_EQ(ledger.capacity(), 3u);
  EXPECT_TRUE(answer(third, {.seen = 1, .consumed = 1, .recalled = true}));
  EXPECT_TRUE(ledger.settled());
  EXPECT_EQ(ledger.outstanding(), 2u);
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(ask().size(), 2u) << "nobody asks after a level that is home";
  EXPECT_EQ(accept(3, 1), Spend::kRefused);
}

TEST_F(TokenLedgerQuotaTest, set_quota__the_same_again_does_nothing) {
  establish();
  set_quota(4);
  EXPECT_TRUE(sink.empty());
  set_quota(3);
  expect_recall(3, 1);
  set_quota(3);
  EXPECT_TRUE(sink.empty()) << "the recall is under way";
}

TEST_F(TokenLedgerQuotaTest, recall__is_repeated_until_it_is_answered) {
  establish();
  set_quota(3);
  expect_recall(3, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(ask_level(3).token.recall);
    EXPECT_FALSE(ledger.settled());
  }
  EXPECT_TRUE(answer(ask_level(3), {.seen = 1, .consumed = 1, .recalled = true}));
  EXPECT_TRUE(ledger.settled());
}

TEST_F(TokenLedgerQuotaTest, recall__a_plain_question_asked_before_it_decides_nothing) {
  establish();
  const auto questions = ask();
  set_quota(3);
  EXPECT_FALSE(answer(questions[3], {.seen = 1, .consumed = 0}));
  EXPECT_EQ(ledger.recalling(), 1u);
}

TEST_F(TokenLedgerQuotaTest, recall__a_dispatch_that_was_faster_is_accepted) {
  establish();
  set_quota(3);
  const auto question = expect_recall(3, 1);
  EXPECT_TRUE(answer(question, {.seen = 1, .consumed = 1}));
  EXPECT_FALSE(ledger.settled());
  EXPECT_EQ(accept(3, 1), Spend::kAccepted);
  EXPECT_EQ(ledger.capacity(), 4u);
  EXPECT_FALSE(ledger.settled()) << "four tasks may still come to be held";
  finish();
  EXPECT_TRUE(sink.empty()) << "its token is not issued again";
  EXPECT_EQ(ledger.outstanding(), 3u);
  EXPECT_TRUE(ledger.settled());
}

TEST_F(TokenLedgerQuotaTest, recall__a_lost_dispatch_is_given_up_at_the_second_answer) {
  establish();
  set_quota(3);
  EXPECT_TRUE(answer(expect_recall(3, 1), {.seen = 1, .consumed = 1}));
  EXPECT_FALSE(ledger.settled());
  EXPECT_TRUE(answer(ask_level(3), {.seen = 1, .consumed = 1}));
  EXPECT_TRUE(ledger.settled());
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(accept(3, 1), Spend::kRefused) << "its client hears DROP";
}

TEST_F(TokenLedgerQuotaTest, recall__forgets_a_suspicion_so_that_the_dispatch_has_its_interval) {
  establish();
  EXPECT_TRUE(answer(ask_level(3), {.seen = 1, .consumed = 1}));
  set_quota(3);
  EXPECT_TRUE(answer(expect_recall(3, 1), {.seen = 1, .consumed = 1}));
  EXPECT_EQ(accept(3, 1), Spend::kAccepted);
}

TEST_F(TokenLedgerQuotaTest, set_quota__lower_while_tasks_are_held_issues_no_token_for_them) {
  establish();
  for (unsigned level = 0; level < 4; ++level) accept(level, 1);
  set_quota(2);
  EXPECT_TRUE(sink.empty()) << "nothing is out";
  EXPECT_FALSE(ledger.settled());
  finish();
  finish();
  EXPECT_TRUE(sink.empty());
  EXPECT_TRUE(ledger.settled());
  finish();
  expect_token(1, 2);
  finish();
  expect_token(0, 2);
  EXPECT_EQ(ledger.outstanding(), 2u);
}

TEST_F(TokenLedgerQuotaTest, set_quota__higher_issues_levels_that_are_known_at_once) {
  establish();
  set_quota(1);
  for (unsigned level = 1; level < 4; ++level) {
    EXPECT_TRUE(answer(expect_recall(level, 1), {.seen = 1, .consumed = 1, .recalled = true}));
  }
  accept(0, 1);
  set_quota(3);
  expect_token(1, 2);
  expect_token(2, 2);
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(ledger.capacity(), 3u);
  finish();
  expect_token(0, 2);
}

TEST_F(TokenLedgerQuotaTest, set_quota__higher_asks_after_levels_that_were_never_used) {
  establish();
  set_quota(6);
  ASSERT_EQ(sink.size(), 2u);
  for (unsigned level = 4; level < 6; ++level) {
    const wire::Message question = sink.take().message;
    EXPECT_EQ(question.type, MessageType::kSync);
    EXPECT_FALSE(question.token.recall);
    EXPECT_EQ(question.token.level.value, level);
    EXPECT_TRUE(answer(question, {.seen = 7, .consumed = 7}));
  }
  expect_token(4, 8);
  expect_token(5, 8);
  EXPECT_EQ(ledger.outstanding(), 6u);
}

TEST_F(TokenLedgerQuotaTest, set_quota__higher_waits_for_a_recall_under_way) {
  establish();
  set_quota(3);
  const auto question = expect_recall(3, 1);
  set_quota(4);
  EXPECT_TRUE(sink.empty()) << "the token may be out or not";
  EXPECT_TRUE(answer(question, {.seen = 1, .consumed = 1, .recalled = true}));
  expect_token(3, 2);
  EXPECT_EQ(ledger.outstanding(), 4u);
  EXPECT_TRUE(ledger.settled());
}

TEST_F(TokenLedgerQuotaTest, set_quota__lower_before_the_first_answer_recalls_what_an_earlier_life_left) {
  const auto questions = ask();
  set_quota(2);
  EXPECT_TRUE(sink.empty()) << "no number is known yet";
  EXPECT_TRUE(answer(questions[2], {.seen = 5, .consumed = 5}));
  EXPECT_TRUE(answer(questions[3], {.seen = 9, .consumed = 8}));
  const auto recall = expect_recall(3, 9);
  EXPECT_TRUE(sink.empty());
  EXPECT_TRUE(answer(questions[0], {}));
  EXPECT_TRUE(answer(questions[1], {}));
  expect_token(0, 1);
  EXPECT_TRUE(sink.empty()) << "two levels are out, level 3 is one of them";
  EXPECT_TRUE(answer(recall, {.seen = 9, .consumed = 9, .recalled = true}));
  expect_token(1, 1);
  EXPECT_TRUE(ledger.settled());
  EXPECT_EQ(ledger.capacity(), 2u);
}

TEST_F(TokenLedgerQuotaTest, set_quota__zero_brings_everything_home) {
  establish();
  accept(0, 1);
  set_quota(0);
  for (unsigned level = 1; level < 4; ++level) {
    EXPECT_TRUE(answer(expect_recall(level, 1), {.seen = 1, .consumed = 1, .recalled = true}));
  }
  EXPECT_FALSE(ledger.settled());
  finish();
  EXPECT_TRUE(sink.empty());
  EXPECT_TRUE(ledger.settled());
  EXPECT_EQ(ledger.capacity(), 0u);
  EXPECT_EQ(ledger.next_due(), Nanos::max());
  EXPECT_TRUE(ask().empty());
}

TEST_F(TokenLedgerQuotaTest, new_boot__a_recall_goes_on_at_the_new_switch) {
  establish();
  set_quota(3);
  expect_recall(3, 1);
  EXPECT_TRUE(answer(ask_level(0), {.boot = 101}));
  wire::Message recall;
  while (!sink.empty()) {
    const wire::Message message = sink.take().message;
    if (message.token.level.value == 3) recall = message;
  }
  ASSERT_TRUE(recall.token.recall) << "a late copy of the token may be filed there";
  EXPECT_EQ(recall.token.generation.value, 1u);
  EXPECT_TRUE(answer(recall, {.seen = 1, .consumed = 1, .boot = 101, .recalled = true}));
  EXPECT_EQ(ledger.recalling(), 0u);
  EXPECT_FALSE(ledger.outstanding(Level{3}));
}

TEST_F(TokenLedgerQuotaTest, new_epoch__ends_a_recall_because_the_token_is_dead) {
  establish();
  set_quota(3);
  expect_recall(3, 1);
  EXPECT_TRUE(answer(ask_level(0), {.seen = 1, .consumed = 1, .epoch = 2}));
  for (unsigned level = 0; level < 3; ++level) expect_token(level, 2);
  EXPECT_TRUE(sink.empty());
  EXPECT_TRUE(ledger.settled());
  EXPECT_EQ(accept(3, 1), Spend::kRefused);
}

TEST_F(TokenLedgerQuotaTest, ack__of_a_recalled_token_that_another_used_our_id_for_recalls_that_one) {
  establish();
  set_quota(3);
  EXPECT_TRUE(answer(expect_recall(3, 1), {.seen = 6, .consumed = 5, .recalled = false}));
  EXPECT_TRUE(answer(expect_recall(3, 6), {.seen = 6, .consumed = 6, .recalled = true}));
  EXPECT_TRUE(ledger.settled());
}

TEST_F(TokenLedgerQuotaTest, ask_now__asks_after_every_level_that_is_out) {
  establish();
  accept(0, 1);
  ledger.ask_now(now);
  EXPECT_LE(ledger.next_due(), now);
  ledger.poll(held, now, sink);
  EXPECT_EQ(sink.count(MessageType::kSync), 3u);
  EXPECT_GT(ledger.next_due(), now);
}

TEST_F(TokenLedgerQuotaTest, ask_now__does_not_shorten_the_time_of_a_dispatch_under_way) {
  establish();
  EXPECT_TRUE(answer(ask_level(0), {.seen = 1, .consumed = 1}));
  sink.clear();
  ledger.ask_now(now);
  ledger.poll(held, now, sink);
  EXPECT_TRUE(answer(sink.take().message, {.seen = 1, .consumed = 1}));
  EXPECT_EQ(accept(0, 1), Spend::kAccepted);
}

// A loaded worker has nothing out most of the time. It must still learn that it was moved.
TEST_F(TokenLedgerQuotaTest, ask_now__asks_even_when_no_level_is_out) {
  establish();
  for (unsigned level = 0; level < 4; ++level) accept(level, 1);
  ledger.ask_now(now);
  ledger.poll(held, now, sink);
  ASSERT_EQ(sink.count(MessageType::kSync), 1u);
  const wire::Message question = sink.take().message;
  EXPECT_FALSE(question.token.recall);
  finish();  // before the answer: this token has the old epoch and dies
  expect_token(3, 2);
  EXPECT_TRUE(answer(question, {.seen = 1, .consumed = 1, .epoch = 2}));
  expect_token(3, 3);
  EXPECT_EQ(ledger.epoch(), Epoch{2});
  finish();
  expect_token(2, 2);
}

TEST_F(TokenLedgerQuotaTest, ask_now__asks_again_when_the_answer_is_lost) {
  establish();
  for (unsigned level = 0; level < 4; ++level) accept(level, 1);
  ledger.ask_now(now);
  ledger.poll(held, now, sink);
  const auto again = ask();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_TRUE(answer(again[0], {.seen = 1, .consumed = 1}));
  EXPECT_TRUE(ask().empty());
}

// An answer to a question that a refund overtook still tells of the new epoch.
TEST_F(TokenLedgerQuotaTest, new_epoch__is_learnt_from_an_answer_that_was_overtaken) {
  establish();
  const auto questions = ask();
  accept(0, 1);
  finish();
  sink.clear();
  EXPECT_TRUE(answer(questions[0], {.seen = 1, .consumed = 1, .epoch = 2}));
  expect_token(0, 3);
  for (unsigned level = 1; level < 4; ++level) expect_token(level, 2);
  EXPECT_FALSE(answer(questions[1], {.seen = 1, .consumed = 1, .epoch = 1})) << "it may be older";
}

TEST_F(TokenLedgerQuotaTest, new_boot__learnt_from_an_answer_that_was_overtaken_asks_after_that_level_too) {
  establish();
  const auto questions = ask();
  accept(0, 1);
  finish();
  sink.clear();
  EXPECT_TRUE(answer(questions[0], {.boot = 101}));
  EXPECT_EQ(sink.count(MessageType::kSync), 4u);
  EXPECT_EQ(sink.count(MessageType::kFeedback), 0u) << "what is filed there now is not known";
}

}  // namespace
}  // namespace rain::rpc
