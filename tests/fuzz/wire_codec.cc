// Any bytes into wire::decode(): what it refuses it refuses for the same reason whatever the Message held before; what
// it accepts means the same after encoding and decoding again, and the second encoding is the first.
#include "base/assert.h"
#include "fuzz/fuzz.h"
#include "wire/message.h"
#include "wire/message_difference.h"

namespace rain::fuzz {

namespace {

using namespace rain::wire;

/// A Message as other packets may have left it: nothing of it may shine through.
Message filled(std::uint8_t with) {
  Message message;
  message.type = MessageType::kSyncAck;
  message.first = message.last = message.has_dispatch = message.has_extension = true;
  message.request = {{with}, with};
  message.dispatch = {Endpoint::v4(with, with, with, with, with), {with}, {with}, {with}, with, with};
  message.token = {{with}, {with}, with, {with}, {with}, with, with % 2 == 0};
  message.sync_ack = {{with}, {with}, {with}, {with}, {with}, {with}, with % 2 == 0};
  message.reply = {{with}, with, with, with, with};
  message.drop = {DropReason::kQueueFull};
  return message;
}

void check_accepted(std::span<const std::byte> input, const Message& message) {
  RAIN_ASSERT(message.payload.size() <= kMaxPayloadBytes);
  RAIN_ASSERT(message.payload.empty() ||
              message.payload.data() + message.payload.size() == input.data() + input.size());
  const std::size_t header_bytes = header_size(message);
  RAIN_ASSERT(header_bytes <= kMaxHeaderBytes);
  RAIN_ASSERT(header_bytes + message.payload.size() <= input.size());

  std::vector<std::byte> out(header_bytes + message.payload.size());
  const auto packet = encode(message, out);
  Message again = filled(3);
  RAIN_ASSERT(decode(packet, again) == DropReason::kNone);
  RAIN_ASSERT(difference(message, again).empty());

  std::vector<std::byte> second(packet.size());
  const auto repeated = encode(again, second);
  RAIN_ASSERT(std::equal(packet.begin(), packet.end(), repeated.begin(), repeated.end()));

  std::vector<std::byte> in_place(kMaxHeaderBytes);
  const std::byte* const start = encode_header_before(message, in_place.data() + in_place.size());
  RAIN_ASSERT(
      std::equal(start, static_cast<const std::byte*>(in_place.data() + in_place.size()), packet.begin()));
}

}  // namespace

void one_input(std::span<const std::byte> input) {
  Message message = filled(1);
  Message other = filled(2);
  const DropReason reason = decode(input, message);
  RAIN_ASSERT(decode(input, other) == reason);
  if (reason == DropReason::kNone) {
    RAIN_ASSERT(difference(message, other).empty());
    check_accepted(input, message);
  } else {
    RAIN_ASSERT(reason <= DropReason::kOversizedPayload);
  }
}

std::vector<Input> seeds() {
  constexpr MessageType kTypes[] = {
      MessageType::kRequest, MessageType::kReply, MessageType::kFeedback, MessageType::kRequestReady,
      MessageType::kDrop,    MessageType::kSack,  MessageType::kSync,     MessageType::kSyncAck,
      MessageType::kPull,    MessageType::kFetch, MessageType::kFetched,
  };
  constexpr std::byte kPayload[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  std::vector<Input> all;
  for (const Layout layout : {Layout::kPlain, Layout::kReference}) {
    for (const MessageType type : kTypes) {
      for (const bool extended : {false, true}) {
        Message message = filled(4);
        message.layout = layout;
        message.type = type;
        message.packet = 1;
        message.has_extension = extended;
        message.has_dispatch = false;
        message.payload = kPayload;
        Input packet(kMaxPacketBytes);
        packet.resize(encode(message, packet).size());
        all.push_back(packet);
        if (type != MessageType::kRequest || !extended) continue;
        message.has_dispatch = true;
        packet.resize(kMaxPacketBytes);
        packet.resize(encode(message, packet).size());
        all.push_back(packet);
      }
    }
  }
  return all;
}

}  // namespace rain::fuzz
