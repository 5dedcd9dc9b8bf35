// `rain load`: offers a load to a rack that runs, and reports.
#include "tools/load_command.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/endpoint_text.h"
#include "base/stop_signals.h"
#include "tools/input_error.h"
#include "tools/progress_line.h"
#include "tools/suggest.h"
#include "tools/toml_reader.h"

namespace rain::tools {
namespace {

using nlohmann::ordered_json;

constexpr Nanos kProbePatience = seconds(3);
constexpr Nanos kCalibrationTime = seconds(1);

struct Flags {
  std::string config, switch_address, scheduler, out;
  FlagTexts facts;
  LoadFlags load;
  bool json = false;
  bool calibrate = false;
};

/// Sets `stop` when SIGINT or SIGTERM comes, while it lives. A second one ends the process at once.
class StopOnSignal {
 public:
  explicit StopOnSignal(std::atomic<bool>& stop)
      : thread_([this, &stop] {
          while (!ended_.load(std::memory_order_relaxed)) {
            if (!signals_.wait(milliseconds(50))) continue;
            const Nanos now = monotonic_now();
            if (!stop.exchange(true)) first_ = now;
            if (now - first_ < kSameSignal) continue;
            std::fputs("rain load: a second signal: ended without a report\n", stderr);
            std::_Exit(kExitFailed);
          }
        }) {}
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
  ~StopOnSignal() {
    ended_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  StopSignals signals_;
  Nanos first_{};  // of the thread
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

LoadPlan make_plan(const Flags& flags) {
  LoadPlan plan;
  if (!flags.config.empty()) {
    RackFile rack = RackFile::read(flags.config);
    if (!flags.scheduler.empty()) rack.set_scheduler(flags.scheduler);
    plan = plan_of(rack, flags.load);
  } else {
    if (!flags.scheduler.empty()) check_scheduler(flags.scheduler);
    plan.facts.scheduler = flags.scheduler;
    plan.load = load_of({}, "echo", flags.load);
  }
  if (!flags.switch_address.empty()) {
    const auto endpoint = parse_endpoint(flags.switch_address);
    if (!endpoint || endpoint->port == 0) {
      throw InputError(
          fmt::format("--switch = {}: an address such as 10.0.0.1:9000 or [::1]:9000", flags.switch_address));
    }
    plan.switch_address = *endpoint;
  } else if (flags.config.empty()) {
    throw InputError("--config or --switch is missing: a rack file, or the switch's address");
  }
  const toml::table table = flags_as_table(flags.facts);
  const std::string no_file;
  TomlReader reader(table, "", no_file);
  unsigned workers = 0;
  if (reader.integer("workers", workers, 1, dataplane::kMaxWorkers)) plan.facts.workers = workers;
  reader.finish();
  return plan;
}

void print_calibration(const Calibration& calibration, std::optional<unsigned> workers, bool json) {
  const double capacity = workers ? *workers * 1e6 / calibration.mean_service_us : 0;
  if (json) {
    ordered_json classes = ordered_json::array();
    for (const Calibration::Class& one : calibration.classes) {
      classes.push_back({{"name", one.name}, {"count", one.count}, {"service_us", one.service_us}});
    }
    fmt::print("{}\n",
               ordered_json{{"schema", "rain.calibration/1"},
                            {"classes", classes},
                            {"mean_service_us", calibration.mean_service_us},
                            {"workers", workers ? ordered_json(*workers) : ordered_json(nullptr)},
                            {"capacity_rps", workers ? ordered_json(capacity) : ordered_json(nullptr)}}
                   .dump(2));
    return;
  }
  for (const Calibration::Class& one : calibration.classes) {
    fmt::print("{:<16}{:>10} requests, mean service {} us\n", one.name, one.count,
               short_number(one.service_us));
  }
  fmt::print("{:<16}{:>10}           mean service {} us\n", "all", "",
             short_number(calibration.mean_service_us));
  if (workers) fmt::print("{} workers on as many cores serve at most {:.0f}/s\n", *workers, capacity);
}

int run(const Flags& flags) {
  LoadPlan plan = make_plan(flags);
  if (!flags.out.empty()) check_writable(flags.out);
  const bool needs_calibration = plan.load.rate.capacity_share > 0 && !plan.load.mean_service_ns();
  if (plan.load.rate.capacity_share > 0 && !plan.facts.workers) {
    throw InputError("--rate: a share of capacity needs --config or --workers");
  }
  std::atomic<bool> stop{false};
  const StopOnSignal stop_on_signal(stop);
  if (const std::string problem = probe(plan, kProbePatience, stop); !problem.empty()) {
    throw std::runtime_error(problem);
  }
  double mean_service_us = plan.load.mean_service_ns().value_or(0) * 1e-3;
  if (needs_calibration || flags.calibrate) {
    const auto calibration = calibrate(plan, kCalibrationTime, stop);
    if (!calibration) throw std::runtime_error(calibration.error());
    if (flags.calibrate) return print_calibration(*calibration, plan.facts.workers, flags.json), kExitOk;
    mean_service_us = calibration->mean_service_us;
  }
  plan.rate_per_second = resolve_rate(plan.load.rate, plan.facts.workers.value_or(1), mean_service_us);
  ProgressLine line("rain load: ");
  const auto report =
      run_load(plan, stop, [&line](const LoadProgress& progress) { line.show(progress.text()); });
  line.done();
  if (!report) throw std::runtime_error(report.error());
  fmt::print("{}", flags.json ? to_json(*report, false).dump(2) + "\n" : to_table(*report));
  if (!flags.out.empty()) write_report(*report, flags.out);
  if (!stop.load()) return exit_status_of(*report);
  std::fputs("rain load: interrupted; the report covers what was measured until then\n", stderr);
  return kExitFailed;
}

}  // namespace

void declare_load_flags(CLI::App& app, LoadFlags& flags) {
  const auto declare = [&](const char* key, const char* help, const char* type) {
    declare_key_flag(app, flags.texts, key, help, type);
  };
  declare("app", "application of the workers: echo, synthetic, rocksdb", "NAME");
  declare("rate", "requests a second such as 5000 or 20k, or a share of capacity such as 80%", "RATE");
  declare("service", "synthetic: service time of every request, such as exp:10us", "DISTRIBUTION");
  declare("classes", "kinds of requests, such as get:0.9:const:1,scan:0.1:const:500", "LIST");
  declare("duration", "measured time after the warm-up (10s)", "TIME");
  declare("warmup", "sent but not measured (1s)", "TIME");
  declare("timeout", "without an answer for so long a request has timed out (1s)", "TIME");
  declare("seed", "of arrivals, classes and demands (1)", "N");
  declare("connections", "client sockets, each a thread (2)", "N");
  declare("sticky", "part of the requests that are marked STICKY, for the masters of their slices (0)",
          "PART");
  declare("admission", "a request without room at the client: off, fail or wait (off: nothing holds it back)",
          "MODE");
  declare("share",
          "with admission fail or wait: requests open at once, over all connections; of a rack with a "
          "controller: until "
          "that has spoken",
          "N");
  declare("client", "name at the rack's controller (load-HOST-PROCESS)", "NAME");
  declare("weight", "of this load's share among those that the controller gives (1)", "N");
  declare("arrivals", "poisson, uniform or constant (poisson)", "KIND");
  app.add_flag_callback(
      "--busy-poll", [&flags] { flags.texts.emplace_back("busy_poll", "true"); },
      "the generator spins instead of sleeping: smaller send lag, one core for each connection");
}

LoadSection load_of(const std::optional<LoadSection>& of_file, const std::string& default_app,
                    const LoadFlags& flags) {
  LoadSection load = of_file.value_or(LoadSection{});
  if (!of_file) load.app = default_app;
  const toml::table table = flags_as_table(flags.texts, {"client"});
  const std::string no_file;
  TomlReader reader(table, "", no_file);
  load.read(reader);
  return load;
}

RackFacts facts_of(const RackFile& rack) {
  RackFacts facts{.scheduler = rack.in_switch.program, .workers = rack.worker_count(), .depth = {}};
  unsigned depth = rack.effective_quota(rack.servers.front());
  for (const ServerSection& server : rack.servers) {
    if (rack.effective_quota(server) != depth) return facts;  // there is no one depth
  }
  facts.depth = depth;
  return facts;
}

LoadPlan plan_of(const RackFile& rack, const LoadFlags& flags) {
  const ServerSection& first = rack.servers.front();
  LoadPlan plan{.switch_address = rack.in_switch.listen,
                .load = load_of(rack.load, first.app, flags),
                .facts = facts_of(rack),
                .app_options = first.app_options};
  if (!rack.controller) return plan;
  LoadSection& load = plan.load;
  if (!load.admission_named) load.admission = LoadAdmission::kWait;
  if (load.admission == LoadAdmission::kOff) return plan;
  plan.controller =
      LoadController{.address = rack.controller->address, .client = load.client, .weight = load.weight};
  return plan;
}

double resolve_rate(const Rate& rate, double workers, double mean_service_us) {
  if (rate.capacity_share == 0) return rate.per_second;
  if (mean_service_us <= 0) throw InputError("--rate: a share of capacity needs service times above 0");
  return rate.capacity_share * workers * 1e6 / mean_service_us;
}

void check_writable(const std::string& path) {
  if (!std::ofstream(path, std::ios::app))
    throw InputError(fmt::format("--out = {}: cannot be written", path));
}

void write_report(const Report& report, const std::string& path) {
  std::ofstream stream(path);
  stream << to_json(report, true).dump() << '\n';
  if (!stream.flush()) throw std::runtime_error(fmt::format("--out = {}: cannot be written", path));
}

int exit_status_of(const Report& report) {
  const bool all_accounted =
      report.outcomes.without_outcome() == 0 && report.warmup_outcomes.without_outcome() == 0;
  const bool nothing_served = report.outcomes.sent > 0 && report.outcomes.completed == 0;
  return all_accounted && !nothing_served && report.application_errors == 0 ? kExitOk : kExitFailed;
}

Run declare_load(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("--config", flags->config, "the rack file: where the switch is, and its [load]")
      ->type_name("FILE");
  app.add_option("--switch", flags->switch_address, "the switch's address, instead of a file's")
      ->type_name("ADDR");
  app.add_option("--scheduler", flags->scheduler,
                 "what the report calls it: " + comma_list(scheduler_names()))
      ->type_name("NAME");
  declare_key_flag(app, flags->facts, "workers", "workers of the rack, for a rate in %", "N");
  declare_load_flags(app, flags->load);
  app.add_flag("--calibrate", flags->calibrate, "only measure service times, one request at a time");
  app.add_flag("--json", flags->json, "the report as one JSON object");
  app.add_option("--out", flags->out, "write the report with latency distributions to this file")
      ->type_name("FILE");
  return [flags] { return run(*flags); };
}

}  // namespace rain::tools
