// Applications by name, and options out of range.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/app.h"

namespace rain::apps {
namespace {

TEST(registry, make_app__every_listed_name) {
  EXPECT_THAT(app_names(), ::testing::ElementsAre("echo", "synthetic", "rocksdb"));
  for (const std::string_view name : app_names()) {
    const auto app = make_app(name);
    ASSERT_TRUE(app) << app.error();
    EXPECT_EQ((*app)->name(), name);
    auto classes = workload::parse_classes((*app)->default_classes(), (*app)->quantity());
    ASSERT_TRUE(classes) << classes.error();
    ASSERT_TRUE((*app)->adopt_classes(*classes));
    for (const workload::ClassSpec& one : *classes) EXPECT_TRUE(one.type.has_value()) << one.name;
  }
}

TEST(registry, make_app__errors) {
  EXPECT_EQ(make_app("redis").error(), "no application \"redis\" (allowed: echo, synthetic, rocksdb)");
  EXPECT_EQ(make_app("echo", {.synthetic_limit = seconds(101)}).error(),
            "synthetic: service time limit 101s is out of range (allowed: 1us to 100s)");
  EXPECT_EQ(make_app("echo", {.synthetic_limit = Nanos{999}}).error(),
            "synthetic: service time limit 999ns is out of range (allowed: 1us to 100s)");
  EXPECT_EQ(make_app("rocksdb", {.rocksdb_small_keys = 0}).error(),
            "rocksdb: 0 keys are out of range (allowed: 1 to 100000000)");
  EXPECT_EQ(make_app("rocksdb", {.rocksdb_large_keys = 200'000'000}).error(),
            "rocksdb: 200000000 keys are out of range (allowed: 1 to 100000000)");
}

}  // namespace
}  // namespace rain::apps
