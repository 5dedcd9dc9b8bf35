// Reports of the same load behind several schedulers, side by side.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/report.h"

namespace rain::tools {

struct Comparison {
  std::vector<Report> runs;  ///< each with its scheduler's name; the same load

  /// What the others are held against: rain when it ran, else the last.
  std::size_t reference() const;
  /// One table: a column for each scheduler, and how many times worse than the reference the others are.
  std::string to_table() const;
  /// {"schema":"rain.compare/1", ...}.
  nlohmann::ordered_json to_json() const;
};

/// other / reference; nullopt when one is not stated or the reference is 0.
std::optional<double> ratio(std::optional<double> other, std::optional<double> reference);

}  // namespace rain::tools
