// On real loopback sockets. Waits are bounded so that a failure does not hang; nothing asserts how long
// anything took.
#include "transport/udp.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/endpoint_text.h"
#include "transport/packets.h"

namespace rain::transport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Endpoint kLoopback = Endpoint::v4(127, 0, 0, 1, 0);
Endpoint loopback_v6() {
  Endpoint endpoint;
  endpoint.address[15] = 1;
  return endpoint;
}

UdpTransport open_or_fail(const UdpOptions& options) {
  auto transport = UdpTransport::open(options);
  if (!transport) {
    ADD_FAILURE() << transport.error();
    std::abort();
  }
  return std::move(*transport);
}

bool has_ipv6() { return UdpTransport::open({.listen = loopback_v6()}).has_value(); }

// A port that nobody has, for a moment at least.
Endpoint closed_port() { return open_or_fail({.listen = kLoopback}).local(); }

TEST(Udp, open__kernel_chooses_a_port) {
  const UdpTransport transport = open_or_fail({.listen = kLoopback});
  EXPECT_NE(transport.local().port, 0);
  EXPECT_EQ(transport.local().address, kLoopback.address);
}

TEST(Udp, open__port_in_use_is_named) {
  const UdpTransport holder = open_or_fail({.listen = kLoopback});
  const auto second = UdpTransport::open({.listen = holder.local()});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error(), "cannot bind " + format_endpoint(holder.local()) + ": address already in use");
}

TEST(Udp, open__address_of_another_machine_is_refused) {
  const auto transport = UdpTransport::open({.listen = Endpoint::v4(192, 0, 2, 1, 9000)});
  ASSERT_FALSE(transport.has_value());
  EXPECT_EQ(transport.error(), "cannot bind 192.0.2.1:9000: cannot assign requested address");
}

TEST(Udp, open__buffer_sizes_are_taken) {
  const UdpTransport small = open_or_fail({.listen = kLoopback, .receive_buffer_bytes = 8192});
  const UdpTransport large = open_or_fail({.listen = kLoopback, .receive_buffer_bytes = 128 * 1024});
  EXPECT_LT(small.receive_buffer_bytes(), large.receive_buffer_bytes());
  EXPECT_GE(large.receive_buffer_bytes(), 128u * 1024);
}

TEST(Udp, receive__empty_socket_gives_nothing_at_once) {
  UdpTransport transport = open_or_fail({.listen = kLoopback});
  EXPECT_TRUE(transport.receive(Nanos{1}).empty());
}

TEST(Udp, send__arrives_with_source_and_arrival) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback});
  send_text(a, Nanos{1}, "hello", b.local());
  b.wait(seconds(5));
  const auto batch = b.receive(Nanos{42});
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(text_of(batch[0].bytes), "hello");
  EXPECT_EQ(batch[0].source, a.local());
  EXPECT_EQ(batch[0].arrival, Nanos{42});
}

TEST(Udp, send__nothing_leaves_before_flush) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback});
  a.send(Nanos{1}, bytes_of("x"), b.local());
  EXPECT_THAT(receive_texts(b, Nanos{1}), IsEmpty());
  a.flush(Nanos{1});
  EXPECT_THAT(receive_until(b, 1), ElementsAre("x"));
}

TEST(Udp, send__more_than_a_batch_flushes_itself_and_keeps_the_order) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback});
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 2 * kBatch + 3; ++i) texts.push_back(std::to_string(i));
  for (const auto& text : texts) a.send(Nanos{1}, bytes_of(text), b.local());
  a.flush(Nanos{1});
  EXPECT_EQ(receive_until(b, texts.size()), texts);
  EXPECT_EQ(a.send_failures(), 0u);
}

TEST(Udp, send__empty_packet) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback});
  send_text(a, Nanos{1}, "", b.local());
  EXPECT_THAT(receive_until(b, 1), ElementsAre(""));
}

TEST(Udp, receive__packets_are_forwarded_in_place_with_a_longer_header) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback});
  for (const char* text : {"one", "two"}) send_text(a, Nanos{1}, text, b.local());
  std::size_t answered = 0;
  while (answered < 2) {
    b.wait(seconds(5));
    const auto batch = b.receive(Nanos{1});
    ASSERT_FALSE(batch.empty());
    for (const RxPacket& packet : batch) {
      std::byte* first = packet.bytes.data() - kHeadroomBytes;
      std::fill_n(first, kHeadroomBytes, std::byte{'h'});
      b.send(Nanos{1}, {first, kHeadroomBytes + packet.bytes.size()}, packet.source);
    }
    b.flush(Nanos{1});
    answered += batch.size();
  }
  const std::string header(kHeadroomBytes, 'h');
  EXPECT_THAT(receive_until(a, 2), ElementsAre(header + "one", header + "two"));
}

TEST(Udp, receive__longer_than_a_buffer_is_cut_and_counted) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback});
  const std::string large(5000, 'x');
  send_text(a, Nanos{1}, large, b.local());
  send_text(a, Nanos{1}, "next", b.local());
  EXPECT_THAT(receive_until(b, 2), ElementsAre(std::string(kBufferBytes - kHeadroomBytes, 'x'), "next"));
  EXPECT_EQ(b.cut_packets(), 1u);
}

TEST(Udp, send__a_refused_packet_is_counted_and_the_rest_goes_out) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback});
  const std::vector<std::byte> too_large(70'000);
  a.send(Nanos{1}, bytes_of("before"), b.local());
  a.send(Nanos{1}, too_large, b.local());
  a.send(Nanos{1}, too_large, b.local());
  a.send(Nanos{1}, bytes_of("after"), b.local());
  a.flush(Nanos{1});
  EXPECT_THAT(receive_until(b, 2), ElementsAre("before", "after"));
  EXPECT_EQ(a.send_failures(), 2u);
}

TEST(Udp, send__to_an_ipv6_peer_from_an_ipv4_socket_is_counted) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  send_text(a, Nanos{1}, "x", loopback_v6());
  EXPECT_EQ(a.send_failures(), 1u);
}

TEST(Udp, send__closed_ports_harm_nobody_else) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback});
  const Endpoint nobody = closed_port();
  for (int round = 0; round < 50; ++round) {
    a.send(Nanos{1}, bytes_of("into the void"), nobody);
    a.send(Nanos{1}, bytes_of("x"), b.local());
    a.flush(Nanos{1});
    send_text(b, Nanos{1}, "y", a.local());
    ASSERT_THAT(receive_until(b, 1), ElementsAre("x"));
    ASSERT_THAT(receive_until(a, 1), ElementsAre("y"));
  }
  EXPECT_EQ(a.send_failures(), 0u);
}

TEST(Udp, receive__overflow_of_the_socket_is_counted) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback, .receive_buffer_bytes = 4096});
  EXPECT_EQ(b.receive_overflows(), 0u);
  for (int i = 0; i < 300; ++i) send_text(a, Nanos{1}, std::string(1000, 'x'), b.local());
  std::size_t received = 0;
  for (auto texts = receive_texts(b, Nanos{1}); !texts.empty(); texts = receive_texts(b, Nanos{1})) {
    received += texts.size();
  }
  EXPECT_LT(received, 300u);
  EXPECT_EQ(received + b.receive_overflows(), 300u);
  EXPECT_EQ(a.send_failures(), 0u);
}

TEST(Udp, wait__ends_when_a_packet_is_there) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  send_text(a, Nanos{1}, "x", a.local());
  a.wait(Nanos::max());  // for ever, if it did not
  EXPECT_THAT(receive_until(a, 1), ElementsAre("x"));
}

TEST(Udp, wait__ends_by_itself) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  a.wait(microseconds(1));
  a.wait(Nanos{0});
  a.wait(Nanos{-5});
  EXPECT_THAT(receive_texts(a, Nanos{1}), IsEmpty());
}

TEST(Udp, wait__returns_at_once_when_polling) {
  UdpTransport a = open_or_fail({.listen = kLoopback, .busy_poll = true});
  a.wait(Nanos::max());
  EXPECT_THAT(receive_texts(a, Nanos{1}), IsEmpty());
}

TEST(Udp, open__kernel_busy_poll_is_set_or_refused_with_its_name) {
  auto transport = UdpTransport::open({.listen = kLoopback, .kernel_busy_poll = microseconds(20)});
  if (transport) {
    send_text(*transport, Nanos{1}, "x", transport->local());
    EXPECT_THAT(receive_until(*transport, 1), ElementsAre("x"));
  } else {
    EXPECT_THAT(transport.error(), HasSubstr("cannot set SO_BUSY_POLL to 20 us: "));
  }
}

TEST(Udp, time_stamps__tell_when_the_packet_came_and_not_when_it_was_read) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback, .kernel_time_stamps = true});
  // The kernel starts to stamp a moment after the first socket asked for it; until then it stamps when we
  // read. One packet that waited and has a time nearer to its sending than to its reading shows the stamping.
  for (int attempt = 0; attempt < 500; ++attempt) {
    send_text(a, monotonic_now(), "x", b.local());
    const Nanos sent = monotonic_now();
    b.wait(seconds(5));
    while (monotonic_now() < sent + milliseconds(10)) {  // the packet waits in the socket meanwhile
    }
    const Nanos read = monotonic_now();
    const auto batch = b.receive(read);
    ASSERT_EQ(batch.size(), 1u);
    ASSERT_LE(batch[0].arrival, monotonic_now());
    if (batch[0].arrival - sent < read - batch[0].arrival) return;
  }
  FAIL() << "every packet has the time of its reading";
}

// An answer may come while its question is still being sent, after the caller has read the clock.
TEST(Udp, time_stamps__later_than_now_but_not_than_the_reading) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback, .kernel_time_stamps = true});
  const Nanos stale_now = monotonic_now() - seconds(1);
  send_text(a, stale_now, "x", b.local());
  b.wait(seconds(5));
  const auto batch = b.receive(stale_now);
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_GT(batch[0].arrival, stale_now);
  EXPECT_LE(batch[0].arrival, monotonic_now());
}

TEST(Udp, ipv6__loopback) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 on this machine";
  UdpTransport a = open_or_fail({.listen = loopback_v6()});
  UdpTransport b = open_or_fail({.listen = loopback_v6()});
  send_text(a, Nanos{1}, "six", b.local());
  b.wait(seconds(5));
  const auto batch = b.receive(Nanos{1});
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(text_of(batch[0].bytes), "six");
  EXPECT_EQ(batch[0].source, a.local());
}

TEST(Udp, ipv6__the_any_address_serves_both_families) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 on this machine";
  UdpTransport both = open_or_fail({});
  UdpTransport four = open_or_fail({.listen = kLoopback});
  UdpTransport six = open_or_fail({.listen = loopback_v6()});
  Endpoint to = kLoopback;
  to.port = both.local().port;
  send_text(four, Nanos{1}, "four", to);
  to.address = loopback_v6().address;
  send_text(six, Nanos{1}, "six", to);
  std::size_t answered = 0;
  while (answered < 2) {
    both.wait(seconds(5));
    const auto batch = both.receive(Nanos{1});
    ASSERT_FALSE(batch.empty());
    for (const RxPacket& packet : batch) {
      EXPECT_EQ(packet.source.is_v4(), text_of(packet.bytes) == "four");
      both.send(Nanos{1}, packet.bytes, packet.source);
    }
    both.flush(Nanos{1});
    answered += batch.size();
  }
  EXPECT_THAT(receive_until(four, 1), ElementsAre("four"));
  EXPECT_THAT(receive_until(six, 1), ElementsAre("six"));
}

TEST(Udp, move__keeps_the_socket) {
  UdpTransport a = open_or_fail({.listen = kLoopback});
  UdpTransport b = open_or_fail({.listen = kLoopback});
  UdpTransport moved = std::move(b);
  send_text(a, Nanos{1}, "1", moved.local());
  EXPECT_THAT(receive_until(moved, 1), ElementsAre("1"));
  a = std::move(moved);
  send_text(a, Nanos{1}, "2", a.local());
  EXPECT_THAT(receive_until(a, 1), ElementsAre("2"));
}

}  // namespace
}  // namespace rain::transport
