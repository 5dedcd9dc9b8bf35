// Encode and decode: the only code that knows where a field lies. Included by message.h, which declares it;
// inline, because a switch decodes and encodes every packet and a caller that knows the type saves the
// dispatch on it. Freestanding.
//
// A group of fields that the packet's type does not have is left as it was: a Message that is used again and
// again costs the stores of its own fields only.
#pragma once

#include "base/assert.h"
#include "wire/layout.h"
#include "wire/message.h"

namespace rain::wire {

namespace detail {

// Byte 3 of the two layouts.
inline constexpr unsigned kPlainPolicyShift = 5;
inline constexpr std::uint8_t kPlainFirst = 0x10;
inline constexpr std::uint8_t kPlainLast = 0x08;
inline constexpr std::uint8_t kReferenceFirst = 0x80;
inline constexpr std::uint8_t kReferenceLast = 0x40;

// Flags of the token extension (SYNC) and of the sync ack extension.
inline constexpr std::uint8_t kRecallFlag = 0x01;
inline constexpr std::uint8_t kRecalledFlag = 0x01;

constexpr std::uint32_t type_bit(MessageType type) { return 1U << static_cast<unsigned>(type); }

inline constexpr std::uint32_t kKnownTypes =
    type_bit(MessageType::kRequest) | type_bit(MessageType::kReply) | type_bit(MessageType::kFeedback) |
    type_bit(MessageType::kRequestReady) | type_bit(MessageType::kDrop) | type_bit(MessageType::kSack) |
    type_bit(MessageType::kSync) | type_bit(MessageType::kSyncAck) | type_bit(MessageType::kPull) |
    type_bit(MessageType::kFetch) | type_bit(MessageType::kFetched);

/// Types that may take several packets: only theirs announce a packet count. R2P2 servers leave the field of
/// the others unset.
inline constexpr std::uint32_t kCountedTypes =
    type_bit(MessageType::kRequest) | type_bit(MessageType::kReply) | type_bit(MessageType::kFetched);

// Fields are read and written one by one, each straight at its place. To build a struct of them and copy that as
// a whole takes gcc 12 four times as long to encode a dispatch: it stores the fields narrow and reloads them
// wide, which defeats the processor's store forwarding.

inline std::uint8_t read8(const std::byte* at) { return static_cast<std::uint8_t>(*at); }

template <typename Int>
inline Int read(const std::byte* at) {
  Int wire;
  __builtin_memcpy(&wire, at, sizeof(Int));
  return swap_if_little_endian(wire);
}
inline std::uint16_t read16(const std::byte* at) { return read<std::uint16_t>(at); }
inline std::uint32_t read32(const std::byte* at) { return read<std::uint32_t>(at); }

inline void write8(std::byte* at, std::uint8_t host) { *at = std::byte{host}; }
inline void write16(std::byte* at, std::uint16_t host) {
  const std::uint16_t wire = swap_if_little_endian(host);
  __builtin_memcpy(at, &wire, sizeof(wire));
}
inline void write32(std::byte* at, std::uint32_t host) {
  const std::uint32_t wire = swap_if_little_endian(host);
  __builtin_memcpy(at, &wire, sizeof(wire));
}

inline void unpack(const std::byte* at, RequestFields& fields) {
  using Wire = RequestExtension;
  fields.task_type.value = read16(at + offsetof(Wire, task_type));
  fields.deadline_us = read32(at + offsetof(Wire, deadline_us));
}
inline void pack(std::byte* at, const RequestFields& fields) {
  using Wire = RequestExtension;
  write16(at + offsetof(Wire, task_type), fields.task_type.value);
  write32(at + offsetof(Wire, deadline_us), fields.deadline_us);
}

inline void unpack(const std::byte* at, DispatchFields& fields) {
  using Wire = DispatchExtension;
  __builtin_memcpy(fields.client.address.data(), at + offsetof(Wire, client_address),
                   sizeof(Wire::client_address));
  fields.client.port = read16(at + offsetof(Wire, client_port));
  fields.worker.value = read16(at + offsetof(Wire, worker));
  fields.level.value = read8(at + offsetof(Wire, level));
  fields.generation.value = read32(at + offsetof(Wire, generation));
  fields.switch_delay_ns = read32(at + offsetof(Wire, switch_delay_ns));
  fields.queue_length = read16(at + offsetof(Wire, queue_length));
}
inline void pack(std::byte* at, const DispatchFields& fields) {
  using Wire = DispatchExtension;
  __builtin_memcpy(at + offsetof(Wire, client_address), fields.client.address.data(),
                   sizeof(Wire::client_address));
  write16(at + offsetof(Wire, client_port), fields.client.port);
  write16(at + offsetof(Wire, worker), fields.worker.value);
  write8(at + offsetof(Wire, level), fields.level.value);
  write32(at + offsetof(Wire, generation), fields.generation.value);
  write32(at + offsetof(Wire, switch_delay_ns), fields.switch_delay_ns);
  write16(at + offsetof(Wire, queue_length), fields.queue_length);
  write8(at + offsetof(Wire, flags), 0);
}

inline void unpack(const std::byte* at, TokenFields& fields) {
  using Wire = TokenExtension;
  fields.worker.value = read16(at + offsetof(Wire, worker));
  fields.epoch.value = read16(at + offsetof(Wire, epoch));
  fields.token_key = read32(at + offsetof(Wire, token_key));
  fields.generation.value = read32(at + offsetof(Wire, generation));
  fields.level.value = read8(at + offsetof(Wire, level));
  fields.recall = (read8(at + offsetof(Wire, flags)) & kRecallFlag) != 0;
  fields.queue_length = read16(at + offsetof(Wire, queue_length));
}
inline void pack(std::byte* at, const TokenFields& fields) {
  using Wire = TokenExtension;
  write16(at + offsetof(Wire, worker), fields.worker.value);
  write16(at + offsetof(Wire, epoch), fields.epoch.value);
  write32(at + offsetof(Wire, token_key), fields.token_key);
  write32(at + offsetof(Wire, generation), fields.generation.value);
  write8(at + offsetof(Wire, level), fields.level.value);
  write8(at + offsetof(Wire, flags), fields.recall ? kRecallFlag : 0);
  write16(at + offsetof(Wire, queue_length), fields.queue_length);
}

inline void unpack(const std::byte* at, SyncAckFields& fields) {
  using Wire = SyncAckExtension;
  fields.worker.value = read16(at + offsetof(Wire, worker));
  fields.epoch.value = read16(at + offsetof(Wire, epoch));
  fields.boot_id.value = read32(at + offsetof(Wire, boot_id));
  fields.seen.value = read32(at + offsetof(Wire, seen));
  fields.consumed.value = read32(at + offsetof(Wire, consumed));
  fields.level.value = read8(at + offsetof(Wire, level));
  fields.recalled = (read8(at + offsetof(Wire, flags)) & kRecalledFlag) != 0;
}
inline void pack(std::byte* at, const SyncAckFields& fields) {
  using Wire = SyncAckExtension;
  write16(at + offsetof(Wire, worker), fields.worker.value);
  write16(at + offsetof(Wire, epoch), fields.epoch.value);
  write32(at + offsetof(Wire, boot_id), fields.boot_id.value);
  write32(at + offsetof(Wire, seen), fields.seen.value);
  write32(at + offsetof(Wire, consumed), fields.consumed.value);
  write8(at + offsetof(Wire, level), fields.level.value);
  write8(at + offsetof(Wire, flags), fields.recalled ? kRecalledFlag : 0);
  write16(at + offsetof(Wire, reserved), 0);
}

inline void unpack(const std::byte* at, ReplyFields& fields) {
  using Wire = ReplyExtension;
  fields.worker.value = read16(at + offsetof(Wire, worker));
  fields.queue_length = read16(at + offsetof(Wire, queue_length));
  fields.switch_delay_ns = read32(at + offsetof(Wire, switch_delay_ns));
  fields.worker_delay_ns = read32(at + offsetof(Wire, worker_delay_ns));
  fields.service_ns = read32(at + offsetof(Wire, service_ns));
}
inline void pack(std::byte* at, const ReplyFields& fields) {
  using Wire = ReplyExtension;
  write16(at + offsetof(Wire, worker), fields.worker.value);
  write16(at + offsetof(Wire, queue_length), fields.queue_length);
  write32(at + offsetof(Wire, switch_delay_ns), fields.switch_delay_ns);
  write32(at + offsetof(Wire, worker_delay_ns), fields.worker_delay_ns);
  write32(at + offsetof(Wire, service_ns), fields.service_ns);
}

inline void unpack(const std::byte* at, DropFields& fields) {
  fields.reason = drop_reason_from_wire(read16(at + offsetof(DropExtension, reason)));
}
inline void pack(std::byte* at, const DropFields& fields) {
  write16(at + offsetof(DropExtension, reason), static_cast<std::uint16_t>(fields.reason));
}

/// How long the extension of a group of fields is.
template <typename Fields>
inline constexpr std::size_t kWireBytes = 0;
template <>
inline constexpr std::size_t kWireBytes<RequestFields> = sizeof(RequestExtension);
template <>
inline constexpr std::size_t kWireBytes<DispatchFields> = sizeof(DispatchExtension);
template <>
inline constexpr std::size_t kWireBytes<TokenFields> = sizeof(TokenExtension);
template <>
inline constexpr std::size_t kWireBytes<SyncAckFields> = sizeof(SyncAckExtension);
template <>
inline constexpr std::size_t kWireBytes<ReplyFields> = sizeof(ReplyExtension);
template <>
inline constexpr std::size_t kWireBytes<DropFields> = sizeof(DropExtension);

/// The base header's own fields; its magic has been checked.
inline DropReason decode_base(const std::byte* at, Message& out) {
  const std::uint8_t type_byte = read8(at + offsetof(BaseHeader, type_byte));
  const std::uint8_t flag_byte = read8(at + offsetof(BaseHeader, flag_byte));
  out.layout = static_cast<Layout>(read8(at));
  const bool plain = out.layout == Layout::kPlain;
  const unsigned type = plain ? type_byte : type_byte >> 4;
  const unsigned policy = plain ? flag_byte >> kPlainPolicyShift : type_byte & 0x0F;
  out.first = (flag_byte & (plain ? kPlainFirst : kReferenceFirst)) != 0;
  out.last = (flag_byte & (plain ? kPlainLast : kReferenceLast)) != 0;
  if (type >= 32 || (kKnownTypes >> type & 1) == 0) return DropReason::kUnknownType;
  if (policy > static_cast<unsigned>(Policy::kSticky)) return DropReason::kUnknownPolicy;
  out.type = static_cast<MessageType>(type);
  out.policy = static_cast<Policy>(policy);
  out.request_id = {read16(at + offsetof(BaseHeader, request_id))};
  out.packet = read16(at + offsetof(BaseHeader, packet));
  if (out.first && out.packet == 0 && (kCountedTypes >> type & 1) != 0) return DropReason::kBadPacketCount;
  return DropReason::kNone;
}

/// The one extension of a type that has one. A header of 8 bytes has none, if the type can do without.
template <typename Fields>
inline DropReason decode_extension(std::span<const std::byte> header, bool required, Message& out,
                                   Fields& fields) {
  out.has_extension = header.size() >= kBaseHeaderBytes + kWireBytes<Fields>;
  if (out.has_extension) {
    unpack(header.data() + kBaseHeaderBytes, fields);
    return DropReason::kNone;
  }
  if (required || header.size() > kBaseHeaderBytes) return DropReason::kTruncatedExtension;
  fields = {};
  return DropReason::kNone;
}

inline DropReason decode_request_extensions(std::span<const std::byte> header, Message& out) {
  constexpr std::size_t kDispatchAt = kBaseHeaderBytes + kWireBytes<RequestFields>;
  if (header.size() <= kDispatchAt) return decode_extension(header, false, out, out.request);
  if (header.size() < kDispatchAt + kWireBytes<DispatchFields>) return DropReason::kTruncatedExtension;
  unpack(header.data() + kBaseHeaderBytes, out.request);
  unpack(header.data() + kDispatchAt, out.dispatch);
  out.has_extension = true;
  out.has_dispatch = true;
  return DropReason::kNone;
}

inline DropReason decode_extensions(std::span<const std::byte> header, Message& out) {
  out.has_dispatch = false;
  switch (out.type) {
    case MessageType::kRequest:
      return decode_request_extensions(header, out);
    case MessageType::kReply:
      return decode_extension(header, false, out, out.reply);
    case MessageType::kFeedback:
      return decode_extension(header, false, out, out.token);
    case MessageType::kDrop:
      return decode_extension(header, false, out, out.drop);
    case MessageType::kSync:
    case MessageType::kPull:
      return decode_extension(header, true, out, out.token);
    case MessageType::kSyncAck:
      return decode_extension(header, true, out, out.sync_ack);
    case MessageType::kRequestReady:
    case MessageType::kSack:
    case MessageType::kFetch:
    case MessageType::kFetched:
      break;
  }
  out.has_extension = false;
  return DropReason::kNone;
}

inline void encode_base(std::byte* at, const Message& message, std::size_t size) {
  const bool plain = message.layout == Layout::kPlain;
  const auto type = static_cast<unsigned>(message.type);
  const auto policy = static_cast<unsigned>(message.policy);
  const unsigned first = message.first ? (plain ? kPlainFirst : kReferenceFirst) : 0;
  const unsigned last = message.last ? (plain ? kPlainLast : kReferenceLast) : 0;
  const unsigned type_byte = plain ? type : type << 4 | policy;
  const unsigned flag_byte = (plain ? policy << kPlainPolicyShift : 0) | first | last;
  write8(at + offsetof(BaseHeader, magic), static_cast<std::uint8_t>(message.layout));
  write8(at + offsetof(BaseHeader, header_size), static_cast<std::uint8_t>(size));
  write8(at + offsetof(BaseHeader, type_byte), static_cast<std::uint8_t>(type_byte));
  write8(at + offsetof(BaseHeader, flag_byte), static_cast<std::uint8_t>(flag_byte));
  write16(at + offsetof(BaseHeader, request_id), message.request_id.value);
  write16(at + offsetof(BaseHeader, packet), message.packet);
}

/// Base header and extensions, so that they end at `end`. Returns the first byte.
template <typename... Fields>
inline std::byte* put_before(std::byte* end, const Message& message, const Fields&... groups) {
  constexpr std::size_t kSize = kBaseHeaderBytes + (kWireBytes<Fields> + ... + 0);
  static_assert(kSize <= kMaxHeaderBytes);
  std::byte* const start = end - kSize;
  encode_base(start, message, kSize);
  [[maybe_unused]] std::byte* at = start + kBaseHeaderBytes;
  ((pack(at, groups), at += kWireBytes<Fields>), ...);
  return start;
}

}  // namespace detail

inline DropReason decode(std::span<const std::byte> packet, Message& out) {
  using namespace detail;
  if (packet.size() < kBaseHeaderBytes) return DropReason::kTruncatedHeader;
  const std::uint8_t magic = read8(packet.data());
  if (magic != static_cast<std::uint8_t>(Layout::kPlain) &&
      magic != static_cast<std::uint8_t>(Layout::kReference)) {
    return DropReason::kBadMagic;
  }
  const std::size_t size = read8(packet.data() + offsetof(BaseHeader, header_size));
  if (size < kBaseHeaderBytes || size > packet.size()) return DropReason::kBadHeaderSize;
  DropReason reason = decode_base(packet.data(), out);
  if (reason != DropReason::kNone) return reason;
  reason = decode_extensions(packet.first(size), out);
  if (reason != DropReason::kNone) return reason;
  out.payload = packet.subspan(size);
  return out.payload.size() > kMaxPayloadBytes ? DropReason::kOversizedPayload : DropReason::kNone;
}

inline std::size_t header_size(const Message& message) {
  using namespace detail;
  std::size_t extension = 0;
  switch (message.type) {
    case MessageType::kRequest:
      extension = kWireBytes<RequestFields>;
      if (message.has_dispatch) return kBaseHeaderBytes + extension + kWireBytes<DispatchFields>;
      break;
    case MessageType::kReply:
      extension = kWireBytes<ReplyFields>;
      break;
    case MessageType::kFeedback:
      extension = kWireBytes<TokenFields>;
      break;
    case MessageType::kDrop:
      extension = kWireBytes<DropFields>;
      break;
    case MessageType::kSync:
    case MessageType::kPull:
      return kBaseHeaderBytes + kWireBytes<TokenFields>;
    case MessageType::kSyncAck:
      return kBaseHeaderBytes + kWireBytes<SyncAckFields>;
    case MessageType::kRequestReady:
    case MessageType::kSack:
    case MessageType::kFetch:
    case MessageType::kFetched:
      break;
  }
  return kBaseHeaderBytes + (message.has_extension ? extension : 0);
}

inline std::byte* encode_header_before(const Message& message, std::byte* header_end) {
  using namespace detail;
  switch (message.type) {
    case MessageType::kRequest:
      if (message.has_dispatch) return put_before(header_end, message, message.request, message.dispatch);
      if (message.has_extension) return put_before(header_end, message, message.request);
      break;
    case MessageType::kReply:
      if (message.has_extension) return put_before(header_end, message, message.reply);
      break;
    case MessageType::kFeedback:
      if (message.has_extension) return put_before(header_end, message, message.token);
      break;
    case MessageType::kDrop:
      if (message.has_extension) return put_before(header_end, message, message.drop);
      break;
    case MessageType::kSync:
    case MessageType::kPull:
      return put_before(header_end, message, message.token);
    case MessageType::kSyncAck:
      return put_before(header_end, message, message.sync_ack);
    case MessageType::kRequestReady:
    case MessageType::kSack:
    case MessageType::kFetch:
    case MessageType::kFetched:
      break;
  }
  return put_before(header_end, message);
}

inline std::span<std::byte> encode(const Message& message, std::span<std::byte> out) {
  const std::size_t header = header_size(message);
  const std::size_t total = header + message.payload.size();
  RAIN_ASSERT(out.size() >= total);
  encode_header_before(message, out.data() + header);
  if (!message.payload.empty())
    __builtin_memmove(out.data() + header, message.payload.data(), message.payload.size());
  return out.first(total);
}

}  // namespace rain::wire
