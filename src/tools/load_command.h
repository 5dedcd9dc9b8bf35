// What `rain load`, `rain rack` and `rain compare` share of a load's flags and of what is done with its report.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/command.h"
#include "tools/load_run.h"
#include "tools/rack_file.h"

namespace rain::tools {

/// Flags in the words of [load]; read over what the file says.
struct LoadFlags {
  FlagTexts texts;
};
void declare_load_flags(CLI::App& app, LoadFlags& flags);

/// The file's [load], or the defaults of `app`, with the flags over it. Throws InputError.
LoadSection load_of(const std::optional<LoadSection>& of_file, const std::string& default_app,
                    const LoadFlags& flags);

/// What the report says of a rack.
RackFacts facts_of(const RackFile& rack);

/// The load of this rack, all but its rate. With a controller it waits for room within its share, unless it was told
/// otherwise. Throws InputError.
LoadPlan plan_of(const RackFile& rack, const LoadFlags& flags);

/// Requests a second for a rate, given what `workers` can serve. `mean_service_us` 0: not known; then a share is refused.
double resolve_rate(const Rate& rate, double workers, double mean_service_us);

/// Writes the report with its distributions to `path`. Throws std::runtime_error when it cannot be written.
void write_report(const Report& report, const std::string& path);
/// Refuses early what write_report() would refuse late.
void check_writable(const std::string& path);

/// What makes a run fail although it ended: a request without outcome.
int exit_status_of(const Report& report);

}  // namespace rain::tools
