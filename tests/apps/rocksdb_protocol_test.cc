// Requests and replies of the application rocksdb, byte by byte, good and bad.
#include "apps/rocksdb_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "apps/reply_status.h"

namespace rain::apps {
namespace {

using ::testing::ElementsAreArray;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> made;
  for (const int value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}

std::vector<std::byte> copy(Payload payload) { return {payload.begin(), payload.end()}; }

TEST(rocksdb_protocol, write__get_fits_the_task_entry) {
  std::array<std::byte, 64> out;
  const RocksDbRequest request{.operation = RocksDbOperation::kGetSeeded,
                               .items = RocksDbItems::kSmall,
                               .keys = 10,
                               .start = 0x01020304};
  EXPECT_EQ(copy(write_rocksdb_request(request, out)), bytes({1, 0, 0, 10, 1, 2, 3, 4}));
}

TEST(rocksdb_protocol, write__scan_fits_the_task_entry) {
  std::array<std::byte, 64> out;
  const RocksDbRequest request{
      .operation = RocksDbOperation::kScan, .items = RocksDbItems::kLarge, .keys = 500, .start = 99};
  EXPECT_EQ(copy(write_rocksdb_request(request, out)), bytes({2, 1, 1, 0xF4, 0, 0, 0, 99}));
}

TEST(rocksdb_protocol, parse__reads_what_was_written) {
  std::array<std::byte, 64> out;
  for (const auto operation : {RocksDbOperation::kGetSeeded, RocksDbOperation::kScan}) {
    for (const auto items : {RocksDbItems::kSmall, RocksDbItems::kLarge}) {
      for (const std::uint32_t keys : {1U, 500U, kMaxKeysPerRequest}) {
        const auto parsed = parse_rocksdb_request(write_rocksdb_request(
            {.operation = operation, .items = items, .keys = keys, .start = 0xFFFFFFFF}, out));
        ASSERT_TRUE(parsed.request) << parsed.error;
        EXPECT_EQ(parsed.request->operation, operation);
        EXPECT_EQ(parsed.request->items, items);
        EXPECT_EQ(parsed.request->keys, keys);
        EXPECT_EQ(parsed.request->start, 0xFFFFFFFF);
      }
    }
  }
}

TEST(rocksdb_protocol, parse__reads_listed_keys) {
  std::array<std::byte, kMaxMessageBytes> out;
  const std::vector<std::uint32_t> keys = {5, 0, 0xFFFFFFFF};
  const Payload written = write_rocksdb_get(RocksDbItems::kLarge, keys, out);
  EXPECT_EQ(copy(written), bytes({3, 1, 0, 3, 0, 0, 0, 5, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF}));
  const auto parsed = parse_rocksdb_request(written);
  ASSERT_TRUE(parsed.request) << parsed.error;
  ASSERT_EQ(parsed.request->keys, 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(listed_key(*parsed.request, i), keys[i]);
}

TEST(rocksdb_protocol, parse__errors) {
  struct Case {
    std::vector<std::byte> request;
    std::string_view error;
  };
  for (const Case& c : {
           Case{bytes({}), "rocksdb: a request has at least 8 bytes"},
           Case{bytes({1, 0, 0, 10, 0, 0, 0}), "rocksdb: a request has at least 8 bytes"},
           Case{bytes({0, 0, 0, 10, 0, 0, 0, 0}), "rocksdb: operation in byte 0 is not 1, 2 or 3"},
           Case{bytes({4, 0, 0, 10, 0, 0, 0, 0}), "rocksdb: operation in byte 0 is not 1, 2 or 3"},
           Case{bytes({1, 2, 0, 10, 0, 0, 0, 0}), "rocksdb: items in byte 1 are not 0 or 1"},
           Case{bytes({1, 0, 0, 0, 0, 0, 0, 0}), "rocksdb: number of keys in bytes 2-3 is not 1 to 10000"},
           Case{bytes({2, 0, 0x27, 0x11, 0, 0, 0, 0}),
                "rocksdb: number of keys in bytes 2-3 is not 1 to 10000"},
           Case{bytes({1, 0, 0, 10, 0, 0, 0, 0, 0}), "rocksdb: request is not 8 bytes"},
           Case{bytes({3, 0, 0, 2, 0, 0, 0, 0}), "rocksdb: request is not 4 bytes and 4 for each key"},
           Case{bytes({3, 0, 0x27, 0x10, 0, 0, 0, 0}), "rocksdb: request is not 4 bytes and 4 for each key"},
       }) {
    const auto parsed = parse_rocksdb_request(c.request);
    EXPECT_FALSE(parsed.request);
    EXPECT_EQ(parsed.error, c.error);
  }
}

TEST(rocksdb_protocol, parse__any_bytes_are_safe) {
  Prng random(1);
  int good = 0;
  for (int i = 0; i < 200'000; ++i) {
    // As often plausible heads as noise, in a buffer of exactly their size so that sanitizers see every overrun.
    std::vector<std::byte> request(random.below(40));
    for (std::byte& byte : request) byte = static_cast<std::byte>(random.next());
    if (request.size() >= 4 && random.chance(0.5)) {
      request[0] = static_cast<std::byte>(random.below(5));
      request[1] = static_cast<std::byte>(random.below(3));
      request[2] = std::byte{0};
      request[3] = static_cast<std::byte>(random.below(12));
    }
    const auto parsed = parse_rocksdb_request(request);
    ASSERT_NE(parsed.request.has_value(), !parsed.error.empty());
    if (!parsed.request) continue;
    ++good;
    ASSERT_GE(parsed.request->keys, 1u);
    ASSERT_LE(parsed.request->keys, kMaxKeysPerRequest);
    if (parsed.request->operation != RocksDbOperation::kGetListed) continue;
    for (std::uint32_t k = 0; k < parsed.request->keys; ++k)
      static_cast<void>(listed_key(*parsed.request, k));
  }
  EXPECT_GT(good, 100);
}

TEST(rocksdb_protocol, answer__round_trip) {
  ReplyBuffer reply;
  const RocksDbAnswer answer{.found = 10, .checksum = 0x0102030405060708};
  append_rocksdb_answer(answer, reply);
  EXPECT_EQ(copy(reply.bytes()), bytes({0, 0, 0, 0, 10, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(parse_rocksdb_answer(reply.bytes()), answer);
}

TEST(rocksdb_protocol, answer__refusals_and_cut_replies_are_none) {
  ReplyBuffer reply;
  EXPECT_EQ(parse_rocksdb_answer(reply.bytes()), std::nullopt);
  refuse(reply, ReplyStatus::kBadRequest, "twelve bytes");
  EXPECT_EQ(parse_rocksdb_answer(reply.bytes()), std::nullopt);
  reply.clear();
  append_rocksdb_answer({}, reply);
  EXPECT_EQ(parse_rocksdb_answer(Payload(reply.bytes()).first(12)), std::nullopt);
}

TEST(rocksdb_protocol, seeded_keys__in_range_spread_and_repeatable) {
  constexpr std::uint32_t kItems = 1000;
  SeededKeys keys(7, kItems);
  SeededKeys again(7, kItems);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t key = keys.next();
    ASSERT_LT(key, kItems);
    ASSERT_EQ(key, again.next());
    seen.insert(key);
  }
  EXPECT_EQ(seen.size(), kItems) << "20 draws for each key: all are met but for a chance of 2 in a million";
}

TEST(rocksdb_protocol, seeded_keys__neighbouring_seeds_have_nothing_in_common) {
  std::set<std::uint32_t> seen;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SeededKeys keys(seed, 0xFFFFFFFF);
    for (int i = 0; i < 10; ++i) seen.insert(keys.next());
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(rocksdb_protocol, key__order_is_that_of_the_numbers) {
  const std::vector<std::uint32_t> numbers = {0, 1, 255, 256, 65'535, 65'536, 0x7FFFFFFF, 0xFFFFFFFF};
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const auto low = rocksdb_key(numbers[i - 1]);
    const auto high = rocksdb_key(numbers[i]);
    EXPECT_LT(std::string_view(low.data(), low.size()), std::string_view(high.data(), high.size()));
  }
}

TEST(rocksdb_protocol, value__differs_by_key_and_is_repeatable) {
  std::array<char, kSmallValueBytes> one;
  std::array<char, kSmallValueBytes> same;
  std::array<char, kSmallValueBytes> other;
  rocksdb_value(1, one);
  rocksdb_value(1, same);
  rocksdb_value(2, other);
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
}

TEST(rocksdb_protocol, value_checksum__sees_both_ends) {
  std::array<char, kLargeValueBytes> value;
  rocksdb_value(1, value);
  const std::string_view text(value.data(), value.size());
  const std::uint64_t good = value_checksum(text);
  value.front() ^= 1;
  EXPECT_NE(value_checksum(text), good);
  value.front() ^= 1;
  value.back() ^= 1;
  EXPECT_NE(value_checksum(text), good);
  EXPECT_NE(value_checksum(text.substr(0, 1016)), good) << "cut";
  EXPECT_EQ(value_checksum("short"), 0u);
}

}  // namespace
}  // namespace rain::apps
