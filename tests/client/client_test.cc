// The public client on loopback sockets: every way to call, every way to be refused.
#include <coroutine>
#include <exception>
#include <vector>

#include "client_fixture.h"

namespace rain {
namespace {

TEST_F(ClientTest, call__returns_the_workers_reply) {
  rack.start();
  Client client = open();
  const Client::Result reply = client.call(as_payload("ping"), {.type = TaskType{1}});
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(as_text(reply->payload), "ping");
  EXPECT_GT(reply->latency, Nanos{});
  EXPECT_GT(reply->latency, reply->parts.service);
  EXPECT_EQ(reply->parts.worker, WorkerId{0});
  EXPECT_EQ(client.outstanding(), 0u);
}

TEST_F(ClientTest, call__payload_lives_until_the_client_is_used_again) {
  rack.start();
  Client client = open();
  std::vector<std::string> heard;
  ASSERT_TRUE(client.submit(as_payload("other"), {}, [&heard](const Client::Result& result) {
    heard.emplace_back(as_text(result->payload));
  }));
  const Client::Result reply = client.call(as_payload("ping"));
  ASSERT_TRUE(reply);
  EXPECT_EQ(as_text(reply->payload), "ping");
}

TEST_F(ClientTest, call__busy_polling) {
  rack.start();
  Client client = open({.busy_poll = true});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client.call(as_payload("ping")));
}

TEST_F(ClientTest, call__largest_payload) {
  rack.start();
  Client client = open();
  const std::string largest(kMaxMessageBytes, 'x');
  const Client::Result reply = client.call(as_payload(largest));
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(as_text(reply->payload), largest);
}

TEST_F(ClientTest, call__times_out_when_nobody_answers) {
  const transport::UdpTransport nobody = mute();
  Client client =
      Client::open({.switch_address = format_endpoint(nobody.local()), .timeout = milliseconds(2)}).value();
  // A deadline far away: on a busy machine the last attempt may begin after the timeouts of all.
  const Client::Result reply = client.call(as_payload("ping"), {.deadline = seconds(60), .retries = 2});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::kTimedOut);
  EXPECT_EQ(client.retries_sent(), 2u);
}

TEST_F(ClientTest, call__times_out_when_the_switch_is_down) {
  std::string address;
  {
    const transport::UdpTransport gone = mute();
    address = format_endpoint(gone.local());
  }
  Client client = Client::open({.switch_address = address, .timeout = milliseconds(2)}).value();
  const Client::Result reply = client.call(as_payload("ping"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::kTimedOut);
}

TEST_F(ClientTest, call__hears_a_drop_with_its_reason) {
  rack.handler = [](const Task&, ReplyBuffer&) { throw std::runtime_error("broken"); };
  rack.start();
  Client client = open();
  const Client::Result reply = client.call(as_payload("ping"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::kDropped);
  EXPECT_EQ(reply.error().reason, DropReason::kHandlerFailed);
  EXPECT_EQ(client.drops(DropReason::kHandlerFailed), 1u);
}

TEST_F(ClientTest, submit__many_requests_end_once_each) {
  Client client = open();
  std::vector<int> endings(100);
  for (std::size_t i = 0; i < endings.size(); ++i) {
    const std::string text = std::to_string(i);
    ASSERT_TRUE(client.submit(as_payload(text), {}, [&endings, i](const Client::Result& result) {
      ++endings[i];
      EXPECT_EQ(as_text(result.value().payload), std::to_string(i));
    }));
  }
  EXPECT_EQ(client.outstanding(), 100u);
  ASSERT_TRUE(run(client, [&] { return client.outstanding() == 0; }));
  EXPECT_EQ(endings, std::vector<int>(100, 1));
}

TEST_F(ClientTest, submit__without_a_callback_is_fire_and_forget) {
  Client client = open();
  ASSERT_TRUE(client.submit(as_payload("ping"), {}, nullptr));
  ASSERT_TRUE(run(client, [&] { return client.outstanding() == 0; }));
  EXPECT_EQ(rack.worker().stats().served, 1u);
}

TEST_F(ClientTest, submit__from_inside_a_callback) {
  Client client = open({.max_outstanding = 1});
  int left = 5;
  std::function<void()> next = [&] {
    ASSERT_TRUE(client.submit(as_payload("ping"), {}, [&](const Client::Result& result) {
      ASSERT_TRUE(result);
      if (--left > 0) next();
    }));
  };
  next();
  ASSERT_TRUE(run(client, [&] { return left == 0; }));
}

TEST_F(ClientTest, submit__refuses_bad_calls_before_anything_is_sent) {
  Client client = open();
  const std::string large(kMaxMessageBytes + 1, 'x');
  const auto never = [](const Client::Result&) { FAIL() << "the callback of a refused request"; };
  auto refused = client.submit(as_payload(large), {}, never);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kTooLarge);
  EXPECT_EQ(refused.error().message(), "payload too large: payload of 1401 bytes; allowed: 0..1400");
  for (const CallOptions& bad : {CallOptions{.timeout = Nanos{-1}}, CallOptions{.timeout = Nanos{999}},
                                 CallOptions{.timeout = seconds(3601)}, CallOptions{.deadline = Nanos{-1}},
                                 CallOptions{.retries = 17}}) {
    refused = client.submit({}, bad, never);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kBadOption);
    EXPECT_NE(refused.error().detail.find("allowed: "), std::string::npos);
  }
  EXPECT_EQ(client.outstanding(), 0u);
}

TEST_F(ClientTest, wait__returns_when_a_reply_arrives) {
  rack.start();
  Client client = open();
  bool heard = false;
  ASSERT_TRUE(client.submit(as_payload("ping"), {}, [&heard](const Client::Result&) { heard = true; }));
  ASSERT_TRUE(step_until([&] { client.wait(seconds(1)); }, [&] { return heard; }));
}

TEST_F(ClientTest, close__ends_open_requests) {
  Client client = open();
  std::vector<ErrorKind> endings;
  const auto hear = [&](const Client::Result& result) {
    ASSERT_FALSE(result);
    endings.push_back(result.error().kind);
    EXPECT_FALSE(client.submit({}, {}, nullptr)) << "it is closing";
  };
  ASSERT_TRUE(client.submit({}, {}, hear) && client.submit({}, {}, hear));
  client.close();
  EXPECT_EQ(endings, (std::vector{ErrorKind::kTimedOut, ErrorKind::kTimedOut}));
  const auto refused = client.submit({}, {}, hear);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kNetwork);
  EXPECT_EQ(client.call({}).error().kind, ErrorKind::kNetwork);
  EXPECT_EQ(client.poll(), 0u);
  EXPECT_EQ(client.wait(seconds(100)), 0u);
  EXPECT_EQ(client.outstanding(), 0u);
  EXPECT_EQ(client.local_port(), 0u);
  client.close();
}

TEST_F(ClientTest, destructor__ends_open_requests) {
  int endings = 0;
  {
    Client client = open();
    ASSERT_TRUE(client.submit({}, {}, [&endings](const Client::Result&) { ++endings; }));
    Client moved = std::move(client);
    moved = open();
    EXPECT_EQ(endings, 1) << "the assignment closed the first client";
    ASSERT_TRUE(moved.submit({}, {}, [&endings](const Client::Result&) { ++endings; }));
  }
  EXPECT_EQ(endings, 2);
}

TEST_F(ClientTest, socket__bad_packets_are_counted_and_harm_nobody) {
  Client client = open();
  transport::UdpTransport stranger = mute();
  const std::string header("\x52\x08\x01\x18\x12\x34\x00\x01", 8);  // a reply to request 0x1234
  send_raw(stranger, "", client.local_port());
  send_raw(stranger, "\x52\x08", client.local_port());
  send_raw(stranger, "not an R2P2 packet", client.local_port());
  send_raw(stranger, header, client.local_port());
  send_raw(stranger, header + std::string(wire::kMaxPayloadBytes + 1, 'x'), client.local_port());
  std::string feedback = header;
  feedback[2] = 2;
  send_raw(stranger, feedback, client.local_port());
  bool heard = false;
  ASSERT_TRUE(client.submit(as_payload("ping"), {}, [&heard](const Client::Result& result) {
    heard = true;
    EXPECT_EQ(as_text(result.value().payload), "ping");
  }));
  ASSERT_TRUE(run(client, [&] { return heard; }));
  EXPECT_EQ(client.drops(DropReason::kTruncatedHeader), 2u);
  EXPECT_EQ(client.drops(DropReason::kBadMagic), 1u);
  EXPECT_EQ(client.drops(DropReason::kUnknownRequest), 1u);
  EXPECT_EQ(client.drops(DropReason::kOversizedPayload), 1u);
  EXPECT_EQ(client.drops(DropReason::kUnexpectedMessage), 1u);
  client.close();
  EXPECT_EQ(client.drops(DropReason::kBadMagic), 1u) << "counters outlive the socket";
}

TEST_F(ClientTest, open__bad_options_are_named) {
  const auto refusal = [](ClientOptions options) {
    const auto client = Client::open(options);
    EXPECT_FALSE(client);
    return client ? "" : client.error().message();
  };
  EXPECT_EQ(refusal({.max_outstanding = 0}), "bad option: max_outstanding is 0; allowed: 1..32768");
  EXPECT_EQ(refusal({.max_outstanding = 32769}), "bad option: max_outstanding is 32769; allowed: 1..32768");
  EXPECT_EQ(refusal({.timeout = Nanos{999}}), "bad option: timeout is 999ns; allowed: 1us..3600s");
  EXPECT_EQ(refusal({.timeout = seconds(3601)}), "bad option: timeout is 3601s; allowed: 1us..3600s");
  EXPECT_EQ(refusal({.retries = 17}), "bad option: retries is 17; allowed: 0..16");
  EXPECT_EQ(refusal({.admission = Admission::kCallback}),
            "bad option: on_room is empty; allowed with admission kCallback: a function");
  EXPECT_EQ(refusal({.on_room = [] {}}),
            "bad option: on_room is set; allowed: only with admission kCallback");
  EXPECT_EQ(refusal({.switch_address = "127.0.0.1:0"}),
            "bad option: switch_address \"127.0.0.1:0\" has port 0; allowed: 1..65535");
  EXPECT_NE(refusal({.switch_address = "rack"}).find("switch_address: \"rack\""), std::string::npos);
  EXPECT_NE(refusal({.bind_address = "here"}).find("bind_address: \"here\""), std::string::npos);
}

TEST_F(ClientTest, open__port_in_use_is_a_network_error) {
  const transport::UdpTransport other = mute();
  const auto client = Client::open({.bind_address = format_endpoint(other.local())});
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind, ErrorKind::kNetwork);
  EXPECT_NE(client.error().detail.find(format_endpoint(other.local())), std::string::npos);
}

TEST_F(ClientTest, open__binds_the_address_it_is_given) {
  std::uint16_t port = 0;
  {
    const transport::UdpTransport gone = mute();
    port = gone.local().port;
  }
  Client client = open({.bind_address = "127.0.0.1:" + std::to_string(port)});
  EXPECT_EQ(client.local_port(), port);
}

/// A coroutine that starts at once and keeps its frame until it has ended.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached ask_in_turn(Client& client, int times, std::vector<std::string>& answers) {
  for (int i = 0; i < times; ++i) {
    const std::string text = "ask " + std::to_string(i);
    const Client::Result reply = co_await client.async_call(as_payload(text));
    answers.emplace_back(reply ? std::string(as_text(reply->payload)) : reply.error().message());
  }
}

TEST_F(ClientTest, async_call__resumes_with_each_reply) {
  Client client = open();
  std::vector<std::string> first, second;
  ask_in_turn(client, 3, first);
  ask_in_turn(client, 2, second);
  EXPECT_EQ(client.outstanding(), 2u) << "both wait";
  ASSERT_TRUE(run(client, [&] { return first.size() == 3 && second.size() == 2; }));
  EXPECT_EQ(first, (std::vector<std::string>{"ask 0", "ask 1", "ask 2"}));
}

TEST_F(ClientTest, async_call__refused_goes_on_at_once) {
  Client client = open({.max_outstanding = 1});
  std::vector<std::string> first, second;
  ask_in_turn(client, 1, first);
  ask_in_turn(client, 1, second);
  EXPECT_EQ(second, (std::vector<std::string>{"too many open requests"}));
  client.close();
  EXPECT_EQ(first, (std::vector<std::string>{"timed out"}));
}

using ClientDeathTest = ClientTest;

TEST_F(ClientDeathTest, poll__from_inside_a_callback_is_a_bug) {
  EXPECT_DEATH(
      {
        Client client = open();
        (void)client.submit({}, {}, [&client](const Client::Result&) { client.poll(); });
        client.close();
      },
      "assertion failed");
  EXPECT_DEATH(
      {
        Client client = open();
        (void)client.submit({}, {}, [&client](const Client::Result&) { (void)client.call({}); });
        client.close();
      },
      "assertion failed");
}

}  // namespace
}  // namespace rain
