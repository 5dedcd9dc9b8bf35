// Several sockets on one port, each for one thread, with the kernel steering packets between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/endpoint_text.h"
#include "transport/packets.h"
#include "transport/udp.h"

namespace rain::transport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Endpoint kLoopback = Endpoint::v4(127, 0, 0, 1, 0);

// 'R' packets: type in byte 2, key at offset 8.
const Steering kSteering{
    .plain_magic = 'R',
    .packed_magic = 'P',
    .rules = {{.types = {'q'}, .key_without_field = 0x3131, .keys = {{0x3131, 1}, {0x3232, 2}}}}};

std::string packet(const std::string& key) { return "R~q....." + key; }  // '~' is a large header size

TEST(UdpGroup, open__packets_reach_the_socket_of_their_key) {
  auto group = UdpTransport::open_group({.listen = kLoopback}, 3, kSteering);
  ASSERT_TRUE(group.has_value()) << group.error();
  ASSERT_EQ(group->size(), 3u);
  const Endpoint port = group->front().local();
  for (const auto& member : *group) EXPECT_EQ(member.local(), port);

  auto sender = UdpTransport::open({.listen = kLoopback});
  ASSERT_TRUE(sender.has_value());
  for (const char* key : {"11", "22", "33", "22"}) send_text(*sender, Nanos{1}, packet(key), port);
  send_text(*sender, Nanos{1}, "garbage", port);
  EXPECT_THAT(receive_until((*group)[0], 2), ElementsAre(packet("33"), "garbage"));
  EXPECT_THAT(receive_until((*group)[1], 1), ElementsAre(packet("11")));
  EXPECT_THAT(receive_until((*group)[2], 2), ElementsAre(packet("22"), packet("22")));
}

TEST(UdpGroup, open__every_member_answers_from_the_shared_port) {
  auto group = UdpTransport::open_group({.listen = kLoopback}, 2, kSteering);
  auto client = UdpTransport::open({.listen = kLoopback});
  ASSERT_TRUE(group && client);
  for (auto& member : *group) {
    send_text(member, Nanos{1}, "hi", client->local());
    client->wait(seconds(5));
    const auto batch = client->receive(Nanos{1});
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch[0].source, group->front().local());
  }
}

TEST(UdpGroup, open__port_in_use_is_refused) {
  auto holder = UdpTransport::open_group({.listen = kLoopback}, 2, kSteering);
  ASSERT_TRUE(holder.has_value());
  const Endpoint taken = holder->front().local();
  for (std::size_t count : {std::size_t{1}, std::size_t{2}}) {
    const auto second = UdpTransport::open_group({.listen = taken}, count, kSteering);
    ASSERT_FALSE(second.has_value()) << "a second switch would steal packets";
    EXPECT_EQ(second.error(), "cannot bind " + format_endpoint(taken) + ": address already in use");
  }
}

TEST(UdpGroup, open__one_socket_is_a_plain_one) {
  auto group = UdpTransport::open_group({.listen = kLoopback}, 1, kSteering);
  ASSERT_TRUE(group.has_value());
  send_text(group->front(), Nanos{1}, packet("22"), group->front().local());
  EXPECT_THAT(receive_until(group->front(), 1), ElementsAre(packet("22")));
}

TEST(UdpGroup, open__too_many_rules_are_refused) {
  Steering steering = kSteering;
  for (std::uint16_t key = 0; key < 8000; key += 2) steering.rules[0].keys.push_back({key, 1});
  const auto group = UdpTransport::open_group({.listen = kLoopback}, 2, steering);
  ASSERT_FALSE(group.has_value());
  EXPECT_THAT(group.error(), HasSubstr("at most 4096"));
}

}  // namespace
}  // namespace rain::transport
