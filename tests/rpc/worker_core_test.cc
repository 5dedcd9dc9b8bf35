// What a worker does with each packet, and what it tells client and switch when a task ends.
#include "rpc/worker_core.h"

#include <gtest/gtest.h>

#include "recording_sink.h"

namespace rain::rpc {
namespace {

using wire::MessageType;

constexpr Endpoint kSwitch = Endpoint::v4(10, 0, 0, 1, 9000);
constexpr Endpoint kClient = Endpoint::v4(10, 0, 0, 2, 5555);
constexpr WorkerId kWorker{7};

class WorkerCoreTest : public testing::Test {
 protected:
  explicit WorkerCoreTest(unsigned quota = 2) { open({.quota = quota}); }

  WorkerCore& core() { return *core_; }
  void open(WorkerCoreOptions options) {
    options.id = kWorker;
    options.switch_address = kSwitch;
    core_.emplace(options, now);
  }
  /// All levels outstanding with generation 1.
  void establish() {
    core().poll(now, sink);
    const std::size_t questions = sink.size();
    for (std::size_t i = 0; i < questions; ++i) {
      const wire::Message question = sink.take().message;
      wire::Message ack;
      ack.type = MessageType::kSyncAck;
      ack.request_id = question.request_id;
      ack.has_extension = true;
      ack.sync_ack = {.worker = kWorker, .epoch = {1}, .boot_id = {1}, .level = question.token.level};
      receive(ack);
    }
    sink.clear();
  }
  wire::Message dispatch(unsigned level, std::uint32_t generation, std::uint16_t id = 100) {
    wire::Message message;
    message.type = MessageType::kRequest;
    message.first = message.last = true;
    message.packet = 1;
    message.request_id = {id};
    message.has_extension = message.has_dispatch = true;
    message.request.task_type = {4};
    message.dispatch = {.client = kClient,
                        .worker = kWorker,
                        .level = {static_cast<std::uint8_t>(level)},
                        .generation = {generation},
                        .switch_delay_ns = 3000,
                        .queue_length = 12};
    message.payload = as_payload("work");
    return message;
  }
  wire::Message push(std::uint16_t id = 100) { return dispatch(kNoLevel.value, 0, id); }
  void receive(const wire::Message& message, const Endpoint& source = kSwitch) {
    core().on_message(message, source, now, now, sink);
  }
  void expect_drop(DropReason reason, std::uint16_t id = 100, const Endpoint& to = kClient) {
    ASSERT_FALSE(sink.empty());
    const SentPacket packet = sink.take();
    EXPECT_EQ(packet.message.type, MessageType::kDrop);
    EXPECT_EQ(packet.message.drop.reason, reason) << drop_reason_name(packet.message.drop.reason);
    EXPECT_EQ(packet.message.request_id, RequestId{id});
    EXPECT_EQ(packet.to, to);
    EXPECT_GE(core().drops().get(reason), 1u);
  }
  void expect_token(unsigned level, std::uint32_t generation) {
    ASSERT_FALSE(sink.empty());
    const SentPacket packet = sink.take();
    EXPECT_EQ(packet.message.type, MessageType::kFeedback);
    EXPECT_EQ(packet.message.token.level.value, level);
    EXPECT_EQ(packet.message.token.generation.value, generation);
    EXPECT_EQ(packet.to, kSwitch);
  }

  Nanos now = seconds(1);
  std::optional<WorkerCore> core_;
  RecordingSink sink;
};

class WorkerCorePushTest : public WorkerCoreTest {
 protected:
  WorkerCorePushTest() : WorkerCoreTest(0) {}
};

TEST_F(WorkerCoreTest, task__runs_and_is_answered_with_its_parts) {
  establish();
  wire::Message message = dispatch(0, 1);
  message.layout = wire::Layout::kReference;
  receive(message);
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(core().held(), 1u);

  now += microseconds(2);
  const TaskView* task = core().begin(now, sink);
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(as_text(task->payload), "work");
  EXPECT_EQ(task->type, TaskType{4});
  EXPECT_EQ(task->client, kClient);
  EXPECT_EQ(task->request_id, RequestId{100});
  EXPECT_EQ(task->in_switch, microseconds(3));
  EXPECT_EQ(task->in_worker, microseconds(2));
  EXPECT_TRUE(core().running());

  now += microseconds(9);
  core().finish(as_payload("done"), now, sink);
  const SentPacket reply = sink.take();
  EXPECT_EQ(reply.to, kClient);
  EXPECT_EQ(reply.message.type, MessageType::kReply);
  EXPECT_EQ(reply.message.layout, wire::Layout::kReference);
  EXPECT_TRUE(reply.message.first && reply.message.last && reply.message.has_extension);
  EXPECT_EQ(reply.message.packet, 1u);
  EXPECT_EQ(reply.message.request_id, RequestId{100});
  EXPECT_EQ(reply.message.reply.worker, kWorker);
  EXPECT_EQ(reply.message.reply.switch_delay_ns, 3000u);
  EXPECT_EQ(reply.message.reply.worker_delay_ns, 2000u);
  EXPECT_EQ(reply.message.reply.service_ns, 9000u);
  EXPECT_EQ(reply.message.reply.queue_length, 12u);
  EXPECT_EQ(as_text(reply.payload), "done");
  expect_token(0, 2);
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(core().served(), 1u);
  EXPECT_EQ(core().held(), 0u);
}

TEST_F(WorkerCoreTest, task__waiting_time_counts_from_the_kernels_time_stamp) {
  establish();
  core().on_message(dispatch(0, 1), kSwitch, now - microseconds(40), now, sink);
  EXPECT_EQ(core().begin(now, sink)->in_worker, microseconds(40));
}

TEST_F(WorkerCoreTest, task__arrival_in_the_future_counts_as_now) {
  establish();
  core().on_message(dispatch(0, 1), kSwitch, now + seconds(1), now, sink);
  EXPECT_EQ(core().begin(now + Nanos{5}, sink)->in_worker, Nanos{5});
}

TEST_F(WorkerCoreTest, tasks__run_first_in_first_out) {
  establish();
  receive(dispatch(1, 1, 1));
  receive(dispatch(0, 1, 2));
  EXPECT_EQ(core().begin(now, sink)->request_id, RequestId{1});
  core().finish({}, now, sink);
  sink.take();
  expect_token(1, 2);  // one task is left
  EXPECT_EQ(core().begin(now, sink)->request_id, RequestId{2});
  core().finish({}, now, sink);
  sink.take();
  expect_token(0, 2);
  EXPECT_EQ(core().begin(now, sink), nullptr);
}

TEST_F(WorkerCoreTest, quota__never_exceeded_by_repeats) {
  establish();
  for (int i = 0; i < 3; ++i) receive(dispatch(0, 1)), receive(dispatch(1, 1));
  EXPECT_EQ(core().held(), 2u);
  EXPECT_EQ(core().drops().get(DropReason::kStaleDispatch), 4u);
  EXPECT_TRUE(sink.empty()) << "the first copies are being served";
}

TEST_F(WorkerCoreTest, refusal__dispatch_without_a_token_of_ours) {
  receive(dispatch(0, 1));
  expect_drop(DropReason::kStaleDispatch);
  establish();
  receive(dispatch(1, 9, 101));
  expect_drop(DropReason::kStaleDispatch, 101);
  receive(dispatch(5, 1, 102));
  expect_drop(DropReason::kStaleDispatch, 102);
  EXPECT_EQ(core().held(), 0u);
  EXPECT_TRUE(sink.empty());
}

TEST_F(WorkerCoreTest, refusal__deadline_passed_gives_the_token_back) {
  establish();
  wire::Message message = dispatch(0, 1);
  message.request.deadline_us = 10;  // 3 of them were spent in the switch
  receive(message);
  now += microseconds(7) + Nanos{1};
  EXPECT_EQ(core().begin(now, sink), nullptr);
  expect_drop(DropReason::kDeadlinePassed);
  expect_token(0, 2);
  EXPECT_EQ(core().held(), 0u);
  EXPECT_EQ(core().served(), 0u);
}

TEST_F(WorkerCoreTest, refusal__deadline_just_kept) {
  establish();
  wire::Message message = dispatch(0, 1);
  message.request.deadline_us = 10;
  receive(message);
  EXPECT_NE(core().begin(now + microseconds(7), sink), nullptr);
}

TEST_F(WorkerCoreTest, refusal__deadline_passed_serves_the_next) {
  establish();
  wire::Message late = dispatch(0, 1, 1);
  late.request.deadline_us = 1;
  receive(late);
  receive(dispatch(1, 1, 2));
  const TaskView* task = core().begin(now, sink);
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(task->request_id, RequestId{2});
  expect_drop(DropReason::kDeadlinePassed, 1);
  expect_token(1, 2) /* never held: level 1 is spent */;
}

TEST_F(WorkerCoreTest, refusal__several_packets_give_the_token_back) {
  establish();
  wire::Message message = dispatch(0, 1);
  message.packet = 2;
  receive(message);
  expect_drop(DropReason::kMultiPacketUnsupported);
  expect_token(0, 2);
  message.first = false;
  receive(message);
  EXPECT_TRUE(sink.empty()) << "a later packet is only counted";
  EXPECT_EQ(core().drops().get(DropReason::kMultiPacketUnsupported), 2u);
}

TEST_F(WorkerCoreTest, refusal__payload_above_this_workers_storage) {
  open({.quota = 2, .max_payload_bytes = 3});
  establish();
  receive(dispatch(0, 1));
  expect_drop(DropReason::kOversizedPayload);
  expect_token(0, 2);
}

TEST_F(WorkerCoreTest, refusal__handler_failed) {
  establish();
  receive(dispatch(0, 1));
  core().begin(now, sink);
  core().finish_refused(DropReason::kHandlerFailed, now, sink);
  expect_drop(DropReason::kHandlerFailed);
  expect_token(0, 2);
  EXPECT_EQ(core().served(), 0u);
}

TEST_F(WorkerCoreTest, refusal__client_that_takes_us_for_the_switch) {
  wire::Message message = dispatch(0, 1);
  message.has_dispatch = false;
  receive(message, kClient);
  expect_drop(DropReason::kUnexpectedMessage, 100, kClient);
}

TEST_F(WorkerCoreTest, refusal__dispatch_for_another_worker) {
  establish();
  wire::Message message = dispatch(0, 1);
  message.dispatch.worker = {8};
  receive(message);
  expect_drop(DropReason::kUnknownWorker);
  EXPECT_EQ(core().held(), 0u);
}

TEST_F(WorkerCoreTest, source__only_the_switch_is_listened_to) {
  establish();
  const Endpoint stranger = Endpoint::v4(10, 0, 0, 66, 9000);
  receive(dispatch(0, 1), stranger);
  wire::Message ack;
  ack.type = MessageType::kSyncAck;
  ack.sync_ack.worker = kWorker;
  receive(ack, stranger);
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(core().held(), 0u);
  EXPECT_EQ(core().drops().get(DropReason::kAddressMismatch), 2u);
}

TEST_F(WorkerCoreTest, on_message__types_for_other_roles_are_counted) {
  for (const MessageType type : {MessageType::kReply, MessageType::kFeedback, MessageType::kRequestReady,
                                 MessageType::kDrop, MessageType::kSack, MessageType::kSync,
                                 MessageType::kPull, MessageType::kFetch, MessageType::kFetched}) {
    wire::Message message;
    message.type = type;
    receive(message);
  }
  EXPECT_EQ(core().drops().get(DropReason::kUnexpectedMessage), 9u);
  EXPECT_TRUE(sink.empty());
}

TEST_F(WorkerCoreTest, on_message__answers_to_no_question_are_counted) {
  wire::Message ack;
  ack.type = MessageType::kSyncAck;
  ack.has_extension = true;
  ack.sync_ack.worker = kWorker;
  receive(ack);
  EXPECT_EQ(core().drops().get(DropReason::kUnexpectedMessage), 1u);
  ack.sync_ack.worker = {8};
  receive(ack);
  EXPECT_EQ(core().drops().get(DropReason::kUnknownWorker), 1u);
}

TEST_F(WorkerCoreTest, retire__refuses_what_comes_and_serves_what_is_held) {
  establish();
  receive(dispatch(1, 1, 1));
  core().retire();
  receive(dispatch(0, 1, 2));
  expect_drop(DropReason::kShuttingDown, 2);
  EXPECT_TRUE(sink.empty()) << "no token";
  ASSERT_NE(core().begin(now, sink), nullptr);
  core().finish({}, now, sink);
  EXPECT_EQ(sink.take().message.type, MessageType::kReply);
  EXPECT_TRUE(sink.empty()) << "no token";
  EXPECT_EQ(core().next_due(), Nanos::max());
}

TEST_F(WorkerCoreTest, idleness__is_the_time_without_a_task) {
  establish();
  now += microseconds(30);
  receive(dispatch(0, 1));
  core().begin(now, sink);
  now += microseconds(10);
  EXPECT_EQ(core().idle_time(now), microseconds(30));
  EXPECT_DOUBLE_EQ(core().idleness(now), 0.75);
  core().finish({}, now, sink);
  now += microseconds(20);
  EXPECT_EQ(core().idle_time(now), microseconds(50));
}

TEST_F(WorkerCoreTest, idleness__is_1_before_time_passes) { EXPECT_EQ(core().idleness(now), 1.0); }

TEST_F(WorkerCorePushTest, poll__asks_nothing) {
  core().poll(now, sink);
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(core().next_due(), Nanos::max());
}

TEST_F(WorkerCorePushTest, pushed_task__is_answered_and_reported) {
  open({.quota = 0, .token_key = 77});
  receive(push(1));
  receive(push(2));
  core().begin(now, sink);
  core().finish({}, now, sink);
  EXPECT_EQ(sink.take().message.type, MessageType::kReply);
  const wire::Message report = sink.take().message;
  EXPECT_EQ(report.type, MessageType::kFeedback);
  EXPECT_EQ(report.token.level, kNoLevel);
  EXPECT_EQ(report.token.worker, kWorker);
  EXPECT_EQ(report.token.token_key, 77u);
  EXPECT_EQ(report.token.queue_length, 1u);
  EXPECT_TRUE(report.has_extension);
}

TEST_F(WorkerCorePushTest, pushed_task__is_refused_and_reported_when_the_fifo_is_full) {
  open({.quota = 0, .push_limit = 2});
  for (std::uint16_t id = 1; id <= 3; ++id) receive(push(id));
  EXPECT_EQ(core().held(), 2u);
  expect_drop(DropReason::kWorkerQueueFull, 3);
  EXPECT_EQ(sink.take().message.token.level, kNoLevel) << "a scheduler that counts must hear of it";
  core().begin(now, sink);
  core().finish({}, now, sink);
  receive(push(4));
  EXPECT_EQ(core().held(), 2u);
}

TEST_F(WorkerCorePushTest, pushed_task__with_a_token_we_cannot_have_issued_is_refused) {
  receive(dispatch(0, 1));
  expect_drop(DropReason::kStaleDispatch);
}

TEST_F(WorkerCoreTest, pushed_task__is_served_beside_tokens) {
  establish();
  for (std::uint16_t id = 1; id <= 5; ++id) receive(push(id));
  receive(dispatch(0, 1, 6));
  receive(dispatch(1, 1, 7));
  EXPECT_EQ(core().held(), 7u);
  unsigned tokens = 0, reports = 0;
  while (core().begin(now, sink) != nullptr) core().finish({}, now, sink);
  while (!sink.empty()) {
    const wire::Message message = sink.take().message;
    if (message.type != MessageType::kFeedback) continue;
    ++(message.token.level == kNoLevel ? reports : tokens);
  }
  EXPECT_EQ(tokens, 2u);
  EXPECT_EQ(reports, 5u);
  EXPECT_EQ(core().ledger()->outstanding(), 2u);
}

using WorkerCoreDeathTest = WorkerCoreTest;

TEST_F(WorkerCoreDeathTest, begin__while_a_task_runs_is_a_bug) {
  establish();
  receive(dispatch(0, 1));
  core().begin(now, sink);
  EXPECT_DEATH(core().begin(now, sink), "assertion failed");
}

TEST_F(WorkerCoreDeathTest, finish__without_a_task_is_a_bug) {
  EXPECT_DEATH(core().finish({}, now, sink), "assertion failed");
}

}  // namespace
}  // namespace rain::rpc
