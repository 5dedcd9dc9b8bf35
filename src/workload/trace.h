// Requests that were recorded, to be replayed as they came: a file with the header
//
//   arrival_us,type,service_us,size_bytes
//
// and a row for each request in the order of arrival. Times may have a fraction; arrivals count from any start, which
// becomes 0. A trace that is over begins again one mean gap after its last request, so that it lasts as long as a run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "workload/parse.h"

namespace rain::workload {

struct TraceRow {
  Nanos at{};
  Nanos service{};
  std::uint16_t class_index = 0;  ///< into Trace::types
  std::uint16_t size_bytes = 0;
};

struct Trace {
  static constexpr std::size_t kMaxRows = 100'000'000;  ///< 2.4 GB

  /// Error: one line with file, line and column.
  static Parsed<std::shared_ptr<const Trace>> read(const std::string& path);

  std::vector<TraceRow> rows;   ///< at least two
  std::vector<TaskType> types;  ///< each that occurs, once; the first to occur first
  Nanos period{};               ///< from one beginning to the next
};

}  // namespace rain::workload
