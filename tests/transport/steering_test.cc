#include "transport/steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

namespace rain::transport {
namespace {

using Packet = std::vector<std::uint8_t>;

// A classic BPF machine with the instructions that the filter uses; fails the test on any other.
std::uint32_t run(const std::vector<sock_filter>& code, const Packet& packet) {
  std::uint32_t a = 0;
  std::uint32_t x = 0;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const sock_filter& op = code[at];
    switch (op.code) {
      case BPF_LD | BPF_B | BPF_ABS:
        if (op.k + 1 > packet.size()) return 0;
        a = packet[op.k];
        break;
      case BPF_LD | BPF_H | BPF_ABS:
        if (op.k + 2 > packet.size()) return 0;
        a = static_cast<std::uint32_t>(packet[op.k] << 8 | packet[op.k + 1]);
        break;
      case BPF_LD | BPF_IMM:
        a = op.k;
        break;
      case BPF_ALU | BPF_RSH | BPF_K:
        a >>= op.k;
        break;
      case BPF_MISC | BPF_TAX:
        x = a;
        break;
      case BPF_MISC | BPF_TXA:
        a = x;
        break;
      case BPF_JMP | BPF_JA:
        at += op.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += a == op.k ? op.jt : op.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += a >= op.k ? op.jt : op.jf;
        break;
      case BPF_RET | BPF_K:
        return op.k;
      default:
        ADD_FAILURE() << "instruction " << op.code << " at " << at;
        return UINT32_MAX;
    }
  }
  ADD_FAILURE() << "ran off the end";
  return UINT32_MAX;
}

constexpr std::uint8_t kPlain = 0x52;
constexpr std::uint8_t kPacked = 0xCC;

// magic, header size, type, flags, request id (2), packet (2), key (2)
Packet plain(std::uint8_t type, std::uint16_t key, std::uint8_t header_size = 14) {
  return {kPlain,
          header_size,
          type,
          0,
          0,
          1,
          0,
          1,
          static_cast<std::uint8_t>(key >> 8),
          static_cast<std::uint8_t>(key)};
}
Packet packed(std::uint8_t type, std::uint16_t key) {
  Packet packet = plain(static_cast<std::uint8_t>(type << 4 | 1), key);
  packet[0] = kPacked;
  return packet;
}

std::vector<sock_filter> compile(std::vector<SteeringRule> rules) {
  auto code = compile_steering({.plain_magic = kPlain, .packed_magic = kPacked, .rules = std::move(rules)});
  EXPECT_TRUE(code.has_value());
  return *code;
}

const SteeringRule kTasks{.types = {0}, .keys = {{1, 0}, {2, 1}, {7, 2}, {8, 2}, {9, 2}, {65535, 1}}};
const SteeringRule kTokens{.types = {2, 9}, .keys = {{0, 2}, {1, 2}, {2, 1}}};

TEST(Steering, compile__each_key_to_its_socket) {
  const auto code = compile({kTasks, kTokens});
  EXPECT_EQ(run(code, plain(0, 1)), 0u);
  EXPECT_EQ(run(code, plain(0, 2)), 1u);
  EXPECT_EQ(run(code, plain(0, 7)), 2u);
  EXPECT_EQ(run(code, plain(0, 9)), 2u);
  EXPECT_EQ(run(code, plain(0, 65535)), 1u);
  EXPECT_EQ(run(code, plain(2, 0)), 2u);
  EXPECT_EQ(run(code, plain(9, 2)), 1u);
}

TEST(Steering, compile__type_in_the_high_nibble) {
  const auto code = compile({kTasks, kTokens});
  EXPECT_EQ(run(code, packed(0, 2)), 1u);
  EXPECT_EQ(run(code, packed(2, 1)), 2u);
  EXPECT_EQ(run(code, packed(9, 1)), 2u);
}

TEST(Steering, compile__unlisted_keys_types_and_magics_to_socket_0) {
  const auto code = compile({kTasks, kTokens});
  EXPECT_EQ(run(code, plain(0, 0)), 0u);
  EXPECT_EQ(run(code, plain(0, 3)), 0u);
  EXPECT_EQ(run(code, plain(0, 10)), 0u);
  EXPECT_EQ(run(code, plain(0, 65534)), 0u);
  EXPECT_EQ(run(code, plain(2, 3)), 0u);
  EXPECT_EQ(run(code, plain(4, 2)), 0u);
  Packet alien = plain(0, 2);
  alien[0] = 0x00;
  EXPECT_EQ(run(code, alien), 0u);
}

TEST(Steering, compile__short_packets_to_socket_0) {
  const auto code = compile({kTasks, kTokens});
  const Packet whole = plain(0, 2);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(run(code, Packet(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))), 0u)
        << size;
  }
}

TEST(Steering, compile__header_without_the_field_has_the_rules_key) {
  SteeringRule tasks = kTasks;
  tasks.key_without_field = 2;
  const auto code = compile({tasks});
  EXPECT_EQ(run(code, plain(0, 7, 8)), 1u) << "the payload behind a short header is not the field";
  EXPECT_EQ(run(code, plain(0, 7, 10)), 2u);
}

TEST(Steering, compile__repeated_key_keeps_its_first_socket) {
  const auto code = compile({{.types = {0}, .keys = {{5, 1}, {5, 2}, {6, 2}}}});
  EXPECT_EQ(run(code, plain(0, 5)), 1u);
  EXPECT_EQ(run(code, plain(0, 6)), 2u);
  EXPECT_EQ(run(code, plain(0, 7)), 0u);
}

TEST(Steering, compile__unlisted_keys_to_the_socket_that_is_named) {
  SteeringRule tasks = kTasks;
  tasks.other_keys = 3;
  tasks.key_without_field = 77;
  const auto code = compile({tasks, kTokens});
  EXPECT_EQ(run(code, plain(0, 0)), 3u);
  EXPECT_EQ(run(code, plain(0, 1)), 0u);
  EXPECT_EQ(run(code, plain(0, 5)), 3u);
  EXPECT_EQ(run(code, plain(0, 10)), 3u);
  EXPECT_EQ(run(code, plain(0, 65535)), 1u);
  EXPECT_EQ(run(code, plain(0, 1, 8)), 3u);
  EXPECT_EQ(run(code, plain(2, 5)), 0u);
}

TEST(Steering, compile__agrees_with_the_list_for_all_keys) {
  SteeringRule rule{.types = {2}};
  for (std::uint16_t key = 10; key < 900; ++key) {
    if (key % 7 != 0) rule.keys.push_back({key, static_cast<std::uint16_t>(key / 100 % 3)});
  }
  const auto code = compile({rule});
  for (std::uint32_t key = 0; key < 65536; key += key < 1000 ? 1 : 97) {
    const bool listed = key >= 10 && key < 900 && key % 7 != 0;
    ASSERT_EQ(run(code, plain(2, static_cast<std::uint16_t>(key))), listed ? key / 100 % 3 : 0) << key;
  }
}

TEST(Steering, compile__runs_of_keys_are_cheap) {
  SteeringRule rule{.types = {2}};
  for (std::uint16_t key = 0; key < 1024; ++key)
    rule.keys.push_back({key, static_cast<std::uint16_t>(key / 256)});
  EXPECT_LT(compile({rule}).size(), 32u);
}

TEST(Steering, compile__too_many_ranges_are_refused_with_the_limit) {
  SteeringRule rule{.types = {2}};
  for (std::uint16_t key = 0; key < 6000; key += 2) rule.keys.push_back({key, 1});
  const auto code = compile_steering({.plain_magic = kPlain, .packed_magic = kPacked, .rules = {rule}});
  ASSERT_FALSE(code.has_value());
  EXPECT_THAT(code.error(), testing::HasSubstr("at most 4096"));
}

}  // namespace
}  // namespace rain::transport
