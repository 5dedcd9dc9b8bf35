#include "transport/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/packets.h"

namespace rain::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Endpoint kA = Endpoint::v4(10, 0, 0, 1, 1);
const Endpoint kB = Endpoint::v4(10, 0, 0, 2, 2);
const Endpoint kC = Endpoint::v4(10, 0, 0, 3, 3);

TEST(Memory, receive__not_before_the_latency_has_passed) {
  MemoryNetwork network({.latency = Nanos{100}});
  MemoryTransport a = network.open(kA);
  MemoryTransport b = network.open(kB);
  send_text(a, Nanos{1000}, "hello", kB);
  EXPECT_EQ(network.next_arrival(), Nanos{1100});
  EXPECT_EQ(b.next_arrival(), Nanos{1100});
  EXPECT_EQ(a.next_arrival(), Nanos::max());
  EXPECT_THAT(receive_texts(b, Nanos{1099}), IsEmpty());
  const auto batch = b.receive(Nanos{1200});
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(text_of(batch[0].bytes), "hello");
  EXPECT_EQ(batch[0].source, kA);
  EXPECT_EQ(batch[0].arrival, Nanos{1100});
  EXPECT_EQ(network.next_arrival(), Nanos::max());
}

TEST(Memory, receive__ordered_by_time_then_by_order_of_sending) {
  MemoryNetwork network({.latency = Nanos{10}});
  MemoryTransport a = network.open(kA);
  MemoryTransport b = network.open(kB);
  MemoryTransport c = network.open(kC);
  send_text(b, Nanos{7}, "third", kC);  // agents need not be called in the order of their times
  send_text(a, Nanos{5}, "first", kC);
  send_text(b, Nanos{5}, "second", kC);
  EXPECT_THAT(receive_texts(c, Nanos{100}), ElementsAre("first", "second", "third"));
}

TEST(Memory, send__on_its_way_only_after_flush) {
  MemoryNetwork network({.latency = Nanos{0}});
  MemoryTransport a = network.open(kA);
  MemoryTransport b = network.open(kB);
  a.send(Nanos{1}, bytes_of("x"), kB);
  EXPECT_THAT(receive_texts(b, Nanos{5}), IsEmpty());
  a.flush(Nanos{3});
  EXPECT_EQ(b.next_arrival(), Nanos{3});
  EXPECT_THAT(receive_texts(b, Nanos{5}), ElementsAre("x"));
}

TEST(Memory, send__a_full_batch_flushes_itself) {
  MemoryNetwork network;
  MemoryTransport a = network.open(kA);
  MemoryTransport b = network.open(kB);
  for (std::size_t i = 0; i < kBatch; ++i) a.send(Nanos{0}, bytes_of("x"), kB);
  EXPECT_EQ(b.receive(seconds(1)).size(), kBatch);
}

TEST(Memory, receive__at_most_a_batch_at_a_time) {
  MemoryNetwork network;
  MemoryTransport a = network.open(kA);
  MemoryTransport b = network.open(kB);
  for (std::size_t i = 0; i < 2 * kBatch + 1; ++i) send_text(a, Nanos{0}, std::to_string(i), kB);
  EXPECT_EQ(b.receive(seconds(1)).size(), kBatch);
  EXPECT_EQ(b.receive(seconds(1)).size(), kBatch);
  EXPECT_THAT(receive_texts(b, seconds(1)), ElementsAre(std::to_string(2 * kBatch)));
  EXPECT_THAT(receive_texts(b, seconds(1)), IsEmpty());
}

TEST(Memory, receive__packets_may_be_answered_in_place) {
  MemoryNetwork network;
  MemoryTransport a = network.open(kA);
  MemoryTransport b = network.open(kB);
  send_text(a, Nanos{0}, "payload", kB);
  const auto batch = b.receive(seconds(1));
  ASSERT_EQ(batch.size(), 1u);
  std::byte* first = batch[0].bytes.data() - kHeadroomBytes;
  std::fill_n(first, kHeadroomBytes, std::byte{'h'});
  b.send(seconds(1), {first, kHeadroomBytes + batch[0].bytes.size()}, kA);
  b.flush(seconds(1));
  EXPECT_THAT(receive_texts(a, seconds(2)), ElementsAre(std::string(kHeadroomBytes, 'h') + "payload"));
}

TEST(Memory, send__overflow_counted_and_harmless) {
  MemoryNetwork network({.queue_packets = 2});
  MemoryTransport a = network.open(kA);
  MemoryTransport b = network.open(kB);
  MemoryTransport c = network.open(kC);
  for (const char* text : {"1", "2", "3", "4"}) send_text(a, Nanos{0}, text, kB);
  send_text(a, Nanos{0}, "other", kC);
  EXPECT_EQ(network.overflows(), 2u);
  EXPECT_EQ(a.send_failures(), 0u) << "a full receiver is not the sender's failure";
  EXPECT_THAT(receive_texts(b, seconds(1)), ElementsAre("1", "2"));
  EXPECT_THAT(receive_texts(c, seconds(1)), ElementsAre("other"));
  send_text(a, seconds(1), "5", kB);
  EXPECT_THAT(receive_texts(b, seconds(2)), ElementsAre("5"));
}

TEST(Memory, send__to_nobody_is_counted) {
  MemoryNetwork network;
  MemoryTransport a = network.open(kA);
  send_text(a, Nanos{0}, "x", kB);
  EXPECT_EQ(network.undeliverable(), 1u);
  EXPECT_EQ(network.next_arrival(), Nanos::max());
}

TEST(Memory, send__larger_than_a_buffer_is_a_send_failure) {
  MemoryNetwork network;
  MemoryTransport a = network.open(kA);
  MemoryTransport b = network.open(kB);
  const std::vector<std::byte> large(kBufferBytes - kHeadroomBytes + 1);
  a.send(Nanos{0}, large, kB);
  a.send(Nanos{0}, std::span(large).subspan(1), kB);
  a.flush(Nanos{0});
  EXPECT_EQ(a.send_failures(), 1u);
  EXPECT_EQ(b.receive(seconds(1)).size(), 1u);
}

TEST(Memory, open__an_endpoint_is_free_again_when_its_transport_is_gone) {
  MemoryNetwork network;
  MemoryTransport a = network.open(kA);
  {
    MemoryTransport b = network.open(kB);
    send_text(a, Nanos{0}, "lost", kB);
  }
  MemoryTransport reborn = network.open(kB);
  send_text(a, Nanos{0}, "new", kB);
  EXPECT_THAT(receive_texts(reborn, seconds(1)), ElementsAre("new"));
}

TEST(Memory, move__keeps_the_endpoint) {
  MemoryNetwork network;
  MemoryTransport a = network.open(kA);
  MemoryTransport b = network.open(kB);
  MemoryTransport moved = std::move(b);
  send_text(a, Nanos{0}, "x", kB);
  EXPECT_EQ(moved.local(), kB);
  EXPECT_THAT(receive_texts(moved, seconds(1)), ElementsAre("x"));
}

TEST(MemoryDeathTest, open__taken_endpoint_is_a_bug) {
  MemoryNetwork network;
  MemoryTransport a = network.open(kA);
  EXPECT_DEATH(network.open(kA), "assertion failed");
}

}  // namespace
}  // namespace rain::transport
