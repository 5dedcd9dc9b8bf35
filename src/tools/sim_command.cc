// `rain sim`: one run of the simulator, as a table or as the report schema.
//
// The same flags give the same bytes: the one number of a run that depends on the machine, the wall time, is in the
// table and, with --timing, in the JSON.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "sim/simulate.h"
#include "tools/command.h"
#include "tools/input_error.h"
#include "tools/sim_flags.h"
#include "tools/sim_report.h"

namespace rain::tools {
namespace {

struct SimFlags {
  FlagTexts spec;
  bool json = false;
  bool timing = false;
  bool adaptive = false;
  std::optional<std::string> rth;
};

int run_sim(const SimFlags& flags) {
  if (flags.adaptive || flags.rth.has_value()) {
    throw InputError(fmt::format("{}: not in this version: adaptive scheduling comes with the agent",
                                 flags.adaptive ? "--adaptive" : "--rth"));
  }
  const sim::RackSpec spec = read_sim_flags(flags.spec);
  const Nanos begin = monotonic_now();
  const auto result = sim::simulate(spec);
  const double wall_s = static_cast<double>((monotonic_now() - begin).value) * 1e-9;
  if (!result) throw InputError(result.error());
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
  app.add_flag("--adaptive", flags->adaptive, "adaptive scheduling: not yet");
  app.add_option("--rth", flags->rth, "threshold of adaptive scheduling: not yet");
  return [flags] { return run_sim(*flags); };
}

}  // namespace rain::tools
