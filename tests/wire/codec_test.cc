// Encode and decode of whole messages: the exact bytes of every type in both layouts, both ways, and random
// messages there and back.
#include "wire/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/prng.h"
#include "wire/hex.h"
#include "wire/message_difference.h"

namespace rain::wire {
namespace {

constexpr std::array kTypes = {
    MessageType::kRequest, MessageType::kReply, MessageType::kFeedback, MessageType::kRequestReady,
    MessageType::kDrop,    MessageType::kSack,  MessageType::kSync,     MessageType::kSyncAck,
    MessageType::kPull,    MessageType::kFetch, MessageType::kFetched,
};
constexpr std::array kLayouts = {Layout::kPlain, Layout::kReference};

const RequestFields kRequestFields{.task_type = {0x0102}, .deadline_us = 0x0304'0506};
const DispatchFields kDispatchFields{.client = Endpoint::v4(10, 0, 0, 7, 0x2328),
                                     .worker = {0x0708},
                                     .level = {3},
                                     .generation = {0x090A'0B0C},
                                     .switch_delay_ns = 0x0D0E'0F10,
                                     .queue_length = 0x1112};
const TokenFields kTokenFields{.worker = {0x0102},
                               .epoch = {0x0304},
                               .token_key = 0x0506'0708,
                               .generation = {0x090A'0B0C},
                               .level = {2},
                               .queue_length = 0x0D0E};
const SyncAckFields kSyncAckFields{.worker = {0x0102},
                                   .epoch = {0x0304},
                                   .boot_id = {0x0506'0708},
                                   .seen = {0x090A'0B0C},
                                   .consumed = {0x0D0E'0F10},
                                   .level = {7}};
const ReplyFields kReplyFields{.worker = {0x0102},
                               .switch_delay_ns = 0x0506'0708,
                               .worker_delay_ns = 0x090A'0B0C,
                               .service_ns = 0x0D0E'0F10,
                               .queue_length = 0x0304};
const DropFields kDropFields{DropReason::kQueueFull};

struct Row {
  const char* name;
  Message message;  // its layout is that of `plain`
  const char* plain;
  const char* reference;
};

/// A message of one packet with every group filled, as if it had been used for other types before.
Message single(MessageType type, bool has_extension, bool has_dispatch = false) {
  Message message;
  message.type = type;
  message.first = true;
  message.last = true;
  message.packet = 1;
  message.request_id = {0x1234};
  message.has_extension = has_extension;
  message.has_dispatch = has_dispatch;
  message.request = kRequestFields;
  message.dispatch = kDispatchFields;
  message.token = kTokenFields;
  message.sync_ack = kSyncAckFields;
  message.reply = kReplyFields;
  message.drop = kDropFields;
  return message;
}

Message with(Message message, Policy policy, bool first, bool last, std::uint16_t packet) {
  message.policy = policy;
  message.first = first;
  message.last = last;
  message.packet = packet;
  return message;
}

Message recalls(Message message) {
  message.token.recall = true;
  message.sync_ack.recalled = true;
  return message;
}

std::vector<Row> rows() {
  using enum MessageType;
  return {
      {"bare request", single(kRequest, false), "5208 00 18 1234 0001", "cc08 00 c0 1234 0001"},
      {"request", single(kRequest, true), "520e 00 18 1234 0001 0102 03040506",
       "cc0e 00 c0 1234 0001 0102 03040506"},
      {"sticky request", with(single(kRequest, true), Policy::kSticky, true, true, 1),
       "520e 00 38 1234 0001 0102 03040506", "cc0e 01 c0 1234 0001 0102 03040506"},
      {"first of three", with(single(kRequest, true), Policy::kUnrestricted, true, false, 3),
       "520e 00 10 1234 0003 0102 03040506", "cc0e 00 80 1234 0003 0102 03040506"},
      {"second of three", with(single(kRequest, false), Policy::kSticky, false, false, 1),
       "5208 00 20 1234 0001", "cc08 01 00 1234 0001"},
      {"last of three", with(single(kRequest, false), Policy::kUnrestricted, false, true, 2),
       "5208 00 08 1234 0002", "cc08 00 40 1234 0002"},
      {"dispatch", single(kRequest, true, true),
       "522e 00 18 1234 0001 0102 03040506 00000000000000000000ffff0a000007 2328 0708 03 00 090a0b0c "
       "0d0e0f10 1112",
       "cc2e 00 c0 1234 0001 0102 03040506 00000000000000000000ffff0a000007 2328 0708 03 00 090a0b0c "
       "0d0e0f10 1112"},
      {"bare reply", single(kReply, false), "5208 01 18 1234 0001", "cc08 10 c0 1234 0001"},
      {"reply", single(kReply, true), "5218 01 18 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10",
       "cc18 10 c0 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10"},
      {"bare feedback", single(kFeedback, false), "5208 02 18 1234 0001", "cc08 20 c0 1234 0001"},
      {"token", single(kFeedback, true), "5218 02 18 1234 0001 0102 0304 05060708 090a0b0c 02 00 0d0e",
       "cc18 20 c0 1234 0001 0102 0304 05060708 090a0b0c 02 00 0d0e"},
      {"request ready", single(kRequestReady, false), "5208 03 18 1234 0001", "cc08 30 c0 1234 0001"},
      {"bare drop", single(kDrop, false), "5208 04 18 1234 0001", "cc08 40 c0 1234 0001"},
      {"drop", single(kDrop, true), "520a 04 18 1234 0001 0013", "cc0a 40 c0 1234 0001 0013"},
      {"sack", single(kSack, false), "5208 08 18 1234 0001", "cc08 80 c0 1234 0001"},
      {"sync", single(kSync, true), "5218 09 18 1234 0001 0102 0304 05060708 090a0b0c 02 00 0d0e",
       "cc18 90 c0 1234 0001 0102 0304 05060708 090a0b0c 02 00 0d0e"},
      {"recall", recalls(single(kSync, true)), "5218 09 18 1234 0001 0102 0304 05060708 090a0b0c 02 01 0d0e",
       "cc18 90 c0 1234 0001 0102 0304 05060708 090a0b0c 02 01 0d0e"},
      {"recalled", recalls(single(kSyncAck, true)),
       "521c 0a 18 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10 07 01 0000",
       "cc1c a0 c0 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10 07 01 0000"},
      {"sync ack", single(kSyncAck, true),
       "521c 0a 18 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10 07 00 0000",
       "cc1c a0 c0 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10 07 00 0000"},
      {"pull", single(kPull, true), "5218 0b 18 1234 0001 0102 0304 05060708 090a0b0c 02 00 0d0e",
       "cc18 b0 c0 1234 0001 0102 0304 05060708 090a0b0c 02 00 0d0e"},
      {"fetch", single(kFetch, false), "5208 0c 18 1234 0001", "cc08 c0 c0 1234 0001"},
      {"fetched", single(kFetched, false), "5208 0d 18 1234 0001", "cc08 d0 c0 1234 0001"},
  };
}

/// What a Message looks like after many other packets: nothing may shine through.
Message used_up() {
  Message message = single(MessageType::kFetched, true, true);
  message.policy = Policy::kSticky;
  return message;
}

TEST(codec, encode__exact_bytes) {
  for (const Row& row : rows()) {
    for (const Layout layout : kLayouts) {
      Message message = row.message;
      message.layout = layout;
      const auto expected = from_hex(layout == Layout::kPlain ? row.plain : row.reference);
      std::array<std::byte, kMaxHeaderBytes> out{};
      EXPECT_EQ(to_hex(encode(message, out)), to_hex(expected)) << row.name;
      EXPECT_EQ(header_size(message), expected.size()) << row.name;
    }
  }
}

TEST(codec, decode__exact_bytes) {
  const auto payload = from_hex("c0ffee");
  for (const Row& row : rows()) {
    for (const Layout layout : kLayouts) {
      std::vector<std::byte> packet = from_hex(layout == Layout::kPlain ? row.plain : row.reference);
      packet.insert(packet.end(), payload.begin(), payload.end());
      Message expected = row.message;
      expected.layout = layout;
      expected.payload = payload;
      // The group of an absent extension holds its defaults.
      if (!expected.has_extension) {
        expected.request = {};
        expected.reply = {};
        expected.token = {};
        expected.drop = {};
      }
      Message decoded = used_up();
      ASSERT_EQ(decode(packet, decoded), DropReason::kNone) << row.name;
      EXPECT_EQ(difference(decoded, expected), "") << row.name;
      EXPECT_EQ(decoded.payload.data(), packet.data() + packet.size() - payload.size()) << row.name;
    }
  }
}

TEST(codec, decode__skips_bytes_that_a_later_version_appends) {
  for (const Row& row : rows()) {
    if (row.message.type == MessageType::kRequest && !row.message.has_dispatch)
      continue;  // the dispatch follows there
    if (!row.message.has_extension && header_size(single(row.message.type, true)) != kBaseHeaderBytes)
      continue;
    for (const Layout layout : kLayouts) {
      const std::vector<std::byte> header = from_hex(layout == Layout::kPlain ? row.plain : row.reference);
      for (const std::size_t size : {header.size() + 1, std::size_t{64}, std::size_t{255}}) {
        std::vector<std::byte> packet = header;
        packet.resize(size, std::byte{0xAA});
        packet[1] = static_cast<std::byte>(size);
        packet.push_back(std::byte{0x55});
        Message decoded = used_up();
        ASSERT_EQ(decode(packet, decoded), DropReason::kNone) << row.name << " " << size;
        ASSERT_EQ(decoded.payload.size(), 1U);
        EXPECT_EQ(decoded.payload[0], std::byte{0x55});
        decoded.payload = {};
        Message expected = row.message;
        expected.layout = layout;
        EXPECT_EQ(difference(decoded, expected), "") << row.name;
      }
    }
  }
}

TEST(codec, decode__ignores_reserved_bits) {
  struct Reserved {
    const char* packet;
    const char* same_as;
  };
  const Reserved table[] = {
      {"5208 00 1f 1234 0001", "5208 00 18 1234 0001"},  // low three bits of byte 3
      {"cc08 00 ff 1234 0001", "cc08 00 c0 1234 0001"},  // low six bits of byte 3
      {"5218 02 18 1234 0001 0102 0304 05060708 090a0b0c 02 fe 0d0e",
       "5218 02 18 1234 0001 0102 0304 05060708 090a0b0c 02 00 0d0e"},
      {"521c 0a 18 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10 07 fe ffff",
       "521c 0a 18 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10 07 00 0000"},
      {"522e 00 18 1234 0001 0102 03040506 00000000000000000000ffff0a000007 2328 0708 03 ff 090a0b0c "
       "0d0e0f10 1112",
       "522e 00 18 1234 0001 0102 03040506 00000000000000000000ffff0a000007 2328 0708 03 00 090a0b0c "
       "0d0e0f10 1112"},
  };
  for (const Reserved& row : table) {
    Message with_bits;
    Message without;
    ASSERT_EQ(decode(from_hex(row.packet), with_bits), DropReason::kNone) << row.packet;
    ASSERT_EQ(decode(from_hex(row.same_as), without), DropReason::kNone) << row.same_as;
    EXPECT_EQ(difference(with_bits, without), "") << row.packet;
  }
}

TEST(codec, decode__drop_reason_outside_the_list_is_none) {
  Message decoded = used_up();
  ASSERT_EQ(decode(from_hex("520a 04 18 1234 0001 ffff"), decoded), DropReason::kNone);
  EXPECT_TRUE(decoded.has_extension);
  EXPECT_EQ(decoded.drop.reason, DropReason::kNone);
}

TEST(codec, header_size__never_exceeds_what_the_caller_must_keep_free) {
  for (const MessageType type : kTypes) {
    for (const bool has_extension : {false, true}) {
      for (const bool has_dispatch : {false, true}) {
        const std::size_t size = header_size(single(type, has_extension, has_dispatch));
        EXPECT_GE(size, kBaseHeaderBytes);
        EXPECT_LE(size, kMaxHeaderBytes);
      }
    }
  }
}

TEST(codec, encode__dispatch_implies_the_request_extension) {
  Message message = single(MessageType::kRequest, false, true);
  std::array<std::byte, kMaxHeaderBytes> out{};
  Message decoded;
  ASSERT_EQ(decode(encode(message, out), decoded), DropReason::kNone);
  EXPECT_TRUE(decoded.has_extension);
  EXPECT_TRUE(decoded.has_dispatch);
  EXPECT_EQ(decoded.request.task_type, kRequestFields.task_type);
}

TEST(codec, encode_header_before__leaves_the_payload_and_all_before_the_header) {
  for (const Row& row : rows()) {
    std::array<std::byte, 256> buffer{};
    buffer.fill(std::byte{0xEE});
    std::byte* const end = buffer.data() + 128;
    const std::byte* const start = encode_header_before(row.message, end);
    EXPECT_EQ(static_cast<std::size_t>(end - start), header_size(row.message)) << row.name;
    EXPECT_EQ(to_hex({start, end}), to_hex(from_hex(row.plain))) << row.name;
    const auto untouched = [](std::byte b) { return b == std::byte{0xEE}; };
    EXPECT_TRUE(std::all_of(static_cast<const std::byte*>(buffer.data()), start, untouched)) << row.name;
    EXPECT_TRUE(std::all_of(end, buffer.data() + buffer.size(), untouched)) << row.name;
  }
}

TEST(codec, encode__payload_in_place_is_kept) {
  std::array<std::byte, 64> buffer{};
  Message message = single(MessageType::kReply, true);
  const auto payload = from_hex("0011223344");
  std::copy(payload.begin(), payload.end(), buffer.begin() + 24);
  message.payload = std::span(buffer).subspan(24, payload.size());
  const auto packet = encode(message, buffer);
  EXPECT_EQ(to_hex(packet.subspan(24)), "0011223344");
}

TEST(codec_death, encode__needs_room) {
  const Message message = single(MessageType::kReply, true);
  std::array<std::byte, 23> out{};
  EXPECT_DEATH(encode(message, out), "assertion failed");
}

Message random_message(Prng& prng, std::span<std::byte> payload_store) {
  const auto u16 = [&] { return static_cast<std::uint16_t>(prng.next()); };
  const auto u32 = [&] { return static_cast<std::uint32_t>(prng.next()); };
  Message message;
  message.layout = prng.chance(0.5) ? Layout::kPlain : Layout::kReference;
  message.type = kTypes[prng.below(kTypes.size())];
  message.policy = prng.chance(0.5) ? Policy::kUnrestricted : Policy::kSticky;
  message.first = prng.chance(0.5);
  message.last = prng.chance(0.5);
  message.request_id = {u16()};
  message.packet = static_cast<std::uint16_t>(u16() | (message.first ? 1 : 0));
  message.has_extension = prng.chance(0.7);
  message.has_dispatch = message.type == MessageType::kRequest && message.has_extension && prng.chance(0.5);
  if (message.type == MessageType::kSync || message.type == MessageType::kSyncAck ||
      message.type == MessageType::kPull) {
    message.has_extension = true;  // always there
  }
  if (header_size(message) == kBaseHeaderBytes) message.has_extension = false;  // a type that has none
  if (message.has_extension) {
    message.request = {.task_type = {u16()}, .deadline_us = u32()};
    message.token = {{u16()}, {u16()},         u32(), {u32()}, {static_cast<std::uint8_t>(u16())},
                     u16(),   prng.chance(0.5)};
    message.sync_ack = {
        {u16()}, {u16()}, {u32()}, {u32()}, {u32()}, {static_cast<std::uint8_t>(u16())}, prng.chance(0.5)};
    message.reply = {{u16()}, u32(), u32(), u32(), u16()};
    message.drop = {static_cast<DropReason>(prng.below(kDropReasonCount))};
  }
  if (message.has_dispatch) {
    for (auto& byte : message.dispatch.client.address) byte = static_cast<std::uint8_t>(prng.next());
    message.dispatch.client.port = u16();
    message.dispatch.worker = {u16()};
    message.dispatch.level = {static_cast<std::uint8_t>(u16())};
    message.dispatch.generation = {u32()};
    message.dispatch.switch_delay_ns = u32();
    message.dispatch.queue_length = u16();
  }
  const auto payload = payload_store.first(prng.below(payload_store.size() + 1));
  for (std::byte& byte : payload) byte = static_cast<std::byte>(prng.next() & 0xFF);
  message.payload = payload;
  return message;
}

TEST(codec, random_messages__there_and_back) {
  Prng prng(77);
  std::vector<std::byte> payload(kMaxPayloadBytes);
  std::vector<std::byte> out(kMaxPacketBytes);
  Message decoded;  // used again and again, as a run loop does
  for (int i = 0; i < 20'000; ++i) {
    const Message message =
        random_message(prng, std::span(payload).first(i % 100 == 0 ? payload.size() : 16));
    const auto packet = encode(message, out);
    ASSERT_EQ(decode(packet, decoded), DropReason::kNone) << to_hex(packet);
    ASSERT_EQ(difference(decoded, message), "") << to_hex(packet);
  }
}

}  // namespace
}  // namespace rain::wire
