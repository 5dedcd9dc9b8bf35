// One run of the simulator.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "sim/rack_spec.h"
#include "sim/result.h"

namespace rain::sim {

/// The same spec gives the same result, to the last bit, on any machine. A load above capacity ends like any other and
/// is reported in Result::growth. Error: validate()'s line. Thread-safe: a run shares nothing.
tl::expected<Result, std::string> simulate(const RackSpec& spec);

}  // namespace rain::sim
