// See range_check.h.
#include "base/range_check.h"

#include "base/duration_text.h"

namespace rain {
namespace {

std::string out_of_range(std::string_view key, const std::string& value, const std::string& low,
                         const std::string& high) {
  return std::string(key) + " is " + value + "; allowed: " + low + ".." + high;
}

}  // namespace

std::string range_problem(std::string_view key, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return {};
  return out_of_range(key, std::to_string(value), std::to_string(low), std::to_string(high));
}

std::string range_problem(std::string_view key, Nanos value, Nanos low, Nanos high) {
  if (value >= low && value <= high) return {};
  return out_of_range(key, format_duration(value), format_duration(low), format_duration(high));
}

}  // namespace rain
