// A file that exists as long as the object, for readers of files.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace rain::workload {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    static int made = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("rain_workload_" + std::to_string(getpid()) + "_" + std::to_string(made++) + ".csv");
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace rain::workload
