// The bytes of the wire: one struct per header part, all alignment 1, sizes and offsets asserted.
// Freestanding. Only codec.h and the tests include this file. docs/protocol.md gives the reason for each
// width and place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/big_endian.h"

namespace rain::wire {

struct BaseHeader {
  std::uint8_t magic;        // which layout bytes 2 and 3 follow
  std::uint8_t header_size;  // in bytes, extensions included: 8..255
  std::uint8_t type_byte;    // kPlain: type; kReference: type << 4 | policy
  std::uint8_t flag_byte;    // kPlain: policy << 5 | F << 4 | L << 3; kReference: F = 0x80, L = 0x40
  Be16 request_id;
  Be16 packet;
};
static_assert(sizeof(BaseHeader) == 8 && alignof(BaseHeader) == 1);
static_assert(offsetof(BaseHeader, request_id) == 4 && offsetof(BaseHeader, packet) == 6);

struct RequestExtension {
  Be16 task_type;
  Be32 deadline_us;
};
static_assert(sizeof(RequestExtension) == 6 && alignof(RequestExtension) == 1);

struct DispatchExtension {  // follows a RequestExtension
  std::array<std::uint8_t, 16> client_address;
  Be16 client_port;
  Be16 worker;
  std::uint8_t level;
  std::uint8_t flags;  // reserved, 0
  Be32 generation;
  Be32 switch_delay_ns;
  Be16 queue_length;
};
static_assert(sizeof(DispatchExtension) == 32 && alignof(DispatchExtension) == 1);

struct TokenExtension {  // FEEDBACK, SYNC and PULL
  Be16 worker;           // at the same place as RequestExtension::task_type: kernel filters steer by one load
  Be16 epoch;
  Be32 token_key;
  Be32 generation;
  std::uint8_t level;
  std::uint8_t flags;  // SYNC: recall = 0x01; the rest reserved, 0
  Be16 queue_length;
};
static_assert(sizeof(TokenExtension) == 16 && alignof(TokenExtension) == 1);

struct SyncAckExtension {
  Be16 worker;
  Be16 epoch;
  Be32 boot_id;
  Be32 seen;
  Be32 consumed;
  std::uint8_t level;
  std::uint8_t flags;  // recalled = 0x01; the rest reserved, 0
  Be16 reserved;       // 0
};
static_assert(sizeof(SyncAckExtension) == 20 && alignof(SyncAckExtension) == 1);

struct ReplyExtension {
  Be16 worker;
  Be16 queue_length;
  Be32 switch_delay_ns;
  Be32 worker_delay_ns;
  Be32 service_ns;
};
static_assert(sizeof(ReplyExtension) == 16 && alignof(ReplyExtension) == 1);

struct DropExtension {
  Be16 reason;
};
static_assert(sizeof(DropExtension) == 2 && alignof(DropExtension) == 1);

}  // namespace rain::wire
