// The load side of the application rocksdb, which needs no database; and where databases lie.
#include "apps/rocksdb.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>

namespace rain::apps {
namespace {

constexpr RocksDbShape kShape{.small_keys = 5'000, .large_keys = 700};

std::vector<workload::ClassSpec> adopted(const App& app, std::string_view text) {
  auto classes = workload::parse_classes(text, app.quantity());
  EXPECT_TRUE(classes) << classes.error();
  const auto good = app.adopt_classes(*classes);
  EXPECT_TRUE(good) << good.error();
  return *classes;
}

TEST(rocksdb, adopt_classes__types_by_name) {
  const auto app = make_rocksdb("", kShape);
  const auto classes = adopted(*app, "get:0.5:const:10,scan-long:0.3:const:5000,get_rare@9:0.2:exp:3");
  EXPECT_EQ(classes[0].type, kTaskGet);
  EXPECT_EQ(classes[1].type, kTaskScan);
  EXPECT_EQ(classes[2].type, TaskType{9});
}

TEST(rocksdb, adopt_classes__errors) {
  const auto app = make_rocksdb("", kShape);
  auto classes = *workload::parse_classes("put:1:const:10", app->quantity());
  EXPECT_EQ(app->adopt_classes(classes).error(),
            "rocksdb: class \"put\" (allowed: names that begin with get or scan)");
}

TEST(rocksdb, builder__gets_of_small_items_by_seed) {
  const auto app = make_rocksdb("", kShape);
  RequestBuilder builder = app->make_builder(adopted(*app, "get:1:const:10"), 1);
  std::array<std::byte, kMaxMessageBytes> out;
  std::uint32_t last_seed = 0;
  for (int i = 0; i < 100; ++i) {
    const Payload made = builder({.class_index = 0, .demand = 10}, out);
    ASSERT_EQ(made.size(), kRocksDbRequestBytes);
    const auto parsed = parse_rocksdb_request(made);
    ASSERT_TRUE(parsed.request) << parsed.error;
    EXPECT_EQ(parsed.request->operation, RocksDbOperation::kGetSeeded);
    EXPECT_EQ(parsed.request->items, RocksDbItems::kSmall);
    EXPECT_EQ(parsed.request->keys, 10u);
    EXPECT_NE(parsed.request->start, last_seed);
    last_seed = parsed.request->start;
  }
}

TEST(rocksdb, builder__scans_lie_in_the_database) {
  const auto app = make_rocksdb("", kShape);
  RequestBuilder builder = app->make_builder(adopted(*app, "get:0.5:const:10,scan:0.5:const:500"), 1);
  std::array<std::byte, kMaxMessageBytes> out;
  std::uint32_t lowest = UINT32_MAX;
  std::uint32_t highest = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto parsed = parse_rocksdb_request(builder({.class_index = 1, .demand = 500}, out));
    ASSERT_TRUE(parsed.request) << parsed.error;
    ASSERT_EQ(parsed.request->operation, RocksDbOperation::kScan);
    ASSERT_EQ(parsed.request->items, RocksDbItems::kLarge);
    ASSERT_EQ(parsed.request->keys, 500u);
    ASSERT_LE(parsed.request->start + 500, kShape.large_keys);
    lowest = std::min(lowest, parsed.request->start);
    highest = std::max(highest, parsed.request->start);
  }
  EXPECT_EQ(lowest, 0u);
  EXPECT_EQ(highest, kShape.large_keys - 500);
}

TEST(rocksdb, builder__cuts_key_counts_to_what_there_is) {
  const auto app = make_rocksdb("", kShape);
  RequestBuilder builder = app->make_builder(adopted(*app, "get:0.5:const:10,scan:0.5:const:500"), 1);
  std::array<std::byte, kMaxMessageBytes> out;
  EXPECT_EQ(parse_rocksdb_request(builder({.class_index = 0, .demand = 1'000'000}, out)).request->keys,
            kMaxKeysPerRequest);
  const auto scan = parse_rocksdb_request(builder({.class_index = 1, .demand = 1'000'000}, out));
  EXPECT_EQ(scan.request->keys, kShape.large_keys);
  EXPECT_EQ(scan.request->start, 0u);
}

TEST(rocksdb, reply_error__tells_a_database_of_another_shape) {
  const auto app = make_rocksdb("", kShape);
  ReplyBuffer reply;
  append_rocksdb_answer({.found = 1, .checksum = 5}, reply);
  EXPECT_EQ(app->reply_error(reply.bytes()), "");
  reply.clear();
  append_rocksdb_answer({}, reply);
  EXPECT_EQ(app->reply_error(reply.bytes()),
            "rocksdb: no key found (load and workers must have the same numbers of items)");
  EXPECT_EQ(app->reply_error({}), "empty reply");
}

TEST(rocksdb, builder__same_seed_same_requests) {
  const auto app = make_rocksdb("", kShape);
  const auto classes = adopted(*app, "get:0.5:const:10,scan:0.5:const:500");
  RequestBuilder one = app->make_builder(classes, 5);
  RequestBuilder two = app->make_builder(classes, 5);
  std::array<std::byte, kMaxMessageBytes> first;
  std::array<std::byte, kMaxMessageBytes> second;
  for (std::uint16_t i = 0; i < 1000; ++i) {
    const workload::Request request{.class_index = static_cast<std::uint16_t>(i % 2), .demand = 20};
    ASSERT_EQ(as_text(one(request, first)), as_text(two(request, second)));
  }
}

TEST(rocksdb, default_rocksdb_directory__from_the_environment) {
  const char* home = ::getenv("HOME");
  const std::string home_before = home == nullptr ? "" : home;
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(default_rocksdb_directory().value(), "/cache/rain");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/users/someone", 1);
  EXPECT_EQ(default_rocksdb_directory().value(), "/users/someone/.cache/rain");
  ::unsetenv("HOME");
  EXPECT_EQ(default_rocksdb_directory().error(),
            "rocksdb: no directory for the database (allowed: one given, or XDG_CACHE_HOME or HOME set)");
  if (!home_before.empty()) ::setenv("HOME", home_before.c_str(), 1);
}

TEST(rocksdb, rocksdb_path__differs_by_shape) {
  EXPECT_EQ(rocksdb_path("/cache", kShape), "/cache/rocksdb-1-5000x64-700x1024");
  EXPECT_NE(rocksdb_path("/cache", kShape), rocksdb_path("/cache", {.small_keys = 5'000, .large_keys = 701}));
  RocksDbShape other = kShape;
  other.large_value_bytes = 32;
  EXPECT_EQ(rocksdb_path("/cache", other), "/cache/rocksdb-1-5000x64-700x32");
}

}  // namespace
}  // namespace rain::apps
