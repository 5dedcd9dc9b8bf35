// The database: filled once and rightly, read by many, and every answer held against what was filled.
#include "apps/rocksdb_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include "apps/reply_status.h"
#include "apps/rocksdb.h"
#include "apps/serve.h"
#include "apps/temporary_directory.h"

namespace rain::apps {
namespace {

namespace fs = std::filesystem;

constexpr RocksDbShape kShape{.small_keys = 3'000, .large_keys = 400};

std::shared_ptr<RocksDbStore> opened(const fs::path& directory, const Progress& progress) {
  auto store = RocksDbStore::open(directory, kShape, progress);
  EXPECT_TRUE(store) << store.error();
  return store ? *store : nullptr;
}
void silent(std::string_view, std::uint64_t, std::uint64_t) {}

std::uint64_t expected_checksum(RocksDbItems items, std::uint32_t key) {
  std::vector<char> value(items == RocksDbItems::kSmall ? kSmallValueBytes : kLargeValueBytes);
  rocksdb_value(key, value);
  return value_checksum({value.data(), value.size()});
}

// What the database must answer, from the definition of its contents alone.
RocksDbAnswer expected_answer(const RocksDbRequest& request) {
  const std::uint32_t items = request.items == RocksDbItems::kSmall ? kShape.small_keys : kShape.large_keys;
  SeededKeys seeded(request.start, items);
  RocksDbAnswer answer;
  for (std::uint32_t i = 0; i < request.keys; ++i) {
    std::uint64_t key = std::uint64_t{request.start} + i;
    if (request.operation == RocksDbOperation::kGetSeeded) key = seeded.next();
    if (request.operation == RocksDbOperation::kGetListed) key = listed_key(request, i);
    if (key >= items) continue;
    ++answer.found;
    answer.checksum += expected_checksum(request.items, static_cast<std::uint32_t>(key));
  }
  return answer;
}

class RocksDbStoreTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    place_ = new TemporaryDirectory;
    store_ = opened(place_->path(), silent);
  }
  static void TearDownTestSuite() {
    store_.reset();
    delete place_;
    place_ = nullptr;
  }
  void SetUp() override { ASSERT_NE(store_, nullptr); }

  static void expect_right(RocksDbStore::Session& session, const RocksDbRequest& request) {
    const auto answer = session.serve(request);
    ASSERT_TRUE(answer) << answer.error();
    ASSERT_EQ(answer->found, expected_answer(request).found);
    ASSERT_EQ(answer->checksum, expected_answer(request).checksum);
  }

  static TemporaryDirectory* place_;
  static std::shared_ptr<RocksDbStore> store_;
};
TemporaryDirectory* RocksDbStoreTest::place_ = nullptr;
std::shared_ptr<RocksDbStore> RocksDbStoreTest::store_;

TEST_F(RocksDbStoreTest, serve__gets_by_seed_find_all_keys) {
  RocksDbStore::Session session(*store_);
  for (const auto items : {RocksDbItems::kSmall, RocksDbItems::kLarge}) {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
      const RocksDbRequest request{
          .operation = RocksDbOperation::kGetSeeded, .items = items, .keys = 10, .start = seed};
      ASSERT_EQ(expected_answer(request).found, 10u);
      expect_right(session, request);
    }
  }
}

TEST_F(RocksDbStoreTest, serve__gets_of_listed_keys_tell_what_is_not_there) {
  RocksDbStore::Session session(*store_);
  std::array<std::byte, kMaxMessageBytes> out;
  const std::vector<std::uint32_t> keys = {0, 399, 400, 2'999, 3'000, 0xFFFFFFFF, 7, 7};
  for (const auto& [items, found] :
       {std::pair{RocksDbItems::kSmall, 6u}, std::pair{RocksDbItems::kLarge, 4u}}) {
    const auto parsed = parse_rocksdb_request(write_rocksdb_get(items, keys, out));
    ASSERT_TRUE(parsed.request) << parsed.error;
    ASSERT_EQ(expected_answer(*parsed.request).found, found);
    expect_right(session, *parsed.request);
  }
}

TEST_F(RocksDbStoreTest, serve__scans_read_from_the_start_key_on) {
  RocksDbStore::Session session(*store_);
  for (const auto items : {RocksDbItems::kSmall, RocksDbItems::kLarge}) {
    for (const std::uint32_t start : {0U, 1U, 17U, 350U}) {
      for (const std::uint32_t keys : {1U, 2U, 50U}) {
        const RocksDbRequest request{
            .operation = RocksDbOperation::kScan, .items = items, .keys = keys, .start = start};
        ASSERT_EQ(expected_answer(request).found, keys);
        expect_right(session, request);
      }
    }
  }
}

TEST_F(RocksDbStoreTest, serve__scans_end_with_the_database) {
  RocksDbStore::Session session(*store_);
  for (const auto& [start, found] : {std::pair{0U, 400U}, std::pair{390U, 10U}, std::pair{399U, 1U},
                                     std::pair{400U, 0U}, std::pair{0xFFFFFFFFU, 0U}}) {
    const RocksDbRequest request{.operation = RocksDbOperation::kScan,
                                 .items = RocksDbItems::kLarge,
                                 .keys = kMaxKeysPerRequest,
                                 .start = start};
    ASSERT_EQ(expected_answer(request).found, found);
    expect_right(session, request);
  }
}

TEST_F(RocksDbStoreTest, serve__sessions_of_many_threads_side_by_side) {
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([seed] {
      RocksDbStore::Session session(*store_);
      Prng random(seed);
      for (int i = 0; i < 300; ++i) {
        const RocksDbRequest request{
            .operation = random.chance(0.5) ? RocksDbOperation::kGetSeeded : RocksDbOperation::kScan,
            .items = random.chance(0.5) ? RocksDbItems::kSmall : RocksDbItems::kLarge,
            .keys = static_cast<std::uint32_t>(random.below(50) + 1),
            .start = static_cast<std::uint32_t>(random.below(500))};
        expect_right(session, request);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RocksDbStoreTest, open__of_a_complete_database_does_not_fill) {
  std::vector<std::string> heard;
  const auto second = opened(place_->path(), [&](std::string_view what, std::uint64_t, std::uint64_t) {
    if (heard.empty() || heard.back() != what) heard.emplace_back(what);
  });
  EXPECT_THAT(heard, ::testing::ElementsAre("reading the database"));
  // Two are open at once; both answer.
  RocksDbStore::Session session(*second);
  expect_right(session, {.operation = RocksDbOperation::kGetSeeded, .keys = 10, .start = 1});
}

TEST_F(RocksDbStoreTest, open__leaves_no_trace_of_a_reader) {
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(place_->path()))
      names.push_back(entry.path().string());
    std::sort(names.begin(), names.end());
    return names;
  };
  const auto before = files();
  opened(place_->path(), silent);
  EXPECT_EQ(files(), before);
}

TEST_F(RocksDbStoreTest, open__by_another_process_at_the_same_time) {
  place_->share();
  const auto use_it = [&] {
    const auto store = RocksDbStore::open(place_->path(), kShape, silent);
    if (!store) ::_exit(1);
    RocksDbStore::Session session(**store);
    const RocksDbRequest request{.operation = RocksDbOperation::kScan, .keys = 100, .start = 5};
    ::_exit(session.serve(request) == expected_answer(request) ? 42 : 2);
  };
  EXPECT_EXIT(use_it(), ::testing::ExitedWithCode(42), "");
}

TEST_F(RocksDbStoreTest, handler__serves_and_refuses) {
  const auto app = make_rocksdb(place_->path().string(), kShape);
  const auto prepared = app->prepare(silent);
  ASSERT_TRUE(prepared) << prepared.error();
  const Handler handler = app->make_handler();
  std::array<std::byte, 64> out;
  const RocksDbRequest request{.operation = RocksDbOperation::kScan, .keys = 20, .start = 3};
  const auto reply = serve(handler, write_rocksdb_request(request, out));
  EXPECT_EQ(app->reply_error(reply), "");
  EXPECT_EQ(parse_rocksdb_answer(reply), expected_answer(request));

  EXPECT_EQ(app->reply_error(serve(handler, as_payload("bad"))), "rocksdb: a request has at least 8 bytes");
  EXPECT_EQ(app->reply_error(serve(handler, as_payload("garbage!"))),
            "rocksdb: operation in byte 0 is not 1, 2 or 3");
}

TEST_F(RocksDbStoreTest, handler__any_bytes_are_safe) {
  const auto app = make_rocksdb(place_->path().string(), kShape);
  ASSERT_TRUE(app->prepare(silent));
  const Handler handler = app->make_handler();
  Prng random(11);
  for (int i = 0; i < 2'000; ++i) {
    std::vector<std::byte> request(8);
    for (std::byte& byte : request) byte = static_cast<std::byte>(random.next());
    request[0] = static_cast<std::byte>(random.below(4));
    request[1] = static_cast<std::byte>(random.below(3));
    request[2] = std::byte{0};
    ASSERT_FALSE(serve(handler, request).empty());
  }
}

TEST(rocksdb_store, open__fills_anew_what_was_left_half_filled) {
  TemporaryDirectory place;
  place.share();
  const auto die_half_way = [](std::string_view what, std::uint64_t done, std::uint64_t total) {
    if (what.ends_with("large items") && done > total / 2) ::_exit(7);
  };
  EXPECT_EXIT(static_cast<void>(RocksDbStore::open(place.path(), kShape, die_half_way)),
              ::testing::ExitedWithCode(7), "");
  ASSERT_TRUE(fs::exists(rocksdb_path(place.path(), kShape) / "data")) << "something was left";
  std::vector<std::uint64_t> totals;
  const auto store =
      opened(place.path(), [&](std::string_view what, std::uint64_t done, std::uint64_t total) {
        if (what.starts_with("filling") && done == total) totals.push_back(total);
      });
  EXPECT_THAT(totals, ::testing::ElementsAre(kShape.small_keys, kShape.large_keys));
  RocksDbStore::Session session(*store);
  const RocksDbRequest request{
      .operation = RocksDbOperation::kScan, .items = RocksDbItems::kLarge, .keys = 400, .start = 0};
  EXPECT_EQ(session.serve(request).value(), expected_answer(request));
}

TEST(rocksdb_store, open__finds_damaged_files) {
  const TemporaryDirectory place;
  opened(place.path(), silent);
  const fs::path data = rocksdb_path(place.path(), kShape) / "data";
  fs::path largest;
  for (const auto& entry : fs::directory_iterator(data)) {
    if (entry.path().extension() != ".sst") continue;
    if (largest.empty() || entry.file_size() > fs::file_size(largest)) largest = entry.path();
  }
  ASSERT_FALSE(largest.empty());
  {
    std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100'000);
    file << "damage";
  }
  const auto store = RocksDbStore::open(place.path(), kShape, silent);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error(), ::testing::StartsWith("rocksdb: cannot read " + data.string() + ": Corruption"));
}

TEST(rocksdb_store, open__errors_name_path_and_cause) {
  const TemporaryDirectory place;
  std::ofstream(place.path() / "file") << "no directory";
  const auto store = RocksDbStore::open(place.path() / "file", kShape, silent);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error(), ::testing::AllOf(::testing::HasSubstr((place.path() / "file").string()),
                                              ::testing::HasSubstr("Not a directory")));
}

}  // namespace
}  // namespace rain::apps
