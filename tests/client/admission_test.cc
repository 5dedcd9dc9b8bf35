// Admission of the public client: its own bound, its share, its windows, and what becomes of a request without room.
#include <optional>
#include <thread>

#include "client_fixture.h"

namespace rain {
namespace {

using AdmissionTest = ClientTest;

TEST_F(AdmissionTest, submit__pushes_back_at_the_limit) {
  int called = 0;  // outlives the client, which ends open requests when it goes
  Client client = open({.max_outstanding = 2});
  const auto count = [&called](const Client::Result&) { ++called; };
  ASSERT_TRUE(client.submit({}, {}, count) && client.submit({}, {}, count));
  const auto refused = client.submit({}, {}, count);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kBackpressure);
  ASSERT_TRUE(run(client, [&] { return called == 2; }));
  EXPECT_TRUE(client.submit({}, {}, count));
}

TEST_F(AdmissionTest, set_share__limits_what_is_open_and_nothing_else) {
  int called = 0;
  Client client = open();
  const auto count = [&called](const Client::Result& result) { called += result ? 1 : 0; };
  EXPECT_EQ(client.share(), Client::kNoShare);
  ASSERT_TRUE(client.submit({}, {}, count) && client.submit({}, {}, count));
  client.set_share(1);
  EXPECT_EQ(client.share(), 1u);
  EXPECT_EQ(client.submit({}, {}, count).error().kind, ErrorKind::kBackpressure);
  ASSERT_TRUE(run(client, [&] { return called == 2; })) << "what was open ends";
  EXPECT_TRUE(client.submit({}, {}, count));
  EXPECT_FALSE(client.submit({}, {}, count));
  EXPECT_EQ(client.admission().refused_by_share, 2u);
  EXPECT_EQ(client.admission().refused_by_max_outstanding, 0u);
  client.set_share(0);
  ASSERT_TRUE(run(client, [&] { return called == 3; }));
  EXPECT_FALSE(client.submit({}, {}, count));
  client.close();
  EXPECT_EQ(client.admission().refused_by_share, 3u) << "counters outlive the socket";
}

TEST_F(AdmissionTest, submit__waits_until_there_is_room) {
  rack.start();
  int called = 0;
  Client client = open({.max_outstanding = 2, .timeout = seconds(10), .admission = Admission::kWait});
  const auto count = [&called](const Client::Result& result) { called += result ? 1 : 0; };
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(client.submit({}, {}, count));
    ASSERT_LE(client.outstanding(), 2u);
  }
  EXPECT_GE(called, 48);
  EXPECT_GT(client.admission().refused_by_max_outstanding, 0u);
  ASSERT_TRUE(client.call({})) << "call() waits too";
}

TEST_F(AdmissionTest, submit__waits_no_longer_than_the_timeout) {
  Client client = open({.max_outstanding = 1, .timeout = seconds(100), .admission = Admission::kWait});
  ASSERT_TRUE(client.submit({}, {}, nullptr));
  EXPECT_EQ(client.submit({}, {.timeout = milliseconds(2)}, nullptr).error().kind, ErrorKind::kBackpressure);
  EXPECT_EQ(client.submit({}, {.deadline = milliseconds(2)}, nullptr).error().kind, ErrorKind::kBackpressure);
}

TEST_F(AdmissionTest, submit__waiting_hears_of_a_share_that_another_thread_sets) {
  rack.start();
  Client client = open({.timeout = seconds(10), .admission = Admission::kWait});
  client.set_share(0);
  std::thread other([&client] { client.set_share(1); });
  const Client::Result reply = client.call(as_payload("ping"));
  other.join();
  ASSERT_TRUE(reply) << reply.error().message();
}

TEST_F(AdmissionTest, submit__from_inside_a_callback_is_refused_rather_than_waiting) {
  Client client = open({.max_outstanding = 1, .admission = Admission::kWait});
  std::optional<ErrorKind> refusal;
  ASSERT_TRUE(client.submit({}, {}, [&](const Client::Result&) {
    ASSERT_TRUE(client.submit({}, {}, nullptr));
    refusal = client.submit({}, {}, nullptr).error().kind;
  }));
  ASSERT_TRUE(run(client, [&] { return refusal.has_value(); }));
  EXPECT_EQ(refusal, ErrorKind::kBackpressure);
}

TEST_F(AdmissionTest, on_room__is_called_once_when_room_is_back) {
  int rooms = 0;
  Client* the_client = nullptr;
  Client client = open({.max_outstanding = 2, .admission = Admission::kCallback, .on_room = [&] {
                          ++rooms;
                          EXPECT_TRUE(the_client->submit(as_payload("late"), {}, nullptr));
                        }});
  the_client = &client;
  ASSERT_TRUE(client.submit({}, {}, nullptr) && client.submit({}, {}, nullptr));
  ASSERT_TRUE(run(client, [&] { return client.outstanding() == 0; }));
  EXPECT_EQ(rooms, 0) << "nobody was refused";
  ASSERT_TRUE(client.submit({}, {}, nullptr) && client.submit({}, {}, nullptr));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(client.submit({}, {}, nullptr));
  ASSERT_TRUE(run(client, [&] { return rack.worker().stats().served == 5 && client.outstanding() == 0; }));
  EXPECT_EQ(rooms, 1);
}

TEST_F(AdmissionTest, window__narrows_when_the_rack_is_overloaded) {
  const auto dropper = [](Client& client) {
    const auto ignore = [](const Client::Result&) {};
    for (int i = 0; i < 16; ++i) ASSERT_TRUE(client.submit({}, {.deadline = Nanos{1}}, ignore));
  };
  rack.handler = [](const Task&, ReplyBuffer&) {
    const Nanos until = monotonic_now() + microseconds(10);
    while (monotonic_now() < until) {
    }
  };
  Client client = open();
  dropper(client);
  ASSERT_TRUE(run(client, [&] { return client.outstanding() == 0; }));
  ASSERT_GT(client.drops(DropReason::kDeadlinePassed), 0u);
  EXPECT_LT(client.window(), 16u);
  EXPECT_EQ(client.window({1}), 4096u);
  EXPECT_GE(client.admission().back_offs, 1u);

  Client careless = open({.back_off = false});
  dropper(careless);
  ASSERT_TRUE(run(careless, [&] { return careless.outstanding() == 0; }));
  EXPECT_EQ(careless.window(), 4096u);
}

TEST_F(AdmissionTest, usage__what_is_outstanding_and_what_the_share_refused) {
  Client client = open();
  EXPECT_EQ(client.usage().outstanding, 0u);
  ASSERT_TRUE(client.submit({}, {}, nullptr) && client.submit({}, {}, nullptr));
  client.set_share(2);
  EXPECT_FALSE(client.submit({}, {}, nullptr));
  EXPECT_EQ(client.usage().outstanding, 2u);
  EXPECT_EQ(client.usage().refused_by_share, 1u);
  ASSERT_TRUE(run(client, [&] { return client.outstanding() == 0; }));
  EXPECT_EQ(client.usage().outstanding, 0u);
  ASSERT_TRUE(client.submit({}, {}, nullptr));
  client.close();
  EXPECT_EQ(client.usage().outstanding, 0u);
  EXPECT_EQ(client.usage().refused_by_share, 1u);
}

}  // namespace
}  // namespace rain
