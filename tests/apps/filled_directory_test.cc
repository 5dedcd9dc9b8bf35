// Filled exactly once, whoever is interrupted and whoever comes at the same time.
#include "apps/filled_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <thread>

#include "apps/temporary_directory.h"

namespace rain::apps {
namespace {

namespace fs = std::filesystem;

tl::expected<void, std::string> write_content(const fs::path& data) {
  EXPECT_FALSE(fs::exists(data)) << "remains must be gone";
  fs::create_directory(data);
  std::ofstream(data / "content") << "whole";
  return {};
}

std::string content(const fs::path& data) {
  std::string text;
  std::ifstream(data / "content") >> text;
  return text;
}

void never() { ADD_FAILURE() << "nobody else fills"; }

tl::expected<void, std::string> not_again(const fs::path&) {
  ADD_FAILURE() << "filled twice";
  return {};
}

TEST(filled_directory, ensure_filled__fills_once) {
  const TemporaryDirectory place;
  const fs::path directory = place.path() / "a" / "b";
  const auto first = ensure_filled(directory, write_content, never);
  ASSERT_TRUE(first) << first.error();
  EXPECT_EQ(*first, directory / "data");
  EXPECT_EQ(content(*first), "whole");
  const auto second = ensure_filled(directory, not_again, never);
  ASSERT_TRUE(second) << second.error();
  EXPECT_EQ(content(*second), "whole");
}

TEST(filled_directory, ensure_filled__writes_nothing_to_a_complete_one) {
  const TemporaryDirectory place;
  ASSERT_TRUE(ensure_filled(place.path(), write_content, never));
  fs::remove(place.path() / "lock");
  ASSERT_TRUE(ensure_filled(place.path(), not_again, never));
  EXPECT_FALSE(fs::exists(place.path() / "lock"));
}

TEST(filled_directory, ensure_filled__a_failed_fill_is_done_anew) {
  const TemporaryDirectory place;
  const auto failed = ensure_filled(
      place.path(),
      [](const fs::path& data) -> tl::expected<void, std::string> {
        fs::create_directory(data);
        std::ofstream(data / "content") << "half";
        return tl::unexpected(std::string("disk full"));
      },
      never);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), "disk full");
  const auto filled = ensure_filled(place.path(), write_content, never);
  ASSERT_TRUE(filled) << filled.error();
  EXPECT_EQ(content(*filled), "whole");
}

TEST(filled_directory, ensure_filled__a_killed_fill_is_done_anew) {
  TemporaryDirectory place;
  place.share();
  const auto die_half_way = [](const fs::path& data) -> tl::expected<void, std::string> {
    fs::create_directory(data);
    std::ofstream(data / "content") << "half";
    ::_exit(7);
  };
  EXPECT_EXIT(static_cast<void>(ensure_filled(place.path(), die_half_way, never)),
              ::testing::ExitedWithCode(7), "");
  ASSERT_EQ(content(place.path() / "data"), "half");
  const auto filled = ensure_filled(place.path(), write_content, never);
  ASSERT_TRUE(filled) << filled.error();
  EXPECT_EQ(content(*filled), "whole");
}

TEST(filled_directory, ensure_filled__waits_for_another_that_fills) {
  const TemporaryDirectory place;
  std::promise<void> filling;
  std::promise<void> waiting;
  std::thread other([&] {
    const auto filled = ensure_filled(
        place.path(),
        [&](const fs::path& data) {
          filling.set_value();
          waiting.get_future().wait();  // the main thread has found the lock taken
          return write_content(data);
        },
        never);
    EXPECT_TRUE(filled);
  });
  filling.get_future().wait();
  const auto filled = ensure_filled(place.path(), not_again, [&] { waiting.set_value(); });
  other.join();
  ASSERT_TRUE(filled) << filled.error();
  EXPECT_EQ(content(*filled), "whole");
}

TEST(filled_directory, ensure_filled__errors_name_path_and_cause) {
  const TemporaryDirectory place;
  const fs::path file = place.path() / "file";
  std::ofstream(file) << "no directory";
  const auto below_file = ensure_filled(file / "db", not_again, never);
  ASSERT_FALSE(below_file);
  EXPECT_EQ(below_file.error(), "cannot create " + (file / "db").string() + ": Not a directory");

  fs::create_directories(place.path() / "db" / "lock");
  const auto locked = ensure_filled(place.path() / "db", not_again, never);
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error(), "cannot open " + (place.path() / "db" / "lock").string() + ": Is a directory");
}

}  // namespace
}  // namespace rain::apps
