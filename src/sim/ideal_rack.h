// `ideal`: one central queue, first come, first served, by whichever worker is free, and nothing costs time but the
// client's side of the wire and the service: M/G/k. The bound that every other curve is held against.
#pragma once

#include "sim/rack_spec.h"
#include "sim/result.h"
#include "workload/workload.h"

namespace rain::sim {

Result run_ideal(const RackSpec& spec, workload::Workload workload);

}  // namespace rain::sim
