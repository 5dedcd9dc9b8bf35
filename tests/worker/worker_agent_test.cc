// The worker's run loop in virtual time: what one step does, and in which order.
#include "worker/worker_agent.h"

#include <gtest/gtest.h>

#include <functional>

#include "rpc/minimal_switch.h"
#include "transport/memory.h"

namespace rain::worker {
namespace {

using transport::MemoryNetwork;
using transport::MemoryTransport;

constexpr Endpoint kSwitch = Endpoint::v4(10, 0, 0, 1, 9000);
constexpr Endpoint kWorker = Endpoint::v4(10, 0, 0, 2, 9100);
constexpr Endpoint kClient = Endpoint::v4(10, 0, 0, 3, 5000);

class WorkerAgentTest : public testing::Test {
 protected:
  WorkerAgentTest()
      : the_switch(network.open(kSwitch)),
        client(network.open(kClient)),
        agent(network.open(kWorker), {.id = {4}, .switch_address = kSwitch, .quota = 2}, now) {}

  std::size_t step() {
    return agent.poll([this] { return now; }, [this](const rpc::TaskView& task) { return serve(task); });
  }
  tl::expected<Payload, DropReason> serve(const rpc::TaskView& task) {
    now += service;
    if (during_service) during_service();
    if (fails) return tl::unexpected(DropReason::kHandlerFailed);
    return task.payload;
  }
  void establish() {
    for (int i = 0; i < 3; ++i) step(), the_switch.poll(now), step();
    ASSERT_EQ(the_switch.tokens(), 2u);
  }
  void request(std::uint16_t id, std::string_view payload = "ping") {
    wire::Message message;
    message.type = wire::MessageType::kRequest;
    message.first = message.last = message.has_extension = true;
    message.packet = 1;
    message.request_id = {id};
    message.payload = as_payload(payload);
    std::array<std::byte, wire::kMaxPacketBytes> buffer;
    client.send(now, wire::encode(message, buffer), kSwitch);
    client.flush(now);
  }
  void send_raw(MemoryTransport& from, std::string_view bytes) {
    from.send(now, as_payload(bytes), kWorker);
    from.flush(now);
  }
  std::vector<wire::Message> heard() {
    std::vector<wire::Message> messages;
    for (const transport::RxPacket& packet : client.receive(now)) {
      EXPECT_EQ(wire::decode(packet.bytes, messages.emplace_back()), DropReason::kNone);
    }
    return messages;
  }

  Nanos now = seconds(1);
  Nanos service = microseconds(5);
  std::function<void()> during_service;
  bool fails = false;
  MemoryNetwork network{{.latency = Nanos{}}};
  rpc::MinimalSwitch<MemoryTransport> the_switch;
  MemoryTransport client;
  WorkerAgent<MemoryTransport> agent;
};

TEST_F(WorkerAgentTest, poll__serves_a_task_and_reports_its_parts) {
  establish();
  request(1, "hello");
  the_switch.poll(now);
  now += microseconds(3);
  EXPECT_EQ(step(), 2u) << "a packet and a task";
  const auto messages = heard();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(as_text(messages[0].payload), "hello");
  EXPECT_EQ(messages[0].reply.service_ns, 5000u);
  EXPECT_EQ(messages[0].reply.worker, WorkerId{4});
  the_switch.poll(now);
  EXPECT_EQ(the_switch.tokens(), 2u);
}

TEST_F(WorkerAgentTest, poll__without_work_does_nothing) {
  establish();
  EXPECT_EQ(step(), 0u);
  EXPECT_GT(agent.next_due(), now);
}

TEST_F(WorkerAgentTest, poll__drains_the_socket_before_it_chooses_the_tokens_level) {
  establish();
  request(1);
  the_switch.poll(now);
  during_service = [this] {
    request(2);
    the_switch.poll(now);
    during_service = nullptr;
  };
  step();
  EXPECT_EQ(agent.core().held(), 1u);
  EXPECT_FALSE(agent.core().ledger()->outstanding(Level{0}))
      << "a second task has come: the worker is not idle";
  EXPECT_TRUE(agent.core().ledger()->outstanding(Level{1}));
  EXPECT_LE(agent.next_due(), now) << "a task waits";
  step();
  EXPECT_EQ(agent.core().held(), 0u);
  EXPECT_TRUE(agent.core().ledger()->outstanding(Level{0}));
}

TEST_F(WorkerAgentTest, poll__failed_handler_ends_with_a_drop) {
  establish();
  fails = true;
  request(1);
  the_switch.poll(now);
  step();
  const auto messages = heard();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].type, wire::MessageType::kDrop);
  EXPECT_EQ(messages[0].drop.reason, DropReason::kHandlerFailed);
}

TEST_F(WorkerAgentTest, poll__bad_packets_are_counted_and_harm_nobody) {
  establish();
  send_raw(client, "");
  send_raw(client, "short");
  send_raw(client, "\xFFgarbage that is long enough");
  send_raw(client, std::string_view("\x52\xFF\x00\x00\x00\x00\x00\x01", 8));
  send_raw(client, std::string_view("\x52\x08\x07\x00\x00\x00\x00\x01", 8));
  request(1);
  the_switch.poll(now);
  step();
  EXPECT_EQ(heard().size(), 1u);
  EXPECT_EQ(agent.malformed().get(DropReason::kTruncatedHeader), 2u);
  EXPECT_EQ(agent.malformed().get(DropReason::kBadMagic), 1u);
  EXPECT_EQ(agent.malformed().get(DropReason::kBadHeaderSize), 1u);
  EXPECT_EQ(agent.malformed().get(DropReason::kUnknownType), 1u);
}

TEST_F(WorkerAgentTest, poll__a_flood_cannot_keep_it_from_its_tasks) {
  establish();
  request(1);
  the_switch.poll(now);
  for (unsigned i = 0; i < 500; ++i) send_raw(client, "garbage");
  EXPECT_EQ(step(), kDrainBatches * transport::kBatch + 1 + (500 + 1 - kDrainBatches * transport::kBatch));
  EXPECT_EQ(heard().size(), 1u);
}

TEST_F(WorkerAgentTest, poll__a_restarted_switch_gets_the_tokens_again) {
  establish();
  the_switch.forget();
  the_switch.boot = BootId{2};
  for (int i = 0; i < 4; ++i) {
    now += milliseconds(100);
    step(), the_switch.poll(now), step(), the_switch.poll(now), step(), the_switch.poll(now);
  }
  EXPECT_EQ(the_switch.tokens(), 2u);
  request(1);
  the_switch.poll(now);
  step();
  EXPECT_EQ(heard().size(), 1u);
}

}  // namespace
}  // namespace rain::worker
