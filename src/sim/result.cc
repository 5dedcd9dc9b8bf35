#include "sim/result.h"

#include <numeric>

namespace rain::sim {
namespace {

Histogram merged(const std::vector<ClassResult>& classes, Histogram ClassResult::*which) {
  Histogram all;
  for (const ClassResult& one : classes) all.merge(one.*which);
  return all;
}

}  // namespace

std::uint64_t OutcomeCounts::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0});
}

Histogram Result::latency() const { return merged(classes, &ClassResult::latency); }
Histogram Result::slowdown() const { return merged(classes, &ClassResult::slowdown); }
Histogram Result::service() const { return merged(classes, &ClassResult::service); }

}  // namespace rain::sim
