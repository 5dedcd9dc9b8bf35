// Racks for the tests: short to write, small to run.
#pragma once

#include <string>
#include <utility>

#include "sim/rack_spec.h"
#include "workload/workload.h"

namespace rain::sim {

/// A service-time distribution that is known to be well written.
inline workload::Distribution service(const std::string& text) {
  return workload::Distribution::parse(text).value();
}

/// 32 workers, one class, measured for `duration` after a tenth of it.
inline RackSpec rack_spec(const std::string& scheduler, double rate, const std::string& service_text,
                          Nanos duration) {
  RackSpec spec;
  spec.scheduler = scheduler;
  spec.workload = workload::WorkloadSpec::steady(rate, {{.name = "all", .demand = service(service_text)}});
  spec.warmup = duration / 10;
  spec.duration = duration;
  return spec;
}

}  // namespace rain::sim
