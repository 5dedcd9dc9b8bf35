// Many workers on one socket, service in virtual time.
#include "worker/emulated_workers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rpc/minimal_switch.h"
#include "transport/memory.h"

namespace rain::worker {
namespace {

using transport::MemoryNetwork;
using transport::MemoryTransport;

constexpr Endpoint kSwitch = Endpoint::v4(10, 0, 0, 1, 9000);
constexpr Endpoint kWorkers = Endpoint::v4(10, 0, 0, 2, 9100);
constexpr Endpoint kClient = Endpoint::v4(10, 0, 0, 3, 5000);

class EmulatedWorkersTest : public testing::Test {
 protected:
  EmulatedWorkersTest()
      : the_switch(network.open(kSwitch)),
        client(network.open(kClient)),
        workers(network.open(kWorkers),
                {.worker = {.id = {10}, .switch_address = kSwitch, .quota = 2}, .count = 3}, now) {}

  void step() {
    the_switch.poll(now);
    workers.poll(now, [this](const rpc::TaskView& task, WorkerId worker) {
      served.push_back({worker, std::string(as_text(task.payload))});
      return EmulatedTask{.service = service, .reply = as_payload("done"), .failed = failed};
    });
    the_switch.poll(now);
    for (const transport::RxPacket& packet : client.receive(now)) {
      EXPECT_EQ(wire::decode(packet.bytes, heard.emplace_back()), DropReason::kNone);
      texts.emplace_back(as_text(heard.back().payload));
    }
  }
  void run_until(Nanos until) {
    while (now < until) {
      step();
      const Nanos next = workers.next_due();
      now = next <= now ? now + Nanos{1} : std::min(next, until);
    }
    step();
  }
  void establish() {
    for (int i = 0; i < 3; ++i) step();
    ASSERT_EQ(the_switch.tokens(), 6u);
  }
  void request(std::uint16_t id) {
    wire::Message message;
    message.type = wire::MessageType::kRequest;
    message.first = message.last = message.has_extension = true;
    message.packet = 1;
    message.request_id = {id};
    std::array<std::byte, wire::kMaxPacketBytes> buffer;
    client.send(now, wire::encode(message, buffer), kSwitch);
    client.flush(now);
  }

  Nanos now = seconds(1);
  Nanos service = microseconds(50);
  DropReason failed = DropReason::kNone;
  MemoryNetwork network{{.latency = Nanos{}}};
  rpc::MinimalSwitch<MemoryTransport> the_switch;
  MemoryTransport client;
  EmulatedWorkers<MemoryTransport> workers;
  std::vector<std::pair<WorkerId, std::string>> served;
  std::vector<wire::Message> heard;
  std::vector<std::string> texts;  // of the messages heard
};

TEST_F(EmulatedWorkersTest, poll__workers_serve_side_by_side) {
  establish();
  for (std::uint16_t id = 1; id <= 3; ++id) request(id);
  const Nanos start = now;
  run_until(start + microseconds(52));
  ASSERT_EQ(heard.size(), 2u) << "the minimal switch takes tokens in order: worker 10 twice, worker 11 once";
  EXPECT_NE(heard[0].reply.worker, heard[1].reply.worker) << "two within one service time";
  EXPECT_EQ(served.size(), 3u);
}

TEST_F(EmulatedWorkersTest, poll__one_worker_serves_one_task_at_a_time) {
  establish();
  for (std::uint16_t id = 1; id <= 6; ++id) request(id);
  run_until(now + microseconds(49));
  EXPECT_EQ(served.size(), 3u);
  EXPECT_EQ(workers.held(), 6u);
  EXPECT_EQ(workers.core(0).held(), 2u);
  run_until(now + microseconds(10));
  EXPECT_EQ(served.size(), 6u);
  EXPECT_EQ(heard.size(), 3u);
  run_until(now + microseconds(60));
  ASSERT_EQ(heard.size(), 6u);
  EXPECT_EQ(heard[0].reply.service_ns, 50'000u);
  EXPECT_EQ(texts[0], "done");
  EXPECT_EQ(workers.held(), 0u);
  EXPECT_EQ(the_switch.tokens(), 6u);
}

TEST_F(EmulatedWorkersTest, poll__tasks_run_on_the_workers_time_though_the_thread_is_late) {
  establish();
  for (std::uint16_t id = 1; id <= 6; ++id) request(id);
  step();
  ASSERT_EQ(served.size(), 3u);
  // The thread comes back when both tasks of each worker were due to have ended, 50 and 100 us after the start.
  now = now + microseconds(130);
  step();
  EXPECT_EQ(heard.size(), 3u);
  EXPECT_LE(workers.next_due(), now) << "the second tasks are due as well: the thread must not sleep";
  step();
  ASSERT_EQ(heard.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(heard[i].reply.service_ns, 50'000u) << i;
    EXPECT_EQ(heard[i].reply.worker_delay_ns, i < 3 ? 0u : 50'000u) << i;
  }
  EXPECT_EQ(workers.held(), 0u);
}

TEST_F(EmulatedWorkersTest, poll__a_task_never_begins_before_it_arrived) {
  establish();
  request(1);
  run_until(now + microseconds(60));
  ASSERT_EQ(workers.held(), 0u);
  now = now + milliseconds(1);
  request(2);
  run_until(now + microseconds(49));
  ASSERT_EQ(heard.size(), 1u);
  run_until(now + microseconds(2));
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[1].reply.service_ns, 50'000u);
  EXPECT_EQ(heard[1].reply.worker_delay_ns, 0u);
}

TEST_F(EmulatedWorkersTest, poll__failed_task_ends_with_a_drop) {
  establish();
  failed = DropReason::kHandlerFailed;
  request(1);
  run_until(now + microseconds(60));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].drop.reason, DropReason::kHandlerFailed);
}

TEST_F(EmulatedWorkersTest, poll__packets_for_nobody_are_refused) {
  establish();
  wire::Message message;
  message.type = wire::MessageType::kRequest;
  message.first = message.last = message.has_extension = message.has_dispatch = true;
  message.packet = 1;
  message.dispatch = {.client = kClient, .worker = {13}, .level = {0}, .generation = {1}};
  std::array<std::byte, wire::kMaxPacketBytes> buffer;
  the_switch.send_raw(now, wire::encode(message, buffer), kWorkers);
  client.send(now, as_payload("garbage"), kWorkers);
  client.flush(now);
  step();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].drop.reason, DropReason::kUnknownWorker);
  EXPECT_EQ(workers.drops().get(DropReason::kTruncatedHeader), 1u);
}

TEST_F(EmulatedWorkersTest, poll__asks_after_lost_tokens_of_each_worker) {
  establish();
  the_switch.forget();
  the_switch.boot = BootId{2};
  run_until(now + milliseconds(300));
  EXPECT_EQ(the_switch.tokens(), 6u);
}

TEST_F(EmulatedWorkersTest, set_quota__concerns_one_worker) {
  establish();
  workers.set_quota(1, 1, now);
  for (int i = 0; i < 2; ++i) step();
  EXPECT_EQ(the_switch.tokens(), 5u);
  EXPECT_TRUE(workers.core(1).ledger()->settled());
  workers.set_quota(1, 3, now);
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(the_switch.tokens(), 7u);
  EXPECT_EQ(workers.core(1).quota(), 3u);
}

TEST_F(EmulatedWorkersTest, drain__takes_all_tokens_home_and_serves_what_is_held) {
  establish();
  request(1);
  step();
  workers.drain(now);
  EXPECT_FALSE(workers.drained());
  for (int i = 0; i < 2; ++i) step();
  EXPECT_EQ(the_switch.tokens(), 0u);
  EXPECT_EQ(workers.held(), 1u);
  EXPECT_FALSE(workers.drained());
  request(2);
  run_until(now + microseconds(60));
  EXPECT_TRUE(workers.drained());
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].type, wire::MessageType::kReply);
  EXPECT_EQ(the_switch.tasks(), 1u) << "nothing was lost";
}

TEST_F(EmulatedWorkersTest, ask_now__asks_before_the_interval_has_passed) {
  establish();
  the_switch.forget();
  the_switch.boot = BootId{2};
  workers.ask_now(0, now);
  EXPECT_LE(workers.next_due(), now);
  for (int i = 0; i < 4; ++i) step();
  EXPECT_EQ(the_switch.tokens(), 2u) << "the other two workers do not know yet";
}

TEST_F(EmulatedWorkersTest, retire__serves_what_is_held) {
  establish();
  request(1);
  step();
  workers.retire();
  EXPECT_EQ(workers.held(), 1u);
  request(2);
  run_until(now + microseconds(60));
  EXPECT_EQ(workers.held(), 0u);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].drop.reason, DropReason::kShuttingDown);
  EXPECT_EQ(heard[1].type, wire::MessageType::kReply);
}

TEST_F(EmulatedWorkersTest, push__needs_no_tokens) {
  EmulatedWorkers<MemoryTransport> pushed(network.open(Endpoint::v4(10, 0, 0, 9, 1)),
                                          {.worker = {.id = {0}, .switch_address = kSwitch, .quota = 0}},
                                          now);
  the_switch.push_to = {{WorkerId{0}, Endpoint::v4(10, 0, 0, 9, 1)}};
  for (std::uint16_t id = 1; id <= 10; ++id) request(id);
  the_switch.poll(now);
  for (int i = 0; i < 50; ++i, now += microseconds(20)) {
    pushed.poll(now,
                [&](const rpc::TaskView&, WorkerId) { return EmulatedTask{.service = microseconds(50)}; });
  }
  the_switch.poll(now);
  EXPECT_EQ(the_switch.reports, 10u);
  EXPECT_EQ(pushed.core(0).served(), 10u);
}

TEST_F(EmulatedWorkersTest, attach__the_block_has_what_was_measured) {
  const agent::ControlBlock block = agent::ControlBlock::anonymous(3);
  std::vector<agent::AgentPort> ports;
  for (unsigned i = 0; i < 3; ++i) {
    ports.push_back(block.agent_port(i));
    ports[i].take_samples([](const agent::TaskSample&) {});
  }
  workers.attach(block, now);
  establish();
  const Nanos start = now;
  request(1);
  run_until(now + microseconds(80));
  run_until(now + kControlTick);
  unsigned samples = 0;
  Nanos idle{};
  for (agent::AgentPort& port : ports) {
    port.take_samples([&](const agent::TaskSample& sample) {
      ++samples;
      EXPECT_EQ(sample.service, microseconds(50));
      EXPECT_EQ(sample.worker_wait, Nanos{});
    });
    const agent::WorkerStatus status = port.status(now);
    EXPECT_EQ(status.quota, 2u);
    EXPECT_GE(status.steps, 2u);
    idle += status.idle;
  }
  EXPECT_EQ(samples, 1u);
  EXPECT_EQ(idle, (now - start) * 3 - microseconds(50));
}

TEST_F(EmulatedWorkersTest, attach__quotas_go_by_the_block) {
  const agent::ControlBlock block = agent::ControlBlock::anonymous(3);
  workers.attach(block, now);
  establish();
  block.agent_port(1).want({.quota = 4});
  run_until(now + kControlTick * 2);
  EXPECT_EQ(workers.core(0).quota(), 2u) << "nothing was wanted of it";
  EXPECT_EQ(workers.core(1).quota(), 4u);
  EXPECT_EQ(block.agent_port(1).status(now).quota, 4u);
  workers.drain(now);
  block.agent_port(1).want({.quota = 5});
  run_until(now + kControlTick * 2);
  EXPECT_EQ(workers.core(1).quota(), 0u) << "who leaves obeys nobody";
}

}  // namespace
}  // namespace rain::worker
