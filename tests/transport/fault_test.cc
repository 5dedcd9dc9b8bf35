#include "transport/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/memory.h"
#include "transport/packets.h"
#include "transport/udp.h"

namespace rain::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

static_assert(Transport<FaultTransport<MemoryTransport>>);
static_assert(Transport<FaultTransport<UdpTransport>>);

const Endpoint kA = Endpoint::v4(10, 0, 0, 1, 1);
const Endpoint kB = Endpoint::v4(10, 0, 0, 2, 2);
const Endpoint kC = Endpoint::v4(10, 0, 0, 3, 3);

// A faulty endpoint `a`, a sound one `b`, no latency: what is seen is the fault alone.
struct Pair {
  explicit Pair(const FaultOptions& options, std::uint64_t seed = 1)
      : a(network.open(kA), options, seed), b(network.open(kB)) {}

  MemoryNetwork network{{.latency = Nanos{0}, .queue_packets = 4096}};
  FaultTransport<MemoryTransport> a;
  MemoryTransport b;

  std::vector<std::string> received_by_b(Nanos now) {
    std::vector<std::string> all;
    for (;;) {
      auto texts = receive_texts(b, now);
      if (texts.empty()) return all;
      all.insert(all.end(), texts.begin(), texts.end());
    }
  }
};

TEST(Fault, send__without_faults_everything_passes_in_order) {
  Pair pair({});
  for (int i = 0; i < 5; ++i) pair.a.send(Nanos{1}, bytes_of("x"), kB);
  pair.a.flush(Nanos{1});
  EXPECT_EQ(pair.received_by_b(Nanos{1}).size(), 5u);
  send_text(pair.b, Nanos{2}, "back", kA);
  EXPECT_THAT(receive_texts(pair.a, Nanos{2}), ElementsAre("back"));
  EXPECT_EQ(pair.a.next_release(), Nanos::max());
}

TEST(Fault, loss__certain_loses_all_of_both_directions) {
  Pair pair({.loss = 1});
  send_text(pair.a, Nanos{1}, "x", kB);
  send_text(pair.b, Nanos{1}, "y", kA);
  EXPECT_THAT(pair.received_by_b(seconds(1)), IsEmpty());
  EXPECT_THAT(receive_texts(pair.a, seconds(1)), IsEmpty());
  EXPECT_EQ(pair.a.counters().lost, 2u);
}

TEST(Fault, loss__strikes_with_its_probability) {
  constexpr std::size_t kPackets = 10'000;
  Pair pair({.loss = 0.25});
  std::size_t received = 0;
  for (std::size_t i = 0; i < kPackets; ++i) {
    send_text(pair.a, Nanos{1}, "x", kB);
    received += pair.received_by_b(Nanos{1}).size();
  }
  EXPECT_EQ(received + pair.a.counters().lost, kPackets);
  EXPECT_NEAR(static_cast<double>(received), 7500, 200);  // 4.6 standard deviations
}

TEST(Fault, options__one_direction_only) {
  Pair sending({.loss = 1, .on_receive = false});
  send_text(sending.a, Nanos{1}, "x", kB);
  send_text(sending.b, Nanos{1}, "y", kA);
  EXPECT_THAT(sending.received_by_b(Nanos{1}), IsEmpty());
  EXPECT_THAT(receive_texts(sending.a, Nanos{1}), ElementsAre("y"));

  Pair receiving({.loss = 1, .on_send = false});
  send_text(receiving.a, Nanos{1}, "x", kB);
  send_text(receiving.b, Nanos{1}, "y", kA);
  EXPECT_THAT(receiving.received_by_b(Nanos{1}), ElementsAre("x"));
  EXPECT_THAT(receive_texts(receiving.a, Nanos{1}), IsEmpty());
}

TEST(Fault, duplicate__the_copy_follows) {
  Pair pair({.duplicate = 1, .max_delay = Nanos{100}});
  send_text(pair.a, Nanos{1000}, "x", kB);
  std::vector<std::string> all = pair.received_by_b(Nanos{1000});
  EXPECT_GE(all.size(), 1u);
  ASSERT_LE(pair.a.next_release(), Nanos{1100});
  pair.a.flush(Nanos{1100});
  for (auto& text : pair.received_by_b(Nanos{1100})) all.push_back(text);
  EXPECT_THAT(all, ElementsAre("x", "x"));
  EXPECT_EQ(pair.a.counters().duplicated, 1u);
}

TEST(Fault, duplicate__of_a_received_packet_is_a_copy_of_its_own) {
  Pair pair({.duplicate = 1, .max_delay = Nanos{0}});
  send_text(pair.b, Nanos{5}, "x", kA);
  const auto first = pair.a.receive(Nanos{5});
  ASSERT_EQ(first.size(), 1u);
  first[0].bytes[0] = std::byte{'!'};  // agents replace headers in place
  const auto second = pair.a.receive(Nanos{5});
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(text_of(second[0].bytes), "x");
  EXPECT_EQ(second[0].source, kB);
  EXPECT_THAT(receive_texts(pair.a, seconds(1)), IsEmpty());
}

TEST(Fault, delay__sent_not_before_its_time) {
  Pair pair({.delay = 1, .max_delay = Nanos{1000}});
  send_text(pair.a, Nanos{0}, "x", kB);
  EXPECT_EQ(pair.a.counters().delayed, 1u);
  const Nanos release = pair.a.next_release();
  ASSERT_LE(release, Nanos{1000});
  ASSERT_GT(release, Nanos{0});
  pair.a.flush(release - Nanos{1});
  EXPECT_THAT(pair.received_by_b(seconds(1)), IsEmpty());
  pair.a.receive(release);  // an agent that only receives sends what is due as well
  EXPECT_THAT(pair.received_by_b(seconds(1)), ElementsAre("x"));
}

TEST(Fault, delay__received_not_before_its_time) {
  Pair pair({.delay = 1, .max_delay = Nanos{1000}});
  send_text(pair.b, Nanos{0}, "x", kA);
  EXPECT_THAT(receive_texts(pair.a, Nanos{0}), IsEmpty());
  const Nanos release = pair.a.next_release();
  EXPECT_THAT(receive_texts(pair.a, release - Nanos{1}), IsEmpty());
  const auto batch = pair.a.receive(release + Nanos{5});
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].arrival, release);
  EXPECT_EQ(batch[0].source, kB);
  for (std::size_t i = 1; i <= kHeadroomBytes; ++i) *(batch[0].bytes.data() - i) = std::byte{1};
}

TEST(Fault, reorder__overtaken_by_the_next_packet) {
  Pair pair({.reorder = 1, .reorder_patience = seconds(1)});
  pair.a.send(Nanos{1}, bytes_of("first"), kB);
  pair.a.send(Nanos{1}, bytes_of("second"), kB);
  pair.a.flush(Nanos{1});
  EXPECT_THAT(pair.received_by_b(Nanos{1}), ElementsAre("second", "first"));
  EXPECT_EQ(pair.a.counters().reordered, 1u);
}

TEST(Fault, reorder__of_received_packets) {
  Pair pair({.reorder = 1, .reorder_patience = seconds(1)});
  send_text(pair.b, Nanos{1}, "first", kA);
  send_text(pair.b, Nanos{1}, "second", kA);
  EXPECT_THAT(receive_texts(pair.a, Nanos{1}), ElementsAre("second"));
  EXPECT_THAT(receive_texts(pair.a, Nanos{1}), ElementsAre("first"));
}

TEST(Fault, reorder__patience_ends_when_nothing_follows) {
  Pair pair({.reorder = 1, .reorder_patience = Nanos{50}});
  send_text(pair.a, Nanos{100}, "alone", kB);
  EXPECT_EQ(pair.a.next_release(), Nanos{150});
  pair.a.flush(Nanos{150});
  EXPECT_THAT(pair.received_by_b(Nanos{150}), ElementsAre("alone"));
}

TEST(Fault, partition__cuts_one_peer_both_ways_until_healed) {
  Pair pair({});
  MemoryTransport c = pair.network.open(kC);
  pair.a.partition(kB);
  pair.a.partition(kB);
  send_text(pair.a, Nanos{1}, "x", kB);
  send_text(pair.b, Nanos{1}, "y", kA);
  send_text(pair.a, Nanos{1}, "to c", kC);
  send_text(c, Nanos{1}, "from c", kA);
  EXPECT_THAT(pair.received_by_b(Nanos{1}), IsEmpty());
  EXPECT_THAT(receive_texts(pair.a, Nanos{1}), ElementsAre("from c"));
  EXPECT_THAT(receive_texts(c, Nanos{1}), ElementsAre("to c"));
  EXPECT_EQ(pair.a.counters().partitioned, 2u);
  pair.a.heal(kB);
  send_text(pair.a, Nanos{2}, "again", kB);
  EXPECT_THAT(pair.received_by_b(Nanos{2}), ElementsAre("again"));
}

TEST(Fault, storage__full_lets_packets_pass_and_counts) {
  Pair pair({.delay = 1, .max_delay = seconds(1), .storage_packets = 2});
  for (const char* text : {"1", "2", "3", "4"}) pair.a.send(Nanos{0}, bytes_of(text), kB);
  pair.a.flush(Nanos{0});
  EXPECT_THAT(pair.received_by_b(Nanos{0}), ElementsAre("3", "4"));
  EXPECT_EQ(pair.a.counters().delayed, 2u);
  EXPECT_EQ(pair.a.counters().storage_full, 2u);
}

TEST(Fault, set_options__healed_network_delivers_what_waits) {
  Pair pair({.delay = 1, .max_delay = Nanos{1000}});
  send_text(pair.a, Nanos{0}, "old", kB);
  pair.a.set_options({});
  send_text(pair.a, Nanos{0}, "new", kB);
  EXPECT_THAT(pair.received_by_b(Nanos{0}), ElementsAre("new"));
  pair.a.flush(Nanos{1000});
  EXPECT_THAT(pair.received_by_b(Nanos{1000}), ElementsAre("old"));
}

// Every fault at once: whatever is sent is accounted for, and the seed alone decides.
struct Outcome {
  std::vector<std::string> received;
  FaultCounters counters;
};
Outcome storm(std::uint64_t seed) {
  Pair pair({.loss = 0.1, .duplicate = 0.1, .delay = 0.2, .reorder = 0.1, .max_delay = Nanos{50}}, seed);
  Outcome outcome;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = std::to_string(i);
    send_text(pair.a, Nanos{i}, text, kB);
    for (auto& got : pair.received_by_b(Nanos{i})) outcome.received.push_back(got);
  }
  pair.a.flush(seconds(1));
  for (auto& got : pair.received_by_b(seconds(1))) outcome.received.push_back(got);
  outcome.counters = pair.a.counters();
  return outcome;
}

TEST(Fault, seed__same_seed_same_faults_another_seed_others) {
  EXPECT_EQ(storm(7).received, storm(7).received);
  EXPECT_NE(storm(7).received, storm(8).received);
}

TEST(Fault, counters__account_for_every_packet) {
  const Outcome outcome = storm(3);
  const FaultCounters& counters = outcome.counters;
  EXPECT_EQ(outcome.received.size(), 2000 - counters.lost + counters.duplicated);
  EXPECT_GT(counters.delayed, 0u);
  EXPECT_GT(counters.reordered, 0u);
  EXPECT_EQ(counters.storage_full, 0u);
}

TEST(Fault, udp__delayed_packets_leave_a_real_socket) {
  auto sender = UdpTransport::open({.listen = Endpoint::v4(127, 0, 0, 1, 0)});
  auto receiver = UdpTransport::open({.listen = Endpoint::v4(127, 0, 0, 1, 0)});
  ASSERT_TRUE(sender && receiver);
  FaultTransport<UdpTransport> faulty(std::move(*sender), {.delay = 1, .max_delay = milliseconds(2)}, 5);
  for (const char* text : {"1", "2", "3"}) send_text(faulty, monotonic_now(), text, receiver->local());
  EXPECT_EQ(faulty.counters().delayed, 3u);
  while (faulty.next_release() != Nanos::max()) {
    faulty.wait(seconds(10));  // no longer than until the next is due
    faulty.flush(monotonic_now());
  }
  EXPECT_THAT(receive_until(*receiver, 3), testing::UnorderedElementsAre("1", "2", "3"));
}

}  // namespace
}  // namespace rain::transport
