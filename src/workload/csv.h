// Files of numbers that a workload is read from: comma-separated, under one header line that names the columns.
// Blank lines are skipped. Every error names file, line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/parse.h"

namespace rain::workload {

class NumberFile {
 public:
  /// `headers`: the header lines that are allowed.
  static Parsed<NumberFile> open(const std::string& path, std::span<const std::string_view> headers);

  std::size_t columns() const { return names_.size(); }
  /// Goes to the next row; false: there is none.
  Parsed<bool> next_row();
  /// The row's number in that column, within [low, high].
  Parsed<double> number(std::size_t column, double low, double high) const;
  /// "FILE:LINE: problem".
  std::string at_line(std::string_view problem) const;

 private:
  NumberFile() = default;
  bool next_line();

  std::string path_;
  std::ifstream stream_;
  std::string line_;
  std::uint64_t line_number_ = 0;
  std::vector<std::string> names_;
  std::vector<std::string_view> cells_;  // of line_
};

}  // namespace rain::workload
