// A worker whose quota changes, up to draining it; and what its agent hears of the tasks that ran.
#include <gtest/gtest.h>

#include "recording_sink.h"
#include "rpc/worker_core.h"

namespace rain::rpc {
namespace {

using wire::MessageType;

class WorkerCoreQuotaTest : public testing::Test {
 protected:
  static constexpr Endpoint kTheSwitch = Endpoint::v4(10, 0, 0, 1, 9000);

  static WorkerCoreOptions options(unsigned quota) {
    return {.id = {7}, .switch_address = kTheSwitch, .quota = quota, .push_limit = quota > 0 ? 0u : 4u};
  }
  /// Answers every question: as an empty switch, or that a recall came in time.
  void answer_all() {
    for (std::size_t left = sink.size(); left > 0; --left) {
      const wire::Message question = sink.take().message;
      if (question.type != MessageType::kSync) continue;
      wire::Message ack;
      ack.type = MessageType::kSyncAck;
      ack.request_id = question.request_id;
      ack.has_extension = true;
      const Generation known = question.token.recall ? question.token.generation : Generation{};
      ack.sync_ack = {.worker = {7},
                      .epoch = {1},
                      .boot_id = {1},
                      .seen = known,
                      .consumed = known,
                      .level = question.token.level,
                      .recalled = question.token.recall};
      core.on_message(ack, kTheSwitch, now, now, sink);
    }
  }
  void establish() {
    core.poll(now, sink);
    answer_all();
    sink.clear();
  }
  void dispatch(unsigned level, std::uint32_t generation, std::uint16_t queue_length = 0) {
    wire::Message message;
    message.type = MessageType::kRequest;
    message.first = message.last = message.has_extension = message.has_dispatch = true;
    message.packet = 1;
    message.dispatch = {.client = Endpoint::v4(10, 0, 0, 2, 5555),
                        .worker = {7},
                        .level = {static_cast<std::uint8_t>(level)},
                        .generation = {generation},
                        .switch_delay_ns = 3000,
                        .queue_length = queue_length};
    core.on_message(message, kTheSwitch, now, now, sink);
  }

  Nanos now{};
  RecordingSink sink;
  WorkerCore core{options(2)};
};

TEST_F(WorkerCoreQuotaTest, set_quota__raised_to_the_largest_holds_as_many_tasks) {
  establish();
  core.set_quota(kMaxQuota, now, sink);
  EXPECT_EQ(core.quota(), kMaxQuota);
  answer_all();
  for (unsigned level = 0; level < kMaxQuota; ++level) dispatch(level, 1);
  EXPECT_EQ(core.held(), kMaxQuota);
  EXPECT_EQ(core.drops().get(DropReason::kStaleDispatch), 0u);
}

TEST_F(WorkerCoreQuotaTest, drained__once_tokens_are_home_and_tasks_are_done) {
  establish();
  dispatch(0, 1);
  core.set_quota(0, now, sink);
  EXPECT_FALSE(core.drained());
  answer_all();
  EXPECT_FALSE(core.drained()) << "a task is held";
  ASSERT_NE(core.begin(now, sink), nullptr);
  core.finish({}, now, sink);
  EXPECT_TRUE(core.drained());
  EXPECT_EQ(sink.count(MessageType::kReply), 1u);
  EXPECT_EQ(sink.count(MessageType::kFeedback), 0u);
}

TEST_F(WorkerCoreQuotaTest, drained__is_false_with_a_quota) {
  establish();
  EXPECT_FALSE(core.drained());
}

TEST_F(WorkerCoreQuotaTest, drained__serves_a_dispatch_that_was_on_its_way) {
  establish();
  core.set_quota(0, now, sink);
  dispatch(1, 1);
  EXPECT_EQ(core.held(), 1u);
  EXPECT_EQ(core.drops().get(DropReason::kStaleDispatch), 0u);
}

TEST_F(WorkerCoreQuotaTest, set_quota__from_zero_serves_again) {
  establish();
  core.set_quota(0, now, sink);
  answer_all();
  EXPECT_TRUE(core.drained());
  sink.clear();
  core.set_quota(1, now, sink);
  ASSERT_EQ(sink.count(MessageType::kFeedback), 1u);
  dispatch(0, 2);
  EXPECT_EQ(core.held(), 1u);
}

TEST_F(WorkerCoreQuotaTest, set_quota__means_nothing_to_a_worker_without_tokens) {
  WorkerCore pushed(options(0));
  pushed.set_quota(3, now, sink);
  pushed.ask_now(now);
  pushed.poll(now, sink);
  EXPECT_EQ(pushed.quota(), 0u);
  EXPECT_TRUE(sink.empty());
  EXPECT_TRUE(pushed.drained());
}

TEST_F(WorkerCoreQuotaTest, ask_now__is_done_by_the_next_poll) {
  establish();
  core.ask_now(now);
  EXPECT_LE(core.next_due(), now);
  core.poll(now, sink);
  EXPECT_EQ(sink.count(MessageType::kSync), 2u);
}

TEST_F(WorkerCoreQuotaTest, last_ended__tells_of_the_task_that_ran_last) {
  EXPECT_EQ(core.last_ended().number, 0u);
  establish();
  dispatch(0, 1, 5);
  dispatch(1, 1, 6);
  now += microseconds(2);
  core.begin(now, sink);
  now += microseconds(7);
  core.finish({}, now, sink);
  const EndedTask& ended = core.last_ended();
  EXPECT_EQ(ended.number, 1u);
  EXPECT_EQ(ended.in_switch, microseconds(3));
  EXPECT_EQ(ended.in_worker, microseconds(2));
  EXPECT_EQ(ended.service, microseconds(7));
  EXPECT_EQ(ended.queue_length, 5u);
  core.begin(now, sink);
  core.finish_refused(DropReason::kHandlerFailed, now - microseconds(1), sink);
  EXPECT_EQ(ended.number, 2u) << "it ran, whatever came of it";
  EXPECT_EQ(ended.in_worker, microseconds(9));
  EXPECT_EQ(ended.service, Nanos{}) << "a clock that jumped back";
  EXPECT_EQ(ended.queue_length, 6u);
}

}  // namespace
}  // namespace rain::rpc
