#include "workload/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace rain::workload {
namespace {

std::string either(std::span<const std::string_view> texts) {
  std::string joined;
  for (const std::string_view text : texts)
    joined += fmt::format("{}\"{}\"", joined.empty() ? "" : " or ", text);
  return joined;
}

}  // namespace

bool NumberFile::next_line() {
  while (std::getline(stream_, line_)) {
    ++line_number_;
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    if (!line_.empty()) return true;
  }
  return false;
}

Parsed<NumberFile> NumberFile::open(const std::string& path, std::span<const std::string_view> headers) {
  // A device may never end.
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    return tl::unexpected(fmt::format("{}: is not a regular file", path));
  NumberFile made;
  made.path_ = path;
  errno = 0;
  made.stream_.open(path);
  if (!made.stream_) {
    return tl::unexpected(
        fmt::format("{}: cannot be read: {}", path, std::generic_category().message(errno)));
  }
  if (!made.next_line())
    return tl::unexpected(fmt::format("{}: is empty (allowed: {})", path, either(headers)));
  if (std::find(headers.begin(), headers.end(), made.line_) == headers.end()) {
    return tl::unexpected(
        made.at_line(fmt::format("header {} (allowed: {})", in_quotes(made.line_), either(headers))));
  }
  for (const std::string_view name : split(made.line_, ',')) made.names_.emplace_back(name);
  return made;
}

Parsed<bool> NumberFile::next_row() {
  if (!next_line()) {
    if (stream_.bad()) return tl::unexpected(at_line("cannot be read further"));
    return false;
  }
  cells_ = split(line_, ',');
  if (cells_.size() != names_.size()) {
    return tl::unexpected(at_line(fmt::format("has {} columns (allowed: {})", cells_.size(), names_.size())));
  }
  return true;
}

Parsed<double> NumberFile::number(std::size_t column, double low, double high) const {
  auto number = parse_number(cells_[column], names_[column], low, high);
  if (!number) return tl::unexpected(at_line(fmt::format("column {}: {}", column + 1, number.error())));
  return number;
}

std::string NumberFile::at_line(std::string_view problem) const {
  return fmt::format("{}:{}: {}", path_, line_number_, problem);
}

}  // namespace rain::workload
