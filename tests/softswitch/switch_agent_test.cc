// The agent around a program that does what the test says, so that each verdict is seen by itself.
#include "softswitch/switch_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "softswitch/scripted_switch.h"

namespace rain::softswitch {
namespace {

using dataplane::Action;
using dataplane::PacketView;
using dataplane::Verdict;
using packet_table::client_address;
using packet_table::sync;
using packet_table::task;
using packet_table::token;
using packet_table::worker_address;

using Switch = ScriptedSwitch;

std::vector<std::byte> payload_of(const packet_table::Packet& packet) {
  const auto view = packet.view();
  return {view.message.payload.begin(), view.message.payload.end()};
}
std::vector<std::byte> payload_of(const RecordingTransport::Sent& sent) {
  return {sent.message.payload.begin(), sent.message.payload.end()};
}

const Verdict kForwardTo1{
    .action = Action::kForward, .worker = {1}, .level = {2}, .generation = {77}, .queue_length = 5};

TEST(SwitchAgent, poll__nothing_received_nothing_done) {
  Switch s;
  EXPECT_EQ(s.agent.poll(Nanos{1}), 0u);
  EXPECT_TRUE(s.transport.take_sent().empty());
  EXPECT_EQ(s.count(SwitchCounter::kPacketsIn), 0u);
}

class SwitchAgentLayouts : public testing::TestWithParam<wire::Layout> {};

TEST_P(SwitchAgentLayouts, forward__the_task_with_dispatch_fields) {
  Switch s;
  s.verdict(kForwardTo1);
  const auto request = task().layout(GetParam()).client(9).request(41).type(3).deadline_us(500).payload(100);
  s.transport.arrival = Nanos{400};
  const auto sent = s.poll(request, Nanos{1000});
  ASSERT_EQ(sent.size(), 1u);
  const wire::Message& message = sent[0].message;
  EXPECT_EQ(sent[0].peer, worker_address(1));
  EXPECT_EQ(message.layout, GetParam());
  EXPECT_EQ(message.type, wire::MessageType::kRequest);
  EXPECT_TRUE(message.first && message.last);
  EXPECT_EQ(message.packet, 1);
  EXPECT_EQ(message.request_id.value, 41);
  EXPECT_EQ(message.request.task_type.value, 3);
  EXPECT_EQ(message.request.deadline_us, 500u);
  ASSERT_TRUE(message.has_dispatch);
  EXPECT_EQ(message.dispatch.client, client_address(9));
  EXPECT_EQ(message.dispatch.worker.value, 1);
  EXPECT_EQ(message.dispatch.level.value, 2);
  EXPECT_EQ(message.dispatch.generation.value, 77u);
  EXPECT_EQ(message.dispatch.queue_length, 5);
  EXPECT_EQ(message.dispatch.switch_delay_ns, 600u);
  EXPECT_EQ(payload_of(sent[0]), payload_of(request));
  EXPECT_EQ(s.count(SwitchCounter::kForwarded), 1u);
}

TEST_P(SwitchAgentLayouts, refuse__drop_to_the_sender_with_the_reason) {
  Switch s;
  s.verdict({.action = Action::kReplyDrop, .reason = DropReason::kQueueFull});
  const auto sent = s.poll(task().layout(GetParam()).client(3).request(7).payload(1400));
  ASSERT_EQ(sent.size(), 1u);
  const wire::Message& message = sent[0].message;
  EXPECT_EQ(sent[0].peer, client_address(3));
  EXPECT_EQ(message.layout, GetParam());
  EXPECT_EQ(message.type, wire::MessageType::kDrop);
  EXPECT_EQ(message.drop.reason, DropReason::kQueueFull);
  EXPECT_EQ(message.request_id.value, 7);
  EXPECT_TRUE(message.first && message.last && message.has_extension);
  EXPECT_EQ(message.packet, 1);
  EXPECT_TRUE(message.payload.empty());
  EXPECT_EQ(s.count(SwitchCounter::kRefused), 1u);
  EXPECT_EQ(s.drops(DropReason::kQueueFull), 1u);
}

TEST_P(SwitchAgentLayouts, acknowledge__the_switchs_view_with_its_boot_id) {
  Switch s;
  s.verdict({.action = Action::kReplySync,
             .sync = {.worker = {1}, .epoch = {6}, .seen = {12}, .consumed = {11}, .level = {3}}});
  const auto sent = s.poll(sync(1).layout(GetParam()).request(513));
  ASSERT_EQ(sent.size(), 1u);
  const wire::Message& message = sent[0].message;
  EXPECT_EQ(sent[0].peer, worker_address(1));
  EXPECT_EQ(message.layout, GetParam());
  EXPECT_EQ(message.type, wire::MessageType::kSyncAck);
  EXPECT_EQ(message.request_id.value, 513) << "the worker's sequence number";
  EXPECT_EQ(message.sync_ack.worker.value, 1);
  EXPECT_EQ(message.sync_ack.epoch.value, 6);
  EXPECT_EQ(message.sync_ack.seen.value, 12u);
  EXPECT_EQ(message.sync_ack.consumed.value, 11u);
  EXPECT_EQ(message.sync_ack.level.value, 3);
  EXPECT_EQ(message.sync_ack.boot_id, kBootId);
  EXPECT_EQ(s.count(SwitchCounter::kSyncAcks), 1u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, SwitchAgentLayouts,
                         testing::Values(wire::Layout::kPlain, wire::Layout::kReference),
                         [](const auto& one) {
                           return one.param == wire::Layout::kPlain ? "plain" : "reference";
                         });

TEST(SwitchAgent, forward__payloads_of_all_sizes_stay_where_they_are) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{9}, std::size_t{1400}}) {
    Switch s;
    s.verdict(kForwardTo1);
    const auto request = task().payload(size);
    s.put(request);
    const std::byte* payload = s.transport.received(0) + wire::header_size(request.view().message);
    const auto sent = s.poll();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].payload, payload) << "copied, size " << size;
    EXPECT_EQ(payload_of(sent[0]), payload_of(request));
  }
}

TEST(SwitchAgent, forward__a_request_without_extension_gets_type_0) {
  Switch s;
  s.verdict(kForwardTo1);
  s.poll(task().type(9).deadline_us(1));  // whatever the packet before carried
  const auto sent = s.poll(task().bare().payload(20));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].message.request.task_type.value, 0);
  EXPECT_EQ(sent[0].message.request.deadline_us, 0u);
  EXPECT_EQ(payload_of(sent[0]), payload_of(task().payload(20)));
}

TEST(SwitchAgent, forward__unknown_header_bytes_are_not_taken_for_payload) {
  Switch s;
  s.verdict(kForwardTo1);
  // Base header and request, a forged dispatch, and 100 bytes that a later version may have a meaning for.
  const auto plain = bytes_of(task().payload(0));
  std::vector<std::byte> longer(plain.begin(), plain.end());
  longer.insert(longer.end(), 32, std::byte{0xDD});
  longer.insert(longer.end(), 100, std::byte{0xEE});
  longer[1] = static_cast<std::byte>(longer.size());
  longer.insert(longer.end(), {std::byte{'a'}, std::byte{'b'}});
  s.transport.put(longer, client_address(0));
  const auto sent = s.poll();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(payload_of(sent[0]), (std::vector<std::byte>{std::byte{'a'}, std::byte{'b'}}));
  EXPECT_EQ(sent[0].message.dispatch.client, client_address(0)) << "a forged dispatch is overwritten";
}

dataplane::TaskEntry entry_for(const packet_table::Packet& request, dataplane::HoldHandle hold) {
  const auto view = request.view();
  dataplane::TaskEntry entry{};
  entry.arrival = Nanos{100};
  entry.client = view.source;
  entry.request_id = view.message.request_id;
  entry.task_type = view.message.request.task_type;
  entry.payload_bytes = static_cast<std::uint16_t>(view.message.payload.size());
  entry.deadline_us = view.message.request.deadline_us;
  entry.hold = hold;
  entry.packet_count = view.message.packet;
  entry.layout = view.message.layout;
  entry.policy = view.message.policy;
  entry.last = view.message.last;
  if (hold == dataplane::kNoHold) {
    std::ranges::copy(std::as_bytes(view.message.payload),
                      std::as_writable_bytes(std::span(entry.inline_payload)).begin());
  }
  return entry;
}

// Buffers `request` and has a token fetch it.
std::vector<RecordingTransport::Sent> wait_and_dispatch(Switch& s, const packet_table::Packet& request,
                                                        const dataplane::TaskEntry& entry) {
  s.verdict({.action = Action::kBuffered, .queue_length = 1});
  EXPECT_TRUE(s.poll(request).empty());
  EXPECT_EQ(s.agent.waiting(), 1u);
  s.verdict({.action = Action::kDispatch,
             .worker = {0},
             .level = {1},
             .generation = {8},
             .queue_length = 3,
             .queue_delay = microseconds(25),
             .task = &entry});
  auto sent = s.poll(token(0).layout(wire::Layout::kReference));
  EXPECT_EQ(s.agent.waiting(), 0u);
  return sent;
}

void expect_dispatched(const RecordingTransport::Sent& sent, const packet_table::Packet& request) {
  const wire::Message& message = sent.message;
  const wire::Message asked = request.view().message;
  EXPECT_EQ(sent.peer, worker_address(0));
  EXPECT_EQ(message.type, wire::MessageType::kRequest);
  EXPECT_EQ(message.layout, asked.layout) << "the request's, not the token's";
  EXPECT_EQ(message.request_id, asked.request_id);
  EXPECT_TRUE(message.first && message.last);
  EXPECT_EQ(message.packet, 1);
  EXPECT_EQ(message.request.task_type, asked.request.task_type);
  EXPECT_EQ(message.request.deadline_us, asked.request.deadline_us);
  EXPECT_EQ(message.dispatch.client, request.view().source);
  EXPECT_EQ(message.dispatch.worker.value, 0);
  EXPECT_EQ(message.dispatch.level.value, 1);
  EXPECT_EQ(message.dispatch.generation.value, 8u);
  EXPECT_EQ(message.dispatch.queue_length, 3);
  EXPECT_EQ(message.dispatch.switch_delay_ns, 25'000u);
  EXPECT_EQ(payload_of(sent), payload_of(request));
}

TEST(SwitchAgent, dispatch__payload_from_the_entry) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}}) {
    Switch s;
    const auto request = task().client(5).request(99).type(2).deadline_us(70).payload(size);
    const auto entry = entry_for(request, dataplane::kNoHold);
    const auto sent = wait_and_dispatch(s, request, entry);
    ASSERT_EQ(sent.size(), 1u);
    expect_dispatched(sent[0], request);
    EXPECT_EQ(s.count(SwitchCounter::kBuffered), 1u);
    EXPECT_EQ(s.count(SwitchCounter::kDispatched), 1u);
  }
}

TEST(SwitchAgent, dispatch__held_payload_is_sent_from_the_store_and_given_back_after_the_flush) {
  for (const std::size_t size : {std::size_t{9}, std::size_t{1400}}) {
    Switch s;
    const auto request = task().client(5).request(99).payload(size);
    const dataplane::HoldHandle hold = s.memory.hold(request.view().message.payload);
    const std::uint32_t free_before = s.memory.free_holds();
    std::uint32_t free_at_flush = UINT32_MAX;
    s.transport.at_flush = [&] { free_at_flush = s.memory.free_holds(); };
    const auto entry = entry_for(request, hold);
    const auto sent = wait_and_dispatch(s, request, entry);
    ASSERT_EQ(sent.size(), 1u);
    expect_dispatched(sent[0], request);
    EXPECT_EQ(sent[0].payload, s.memory.held(hold));
    EXPECT_EQ(free_at_flush, free_before) << "the network did not have it yet";
    EXPECT_EQ(s.memory.free_holds(), free_before + 1);
  }
}

TEST(SwitchAgent, dispatch__a_whole_batch_of_held_payloads) {
  SwitchOptions options = one_slice(1);
  options.hold_slots = transport::kBatch;
  SwitchUnderTest<ScriptedProgram, RecordingTransport> s(options, {});
  std::vector<dataplane::TaskEntry> entries;
  const auto request = task().payload(100);
  s.program.script = [](const PacketView&, Nanos) { return Verdict{.action = Action::kBuffered}; };
  for (std::size_t i = 0; i < transport::kBatch; ++i) {
    s.transport.put(bytes_of(request), client_address(0));
    entries.push_back(entry_for(request, s.memory.hold(request.view().message.payload)));
  }
  s.agent.poll(Nanos{1});
  std::size_t next = 0;
  s.program.script = [&](const PacketView&, Nanos) {
    return Verdict{.action = Action::kDispatch, .worker = {0}, .task = &entries[next++]};
  };
  for (std::size_t i = 0; i < transport::kBatch; ++i) s.transport.put(bytes_of(token(0)), worker_address(0));
  EXPECT_EQ(s.agent.poll(Nanos{2}), transport::kBatch);
  EXPECT_EQ(s.transport.take_sent().size(), transport::kBatch);
  EXPECT_EQ(s.memory.free_holds(), transport::kBatch);
  EXPECT_EQ(s.agent.waiting(), 0u);
}

TEST(SwitchAgent, act__consumed_and_ignored_send_nothing_and_are_counted) {
  Switch s;
  s.verdict({.action = Action::kConsume});
  EXPECT_TRUE(s.poll(token(0)).empty());
  s.verdict({.action = Action::kIgnore, .reason = DropReason::kDuplicateToken});
  EXPECT_TRUE(s.poll(token(0)).empty());
  EXPECT_EQ(s.count(SwitchCounter::kConsumed), 1u);
  EXPECT_EQ(s.count(SwitchCounter::kIgnored), 1u);
  EXPECT_EQ(s.drops(DropReason::kDuplicateToken), 1u);
}

TEST(SwitchAgent, drain__new_tasks_are_refused_while_waiting_ones_leave) {
  Switch s;
  const auto request = task().client(1).request(5);
  const auto entry = entry_for(request, dataplane::kNoHold);
  s.verdict({.action = Action::kBuffered, .queue_length = 1});
  s.poll(request);
  s.agent.drain();
  EXPECT_TRUE(s.agent.draining());
  const auto refused = s.poll(task().client(2).request(6));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].peer, client_address(2));
  EXPECT_EQ(refused[0].message.drop.reason, DropReason::kShuttingDown);
  EXPECT_EQ(s.agent.waiting(), 1u);
  s.verdict({.action = Action::kDispatch, .worker = {0}, .task = &entry});
  const auto dispatched = s.poll(token(0));
  ASSERT_EQ(dispatched.size(), 1u);
  EXPECT_EQ(dispatched[0].message.request_id.value, 5);
  EXPECT_EQ(s.agent.waiting(), 0u);
}

TEST(SwitchAgent, drain__answers_nothing_but_well_formed_first_packets) {
  Switch s;
  s.agent.drain();
  s.verdict({.action = Action::kIgnore, .reason = DropReason::kUnexpectedMessage});
  EXPECT_TRUE(s.poll(task().not_first()).empty());
  s.transport.put(std::vector<std::byte>(3), client_address(0));
  EXPECT_TRUE(s.poll().empty());
  EXPECT_EQ(s.drops(DropReason::kShuttingDown), 0u);
}

TEST(SwitchAgent, counters__packets_and_what_the_network_refused) {
  Switch s;
  s.verdict(kForwardTo1);
  for (int i = 0; i < 3; ++i) s.put(task());
  s.transport.put(std::vector<std::byte>(1), client_address(0));
  s.transport.failures = 2;
  s.poll();
  EXPECT_EQ(s.count(SwitchCounter::kPacketsIn), 4u);
  EXPECT_EQ(s.count(SwitchCounter::kPacketsOut), 3u);
  EXPECT_EQ(s.drops(DropReason::kSendFailed), 2u);
  EXPECT_EQ(s.drops(DropReason::kTruncatedHeader), 1u);
  s.transport.failures = 3;
  s.poll();
  EXPECT_EQ(s.drops(DropReason::kSendFailed), 3u);
}

TEST(SwitchAgent, counters__queue_length_and_delay_of_the_slice) {
  Switch s;
  const auto request = task();
  const auto entry = entry_for(request, dataplane::kNoHold);
  s.verdict({.action = Action::kForward, .worker = {1}, .queue_length = 0});
  s.poll(task());
  wait_and_dispatch(s, request, entry);
  const SliceCounters& slice = s.counters.slice(SliceId{0});
  EXPECT_EQ(slice.forwarded.get(), 1u);
  EXPECT_EQ(slice.buffered.get(), 1u);
  EXPECT_EQ(slice.dispatched.get(), 1u);
  EXPECT_EQ(slice.queue_length.count(), 2u);
  EXPECT_EQ(slice.queue_length.max(), Nanos{1});
  EXPECT_EQ(slice.queue_delay.count(), 2u);
  EXPECT_EQ(slice.queue_delay.max(), microseconds(25));
  EXPECT_EQ(slice.queue_delay.min(), Nanos{0});
}

}  // namespace
}  // namespace rain::softswitch
