#include "apps/rocksdb_protocol.h"

#include <bit>
#include <cstring>

#include "apps/reply_status.h"
#include "base/assert.h"
#include "base/prng.h"
#include "wire/big_endian.h"

namespace rain::apps {
namespace {

using wire::Be16;
using wire::Be32;
using wire::Be64;

struct RequestHead {
  std::uint8_t operation;
  std::uint8_t items;
  Be16 keys;
};
static_assert(sizeof(RequestHead) == 4 && alignof(RequestHead) == 1);

struct AnswerBody {  // after the status byte
  Be32 found;
  Be64 checksum;
};
static_assert(sizeof(AnswerBody) + 1 == kRocksDbReplyBytes && alignof(AnswerBody) == 1);

static_assert(kMaxKeysPerRequest == 10'000, "the message below says so");
constexpr std::size_t kWordBytes = sizeof(Be32);
static_assert(sizeof(RequestHead) + kWordBytes == kRocksDbRequestBytes);

std::uint32_t word_at(Payload bytes, std::size_t offset) {
  Be32 word;
  std::memcpy(&word, bytes.data() + offset, sizeof(word));
  return word.get();
}

void put_head(RocksDbOperation operation, RocksDbItems items, std::uint32_t keys, std::span<std::byte> out) {
  RAIN_ASSERT(keys >= 1 && keys <= kMaxKeysPerRequest);
  const RequestHead head{static_cast<std::uint8_t>(operation), static_cast<std::uint8_t>(items),
                         static_cast<std::uint16_t>(keys)};
  std::memcpy(out.data(), &head, sizeof(head));
}

void put_word(std::uint32_t value, std::span<std::byte> out, std::size_t offset) {
  const Be32 word(value);
  std::memcpy(out.data() + offset, &word, sizeof(word));
}

}  // namespace

ParsedRocksDbRequest parse_rocksdb_request(Payload bytes) {
  if (bytes.size() < kRocksDbRequestBytes) return {{}, "rocksdb: a request has at least 8 bytes"};
  RequestHead head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  RocksDbRequest request;
  if (head.operation < 1 || head.operation > 3) return {{}, "rocksdb: operation in byte 0 is not 1, 2 or 3"};
  request.operation = static_cast<RocksDbOperation>(head.operation);
  if (head.items > 1) return {{}, "rocksdb: items in byte 1 are not 0 or 1"};
  request.items = static_cast<RocksDbItems>(head.items);
  request.keys = head.keys.get();
  if (request.keys < 1 || request.keys > kMaxKeysPerRequest) {
    return {{}, "rocksdb: number of keys in bytes 2-3 is not 1 to 10000"};
  }
  const bool listed = request.operation == RocksDbOperation::kGetListed;
  const std::size_t words = listed ? request.keys : 1;
  if (bytes.size() != sizeof(head) + words * kWordBytes) {
    return {
        {},
        listed ? "rocksdb: request is not 4 bytes and 4 for each key" : "rocksdb: request is not 8 bytes"};
  }
  if (listed) {
    request.listed = bytes.subspan(sizeof(head));
  } else {
    request.start = word_at(bytes, sizeof(head));
  }
  return {request, {}};
}

Payload write_rocksdb_request(const RocksDbRequest& request, std::span<std::byte> out) {
  RAIN_ASSERT(request.operation != RocksDbOperation::kGetListed && out.size() >= kRocksDbRequestBytes);
  put_head(request.operation, request.items, request.keys, out);
  put_word(request.start, out, sizeof(RequestHead));
  return out.first(kRocksDbRequestBytes);
}

Payload write_rocksdb_get(RocksDbItems items, std::span<const std::uint32_t> keys, std::span<std::byte> out) {
  const std::size_t size = sizeof(RequestHead) + keys.size() * kWordBytes;
  RAIN_ASSERT(out.size() >= size);
  put_head(RocksDbOperation::kGetListed, items, static_cast<std::uint32_t>(keys.size()), out);
  for (std::size_t i = 0; i < keys.size(); ++i) put_word(keys[i], out, sizeof(RequestHead) + i * kWordBytes);
  return out.first(size);
}

std::uint32_t listed_key(const RocksDbRequest& request, std::uint32_t i) {
  RAIN_ASSERT((i + 1) * kWordBytes <= request.listed.size());
  return word_at(request.listed, i * kWordBytes);
}

void append_rocksdb_answer(const RocksDbAnswer& answer, ReplyBuffer& reply) {
  append_status(reply, ReplyStatus::kOk);
  const AnswerBody body{answer.found, answer.checksum};
  reply.append(std::as_bytes(std::span(&body, 1)));
}

std::optional<RocksDbAnswer> parse_rocksdb_answer(Payload reply) {
  if (!status_error(reply, kRocksDbReplyBytes).empty()) return std::nullopt;
  AnswerBody body;
  std::memcpy(&body, reply.data() + 1, sizeof(body));
  return RocksDbAnswer{body.found.get(), body.checksum.get()};
}

std::array<char, 8> rocksdb_key(std::uint32_t key) { return std::bit_cast<std::array<char, 8>>(Be64(key)); }

void rocksdb_value(std::uint32_t key, std::span<char> value) {
  RAIN_ASSERT(value.size() % sizeof(std::uint64_t) == 0);
  SplitMix64 words(key);
  for (std::size_t at = 0; at < value.size(); at += sizeof(std::uint64_t)) {
    const Be64 word(words.next());
    std::memcpy(value.data() + at, &word, sizeof(word));
  }
}

std::uint64_t value_checksum(std::string_view value) {
  Be64 first;
  Be64 last;
  if (value.size() < sizeof(first)) return 0;
  std::memcpy(&first, value.data(), sizeof(first));
  std::memcpy(&last, value.data() + value.size() - sizeof(last), sizeof(last));
  return first.get() ^ std::rotl(last.get(), 1);
}

}  // namespace rain::apps
