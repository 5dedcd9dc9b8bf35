// What is to be simulated, as flags: read by `rain sim`, and by whatever runs many simulations.
#pragma once

#include <CLI/CLI.hpp>

#include "sim/rack_spec.h"
#include "tools/command.h"

namespace rain::tools {

/// Declares scheduler, rack, workload, time and seed. `flags` must live as long as the app.
void declare_sim_flags(CLI::App& app, FlagTexts& flags);

/// Reads them over the defaults. Throws InputError; what it returns is valid.
sim::RackSpec read_sim_flags(const FlagTexts& flags);

}  // namespace rain::tools
