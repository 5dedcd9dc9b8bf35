// Decode of packets that break the protocol: which reason, in which order, at every boundary, in both
// layouts; and that no byte outside the packet is read.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/prng.h"
#include "wire/codec.h"
#include "wire/hex.h"

namespace rain::wire {
namespace {

using enum DropReason;

struct Row {
  const char* name;
  const char* bytes;
  DropReason expected;
};

void check(std::span<const Row> rows) {
  for (const Row& row : rows) {
    Message message;
    EXPECT_STREQ(drop_reason_name(decode(from_hex(row.bytes), message)), drop_reason_name(row.expected))
        << row.name;
  }
}

TEST(codec_malformed, plain_layout__table) {
  const Row rows[] = {
      {"nothing at all", "", kTruncatedHeader},
      {"one byte", "52", kTruncatedHeader},
      {"one byte short of a header", "5208 00 18 1234 00", kTruncatedHeader},
      {"smallest packet", "5208 00 18 1234 0001", kNone},
      {"wrong magic", "5308 00 18 1234 0001", kBadMagic},
      {"magic of all zeros", "0000 00 00 0000 0000", kBadMagic},
      {"magic of all ones", "ffff ff ff ffff ffff", kBadMagic},
      {"header size 0", "5200 00 18 1234 0001", kBadHeaderSize},
      {"header size 7", "5207 00 18 1234 0001", kBadHeaderSize},
      {"header size one beyond the packet", "5209 00 18 1234 0001", kBadHeaderSize},
      {"header size 255 of 8", "52ff 00 18 1234 0001", kBadHeaderSize},
      {"type 5", "5208 05 18 1234 0001", kUnknownType},
      {"type 7", "5208 07 18 1234 0001", kUnknownType},
      {"type 14", "5208 0e 18 1234 0001", kUnknownType},
      {"type 15", "5208 0f 18 1234 0001", kUnknownType},
      {"type 16, which the other layout cannot write", "5208 10 18 1234 0001", kUnknownType},
      {"type 32, beyond a 32-bit mask", "5208 20 18 1234 0001", kUnknownType},
      {"type 255", "5208 ff 18 1234 0001", kUnknownType},
      {"policy 1", "5208 00 38 1234 0001", kNone},
      {"policy 2", "5208 00 58 1234 0001", kUnknownPolicy},
      {"policy 7", "5208 00 f8 1234 0001", kUnknownPolicy},
      {"first of 0 packets", "5208 00 18 1234 0000", kBadPacketCount},
      {"first of 0, more to come", "5208 00 10 1234 0000", kBadPacketCount},
      {"reply, first of 0", "5208 01 18 1234 0000", kBadPacketCount},
      {"fetched, first of 0", "5208 0d 18 1234 0000", kBadPacketCount},
      {"first of 65535", "5208 00 10 1234 ffff", kNone},
      {"not the first, index 0", "5208 00 08 1234 0000", kNone},
      {"feedback counts no packets", "5208 02 18 1234 0000", kNone},
      {"drop counts no packets", "5208 04 18 1234 0000", kNone},
      {"sync without its extension", "5208 09 18 1234 0001", kTruncatedExtension},
      {"sync ack without its extension", "5208 0a 18 1234 0001", kTruncatedExtension},
      {"pull without its extension", "5208 0b 18 1234 0001", kTruncatedExtension},
      {"request, extension one byte short", "520d 00 18 1234 0001 0102 030405", kTruncatedExtension},
      {"request, one byte into the dispatch", "520f 00 18 1234 0001 0102 03040506 00", kTruncatedExtension},
      {"token, one byte short", "5217 02 18 1234 0001 0102 0304 05060708 090a0b0c 02 00 0d",
       kTruncatedExtension},
      {"token bytes present but outside the header",
       "5208 02 18 1234 0001 0102 0304 05060708 090a0b0c 02 00 0d0e", kNone},
      {"drop, one byte short", "5209 04 18 1234 0001 00", kTruncatedExtension},
  };
  check(rows);
}

TEST(codec_malformed, reference_layout__table) {
  const Row rows[] = {
      {"one byte short of a header", "cc08 00 c0 1234 00", kTruncatedHeader},
      {"smallest packet", "cc08 00 c0 1234 0001", kNone},
      {"wrong magic", "cd08 00 c0 1234 0001", kBadMagic},
      {"header size 0", "cc00 00 c0 1234 0001", kBadHeaderSize},
      {"header size 7", "cc07 00 c0 1234 0001", kBadHeaderSize},
      {"header size one beyond the packet", "cc09 00 c0 1234 0001", kBadHeaderSize},
      {"type 5", "cc08 50 c0 1234 0001", kUnknownType},
      {"type 7", "cc08 70 c0 1234 0001", kUnknownType},
      {"type 14", "cc08 e0 c0 1234 0001", kUnknownType},
      {"type 15", "cc08 f0 c0 1234 0001", kUnknownType},
      {"policy 1", "cc08 01 c0 1234 0001", kNone},
      {"policy 2", "cc08 02 c0 1234 0001", kUnknownPolicy},
      {"policy 15", "cc08 0f c0 1234 0001", kUnknownPolicy},
      {"first of 0 packets", "cc08 00 c0 1234 0000", kBadPacketCount},
      {"reply, first of 0", "cc08 10 80 1234 0000", kBadPacketCount},
      {"fetched, first of 0", "cc08 d0 80 1234 0000", kBadPacketCount},
      {"not the first, index 0", "cc08 00 40 1234 0000", kNone},
      {"feedback counts no packets", "cc08 20 c0 1234 0000", kNone},
      {"sync without its extension", "cc08 90 c0 1234 0001", kTruncatedExtension},
      {"sync ack without its extension", "cc08 a0 c0 1234 0001", kTruncatedExtension},
      {"pull without its extension", "cc08 b0 c0 1234 0001", kTruncatedExtension},
      {"request, extension one byte short", "cc0d 00 c0 1234 0001 0102 030405", kTruncatedExtension},
      {"drop, one byte short", "cc09 40 c0 1234 0001 00", kTruncatedExtension},
  };
  check(rows);
}

TEST(codec_malformed, order__the_first_reason_of_the_list_wins) {
  // Each row is wrong in its expected way and in all later ones too.
  const Row rows[] = {
      {"short and wrong magic", "5307 ff ff", kTruncatedHeader},
      {"magic before header size", "5300 ff f8 1234 0000", kBadMagic},
      {"header size before type", "5207 ff f8 1234 0000", kBadHeaderSize},
      {"type before policy", "5208 ff f8 1234 0000", kUnknownType},
      {"policy before packet count", "5209 00 f8 1234 0000 00", kUnknownPolicy},
      {"packet count before extension", "5209 00 18 1234 0000 00", kBadPacketCount},
  };
  check(rows);

  std::vector<std::byte> packet = from_hex("5209 00 18 1234 0001");
  packet.resize(9 + kMaxPayloadBytes + 1);
  Message message;
  EXPECT_EQ(decode(packet, message), kTruncatedExtension) << "extension before payload";
}

/// What docs/protocol.md says of header sizes, written down a second time.
struct SizeRule {
  MessageType type;
  bool may_be_bare;
  std::vector<std::size_t>
      complete;  // header sizes at which an extension is complete, the last one open-ended
};

DropReason expected_for(const SizeRule& rule, std::size_t header_size) {
  if (header_size < 8) return kBadHeaderSize;
  if (rule.complete.empty()) return kNone;
  if (header_size == 8) return rule.may_be_bare ? kNone : kTruncatedExtension;
  if (header_size >= rule.complete.back()) return kNone;
  const bool exact =
      std::find(rule.complete.begin(), rule.complete.end(), header_size) != rule.complete.end();
  return exact ? kNone : kTruncatedExtension;
}

TEST(codec_malformed, header_size__every_value_of_every_type_in_both_layouts) {
  using enum MessageType;
  const SizeRule rules[] = {
      {kRequest, true, {14, 46}}, {kReply, true, {24}}, {kFeedback, true, {24}}, {kRequestReady, true, {}},
      {kDrop, true, {10}},        {kSack, true, {}},    {kSync, false, {24}},    {kSyncAck, false, {28}},
      {kPull, false, {24}},       {kFetch, true, {}},   {kFetched, true, {}},
  };
  for (const SizeRule& rule : rules) {
    for (const bool plain : {true, false}) {
      for (std::size_t size = 0; size <= 255; ++size) {
        std::vector<std::byte> packet(std::max<std::size_t>(size, 8));
        const auto type = static_cast<unsigned>(rule.type);
        packet[0] = std::byte{static_cast<unsigned char>(plain ? 0x52 : 0xCC)};
        packet[1] = static_cast<std::byte>(size);
        packet[2] = static_cast<std::byte>(plain ? type : type << 4);
        packet[3] = std::byte{static_cast<unsigned char>(plain ? 0x18 : 0xC0)};
        packet[7] = std::byte{1};
        Message message;
        ASSERT_STREQ(drop_reason_name(decode(packet, message)), drop_reason_name(expected_for(rule, size)))
            << "type " << type << " header size " << size;
        if (size < 9) continue;
        packet.pop_back();
        ASSERT_EQ(decode(packet, message), kBadHeaderSize) << "type " << type << " header size " << size;
      }
    }
  }
}

TEST(codec_malformed, payload__limit_is_inclusive_for_every_header_size) {
  for (const char* header : {"5208 00 18 1234 0001", "cc08 00 c0 1234 0001", "520a 04 18 1234 0001 0013",
                             "5218 02 18 1234 0001 0102 0304 05060708 090a0b0c 02 00 0d0e"}) {
    std::vector<std::byte> packet = from_hex(header);
    const std::size_t header_size = packet.size();
    Message message;
    packet.resize(header_size + kMaxPayloadBytes);
    EXPECT_EQ(decode(packet, message), kNone) << header;
    EXPECT_EQ(message.payload.size(), kMaxPayloadBytes);
    packet.push_back({});
    EXPECT_EQ(decode(packet, message), kOversizedPayload) << header;
    packet.resize(65'507);
    EXPECT_EQ(decode(packet, message), kOversizedPayload) << header;
  }
}

TEST(codec_malformed, packet_cut_anywhere__is_refused_or_whole) {
  const auto whole = from_hex(
      "522e 00 18 1234 0001 0102 03040506 00000000000000000000ffff0a000007 2328 0708 03 00 090a0b0c 0d0e0f10 "
      "1112");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Message message;
    EXPECT_EQ(decode(std::span(whole).first(size), message), size < 8 ? kTruncatedHeader : kBadHeaderSize)
        << size;
  }
}

/// Puts packets directly before and after an unreadable page: a read outside them is a crash in every build.
class Guarded {
 public:
  Guarded() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* mapping = mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RAIN_ASSERT(mapping != MAP_FAILED);
    base_ = static_cast<std::byte*>(mapping);
    RAIN_ASSERT(mprotect(base_ + page_, page_, PROT_READ | PROT_WRITE) == 0);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, 3 * page_); }

  std::span<std::byte> at_start(std::size_t size) { return {base_ + page_, size}; }
  std::span<std::byte> at_end(std::size_t size) { return {base_ + 2 * page_ - size, size}; }

 private:
  std::size_t page_;
  std::byte* base_;
};

TEST(codec_malformed, decode__never_reads_outside_the_packet) {
  Guarded guarded;
  Prng prng(31);
  constexpr std::array<std::uint8_t, 2> kMagics = {0x52, 0xCC};
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    const std::size_t size = prng.below(80);
    for (const std::span<std::byte> packet : {guarded.at_start(size), guarded.at_end(size)}) {
      for (std::byte& byte : packet) byte = static_cast<std::byte>(prng.next() & 0xFF);
      // Mostly plausible, so that the later checks are reached.
      if (size > 0) packet[0] = std::byte{kMagics[prng.below(2)]};
      if (size > 1) packet[1] = static_cast<std::byte>(prng.below(size + 4));
      if (size > 2)
        packet[2] = static_cast<std::byte>(prng.below(14) << (packet[0] == std::byte{0xCC} ? 4 : 0));
      if (size > 3 && prng.chance(0.9)) packet[3] &= std::byte{0x3F};
      Message message;
      if (decode(packet, message) != kNone) continue;
      ++accepted;
      ASSERT_GE(message.payload.data(), packet.data());
      ASSERT_EQ(message.payload.data() + message.payload.size(), packet.data() + packet.size());
    }
  }
  EXPECT_GT(accepted, 1'000);
}

}  // namespace
}  // namespace rain::wire
