#include "workload/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/message.h"
#include "workload/csv.h"
#include "workload/workload.h"

namespace rain::workload {
namespace {

constexpr std::string_view kHeader = "arrival_us,type,service_us,size_bytes";
constexpr double kLongestUs = 86'400e6;  // a day; in nanoseconds a double holds it exactly
constexpr double kMaxType = 65'535;

Nanos from_us(double us) { return {static_cast<std::int64_t>(us * 1000 + 0.5)}; }

/// Index of the type, which is added if it is new; kMaxClasses when there is no room for it.
std::size_t index_of(std::vector<TaskType>& types, TaskType type) {
  const auto at = std::find(types.begin(), types.end(), type);
  const auto index = static_cast<std::size_t>(at - types.begin());
  if (at == types.end() && index < kMaxClasses) types.push_back(type);
  return index;
}

Parsed<TraceRow> read_row(const NumberFile& file, std::vector<TaskType>& types) {
  const auto arrival = file.number(0, 0, kLongestUs);
  if (!arrival) return tl::unexpected(arrival.error());
  const auto type = file.number(1, 0, kMaxType);
  if (!type) return tl::unexpected(type.error());
  const auto number = static_cast<std::uint16_t>(*type);
  if (*type != number)
    return tl::unexpected(file.at_line(fmt::format("column 2: type {} is not whole", *type)));
  const auto service = file.number(2, 0, static_cast<double>(Distribution::kMaxTime.value) / 1000);
  if (!service) return tl::unexpected(service.error());
  // One packet: more are not sent, so they cannot be replayed.
  const auto size = file.number(3, 0, static_cast<double>(wire::kMaxPayloadBytes));
  if (!size) return tl::unexpected(size.error());
  const auto bytes = static_cast<std::uint16_t>(*size);
  if (*size != bytes)
    return tl::unexpected(file.at_line(fmt::format("column 4: size_bytes {} is not whole", *size)));
  const std::size_t index = index_of(types, TaskType{number});
  if (index == kMaxClasses) {
    return tl::unexpected(
        file.at_line(fmt::format("column 2: type {} is one too many (allowed: {})", number, kMaxClasses)));
  }
  return TraceRow{.at = from_us(*arrival),
                  .service = from_us(*service),
                  .class_index = static_cast<std::uint16_t>(index),
                  .size_bytes = bytes};
}

}  // namespace

Parsed<std::shared_ptr<const Trace>> Trace::read(const std::string& path) {
  auto file = NumberFile::open(path, std::span(&kHeader, 1));
  if (!file) return tl::unexpected(file.error());
  auto trace = std::make_shared<Trace>();
  for (;;) {
    const auto more = file->next_row();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    const auto row = read_row(*file, trace->types);
    if (!row) return tl::unexpected(row.error());
    if (!trace->rows.empty() && row->at < trace->rows.back().at) {
      return tl::unexpected(
          file->at_line("column 1: arrival_us lies before the row above (allowed: the order of arrival)"));
    }
    if (trace->rows.size() == kMaxRows)
      return tl::unexpected(file->at_line(fmt::format("one row too many (allowed: {})", kMaxRows)));
    trace->rows.push_back(*row);
  }
  const std::size_t count = trace->rows.size();
  const Nanos begin = count == 0 ? Nanos{} : trace->rows.front().at;
  const Nanos span = count == 0 ? Nanos{} : trace->rows.back().at - begin;
  if (count < 2 || span.value == 0) {
    return tl::unexpected(fmt::format("{}: {} requests in {} ns (allowed: at least two, not all at once)",
                                      path, count, span.value));
  }
  for (TraceRow& row : trace->rows) row.at -= begin;
  trace->period = span + Nanos{std::max<std::int64_t>(span.value / static_cast<std::int64_t>(count - 1), 1)};
  return trace;
}

}  // namespace rain::workload
