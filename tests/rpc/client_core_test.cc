// Every accepted request has exactly one outcome, whatever comes and in whatever order.
#include "rpc/client_core.h"

#include <gtest/gtest.h>

#include <map>

#include "base/prng.h"
#include "recording_sink.h"

namespace rain::rpc {
namespace {

using wire::MessageType;

constexpr Endpoint kSwitch = Endpoint::v4(10, 0, 0, 1, 9000);

struct Heard {
  Outcome outcome;
  std::string payload;
};

class ClientCoreTest : public testing::Test {
 protected:
  ClientCore& core() { return *core_; }
  void open(ClientCoreOptions options) {
    options.switch_address = kSwitch;
    core_.emplace(options);
  }
  void SetUp() override { open({.max_outstanding = 4, .timeout = milliseconds(1), .max_retries = 3}); }

  auto hear() {
    return [this](const Outcome& outcome) {
      heard.push_back({outcome, std::string(as_text(outcome.payload))});
    };
  }
  RequestId submit(CallSpec call = {}, std::string_view payload = "ask") {
    const auto id = core().submit(as_payload(payload), call, now, sink);
    EXPECT_TRUE(id);
    return id.value_or(RequestId{});
  }
  void reply(RequestId id, std::string_view payload = "answer") {
    wire::Message message;
    message.type = MessageType::kReply;
    message.first = message.last = true;
    message.packet = 1;
    message.request_id = id;
    message.has_extension = true;
    message.reply = {
        .worker = {5}, .switch_delay_ns = 10, .worker_delay_ns = 20, .service_ns = 30, .queue_length = 4};
    message.payload = as_payload(payload);
    core().on_message(message, now, hear());
  }
  void drop(RequestId id, DropReason reason) {
    wire::Message message;
    message.type = MessageType::kDrop;
    message.request_id = id;
    message.drop.reason = reason;
    core().on_message(message, now, hear());
  }
  std::size_t advance(Nanos by) {
    now += by;
    return core().poll(now, sink, hear());
  }

  std::optional<ClientCore> core_;
  RecordingSink sink;
  std::vector<Heard> heard;
  Nanos now = milliseconds(5);
};

TEST_F(ClientCoreTest, submit__sends_one_request_to_the_switch) {
  const RequestId id =
      submit({.type = {3}, .deadline = Nanos{1500}, .policy = wire::Policy::kSticky}, "hello");
  ASSERT_EQ(sink.size(), 1u);
  const SentPacket packet = sink.take();
  EXPECT_EQ(packet.to, kSwitch);
  EXPECT_EQ(packet.message.type, MessageType::kRequest);
  EXPECT_TRUE(packet.message.first && packet.message.last && packet.message.has_extension);
  EXPECT_FALSE(packet.message.has_dispatch);
  EXPECT_EQ(packet.message.packet, 1u);
  EXPECT_EQ(packet.message.request_id, id);
  EXPECT_EQ(packet.message.policy, wire::Policy::kSticky);
  EXPECT_EQ(packet.message.request.task_type, TaskType{3});
  EXPECT_EQ(packet.message.request.deadline_us, 2u) << "rounded up";
  EXPECT_EQ(as_text(packet.payload), "hello");
  EXPECT_EQ(core().outstanding(), 1u);
}

TEST_F(ClientCoreTest, submit__uses_the_layout_it_was_told) {
  open({.layout = wire::Layout::kReference});
  submit();
  EXPECT_EQ(sink.take().message.layout, wire::Layout::kReference);
}

TEST_F(ClientCoreTest, submit__pushes_back_at_the_admission_limit) {
  for (int i = 0; i < 4; ++i) submit();
  const auto refused = core().submit({}, {}, now, sink);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), ErrorKind::kBackpressure);
  EXPECT_EQ(sink.size(), 4u);
  reply(sink[0].message.request_id);
  EXPECT_TRUE(core().submit({}, {}, now, sink));
}

TEST_F(ClientCoreTest, submit__pushes_back_at_the_share_and_lets_what_is_open_end) {
  for (int i = 0; i < 3; ++i) submit();
  core().set_share(1);
  EXPECT_FALSE(core().submit({}, {}, now, sink));
  EXPECT_EQ(core().admission().last_refusal(), Limit::kShare);
  for (int i = 0; i < 2; ++i) reply(sink.take().message.request_id);
  EXPECT_FALSE(core().submit({}, {}, now, sink));
  EXPECT_FALSE(core().room_again(now));
  reply(sink.take().message.request_id);
  EXPECT_EQ(heard.size(), 3u);
  EXPECT_TRUE(core().room_again(now));
  EXPECT_TRUE(core().submit({}, {}, now, sink));
  EXPECT_EQ(core().admission().refusals(Limit::kShare), 2u);
}

TEST_F(ClientCoreTest, submit__pushes_back_at_the_window_that_a_drop_has_narrowed) {
  open({.max_outstanding = 8, .timeout = milliseconds(1), .back_off = true});
  for (int i = 0; i < 8; ++i) submit();
  drop(sink.take().message.request_id, DropReason::kQueueFull);
  EXPECT_EQ(core().admission().window({}), 7u);
  EXPECT_FALSE(core().has_room({}, now));
  EXPECT_FALSE(core().submit({}, {}, now, sink));
  EXPECT_EQ(core().admission().last_refusal(), Limit::kWindow);
  EXPECT_TRUE(core().has_room({5}, now)) << "the window of another type";
  reply(sink.take().message.request_id);
  EXPECT_TRUE(core().has_room({}, now));
  submit();
}

TEST_F(ClientCoreTest, submit__windows_heed_drops_for_overload_alone) {
  open({.max_outstanding = 8, .timeout = milliseconds(1), .max_retries = 1, .back_off = true});
  drop(submit(), DropReason::kUnknownTaskType);
  submit({.retries = 1});
  advance(milliseconds(2));
  advance(milliseconds(2));
  ASSERT_EQ(heard.size(), 2u) << "a drop and a timeout";
  EXPECT_EQ(core().admission().window({}), 8u);
  open({.max_outstanding = 8});
  drop(submit(), DropReason::kQueueFull);
  EXPECT_EQ(core().admission().window({}), 8u) << "back_off is off";
}

TEST_F(ClientCoreTest, submit__waiting_for_admission_counts_into_latency_and_deadline) {
  const RequestId id = submit({.waited = microseconds(300), .deadline = microseconds(800)});
  EXPECT_EQ(sink.take().message.request.deadline_us, 500u);
  now += microseconds(50);
  reply(id);
  EXPECT_EQ(heard.at(0).outcome.latency, microseconds(350));
}

TEST(ClientCore, patience__ends_before_the_last_timeout) {
  EXPECT_EQ(patience(milliseconds(16), 0), milliseconds(15));
  EXPECT_EQ(patience(milliseconds(16), 2), milliseconds(47));
}

TEST_F(ClientCoreTest, submit__pushes_back_while_all_ids_rest) {
  open({.max_outstanding = 2, .id_count = 4, .timeout = milliseconds(1)});
  for (int i = 0; i < 2; ++i) {
    submit(), submit();
    advance(microseconds(1500));
  }
  ASSERT_EQ(heard.size(), 4u);
  EXPECT_FALSE(core().submit({}, {}, now, sink));
  EXPECT_FALSE(core().has_room({}, now));
  EXPECT_FALSE(core().room_again(now));
  now += milliseconds(3);
  EXPECT_TRUE(core().has_room({}, now));
  EXPECT_TRUE(core().room_again(now));
  EXPECT_TRUE(core().submit({}, {}, now, sink));
}

TEST_F(ClientCoreTest, submit__refuses_what_fits_no_packet) {
  const std::string large(wire::kMaxPayloadBytes + 1, 'x');
  const auto refused = core().submit(as_payload(large), {}, now, sink);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), ErrorKind::kTooLarge);
  EXPECT_EQ(core().outstanding(), 0u);
  EXPECT_TRUE(sink.empty());
  submit({}, std::string_view(large).substr(1));
}

TEST_F(ClientCoreTest, submit__refuses_more_retries_than_there_is_storage_for) {
  const auto refused = core().submit({}, {.retries = 4}, now, sink);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), ErrorKind::kBadOption);
}

TEST_F(ClientCoreTest, reply__ends_the_request_with_its_parts) {
  const RequestId id = submit({.type = {8}, .cookie = 99});
  now += microseconds(7);
  reply(id);
  ASSERT_EQ(heard.size(), 1u);
  const Outcome& outcome = heard[0].outcome;
  EXPECT_EQ(outcome.ending, Ending::kReply);
  EXPECT_EQ(outcome.id, id);
  EXPECT_EQ(outcome.cookie, 99u);
  EXPECT_EQ(outcome.type, TaskType{8});
  EXPECT_EQ(outcome.attempts, 1u);
  EXPECT_EQ(outcome.latency, microseconds(7));
  EXPECT_EQ(outcome.parts.in_switch, Nanos{10});
  EXPECT_EQ(outcome.parts.in_worker, Nanos{20});
  EXPECT_EQ(outcome.parts.service, Nanos{30});
  EXPECT_EQ(outcome.parts.worker, WorkerId{5});
  EXPECT_EQ(outcome.parts.queue_length, 4u);
  EXPECT_EQ(heard[0].payload, "answer");
  EXPECT_EQ(core().outstanding(), 0u);
  EXPECT_EQ(core().next_due(), Nanos::max());
}

TEST_F(ClientCoreTest, reply__repeated_is_counted_and_changes_nothing) {
  const RequestId id = submit();
  reply(id);
  reply(id);
  EXPECT_EQ(heard.size(), 1u);
  EXPECT_EQ(core().drops().get(DropReason::kUnknownRequest), 1u);
}

TEST_F(ClientCoreTest, reply__foreign_is_counted) {
  reply({12345});
  drop({12345}, DropReason::kQueueFull);
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(core().drops().get(DropReason::kUnknownRequest), 2u);
}

TEST_F(ClientCoreTest, reply__of_several_packets_is_refused_clearly) {
  const RequestId id = submit();
  wire::Message message;
  message.type = MessageType::kReply;
  message.first = true;
  message.packet = 3;
  message.request_id = id;
  core().on_message(message, now, hear());
  message.first = false;
  message.packet = 1;
  core().on_message(message, now, hear());
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].outcome.ending, Ending::kDropped);
  EXPECT_EQ(heard[0].outcome.reason, DropReason::kMultiPacketUnsupported);
}

TEST_F(ClientCoreTest, drop__ends_the_request_with_the_reason) {
  const RequestId id = submit({.retries = 3});
  drop(id, DropReason::kQueueFull);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].outcome.ending, Ending::kDropped);
  EXPECT_EQ(heard[0].outcome.reason, DropReason::kQueueFull);
  EXPECT_EQ(core().drops().get(DropReason::kQueueFull), 1u);
  advance(seconds(1));
  EXPECT_EQ(heard.size(), 1u);
}

TEST_F(ClientCoreTest, on_message__types_for_other_roles_are_counted) {
  const RequestId id = submit();
  for (const MessageType type : {MessageType::kRequest, MessageType::kFeedback, MessageType::kRequestReady,
                                 MessageType::kSack, MessageType::kSync, MessageType::kSyncAck,
                                 MessageType::kPull, MessageType::kFetch, MessageType::kFetched}) {
    wire::Message message;
    message.type = type;
    message.request_id = id;
    core().on_message(message, now, hear());
  }
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(core().drops().get(DropReason::kUnexpectedMessage), 9u);
}

TEST_F(ClientCoreTest, on_malformed__is_counted_by_reason) {
  core().on_malformed(DropReason::kBadMagic);
  EXPECT_EQ(core().drops().get(DropReason::kBadMagic), 1u);
}

TEST_F(ClientCoreTest, timeout__ends_the_request_once) {
  submit({.cookie = 1});
  EXPECT_EQ(advance(milliseconds(1) - Nanos{1}), 0u);
  EXPECT_LE(core().next_due(), now + microseconds(2));
  EXPECT_EQ(advance(microseconds(2)), 1u);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].outcome.ending, Ending::kTimedOut);
  EXPECT_GE(heard[0].outcome.latency, milliseconds(1));
  advance(seconds(5));
  EXPECT_EQ(heard.size(), 1u);
}

TEST_F(ClientCoreTest, timeout__of_the_call_beats_the_default) {
  submit({.timeout = milliseconds(10)});
  EXPECT_EQ(advance(milliseconds(9)), 0u);
  EXPECT_EQ(advance(milliseconds(2)), 1u);
}

TEST_F(ClientCoreTest, timeout__late_reply_is_counted_and_frees_the_id) {
  open({.max_outstanding = 1, .id_count = 2, .timeout = milliseconds(1)});
  const RequestId first = submit();
  advance(milliseconds(2));
  const RequestId second = submit();
  ASSERT_NE(first, second);
  advance(milliseconds(2));
  EXPECT_FALSE(core().submit({}, {}, now - milliseconds(1), sink)) << "both ids rest";
  reply(first);
  EXPECT_EQ(core().drops().get(DropReason::kUnknownRequest), 1u);
  EXPECT_EQ(submit(), first);
}

TEST_F(ClientCoreTest, retry__sends_the_same_again_under_the_same_id) {
  const RequestId id = submit({.type = {2}, .retries = 2}, "idempotent");
  advance(milliseconds(2));
  advance(milliseconds(2));
  EXPECT_TRUE(heard.empty());
  ASSERT_EQ(sink.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const SentPacket packet = sink.take();
    EXPECT_EQ(packet.message.request_id, id);
    EXPECT_EQ(packet.message.request.task_type, TaskType{2});
    EXPECT_EQ(as_text(packet.payload), "idempotent");
  }
  EXPECT_EQ(core().resent(), 2u);
  advance(milliseconds(2));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].outcome.ending, Ending::kTimedOut);
  EXPECT_EQ(heard[0].outcome.attempts, 3u);
}

TEST_F(ClientCoreTest, retry__first_answer_ends_it_and_the_id_rests_for_the_second) {
  open({.max_outstanding = 1, .id_count = 2, .timeout = milliseconds(1), .max_retries = 1});
  const RequestId id = submit({.retries = 1});
  advance(milliseconds(2));
  reply(id);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].outcome.ending, Ending::kReply);
  EXPECT_EQ(heard[0].outcome.latency, milliseconds(2));
  const RequestId other = submit();
  EXPECT_NE(other, id);
  reply(other);
  EXPECT_EQ(submit(), other) << "the first id still rests";
  reply(other);
  reply(id);  // the second copy's answer
  EXPECT_EQ(heard.size(), 3u);
  (void)submit();
  reply(other);
  EXPECT_EQ(submit(), id);
}

TEST_F(ClientCoreTest, retry__carries_what_is_left_of_the_deadline) {
  submit({.deadline = milliseconds(3), .retries = 3});
  advance(milliseconds(1) + microseconds(1));
  ASSERT_EQ(sink.size(), 2u);
  EXPECT_EQ(sink[0].message.request.deadline_us, 3000u);
  EXPECT_LT(sink[1].message.request.deadline_us, 2001u);
  EXPECT_GT(sink[1].message.request.deadline_us, 1900u);
}

TEST_F(ClientCoreTest, retry__not_after_the_deadline) {
  submit({.deadline = microseconds(500), .retries = 3});
  advance(milliseconds(2));
  EXPECT_EQ(sink.size(), 1u);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].outcome.ending, Ending::kTimedOut);
}

TEST_F(ClientCoreTest, outcome__may_submit_from_inside) {
  open({.max_outstanding = 1, .timeout = milliseconds(1)});
  submit();
  int endings = 0;
  const auto again = [&](const Outcome&) {
    ++endings;
    EXPECT_TRUE(core().submit({}, {}, now, sink)) << "its place is free again";
  };
  wire::Message message;
  message.type = MessageType::kDrop;
  message.request_id = sink[0].message.request_id;
  core().on_message(message, now, again);
  now += milliseconds(2);
  core().poll(now, sink, again);
  EXPECT_EQ(endings, 2);
  EXPECT_EQ(core().outstanding(), 1u);
}

TEST_F(ClientCoreTest, abandon_all__ends_what_is_open) {
  const RequestId answered = submit();
  submit({.cookie = 7});
  reply(answered);
  core().abandon_all(now, hear());
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[1].outcome.ending, Ending::kTimedOut);
  EXPECT_EQ(heard[1].outcome.cookie, 7u);
  EXPECT_EQ(core().outstanding(), 0u);
}

TEST_F(ClientCoreTest, random__every_accepted_request_ends_exactly_once) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Prng prng(seed);
    open({.max_outstanding = 8, .id_count = 32, .timeout = milliseconds(1), .max_retries = 2});
    std::map<std::uint64_t, int> endings;
    const auto count = [&](const Outcome& outcome) { ++endings[outcome.cookie]; };
    std::uint64_t cookie = 0;
    for (int step = 0; step < 500; ++step) {
      now += Nanos{static_cast<std::int64_t>(prng.below(300'000))};
      if (core().submit({}, {.retries = static_cast<unsigned>(prng.below(3)), .cookie = cookie}, now, sink)) {
        endings[cookie++] = 0;
      }
      if (prng.chance(0.7)) {
        wire::Message message;
        message.type = prng.chance(0.8) ? MessageType::kReply : MessageType::kDrop;
        message.first = true;
        message.packet = 1;
        message.request_id = {static_cast<std::uint16_t>(prng.below(34))};
        core().on_message(message, now, count);
      }
      core().poll(now, sink, count);
      sink.clear();
    }
    core().abandon_all(now, count);
    for (const auto& [number, times] : endings)
      ASSERT_EQ(times, 1) << "request " << number << ", seed " << seed;
    ASSERT_EQ(core().outstanding(), 0u);
  }
}

}  // namespace
}  // namespace rain::rpc
