// `rain compare`: the same rack and the same load, seed included, behind one scheduler after the other.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tools/command.h"
#include "tools/comparison.h"
#include "tools/input_error.h"
#include "tools/load_command.h"
#include "tools/rack_run.h"
#include "tools/suggest.h"

namespace rain::tools {
namespace {

struct Flags {
  std::string file, out;
  std::string schedulers = "random,rain-paper,rain";
  LoadFlags load;
  bool json = false;
};

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream stream(text);
  for (std::string name; std::getline(stream, name, ',');) {
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw InputError(fmt::format("--schedulers = {}: {} stands there twice", text, name));
    }
    names.push_back(name);
  }
  if (names.size() < 2)
    throw InputError(fmt::format("--schedulers = {}: at least two, separated by commas", text));
  return names;
}

std::filesystem::path make_folder(const std::string& out) {
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (!std::filesystem::is_directory(out))
    throw InputError(fmt::format("--out = {}: cannot be made a folder", out));
  return out;
}

/// What was measured and chosen, for people who would otherwise have to guess.
void say_rate(const LoadPlan& plan, const std::optional<Calibration>& calibration) {
  std::string text = fmt::format("rate {:.0f}/s", plan.rate_per_second);
  if (plan.load.rate.capacity_share > 0) text += fmt::format(", {} of capacity", format_rate(plan.load.rate));
  if (calibration) {
    for (const Calibration::Class& one : calibration->classes) {
      text += fmt::format(", {} takes {} us", one.name, short_number(one.service_us));
    }
  }
  std::fputs(("rain compare: " + text + "\n").c_str(), stderr);
}

/// One scheduler's run; nullopt when interrupted. The first run sets the rate of all.
std::optional<Report> run_one(RackFile rack, const std::string& scheduler, LoadPlan& plan) {
  rack.set_scheduler(scheduler);
  plan.facts = facts_of(rack);
  std::fputs(fmt::format("rain compare: scheduler {}\n", scheduler).c_str(), stderr);
  Supervisor supervisor("rain compare", stderr);
  RackRun run(supervisor, rack);
  const bool started = run.start(plan);
  if (started && plan.rate_per_second == 0) {
    plan.rate_per_second = run.rate_of(plan, std::thread::hardware_concurrency());
    say_rate(plan, run.calibration());
  }
  std::optional<Report> report;
  if (started) report = run.load(plan, fmt::format("[{}] ", scheduler));
  const RackRun::Stopped stopped = run.stop();
  if (supervisor.interrupted() || !report) return std::nullopt;
  // What was measured stands; tasks that an overloaded switch still held are such a problem.
  if (!stopped.problem.empty()) std::fputs(("rain compare: " + stopped.problem + "\n").c_str(), stderr);
  report->in_switch.recirculations = stopped.recirculations;
  return report;
}

int run(const Flags& flags) {
  const RackFile rack = RackFile::read(flags.file);
  const std::vector<std::string> schedulers = split_names(flags.schedulers);
  for (const std::string& scheduler : schedulers) RackFile(rack).set_scheduler(scheduler);
  LoadPlan plan = plan_of(rack, flags.load);
  const std::filesystem::path folder = flags.out.empty() ? std::filesystem::path() : make_folder(flags.out);
  Comparison comparison;
  int status = kExitOk;
  for (const std::string& scheduler : schedulers) {
    const auto report = run_one(rack, scheduler, plan);
    if (!report) {
      std::fputs("rain compare: interrupted\n", stderr);
      return kExitFailed;
    }
    if (!flags.out.empty()) write_report(*report, folder / (scheduler + ".json"));
    status = std::max(status, exit_status_of(*report));
    comparison.runs.push_back(*report);
  }
  fmt::print("{}", flags.json ? comparison.to_json().dump(2) + "\n" : comparison.to_table());
  return status;
}

}  // namespace

Run declare_compare(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("FILE", flags->file, "the rack file")->required();
  app.add_option("--schedulers", flags->schedulers,
                 "one after the other (" + flags->schedulers + "); all: " + comma_list(scheduler_names()))
      ->type_name("LIST");
  declare_load_flags(app, flags->load);
  app.add_flag("--json", flags->json, "one JSON object; all else goes to standard error");
  app.add_option("--out", flags->out, "write each report, with latency distributions, to this folder")
      ->type_name("DIR");
  return [flags] { return run(*flags); };
}

}  // namespace rain::tools
