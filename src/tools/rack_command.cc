// `rain rack`: a whole rack on this machine from one file, with or without a load.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/command.h"
#include "tools/input_error.h"
#include "tools/load_command.h"
#include "tools/rack_run.h"
#include "tools/suggest.h"

namespace rain::tools {
namespace {

struct Flags {
  std::string file, scheduler, out;
  LoadFlags load;
  bool with_load = true;
  bool with_load_given = false;
  bool json = false;
};

/// Says what went wrong while the rack was stopped. True when something did.
bool complain(const RackRun::Stopped& stopped) {
  if (stopped.problem.empty()) return false;
  std::fputs(("rain rack: " + stopped.problem + "\n").c_str(), stderr);
  return true;
}

int run_load(RackRun& run, Supervisor& supervisor, LoadPlan& plan, const Flags& flags) {
  plan.rate_per_second = run.rate_of(plan, std::thread::hardware_concurrency());
  Report report = run.load(plan, "[load] ");
  const RackRun::Stopped stopped = run.stop();
  report.in_switch.recirculations = stopped.recirculations;
  fmt::print("{}", flags.json ? to_json(report, false).dump(2) + "\n" : to_table(report));
  if (!flags.out.empty()) write_report(report, flags.out);
  if (supervisor.interrupted()) {
    std::fputs("rain rack: interrupted; the report covers what was measured until then\n", stderr);
    return kExitFailed;
  }
  return complain(stopped) ? kExitFailed : exit_status_of(report);
}

int run(const Flags& flags) {
  RackFile rack = RackFile::read(flags.file);
  if (!flags.scheduler.empty()) rack.set_scheduler(flags.scheduler);
  const bool with_load = flags.with_load_given ? flags.with_load : rack.load || !flags.load.texts.empty();
  if (!with_load && (flags.json || !flags.out.empty())) {
    throw InputError("--json and --out are for a load: [load] in the file, or --load");
  }
  if (!flags.out.empty()) check_writable(flags.out);
  LoadPlan plan = plan_of(rack, flags.load);
  Supervisor supervisor("rain rack", stderr);
  RackRun run(supervisor, rack);
  if (!run.start(plan)) {
    complain(run.stop());
    std::fputs("rain rack: interrupted before the rack was ready\n", stderr);
    return kExitFailed;
  }
  std::fputs(fmt::format("rack ready: scheduler {}, {} server{}, {} workers\n", rack.in_switch.program,
                         rack.servers.size(), rack.servers.size() == 1 ? "" : "s", rack.worker_count())
                 .c_str(),
             stderr);
  if (with_load) return run_load(run, supervisor, plan, flags);
  run.serve();
  if (complain(run.stop())) return kExitFailed;
  std::fputs("rack stopped\n", stderr);
  return kExitOk;
}

}  // namespace

Run declare_rack(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("FILE", flags->file, "the rack file")->required();
  app.add_option("--scheduler", flags->scheduler, "instead of the file's: " + comma_list(scheduler_names()))
      ->type_name("NAME");
  app.add_flag_function(
      "--load,!--no-load",
      [flags](std::int64_t count) {
        flags->with_load = count > 0;
        flags->with_load_given = true;
      },
      "run a load and end with it; without: if the file has [load]");
  declare_load_flags(app, flags->load);
  app.add_flag("--json", flags->json,
               "the load's report as one JSON object; all else goes to standard error");
  app.add_option("--out", flags->out, "write the report with latency distributions to this file")
      ->type_name("FILE");
  return [flags] { return run(*flags); };
}

}  // namespace rain::tools
