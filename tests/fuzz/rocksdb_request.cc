// Any bytes as a request and as a reply of the application rocksdb: what is accepted is bounded and means the same when it
// is written again.
#include <algorithm>
#include <array>

#include "apps/rocksdb_protocol.h"
#include "base/assert.h"
#include "fuzz/fuzz.h"

namespace rain::fuzz {

namespace {

using namespace rain::apps;

void check_request(std::span<const std::byte> input) {
  const ParsedRocksDbRequest parsed = parse_rocksdb_request(input);
  RAIN_ASSERT(parsed.request.has_value() == parsed.error.empty());
  if (!parsed.request) return;
  const RocksDbRequest& request = *parsed.request;
  RAIN_ASSERT(request.keys >= 1 && request.keys <= kMaxKeysPerRequest);

  std::vector<std::byte> out(input.size());
  Payload written;
  if (request.operation == RocksDbOperation::kGetListed) {
    std::vector<std::uint32_t> keys;
    for (std::uint32_t i = 0; i < request.keys; ++i) keys.push_back(listed_key(request, i));
    written = write_rocksdb_get(request.items, keys, out);
  } else {
    written = write_rocksdb_request(request, out);
  }
  RAIN_ASSERT(std::equal(written.begin(), written.end(), input.begin(), input.end()));
}

void check_reply(std::span<const std::byte> input) {
  const auto answer = parse_rocksdb_answer(input);
  RAIN_ASSERT(answer.has_value() == (input.size() == kRocksDbReplyBytes && input[0] == std::byte{0}));
  if (!answer) return;
  ReplyBuffer reply;
  append_rocksdb_answer(*answer, reply);
  const Payload written = reply.bytes();
  RAIN_ASSERT(std::equal(written.begin(), written.end(), input.begin(), input.end()));
}

}  // namespace

void one_input(std::span<const std::byte> input) {
  check_request(input);
  check_reply(input);
}

std::vector<Input> seeds() {
  std::array<std::byte, 64> out;
  const auto copy = [](Payload payload) { return Input(payload.begin(), payload.end()); };
  const std::array<std::uint32_t, 3> keys = {1, 2, 0xFFFFFFFF};
  ReplyBuffer reply;
  append_rocksdb_answer({.found = 10, .checksum = 7}, reply);
  return {copy(write_rocksdb_request({.keys = 10, .start = 99}, out)),
          copy(write_rocksdb_request(
              {.operation = RocksDbOperation::kScan, .items = RocksDbItems::kLarge, .keys = 500}, out)),
          copy(write_rocksdb_get(RocksDbItems::kSmall, keys, out)), copy(reply.bytes())};
}

}  // namespace rain::fuzz
