// A ledger under test with the switch's part played by hand.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "recording_sink.h"
#include "rpc/token_ledger.h"

namespace rain::rpc {

using wire::MessageType;
using Spend = TokenLedger::Spend;

inline constexpr Nanos kInterval = milliseconds(10);
inline constexpr Endpoint kSwitch = Endpoint::v4(10, 0, 0, 1, 9000);
inline constexpr WorkerId kWorker{7};

struct Answer {
  std::uint32_t seen = 0;
  std::uint32_t consumed = 0;
  std::uint16_t epoch = 1;
  std::uint32_t boot = 100;
  bool recalled = false;
};

class TokenLedgerTest : public testing::Test {
 protected:
  explicit TokenLedgerTest(unsigned quota = 2)
      : ledger({.worker = kWorker,
                .quota = quota,
                .token_key = 0xABCD,
                .sync_interval = kInterval,
                .switch_address = kSwitch}) {}

  /// Lets the interval pass and returns the questions that went out.
  std::vector<wire::Message> ask() {
    sink.clear();
    now += kInterval;
    ledger.poll(held, now, sink);
    std::vector<wire::Message> questions;
    while (!sink.empty()) questions.push_back(sink.take().message);
    return questions;
  }
  bool answer(const wire::Message& question, Answer with) {
    wire::Message ack;
    ack.type = MessageType::kSyncAck;
    ack.request_id = question.request_id;
    ack.has_extension = true;
    ack.sync_ack = {.worker = kWorker,
                    .epoch = {with.epoch},
                    .boot_id = {with.boot},
                    .seen = {with.seen},
                    .consumed = {with.consumed},
                    .level = question.token.level,
                    .recalled = with.recalled};
    return ledger.on_sync_ack(ack, held, now, sink);
  }
  /// Asks and gives level 0 this answer; the other levels' questions stay open.
  void answer_level_0(Answer with) {
    for (const wire::Message& question : ask()) {
      if (question.token.level != Level{0}) continue;
      EXPECT_TRUE(answer(question, with));
    }
  }
  /// Every level becomes outstanding with generation 1.
  void establish() {
    for (const wire::Message& question : ask()) EXPECT_TRUE(answer(question, {}));
    sink.clear();
  }
  void expect_token(unsigned level, std::uint32_t generation) {
    ASSERT_FALSE(sink.empty());
    const SentPacket packet = sink.take();
    EXPECT_EQ(packet.to, kSwitch);
    EXPECT_EQ(packet.message.type, MessageType::kFeedback);
    EXPECT_TRUE(packet.message.has_extension && packet.message.first && packet.message.last);
    EXPECT_EQ(packet.message.token.worker, kWorker);
    EXPECT_EQ(packet.message.token.token_key, 0xABCDu);
    EXPECT_EQ(packet.message.token.level.value, level);
    EXPECT_EQ(packet.message.token.generation.value, generation);
    EXPECT_EQ(packet.message.token.epoch, ledger.epoch());
  }
  Spend accept(unsigned level, std::uint32_t generation) {
    const Spend spend = ledger.spend(Level{static_cast<std::uint8_t>(level)}, {generation});
    if (spend == Spend::kAccepted) ++held;
    return spend;
  }
  void finish() { ledger.refund(--held, now, sink); }

  TokenLedger ledger;
  RecordingSink sink;
  Nanos now{};
  unsigned held = 0;
};

class TokenLedgerQuota4Test : public TokenLedgerTest {
 protected:
  TokenLedgerQuota4Test() : TokenLedgerTest(4) {}
};

}  // namespace rain::rpc
