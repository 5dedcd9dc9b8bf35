// Requests and replies of the application `rocksdb`, and what its database holds. Needs no RocksDB, so a load
// generator runs on machines without it.
//
// Request, big-endian:
//   byte 0     operation: 1 GET by seed, 2 SCAN, 3 GET of the keys listed
//   byte 1     items: 0 small (64-byte values), 1 large (1,024-byte values)
//   bytes 2-3  number of keys, 1..kMaxKeysPerRequest
//   bytes 4-7  1: seed of the keys; 2: first key; 3: the first of the keys, 4 bytes each
// 1 and 2 are 8 bytes in all and so fit the switch's task entry. Reply: status, number of keys found (32 bits), checksum
// over the values found (64 bits).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/prng.h"
#include "rain/rpc.h"
#include "rain/worker.h"

namespace rain::apps {

/// Task types, for the slice table: GETs and SCANs may be served by workers of their own (section 5.2.2 of the paper).
inline constexpr TaskType kTaskGet{1};
inline constexpr TaskType kTaskScan{2};

enum class RocksDbOperation : std::uint8_t { kGetSeeded = 1, kScan = 2, kGetListed = 3 };
enum class RocksDbItems : std::uint8_t { kSmall = 0, kLarge = 1 };

inline constexpr std::size_t kSmallValueBytes = 64;
inline constexpr std::size_t kLargeValueBytes = 1024;
/// Bounds the time that one request can hold a worker: a SCAN of so many large items takes about 2 ms.
inline constexpr std::uint32_t kMaxKeysPerRequest = 10'000;
inline constexpr std::size_t kRocksDbRequestBytes = 8;  ///< with one word after the head
inline constexpr std::size_t kRocksDbReplyBytes = 13;

struct RocksDbRequest {
  RocksDbOperation operation = RocksDbOperation::kGetSeeded;
  RocksDbItems items = RocksDbItems::kSmall;
  std::uint32_t keys = 1;   ///< kGetListed: filled in by parse, ignored by write
  std::uint32_t start = 0;  ///< seed (kGetSeeded) or first key (kScan)
  Payload listed{};         ///< kGetListed: the keys as they are on the wire
};

/// A request, or why it is none, in words for people.
struct ParsedRocksDbRequest {
  std::optional<RocksDbRequest> request;
  std::string_view error;
};
ParsedRocksDbRequest parse_rocksdb_request(Payload bytes);

/// Writes a kGetSeeded or kScan.
Payload write_rocksdb_request(const RocksDbRequest& request, std::span<std::byte> out);
/// Writes a kGetListed of at most (out.size() - 4) / 4 keys.
Payload write_rocksdb_get(RocksDbItems items, std::span<const std::uint32_t> keys, std::span<std::byte> out);

/// The i-th key of a kGetListed.
std::uint32_t listed_key(const RocksDbRequest& request, std::uint32_t i);

struct RocksDbAnswer {
  std::uint32_t found = 0;
  std::uint64_t checksum = 0;
  bool operator==(const RocksDbAnswer&) const = default;
};
void append_rocksdb_answer(const RocksDbAnswer& answer, ReplyBuffer& reply);
/// Nothing when the reply is not one of status kOk.
std::optional<RocksDbAnswer> parse_rocksdb_answer(Payload reply);

/// The keys of a kGetSeeded, one after the other: uniform over the items that there are.
class SeededKeys {
 public:
  SeededKeys(std::uint32_t seed, std::uint32_t items) : bits_(SplitMix64(seed).next()), items_(items) {}
  std::uint32_t next() { return static_cast<std::uint32_t>(((bits_.next() >> 32) * items_) >> 32); }

 private:
  SplitMix64 bits_;
  std::uint32_t items_;
};

/// A key as the database has it: 8 bytes, big-endian, so that their order is the numbers'.
std::array<char, 8> rocksdb_key(std::uint32_t key);
/// What the database holds under `key`, written to `value` (of either size; any multiple of 8).
void rocksdb_value(std::uint32_t key, std::span<char> value);
/// The share of one value in a checksum: of its first and last 8 bytes, so that both ends must have been right. Shares
/// are added up, so that the order of the keys does not matter.
std::uint64_t value_checksum(std::string_view value);

}  // namespace rain::apps
