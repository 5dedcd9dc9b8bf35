#include "transport/packet_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/packets.h"

namespace rain::transport {
namespace {

const Endpoint kPeer = Endpoint::v4(10, 0, 0, 1, 7000);

std::vector<std::string> take_all(PacketStore& store, Nanos now) {
  std::vector<std::string> texts;
  while (store.has_due(now)) texts.push_back(text_of(store.take().bytes));
  store.recycle();
  return texts;
}

TEST(PacketStore, take__by_due_time_then_by_order_of_putting) {
  PacketStore store(8, 8);
  ASSERT_TRUE(store.put(Nanos{30}, bytes_of("late"), kPeer));
  ASSERT_TRUE(store.put(Nanos{10}, bytes_of("a"), kPeer));
  ASSERT_TRUE(store.put(Nanos{10}, bytes_of("b"), kPeer));
  ASSERT_TRUE(store.put(Nanos{5}, bytes_of("early"), kPeer));
  EXPECT_EQ(store.next_due(), Nanos{5});
  EXPECT_THAT(take_all(store, Nanos{29}), testing::ElementsAre("early", "a", "b"));
  EXPECT_EQ(store.next_due(), Nanos{30});
  EXPECT_THAT(take_all(store, Nanos{30}), testing::ElementsAre("late"));
  EXPECT_EQ(store.next_due(), Nanos::max());
}

TEST(PacketStore, put__refused_when_full_and_possible_again_after_take) {
  PacketStore store(2, 1);
  EXPECT_TRUE(store.put(Nanos{1}, bytes_of("a"), kPeer));
  EXPECT_TRUE(store.put(Nanos{2}, bytes_of("b"), kPeer));
  EXPECT_FALSE(store.put(Nanos{3}, bytes_of("c"), kPeer));
  EXPECT_EQ(text_of(store.take().bytes), "a");
  EXPECT_TRUE(store.put(Nanos{3}, bytes_of("c"), kPeer)) << "a lent packet does not take a place";
  EXPECT_FALSE(store.has_due(Nanos{9})) << "no more than one may be lent";
  store.recycle();
  EXPECT_THAT(take_all(store, Nanos{2}), testing::ElementsAre("b"));
}

TEST(PacketStore, put__capacity_zero_refuses) {
  PacketStore store(0, 1);
  EXPECT_FALSE(store.put(Nanos{1}, bytes_of("a"), kPeer));
}

TEST(PacketStore, put__larger_than_a_buffer_refused) {
  PacketStore store(2, 1);
  const std::vector<std::byte> large(kBufferBytes - kHeadroomBytes + 1);
  EXPECT_FALSE(store.put(Nanos{1}, large, kPeer));
  EXPECT_TRUE(store.put(Nanos{1}, std::span(large).subspan(1), kPeer));
}

TEST(PacketStore, take__bytes_have_writable_headroom_and_the_peer) {
  PacketStore store(1, 1);
  ASSERT_TRUE(store.put(Nanos{1}, {}, kPeer));
  const PacketStore::Packet packet = store.take();
  EXPECT_EQ(packet.bytes.size(), 0u);
  EXPECT_EQ(packet.peer, kPeer);
  for (std::size_t i = 1; i <= kHeadroomBytes; ++i) *(packet.bytes.data() - i) = std::byte{0xEE};
}

TEST(PacketStore, make_due__moves_a_packet_forward) {
  PacketStore store(4, 4);
  ASSERT_TRUE(store.put(Nanos{50}, bytes_of("held"), kPeer));
  const std::uint64_t held = store.last_sequence();
  ASSERT_TRUE(store.put(Nanos{20}, bytes_of("other"), kPeer));
  store.make_due(held, Nanos{10});
  EXPECT_EQ(store.next_due(), Nanos{10});
  EXPECT_THAT(take_all(store, Nanos{20}), testing::ElementsAre("held", "other"));
  store.make_due(held, Nanos{1});  // gone: nothing happens
  EXPECT_EQ(store.size(), 0u);
}

}  // namespace
}  // namespace rain::transport
