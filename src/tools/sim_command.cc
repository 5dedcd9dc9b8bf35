// `rain sim`: one run of the simulator, as a table or as the report schema.
//
// The same flags give the same bytes: the one number of a run that depends on the machine, the wall time, is in the
// table and, with --timing, in the JSON.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/duration_text.h"
#include "sim/simulate.h"
#include "tools/command.h"
#include "tools/input_error.h"
#include "tools/sim_flags.h"
#include "tools/sim_report.h"
#include "tools/sim_runs.h"

namespace rain::tools {
namespace {

struct SimFlags {
  FlagTexts spec;
  bool json = false;
  bool timing = false;
  std::string timeline;
  std::string timeline_interval = "10ms";
  std::string decisions;
};

sim::RackSpec read_spec(const SimFlags& flags) {
  sim::RackSpec spec = read_sim_flags(flags.spec);
  if (!flags.timeline.empty()) {
    const auto interval = parse_duration(flags.timeline_interval);
    if (!interval || *interval < microseconds(1)) {
      throw InputError(fmt::format("--timeline-interval = \"{}\": a time with a unit, 1us or more",
                                   flags.timeline_interval));
    }
    spec.timeline_interval = *interval;
  }
  if (!flags.decisions.empty()) {
    if (!spec.adaptive) throw InputError("--decisions: only together with --adaptive");
    spec.adaptive->trace = true;
  }
  if (const auto good = spec.validate(); !good) throw InputError(good.error());
  return spec;
}

int run_sim(const SimFlags& flags) {
  const sim::RackSpec spec = read_spec(flags);
  const Nanos begin = monotonic_now();
  const auto result = sim::simulate(spec);
  const double wall_s = static_cast<double>((monotonic_now() - begin).value) * 1e-9;
  if (!result) throw InputError(result.error());
  if (!flags.timeline.empty()) write_whole(flags.timeline, timeline_csv(*result));
  if (!flags.decisions.empty()) write_whole(flags.decisions, result->adaptive->decisions);
  const Report report = make_sim_report(spec, *result);
  if (flags.json) {
    const auto shown_wall = flags.timing ? std::optional<double>(wall_s) : std::nullopt;
    fmt::print("{}\n", sim_report_json(report, *result, shown_wall).dump(2));
  } else {
    fmt::print("{}", sim_report_table(spec, report, *result, wall_s));
  }
  return kExitOk;
}

}  // namespace

Run declare_sim(CLI::App& app) {
  auto flags = std::make_shared<SimFlags>();
  declare_sim_flags(app, flags->spec);
  app.add_flag("--json", flags->json, "one JSON object instead of a table");
  app.add_flag("--timing", flags->timing,
               "wall_s in the JSON, which is null else: it differs from run to run");
  app.add_option("--timeline", flags->timeline, "write latency, depth and workers over time as CSV")
      ->type_name("FILE");
  app.add_option("--timeline-interval", flags->timeline_interval, "time between two of its rows (10ms)")
      ->type_name("TIME");
  app.add_option("--decisions", flags->decisions,
                 "write what the agents saw and decided as JSON lines, which rain replay repeats")
      ->type_name("FILE");
  return [flags] { return run_sim(*flags); };
}

}  // namespace rain::tools
