// A directory of its own for a test, removed with all that is in it. A second process of the same test (a death test in
// threadsafe style starts the test anew) gets the first one's, if that has called share().
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace rain::apps {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    if (const char* shared = ::getenv(kVariable); shared != nullptr) {
      path_ = shared;
      return;
    }
    owned_ = true;
    std::string pattern = ::testing::TempDir() + "/rain-apps-XXXXXX";
    const char* made = ::mkdtemp(pattern.data());
    if (made != nullptr) path_ = made;
    EXPECT_NE(made, nullptr) << pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (owned_) std::filesystem::remove_all(path_, ignored);
    if (shared_) ::unsetenv(kVariable);
  }
  void share() {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    shared_ = owned_ && ::setenv(kVariable, path_.c_str(), 1) == 0;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  static constexpr const char* kVariable = "RAIN_APPS_TEST_DIRECTORY";
  std::filesystem::path path_;
  bool owned_ = false;
  bool shared_ = false;
};

}  // namespace rain::apps
