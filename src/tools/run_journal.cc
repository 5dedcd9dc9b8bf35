// See run_journal.h.
#include "tools/run_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "tools/input_error.h"

namespace rain::tools {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// First line: a hash of this program (FNV-1a, 64 bits).
std::string identity() {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  for (const char c : read_file("/proc/self/exe"))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3;
  return fmt::format("rain.journal/1 {:016x}\n", hash);
}

}  // namespace

RunJournal::RunJournal(std::filesystem::path file) : path_(std::move(file)) {
  std::error_code error;
  std::filesystem::create_directories(path_.parent_path(), error);
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    throw InputError(
        fmt::format("{}: cannot be written: {}", path_.string(), std::generic_category().message(errno)));
  }
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    close(fd_);
    throw InputError(fmt::format("{}: another process is at work in this folder", path_.string()));
  }
  const std::string first = identity();
  const std::string text = read_file(path_);
  std::size_t good = text.starts_with(first) ? first.size() : 0;
  for (std::size_t end = 0; good != 0 && (end = text.find('\n', good)) != std::string::npos; good = end + 1) {
    const std::size_t tab = text.find('\t', good);
    if (tab == std::string::npos || tab > end) break;
    rows_[text.substr(good, tab - good)] = text.substr(tab + 1, end - tab - 1);
  }
  if (ftruncate(fd_, static_cast<off_t>(good)) != 0) {
    throw InputError(
        fmt::format("{}: cannot be cut: {}", path_.string(), std::generic_category().message(errno)));
  }
  if (good == 0) append(first);
}

RunJournal::~RunJournal() { close(fd_); }

const std::string* RunJournal::find(const std::string& key) const {
  const auto at = rows_.find(key);
  return at == rows_.end() ? nullptr : &at->second;
}

void RunJournal::add(const std::string& key, const std::string& row) {
  append(key + '\t' + row + '\n');
  rows_[key] = row;
}

void RunJournal::append(const std::string& line) {
  if (write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error(
        fmt::format("{}: cannot be written: {}", path_.string(), std::generic_category().message(errno)));
  }
}

void RunJournal::remove() { std::filesystem::remove(path_); }

}  // namespace rain::tools
