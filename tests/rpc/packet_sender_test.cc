// Packets leave encoded, in order, and no buffer is used again before the transport has flushed it.
#include "rpc/packet_sender.h"

#include <gtest/gtest.h>

#include <vector>

#include "rain/rpc.h"

namespace rain::rpc {
namespace {

/// Holds every packet back until it is told to flush, and copies it only then.
struct LazyTransport {
  struct Queued {
    std::span<const std::byte> bytes;
    Endpoint to;
  };
  void send(Nanos at, std::span<const std::byte> bytes, const Endpoint& to) {
    now = at;
    queued.push_back({bytes, to});
  }
  void flush(Nanos) {
    for (const Queued& packet : queued) sent.emplace_back(packet.bytes.begin(), packet.bytes.end());
    queued.clear();
    ++flushes;
  }
  std::vector<Queued> queued;
  std::vector<std::vector<std::byte>> sent;
  unsigned flushes = 0;
  Nanos now{};
};

wire::Message reply(std::uint16_t id, Payload payload = {}) {
  wire::Message message;
  message.type = wire::MessageType::kReply;
  message.first = message.last = true;
  message.packet = 1;
  message.request_id = {id};
  message.payload = payload;
  return message;
}

TEST(PacketSender, send__encodes_and_waits_for_the_flush) {
  LazyTransport transport;
  PacketSender<LazyTransport, 4> sender(transport);
  sender.set_now(microseconds(3));
  const Endpoint peer = Endpoint::v4(1, 2, 3, 4, 5);
  sender.send(reply(9, as_payload("text")), peer);
  EXPECT_FALSE(sender.empty());
  ASSERT_EQ(transport.queued.size(), 1u);
  EXPECT_EQ(transport.queued[0].to, peer);
  EXPECT_EQ(transport.now, microseconds(3));
  sender.flush();
  EXPECT_TRUE(sender.empty());
  wire::Message decoded;
  ASSERT_EQ(wire::decode(transport.sent.at(0), decoded), DropReason::kNone);
  EXPECT_EQ(decoded.request_id, RequestId{9});
  EXPECT_EQ(as_text(decoded.payload), "text");
}

TEST(PacketSender, send__flushes_before_a_buffer_is_used_again) {
  LazyTransport transport;
  PacketSender<LazyTransport, 4> sender(transport);
  for (std::uint16_t id = 0; id < 11; ++id) sender.send(reply(id), {});
  EXPECT_EQ(transport.flushes, 2u);
  sender.flush();
  ASSERT_EQ(transport.sent.size(), 11u);
  for (std::uint16_t id = 0; id < 11; ++id) {
    wire::Message decoded;
    ASSERT_EQ(wire::decode(transport.sent[id], decoded), DropReason::kNone);
    EXPECT_EQ(decoded.request_id, RequestId{id});
  }
}

TEST(PacketSender, send__largest_packet_fits) {
  LazyTransport transport;
  PacketSender<LazyTransport, 1> sender(transport);
  const std::vector<std::byte> payload(wire::kMaxPayloadBytes);
  wire::Message dispatch = reply(1, payload);
  dispatch.type = wire::MessageType::kRequest;
  dispatch.has_extension = dispatch.has_dispatch = true;
  sender.send(dispatch, {});
  sender.flush();
  EXPECT_GT(transport.sent.at(0).size(), wire::kMaxPayloadBytes);
}

}  // namespace
}  // namespace rain::rpc
