// The worker's half of the token ledger, one case per line of its table of answers, and the levels it chooses.
#include "rpc/token_ledger.h"

#include "token_ledger_fixture.h"

namespace rain::rpc {
namespace {

TEST_F(TokenLedgerTest, poll__asks_after_every_level_at_the_start) {
  ledger.poll(0, now, sink);
  ASSERT_EQ(sink.size(), 2u);
  for (unsigned level = 0; level < 2; ++level) {
    const wire::Message& sync = sink[level].message;
    EXPECT_EQ(sync.type, MessageType::kSync);
    EXPECT_EQ(sync.token.level.value, level);
    EXPECT_EQ(sync.token.worker, kWorker);
    EXPECT_EQ(sync.token.token_key, 0xABCDu);
    EXPECT_EQ(sink[level].to, kSwitch);
  }
  EXPECT_NE(sink[0].message.request_id, sink[1].message.request_id);
  EXPECT_EQ(ledger.outstanding(), 0u);
}

TEST_F(TokenLedgerTest, poll__asks_again_only_after_the_interval) {
  ledger.poll(0, now, sink);
  sink.clear();
  EXPECT_EQ(ledger.next_due(), kInterval);
  ledger.poll(0, kInterval - Nanos{1}, sink);
  EXPECT_TRUE(sink.empty());
  ledger.poll(0, kInterval, sink);
  EXPECT_EQ(sink.size(), 2u);
}

TEST_F(TokenLedgerTest, poll__asks_after_an_outstanding_token_that_stays_silent) {
  establish();
  EXPECT_EQ(ask().size(), 2u);
}

TEST_F(TokenLedgerTest, poll__does_not_ask_after_a_spent_level) {
  establish();
  accept(0, 1);
  const auto questions = ask();
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_EQ(questions[0].token.level, Level{1});
}

TEST_F(TokenLedgerTest, next_due__is_never_when_all_levels_are_spent) {
  establish();
  accept(0, 1);
  accept(1, 1);
  EXPECT_EQ(ledger.next_due(), Nanos::max());
}

TEST_F(TokenLedgerTest, first_ack__empty_switch_gets_generation_1_in_its_epoch) {
  const auto questions = ask();
  answer(questions[0], {.epoch = 5});
  EXPECT_EQ(ledger.epoch(), Epoch{5});
  expect_token(0, 1);
  EXPECT_TRUE(sink.empty());
  EXPECT_TRUE(ledger.outstanding(Level{0}));
  EXPECT_FALSE(ledger.outstanding(Level{1}));
}

TEST_F(TokenLedgerTest, first_ack__continues_after_a_spent_generation) {
  answer(ask()[0], {.seen = 41, .consumed = 41});
  expect_token(0, 42);
}

TEST_F(TokenLedgerTest, first_ack__adopts_the_filed_token_of_an_earlier_life) {
  answer(ask()[0], {.seen = 42, .consumed = 41});
  EXPECT_TRUE(sink.empty());
  EXPECT_TRUE(ledger.outstanding(Level{0}));
  EXPECT_EQ(accept(0, 42), Spend::kAccepted);
}

TEST_F(TokenLedgerTest, first_ack__generations_wrap_around) {
  answer(ask()[0], {.seen = UINT32_MAX, .consumed = UINT32_MAX});
  expect_token(0, 0);
  EXPECT_EQ(accept(0, 0), Spend::kAccepted);
  finish();
  expect_token(0, 1);
}

TEST_F(TokenLedgerTest, ack__seen_older_means_lost_and_is_sent_again) {
  establish();
  answer_level_0({.seen = 0, .consumed = 0});
  expect_token(0, 1);
  EXPECT_EQ(accept(0, 1), Spend::kAccepted);
  EXPECT_EQ(accept(0, 1), Spend::kRepeated);
}

TEST_F(TokenLedgerTest, ack__filed_token_is_left_alone) {
  establish();
  for (int i = 0; i < 5; ++i) answer_level_0({.seen = 1, .consumed = 0});
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(ledger.generation(Level{0}), Generation{1});
}

TEST_F(TokenLedgerTest, ack__lost_dispatch_is_given_up_at_the_second_answer) {
  establish();
  answer_level_0({.seen = 1, .consumed = 1});
  EXPECT_TRUE(sink.empty());
  answer_level_0({.seen = 1, .consumed = 1});
  expect_token(0, 2);
  EXPECT_EQ(accept(0, 1), Spend::kRefused) << "the client of the given-up dispatch must hear so";
  EXPECT_EQ(accept(0, 1), Spend::kRepeated) << "but once";
  EXPECT_EQ(accept(0, 2), Spend::kAccepted);
}

TEST_F(TokenLedgerTest, ack__suspicion_ends_when_the_dispatch_comes) {
  establish();
  answer_level_0({.seen = 1, .consumed = 1});
  EXPECT_EQ(accept(0, 1), Spend::kAccepted);
  finish();
  expect_token(0, 2);
  answer_level_0({.seen = 2, .consumed = 2});
  EXPECT_TRUE(sink.empty()) << "first answer about generation 2";
}

TEST_F(TokenLedgerTest, ack__suspicion_ends_when_the_switch_takes_it_back) {
  establish();
  answer_level_0({.seen = 1, .consumed = 1});
  answer_level_0({.seen = 1, .consumed = 0});
  answer_level_0({.seen = 1, .consumed = 1});
  EXPECT_TRUE(sink.empty());
}

TEST_F(TokenLedgerTest, ack__seen_newer_means_that_another_used_our_id) {
  establish();
  answer_level_0({.seen = 9, .consumed = 9});
  expect_token(0, 10);
  answer_level_0({.seen = 20, .consumed = 12});
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(accept(0, 20), Spend::kAccepted);
}

/// Somebody forged a low number at a switch that had just booted: it refuses ours, so we go on from there.
TEST_F(TokenLedgerTest, ack__seen_too_far_behind_is_taken) {
  const TokenLedger unused = ledger;
  for (const std::uint32_t behind : {kMaxGenerationLeap + 1, 0x7FFF'FFFFu, 0x8000'0000u}) {
    const std::uint32_t ours = 0xFFFF'0000;
    ledger = unused;
    answer_level_0({.seen = ours, .consumed = ours - 1});
    answer_level_0({.seen = ours - kMaxGenerationLeap, .consumed = ours - kMaxGenerationLeap});
    expect_token(0, ours);
    answer_level_0({.seen = ours - behind, .consumed = ours - behind});
    expect_token(0, ours - behind + 1);
    EXPECT_EQ(accept(0, ours), Spend::kRefused) << "its number is not out";
    EXPECT_EQ(accept(0, ours - behind + 1), Spend::kAccepted);
    finish();
  }
}

TEST_F(TokenLedgerTest, new_boot__a_forged_low_number_there_is_taken) {
  answer_level_0({.seen = 1'000'000'000});
  answer_level_0({.seen = 3, .consumed = 0, .boot = 101});
  EXPECT_EQ(ledger.generation(Level{0}), (Generation{3}));
  EXPECT_TRUE(ledger.outstanding(Level{0}));
  for (int i = 0; i < 2; ++i) answer_level_0({.seen = 3, .consumed = 3, .boot = 101});
  expect_token(0, 4);
}

TEST_F(TokenLedgerTest, ack__stale_sequence_is_ignored) {
  const auto old_questions = ask();
  const auto questions = ask();
  EXPECT_FALSE(answer(old_questions[0], {}));
  EXPECT_TRUE(sink.empty());
  EXPECT_TRUE(answer(questions[0], {}));
  EXPECT_FALSE(answer(questions[0], {})) << "a repeated answer";
  EXPECT_EQ(sink.size(), 1u);
}

TEST_F(TokenLedgerTest, ack__says_nothing_of_a_token_that_was_issued_since) {
  establish();
  const auto questions = ask();
  accept(0, 1);
  finish();
  sink.clear();
  EXPECT_TRUE(answer(questions[0], {.seen = 1, .consumed = 1}));
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(ledger.generation(Level{0}), Generation{2});
}

TEST_F(TokenLedgerTest, ack__of_a_level_that_we_do_not_have_is_ignored) {
  auto question = ask()[0];
  question.token.level = Level{2};
  EXPECT_FALSE(answer(question, {}));
  question.token.level = kNoLevel;
  EXPECT_FALSE(answer(question, {}));
}

TEST_F(TokenLedgerTest, new_epoch__every_outstanding_level_is_issued_anew) {
  establish();
  answer(ask()[1], {.seen = 1, .consumed = 0, .epoch = 2});
  ASSERT_EQ(sink.size(), 2u);
  expect_token(0, 2);
  expect_token(1, 2);
  EXPECT_EQ(ledger.epoch(), Epoch{2});
  EXPECT_EQ(accept(0, 1), Spend::kRefused);
}

TEST_F(TokenLedgerTest, new_epoch__spent_levels_follow_when_their_tasks_end) {
  establish();
  accept(0, 1);
  answer(ask()[0], {.seen = 1, .consumed = 0, .epoch = 2});
  expect_token(1, 2);
  EXPECT_TRUE(sink.empty());
  finish();
  expect_token(0, 2);
}

TEST_F(TokenLedgerTest, new_boot__the_answered_level_is_issued_and_the_others_asked_after) {
  establish();
  answer(ask()[0], {.boot = 101});
  ASSERT_EQ(sink.size(), 2u);
  expect_token(0, 2);
  const wire::Message question = sink.take().message;
  EXPECT_EQ(question.type, MessageType::kSync);
  EXPECT_EQ(question.token.level, Level{1});
  EXPECT_EQ(ledger.outstanding(), 1u);
  EXPECT_TRUE(answer(question, {.boot = 101}));
  expect_token(1, 2);
}

TEST_F(TokenLedgerTest, new_boot__a_late_dispatch_of_the_old_boot_is_refused) {
  establish();
  answer(ask()[0], {.boot = 101});
  EXPECT_EQ(accept(0, 1), Spend::kRefused) << "given up";
  EXPECT_EQ(accept(1, 1), Spend::kRefused) << "unknown";
}

TEST_F(TokenLedgerTest, new_boot__a_repeat_of_an_answered_dispatch_stays_silent) {
  establish();
  EXPECT_EQ(accept(1, 1), Spend::kAccepted);
  finish();
  sink.clear();
  answer(ask()[0], {.boot = 101});
  EXPECT_EQ(accept(1, 1), Spend::kRepeated) << "its task ran here";
}

TEST_F(TokenLedgerTest, new_boot__answers_of_the_old_boot_are_ignored) {
  establish();
  const auto questions = ask();
  EXPECT_TRUE(answer(questions[0], {.boot = 101}));
  EXPECT_FALSE(answer(questions[1], {.seen = 1, .boot = 100}));
}

TEST_F(TokenLedgerTest, new_boot__a_token_that_already_reached_it_is_adopted) {
  establish();
  answer(ask()[0], {.seen = 1, .consumed = 0, .boot = 101});
  EXPECT_EQ(sink.count(MessageType::kFeedback), 0u);
  EXPECT_EQ(accept(0, 1), Spend::kAccepted);
}

TEST_F(TokenLedgerTest, new_boot__a_repeat_of_an_older_token_is_not_adopted) {
  establish();
  accept(0, 1);
  finish();  // 2 is out
  answer(ask()[0], {.seen = 1, .consumed = 0, .boot = 101});
  EXPECT_EQ(ledger.generation(Level{0}), Generation{3});
  EXPECT_EQ(accept(0, 1), Spend::kRepeated) << "its first task ran here";
}

TEST_F(TokenLedgerTest, new_boot__numbers_too_far_from_zero_start_again) {
  answer(ask()[0], {.seen = 0x9000'0000, .consumed = 0x9000'0000});
  expect_token(0, 0x9000'0001);
  answer_level_0({.boot = 101});
  expect_token(0, 1);
  EXPECT_NE(accept(0, 0x9000'0001), Spend::kAccepted);
  EXPECT_EQ(accept(0, 1), Spend::kAccepted);
}

TEST_F(TokenLedgerTest, spend__is_refused_while_the_level_is_unknown) {
  EXPECT_EQ(accept(0, 1), Spend::kRefused);
  EXPECT_EQ(accept(0, 0), Spend::kRefused);
}

TEST_F(TokenLedgerTest, spend__is_refused_above_the_quota) {
  establish();
  EXPECT_EQ(accept(2, 1), Spend::kRefused);
  EXPECT_EQ(accept(0xFF, 1), Spend::kRefused);
}

TEST_F(TokenLedgerTest, spend__is_refused_for_a_generation_never_issued) {
  establish();
  EXPECT_EQ(accept(0, 2), Spend::kRefused);
  EXPECT_EQ(accept(0, 1), Spend::kAccepted) << "and changes nothing";
}

TEST_F(TokenLedgerTest, spend__repeats_of_an_accepted_dispatch_stay_unanswered_for_ever) {
  establish();
  for (std::uint32_t generation = 1; generation < 200; ++generation) {
    ASSERT_EQ(accept(0, generation), Spend::kAccepted);
    for (std::uint32_t old = 1; old <= generation; ++old) {
      ASSERT_EQ(accept(0, old), Spend::kRepeated) << old << " at " << generation;
    }
    finish();
  }
}

TEST_F(TokenLedgerTest, spend__given_up_dispatches_are_refused_within_the_window) {
  establish();
  for (std::uint32_t generation = 1; generation < 64; ++generation) {  // all lost
    answer_level_0({.seen = generation, .consumed = generation});
    answer_level_0({.seen = generation, .consumed = generation});
  }
  ASSERT_EQ(ledger.generation(Level{0}), Generation{64});
  EXPECT_EQ(accept(0, 1), Spend::kRefused);
  EXPECT_EQ(accept(0, 63), Spend::kRefused);
  EXPECT_EQ(accept(0, 64), Spend::kAccepted);
  finish();
  EXPECT_EQ(accept(0, 1), Spend::kRepeated) << "too old to know";
}

TEST_F(TokenLedgerQuota4Test, refund__issues_the_level_of_the_tasks_that_are_left) {
  establish();
  for (unsigned level = 0; level < 4; ++level) accept(level, 1);
  for (unsigned left = 4; left > 0; --left) {
    finish();
    expect_token(left - 1, 2);
  }
  EXPECT_EQ(ledger.outstanding(), 4u);
}

TEST_F(TokenLedgerQuota4Test, refund__takes_the_next_level_above_when_a_dispatch_crossed_a_token) {
  establish();
  accept(1, 1);  // the switch spent level 1 although 0 was out
  finish();
  expect_token(1, 2);
  EXPECT_EQ(ledger.outstanding(), 4u);
}

TEST_F(TokenLedgerQuota4Test, refund__with_pushed_tasks_above_the_quota_takes_the_highest_spent_level) {
  establish();
  accept(0, 1);
  accept(1, 1);
  --held;
  ledger.refund(17, now, sink);
  expect_token(1, 2);
  ledger.refund(3, now, sink);
  expect_token(0, 2);
}

TEST_F(TokenLedgerQuota4Test, refund__reports_the_tasks_held) {
  establish();
  accept(0, 1);
  accept(1, 1);
  finish();
  EXPECT_EQ(sink.take().message.token.queue_length, 1u);
}

TEST_F(TokenLedgerQuota4Test, refund__skips_levels_that_are_still_unknown) {
  for (const auto& question : ask()) {
    if (question.token.level != Level{0}) answer(question, {});
  }
  sink.clear();
  EXPECT_EQ(accept(1, 1), Spend::kAccepted);
  finish();
  expect_token(1, 2);
}

TEST_F(TokenLedgerTest, retire__issues_and_asks_nothing_but_accepts_what_is_out) {
  establish();
  ledger.retire();
  EXPECT_EQ(ledger.next_due(), Nanos::max());
  EXPECT_TRUE(ask().empty());
  EXPECT_EQ(accept(0, 1), Spend::kAccepted);
  finish();
  EXPECT_TRUE(sink.empty());
}

using TokenLedgerDeathTest = TokenLedgerTest;

TEST_F(TokenLedgerDeathTest, refund__without_an_accepted_dispatch_is_a_bug) {
  establish();
  EXPECT_DEATH(ledger.refund(0, now, sink), "assertion failed");
}

}  // namespace
}  // namespace rain::rpc
