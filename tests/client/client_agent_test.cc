// The client's run loop in virtual time: what one step does, and in which order.
#include "client/client_agent.h"

#include <gtest/gtest.h>

#include "transport/memory.h"

namespace rain::client {
namespace {

using transport::MemoryNetwork;
using transport::MemoryTransport;

constexpr Endpoint kSwitch = Endpoint::v4(10, 0, 0, 1, 9000);
constexpr Endpoint kClient = Endpoint::v4(10, 0, 0, 3, 5000);

class ClientAgentTest : public testing::Test {
 protected:
  ClientAgentTest()
      : the_switch(network.open(kSwitch)),
        agent(
            network.open(kClient),
            {.switch_address = kSwitch, .max_outstanding = 128, .timeout = milliseconds(1), .max_retries = 1},
            now) {}

  std::size_t step() {
    return agent.poll(now, [this](const rpc::Outcome& outcome) { endings.push_back(outcome.ending); });
  }
  /// Requests that have reached the switch; each is answered with a drop if `answer`.
  unsigned arrived(bool answer = false) {
    unsigned count = 0;
    for (const transport::RxPacket& packet : the_switch.receive(now)) {
      ++count;
      wire::Message message;
      EXPECT_EQ(wire::decode(packet.bytes, message), DropReason::kNone);
      if (!answer) continue;
      message.type = wire::MessageType::kDrop;
      message.has_extension = false;
      message.payload = {};
      std::array<std::byte, 64> buffer;
      the_switch.send(now, wire::encode(message, buffer), packet.source);
      the_switch.flush(now);
    }
    return count;
  }

  Nanos now = seconds(1);
  MemoryNetwork network{{.latency = Nanos{}}};
  MemoryTransport the_switch;
  ClientAgent<MemoryTransport> agent;
  std::vector<rpc::Ending> endings;
};

TEST_F(ClientAgentTest, submit__leaves_with_the_next_step) {
  ASSERT_TRUE(agent.submit(as_payload("x"), {}, now));
  EXPECT_EQ(arrived(), 0u);
  step();
  EXPECT_EQ(arrived(), 1u);
}

TEST_F(ClientAgentTest, submit__leaves_with_flush) {
  ASSERT_TRUE(agent.submit(as_payload("x"), {}, now));
  agent.flush(now);
  EXPECT_EQ(arrived(), 1u);
}

TEST_F(ClientAgentTest, submit__a_full_batch_leaves_by_itself) {
  for (std::size_t i = 0; i <= transport::kBatch; ++i) ASSERT_TRUE(agent.submit({}, {}, now));
  EXPECT_EQ(arrived(), transport::kBatch);
}

TEST_F(ClientAgentTest, poll__completes_and_counts) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(agent.submit({}, {}, now));
  EXPECT_EQ(step(), 0u);
  arrived(true);
  EXPECT_EQ(step(), 3u);
  EXPECT_EQ(endings, std::vector(3, rpc::Ending::kDropped));
}

TEST_F(ClientAgentTest, poll__sends_again_in_the_same_step) {
  ASSERT_TRUE(agent.submit({}, {.retries = 1}, now));
  step();
  EXPECT_EQ(arrived(), 1u);
  EXPECT_LE(agent.next_due(), now + milliseconds(2));
  now += milliseconds(2);
  EXPECT_EQ(step(), 1u);
  EXPECT_EQ(arrived(), 1u);
  now += milliseconds(2);
  step();
  EXPECT_EQ(endings, std::vector(1, rpc::Ending::kTimedOut));
}

TEST_F(ClientAgentTest, poll__requests_of_callbacks_leave_in_the_same_step) {
  ASSERT_TRUE(agent.submit({}, {}, now));
  step();
  arrived(true);
  agent.poll(now, [this](const rpc::Outcome&) { EXPECT_TRUE(agent.submit({}, {}, now)); });
  EXPECT_EQ(arrived(), 1u);
}

TEST_F(ClientAgentTest, poll__bad_packets_are_counted) {
  the_switch.send(now, as_payload("garbage!"), kClient);
  the_switch.send(now, {}, kClient);
  the_switch.flush(now);
  EXPECT_EQ(step(), 2u);
  EXPECT_EQ(agent.core().drops().get(DropReason::kBadMagic), 1u);
  EXPECT_EQ(agent.core().drops().get(DropReason::kTruncatedHeader), 1u);
}

}  // namespace
}  // namespace rain::client
