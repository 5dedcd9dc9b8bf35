// The public worker on loopback sockets: handlers, refusals, bad packets, stopping.
#include "rain/worker.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "agent/control_block.h"
#include "base/clock.h"
#include "base/endpoint_text.h"
#include "rpc/minimal_switch.h"
#include "transport/udp.h"

namespace rain {
namespace {

using transport::UdpTransport;

UdpTransport open_socket() { return UdpTransport::open({.listen = Endpoint::v4(127, 0, 0, 1, 0)}).value(); }

void echo(const Task& task, ReplyBuffer& reply) { reply.append(task.payload); }

class WorkerTest : public testing::Test {
 protected:
  Worker open(Handler handler = echo, WorkerOptions options = {}) {
    options.listen_address = "127.0.0.1:0";
    options.switch_address = format_endpoint(the_switch.local());
    auto worker = Worker::open(options, std::move(handler));
    EXPECT_TRUE(worker) << worker.error().message();
    return *std::move(worker);
  }
  void request(std::string_view payload = "ping", std::uint16_t id = 1) {
    wire::Message message;
    message.type = wire::MessageType::kRequest;
    message.first = message.last = message.has_extension = true;
    message.packet = 1;
    message.request_id = {id};
    message.request.task_type = {9};
    message.payload = as_payload(payload);
    std::array<std::byte, wire::kMaxPacketBytes> buffer;
    client.send({}, wire::encode(message, buffer), the_switch.local());
    client.flush({});
  }
  void send_raw(std::string_view bytes, const Worker& worker) {
    client.send({}, as_payload(bytes), Endpoint::v4(127, 0, 0, 1, worker.local_port()));
    client.flush({});
  }
  /// Polls the switch, and what else `step` says, until the client has an answer.
  template <typename Step>
  wire::Message answer(Step step) {
    wire::Message message;
    const Nanos limit = monotonic_now() + seconds(10);
    while (monotonic_now() < limit) {
      the_switch.poll(monotonic_now());
      step();
      for (const transport::RxPacket& packet : client.receive({})) {
        EXPECT_EQ(wire::decode(packet.bytes, message), DropReason::kNone);
        text = as_text(message.payload);
        return message;
      }
    }
    ADD_FAILURE() << "no answer";
    return message;
  }
  wire::Message answer(Worker& worker) {
    return answer([&worker] { worker.poll(); });
  }

  rpc::MinimalSwitch<UdpTransport> the_switch{open_socket()};
  UdpTransport client = open_socket();
  std::string text;  // of the answer
};

TEST_F(WorkerTest, handler__sees_the_task_and_answers) {
  Task seen{};
  std::string payload;
  Worker worker = open([&](const Task& task, ReplyBuffer& reply) {
    seen = task;
    payload = as_text(task.payload);
    reply.append(as_payload("pong"));
    EXPECT_EQ(reply.size(), 4u);
    EXPECT_EQ(reply.capacity(), kMaxMessageBytes);
  });
  request("ping");
  const wire::Message message = answer(worker);
  EXPECT_EQ(message.type, wire::MessageType::kReply);
  EXPECT_EQ(text, "pong");
  EXPECT_EQ(payload, "ping");
  EXPECT_EQ(seen.type, TaskType{9});
  EXPECT_EQ(seen.client, client.local());
  EXPECT_GE(seen.in_worker, Nanos{});
  EXPECT_EQ(worker.stats().served, 1u);
}

TEST_F(WorkerTest, handler__empty_reply_is_a_reply) {
  Worker worker = open([](const Task&, ReplyBuffer&) {});
  request();
  EXPECT_EQ(answer(worker).type, wire::MessageType::kReply);
  EXPECT_EQ(text, "");
}

TEST_F(WorkerTest, handler__exception_ends_the_request_and_the_worker_lives_on) {
  bool fail = true;
  Worker worker = open([&fail](const Task&, ReplyBuffer& reply) {
    reply.append(as_payload("half"));
    if (fail) throw std::runtime_error("broken");
  });
  request();
  wire::Message message = answer(worker);
  EXPECT_EQ(message.type, wire::MessageType::kDrop);
  EXPECT_EQ(message.drop.reason, DropReason::kHandlerFailed);
  fail = false;
  request();
  EXPECT_EQ(answer(worker).type, wire::MessageType::kReply);
  EXPECT_EQ(text, "half") << "nothing of the failed reply is left";
}

TEST_F(WorkerTest, handler__reply_that_does_not_fit_is_refused) {
  Worker worker = open([](const Task&, ReplyBuffer& reply) {
    const std::string large(kMaxMessageBytes, 'x');
    EXPECT_TRUE(reply.append(as_payload("y")));
    EXPECT_FALSE(reply.append(as_payload(large)));
    EXPECT_EQ(reply.size(), 1u);
  });
  request();
  EXPECT_EQ(answer(worker).drop.reason, DropReason::kHandlerFailed);
}

TEST_F(WorkerTest, handler__may_start_its_reply_over) {
  Worker worker = open([](const Task&, ReplyBuffer& reply) {
    const std::string large(kMaxMessageBytes, 'x');
    reply.append(as_payload("y"));
    reply.append(as_payload(large));
    reply.clear();
    EXPECT_TRUE(reply.append(as_payload(large)));
  });
  request();
  EXPECT_EQ(answer(worker).type, wire::MessageType::kReply);
  EXPECT_EQ(text.size(), kMaxMessageBytes);
}

TEST_F(WorkerTest, socket__bad_packets_are_counted_and_harm_nobody) {
  Worker worker = open();
  send_raw("", worker);
  send_raw("\x52\x08", worker);
  send_raw("not an R2P2 packet", worker);
  send_raw(std::string_view("\x52\xFF\x00\x18\x00\x00\x00\x01", 8), worker);
  std::string large("\x52\x08\x00\x18\x00\x01\x00\x01", 8);
  large.append(wire::kMaxPayloadBytes + 1, 'x');
  send_raw(large, worker);
  send_raw(std::string_view("\x52\x08\x01\x18\x00\x01\x00\x01", 8), worker);  // a reply
  request();
  EXPECT_EQ(answer(worker).type, wire::MessageType::kReply);
  const Worker::Stats stats = worker.stats();
  const auto drops = [&stats](DropReason reason) { return stats.drops[static_cast<std::size_t>(reason)]; };
  EXPECT_EQ(drops(DropReason::kTruncatedHeader), 2u);
  EXPECT_EQ(drops(DropReason::kBadMagic), 1u);
  EXPECT_EQ(drops(DropReason::kBadHeaderSize), 1u);
  EXPECT_EQ(drops(DropReason::kOversizedPayload), 1u);
  EXPECT_EQ(drops(DropReason::kUnexpectedMessage), 1u);
}

TEST_F(WorkerTest, socket__client_that_takes_it_for_the_switch_hears_so) {
  Worker worker = open();
  send_raw(std::string_view("\x52\x08\x00\x18\x00\x01\x00\x01", 8), worker);
  EXPECT_EQ(answer(worker).drop.reason, DropReason::kUnexpectedMessage);
}

TEST_F(WorkerTest, socket__cut_packets_are_counted) {
  Worker worker = open();
  send_raw(std::string(4000, 'x'), worker);
  request();
  EXPECT_EQ(answer(worker).type, wire::MessageType::kReply);
  EXPECT_EQ(worker.stats().cut_packets, 1u);
}

TEST_F(WorkerTest, push__quota_0_serves_and_reports) {
  Worker worker = open(echo, {.id = WorkerId{3}, .quota = 0});
  the_switch.push_to = {{WorkerId{3}, Endpoint::v4(127, 0, 0, 1, worker.local_port())}};
  request();
  EXPECT_EQ(answer(worker).type, wire::MessageType::kReply);
  const Nanos limit = monotonic_now() + seconds(10);
  while (the_switch.reports == 0 && monotonic_now() < limit) the_switch.poll(monotonic_now());
  EXPECT_EQ(the_switch.reports, 1u);
  EXPECT_EQ(the_switch.tokens(), 0u);
}

TEST_F(WorkerTest, stop__from_another_thread_ends_run) {
  for (const bool busy_poll : {false, true}) {
    Worker worker = open(echo, {.busy_poll = busy_poll});
    std::thread thread([&worker] { worker.run(); });
    request();
    EXPECT_EQ(answer([] { std::this_thread::yield(); }).type, wire::MessageType::kReply);
    worker.stop();
    thread.join();
    EXPECT_EQ(worker.stats().served, 1u);
    while (the_switch.poll(monotonic_now()) > 0) {  // its last token
    }
    the_switch.forget();
  }
}

TEST_F(WorkerTest, stop__takes_the_tokens_home_so_that_no_task_is_lost) {
  Worker worker = open();
  std::thread thread([&worker] { worker.run(); });
  const Nanos limit = monotonic_now() + seconds(10);
  while (the_switch.tokens() < 4 && monotonic_now() < limit) the_switch.poll(monotonic_now());
  ASSERT_EQ(the_switch.tokens(), 4u);
  worker.stop();
  while (the_switch.tokens() > 0 && monotonic_now() < limit) the_switch.poll(monotonic_now());
  EXPECT_EQ(the_switch.tokens(), 0u);
  thread.join();
  request();
  while (the_switch.tasks() == 0 && monotonic_now() < limit) the_switch.poll(monotonic_now());
  EXPECT_EQ(the_switch.tasks(), 1u) << "it waits for another worker";
  EXPECT_EQ(worker.stats().drops, decltype(Worker::Stats::drops){});
}

TEST_F(WorkerTest, on_note__says_once_that_the_switch_has_no_room_for_the_quota) {
  std::vector<std::string> notes;
  the_switch.levels = 1;
  Worker worker = open(echo, {.quota = 3, .sync_interval = milliseconds(1), .on_note = [&](const auto& note) {
                                notes.push_back(note);
                              }});
  const auto until = [&](auto done) {
    for (const Nanos limit = monotonic_now() + seconds(30); !done() && monotonic_now() < limit;) {
      the_switch.poll(monotonic_now());
      worker.poll();
    }
  };
  until([&] { return !notes.empty(); });
  const Nanos later = monotonic_now() + milliseconds(50);
  until([&] { return monotonic_now() > later; });
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("worker 0: the switch knows no ")) << notes[0];
  EXPECT_NE(notes[0].find(" of the tokens of quota 3, so it holds at most "), std::string::npos) << notes[0];
}

TEST_F(WorkerTest, stop__ends_run_though_the_switch_is_silent) {
  Worker worker = open(echo, {.sync_interval = milliseconds(1)});
  worker.stop();
  worker.run();
}

TEST_F(WorkerTest, stop__from_the_handler_serves_what_is_held) {
  Worker* self = nullptr;
  int served = 0;
  const Nanos limit = monotonic_now() + seconds(10);
  Worker worker = open([&](const Task&, ReplyBuffer&) {
    // Both requests have come; the second is in the socket or in the FIFO when the first ends.
    if (++served == 1) {
      while ((the_switch.tasks() > 0 || the_switch.tokens() > 2) && monotonic_now() < limit)
        the_switch.poll(monotonic_now());
      self->stop();
    }
  });
  self = &worker;
  while (the_switch.tokens() < 4 && monotonic_now() < limit) {
    the_switch.poll(monotonic_now());
    worker.poll();
  }
  ASSERT_EQ(the_switch.tokens(), 4u);
  request("first", 1);
  request("second", 2);
  while (the_switch.tokens() > 2 && monotonic_now() < limit) the_switch.poll(monotonic_now());
  worker.run();
  EXPECT_EQ(served, 2);
}

Worker* signalled = nullptr;

TEST_F(WorkerTest, stop__from_a_signal_handler_ends_run) {
  Worker worker = open();
  signalled = &worker;
  const auto previous = std::signal(SIGUSR1, [](int) { signalled->stop(); });
  std::thread thread([] { std::raise(SIGUSR1); });
  worker.run();
  thread.join();
  std::signal(SIGUSR1, previous);
}

TEST_F(WorkerTest, control_block__is_shared_with_the_agent) {
  std::string folder = testing::TempDir() + "rain-worker-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/block";
  auto block = agent::ControlBlock::open(path, 2);
  ASSERT_TRUE(block.has_value()) << block.error();
  agent::AgentPort port = block->agent_port(1);
  port.take_samples([](const agent::TaskSample&) {});
  port.want({.quota = 3});
  Worker worker = open(echo, {.control_block = path, .control_block_workers = 2, .control_block_place = 1});
  request();
  EXPECT_EQ(answer(worker).type, wire::MessageType::kReply);
  const agent::WorkerStatus status = port.status(monotonic_now());
  EXPECT_EQ(status.quota, 3u);
  EXPECT_EQ(status.served, 1u);
  EXPECT_GT(status.steps, 0u);
  unsigned samples = 0;
  port.take_samples([&samples](const agent::TaskSample&) { ++samples; });
  EXPECT_EQ(samples, 1u);

  const auto refused = Worker::open({.listen_address = "127.0.0.1:0", .control_block = path}, echo);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kBadOption);
  EXPECT_NE(refused.error().detail.find("is for 2 workers"), std::string::npos) << refused.error().detail;
  const auto twin = Worker::open({.listen_address = "127.0.0.1:0",
                                  .control_block = path,
                                  .control_block_workers = 2,
                                  .control_block_place = 1},
                                 echo);
  ASSERT_FALSE(twin);
  EXPECT_NE(twin.error().detail.find("has worker 1's place"), std::string::npos) << twin.error().detail;
  std::filesystem::remove_all(folder);
}

TEST_F(WorkerTest, open__bad_options_are_named) {
  const auto refusal = [](WorkerOptions options, Handler handler = echo) {
    const auto worker = Worker::open(options, std::move(handler));
    EXPECT_FALSE(worker);
    return worker ? "" : worker.error().message();
  };
  EXPECT_EQ(refusal({.quota = 9}), "bad option: quota is 9; allowed: 0..8");
  EXPECT_EQ(refusal({.sync_interval = microseconds(999)}),
            "bad option: sync_interval is 999us; allowed: 1ms..60s");
  EXPECT_EQ(refusal({.sync_interval = seconds(61)}), "bad option: sync_interval is 61s; allowed: 1ms..60s");
  EXPECT_EQ(refusal({}, nullptr), "bad option: handler is empty; allowed: a function");
  EXPECT_NE(refusal({.listen_address = "9100"}).find("listen_address: \"9100\""), std::string::npos);
  EXPECT_NE(refusal({.switch_address = "rack:9000"}).find("switch_address: \"rack:9000\""),
            std::string::npos);
  EXPECT_NE(refusal({.switch_address = "10.0.0.1:0"}).find("port 0"), std::string::npos);
}

TEST_F(WorkerTest, open__port_in_use_is_a_network_error) {
  const auto worker = Worker::open({.listen_address = format_endpoint(client.local())}, echo);
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().kind, ErrorKind::kNetwork);
  EXPECT_NE(worker.error().detail.find(format_endpoint(client.local())), std::string::npos);
}

}  // namespace
}  // namespace rain
