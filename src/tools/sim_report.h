// A simulation's result as a report: the common schema, and what only a simulator knows.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sim/rack_spec.h"
#include "sim/result.h"
#include "tools/report.h"

namespace rain::tools {

Report make_sim_report(const sim::RackSpec& spec, const sim::Result& result);

/// The common schema without what a simulator cannot have (connections, send lag), with "overload" behind it. `wall_s`
/// nullopt: null, so that the same run gives the same bytes.
nlohmann::ordered_json sim_report_json(const Report& report, const sim::Result& result,
                                       std::optional<double> wall_s);

/// The time line: a row for each interval, with the depth and the workers of each slice.
std::string timeline_csv(const sim::Result& result);

/// For people, several lines.
std::string sim_report_table(const sim::RackSpec& spec, const Report& report, const sim::Result& result,
                             double wall_s);

}  // namespace rain::tools
