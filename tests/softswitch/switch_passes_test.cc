// What the agent does between the passes of one packet: dead tokens met, FIFOs full of them, expired tasks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "softswitch/scripted_switch.h"
#include "softswitch/switch_agent.h"

namespace rain::softswitch {
namespace {

using dataplane::Action;
using dataplane::PacketView;
using dataplane::Verdict;
using packet_table::client_address;
using packet_table::task;
using packet_table::token;
using packet_table::worker_address;

TEST(SwitchPasses, recirculate__carries_the_programs_data_until_it_decides) {
  ScriptedSwitch s;
  std::vector<std::uint32_t> passes;
  s.program.script = [&](const PacketView& packet, Nanos) {
    passes.push_back(packet.carried.passes);
    if (packet.carried.passes == 2) return Verdict{.action = Action::kForward, .worker = {1}};
    return Verdict{.action = Action::kRecirculate,
                   .reason = DropReason::kStaleToken,
                   .carried = {.passes = packet.carried.passes + 1}};
  };
  EXPECT_EQ(s.poll(task()).size(), 1u);
  EXPECT_EQ(s.poll(task()).size(), 1u);
  EXPECT_THAT(passes, testing::ElementsAre(0, 1, 2, 0, 1, 2)) << "the next packet starts anew";
  EXPECT_EQ(s.count(SwitchCounter::kRecirculations), 4u);
  EXPECT_EQ(s.drops(DropReason::kStaleToken), 4u);
  EXPECT_EQ(s.count(SwitchCounter::kForwarded), 2u);
}

TEST(SwitchPasses, recirculate__is_bounded_a_task_is_refused_a_token_ignored) {
  ScriptedSwitch s;
  unsigned passes = 0;
  s.program.script = [&](const PacketView&, Nanos) {
    ++passes;
    return Verdict{.action = Action::kRecirculate};
  };
  const auto sent = s.poll(task().client(4));
  EXPECT_EQ(passes, kMaxPasses);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].peer, client_address(4));
  EXPECT_EQ(sent[0].message.drop.reason, DropReason::kRecirculationLimit);
  EXPECT_TRUE(s.poll(token(0)).empty());
  EXPECT_EQ(s.count(SwitchCounter::kRefused), 1u);
  EXPECT_EQ(s.count(SwitchCounter::kIgnored), 1u);
  EXPECT_EQ(s.drops(DropReason::kRecirculationLimit), 2u);
}

/// Dead tokens cost a task a bounded number of passes, however many there are.
TEST(SwitchPasses, recirculate__many_dead_tokens_are_forgotten_once) {
  ScriptedSwitch s;
  s.program.script = [&](const PacketView&, Nanos) {
    if (!s.program.forgotten.empty()) return Verdict{.action = Action::kForward, .worker = {1}};
    return Verdict{.action = Action::kRecirculate, .reason = DropReason::kStaleToken, .slice = {0}};
  };
  EXPECT_EQ(s.poll(task()).size(), 1u);
  EXPECT_THAT(s.program.forgotten, testing::ElementsAre(SliceId{0}));
  EXPECT_EQ(s.drops(DropReason::kStaleToken), kMaxDeadMet);
}

TEST(SwitchPasses, recirculate__few_dead_tokens_are_left_to_the_tasks_that_meet_them) {
  ScriptedSwitch s;
  unsigned passes = 0;
  s.program.script = [&](const PacketView&, Nanos) {
    if (++passes == kMaxDeadMet) return Verdict{.action = Action::kForward, .worker = {1}};
    return Verdict{.action = Action::kRecirculate, .reason = DropReason::kStaleToken, .slice = {0}};
  };
  EXPECT_EQ(s.poll(task()).size(), 1u);
  EXPECT_TRUE(s.program.forgotten.empty());
}

TEST(SwitchPasses, recirculate__a_full_fifo_is_swept_before_the_token_passes_again) {
  ScriptedSwitch s;
  s.program.script = [&](const PacketView& packet, Nanos) {
    if (packet.carried.swept) {
      EXPECT_EQ(s.program.forgotten.size(), 1u);
      return Verdict{.action = Action::kConsume};
    }
    return Verdict{.action = Action::kRecirculate,
                   .reason = DropReason::kTokenQueueFull,
                   .slice = {0},
                   .carried = {.passes = 1, .swept = true}};
  };
  EXPECT_TRUE(s.poll(token(0)).empty());
  EXPECT_THAT(s.program.forgotten, testing::ElementsAre(SliceId{0}));
  EXPECT_EQ(s.count(SwitchCounter::kConsumed), 1u);
  EXPECT_EQ(s.drops(DropReason::kTokenQueueFull), 0u) << "the token was not dropped";
}

/// `count` tasks wait in `s`; then each token finds `each` of them expired, from request id 0 up, and is consumed.
void let_expire(ScriptedSwitch& s, std::vector<dataplane::TaskEntry>& entries, unsigned count,
                unsigned each) {
  s.verdict({.action = Action::kBuffered});
  for (unsigned i = 0; i < count; ++i) {
    const auto layout = i % 2 == 0 ? wire::Layout::kPlain : wire::Layout::kReference;
    EXPECT_TRUE(s.poll(task().request(i).client(i).layout(layout)).empty());
    dataplane::TaskEntry entry{};
    entry.client = client_address(i);
    entry.request_id = {static_cast<std::uint16_t>(i)};
    entry.layout = layout;
    entry.hold = dataplane::kNoHold;
    entries.push_back(entry);
  }
  std::size_t next = 0;
  s.program.script = [&entries, next, each](const PacketView& packet, Nanos) mutable {
    if (packet.carried.passes == each) return Verdict{.action = Action::kConsume};
    return Verdict{.action = Action::kExpired,
                   .task = &entries.at(next++),
                   .carried = {.passes = packet.carried.passes + 1}};
  };
}

TEST(SwitchPasses, expired__its_client_hears_drop_and_the_token_passes_again) {
  ScriptedSwitch s;
  std::vector<dataplane::TaskEntry> entries;
  let_expire(s, entries, 2, 2);
  entries[1].hold = s.memory.hold(task().payload(100).view().message.payload);
  const std::uint32_t free_holds = s.memory.free_holds();
  const auto sent = s.poll(token(0));
  ASSERT_EQ(sent.size(), 2u);
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_EQ(sent[i].peer, client_address(i));
    EXPECT_EQ(sent[i].message.type, wire::MessageType::kDrop);
    EXPECT_EQ(sent[i].message.drop.reason, DropReason::kDeadlinePassed);
    EXPECT_EQ(sent[i].message.request_id.value, i);
    EXPECT_EQ(sent[i].message.layout, entries[i].layout);
    EXPECT_TRUE(sent[i].message.payload.empty());
  }
  EXPECT_EQ(s.memory.free_holds(), free_holds + 1);
  EXPECT_EQ(s.agent.waiting(), 0u);
  EXPECT_EQ(s.count(SwitchCounter::kRefused), 2u);
  EXPECT_EQ(s.drops(DropReason::kDeadlinePassed), 2u);
  EXPECT_EQ(s.count(SwitchCounter::kConsumed), 1u);
  EXPECT_EQ(s.count(SwitchCounter::kRecirculations), 0u);
}

TEST(SwitchPasses, expired__more_than_a_batch_of_them_in_one_cycle) {
  ScriptedSwitch s;
  std::vector<dataplane::TaskEntry> entries;
  constexpr unsigned kEach = dataplane::kMaxExpired;
  constexpr unsigned kTasks = 5 * kEach;
  static_assert(kTasks > 2 * transport::kBatch);
  let_expire(s, entries, kTasks, kEach);
  for (unsigned i = 0; i < 5; ++i) s.put(token(0));
  const auto sent = s.poll();
  ASSERT_EQ(sent.size(), kTasks);
  for (unsigned i = 0; i < kTasks; ++i) {
    ASSERT_EQ(sent[i].message.request_id.value, i) << "a buffer was used again before the network had it";
    ASSERT_EQ(sent[i].peer, client_address(i));
  }
}

}  // namespace
}  // namespace rain::softswitch
