// `rain sweep`: every combination of schedulers, depths, loads and seeds, one run each, as a CSV and a picture.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/input_error.h"
#include "tools/plotting.h"
#include "tools/sim_flags.h"
#include "tools/sim_runs.h"

namespace rain::tools {
namespace {

constexpr std::size_t kMaxRuns = 100'000;
constexpr unsigned kMaxThreads = 1024;

struct Flags {
  FlagTexts spec;
  std::string out = "rain-sweep";
  unsigned threads = 0;
  bool no_picture = false;
};

/// Takes the values that were given to the flag out of `flags`.
std::vector<std::string> take_list(FlagTexts& flags, std::string_view key) {
  std::vector<std::string> values;
  for (const auto& [name, text] : flags) {
    if (name != key) continue;
    for (const std::string_view one : workload::split(text, ',')) {
      if (std::find(values.begin(), values.end(), one) != values.end())
        throw InputError(fmt::format("--{} = {}: {} stands there twice", key, text, one));
      values.emplace_back(one);
    }
  }
  std::erase_if(flags, [&](const auto& flag) { return flag.first == key; });
  return values;
}

/// Each of `runs` with each of `values` for the key; as they are when there are no values.
std::vector<FlagTexts> combine(const std::vector<FlagTexts>& runs, const std::string& key,
                               const std::vector<std::string>& values) {
  if (values.empty()) return runs;
  std::vector<FlagTexts> all;
  for (const FlagTexts& run : runs) {
    for (const std::string& value : values) {
      all.push_back(run);
      all.back().emplace_back(key, value);
    }
  }
  return all;
}

std::vector<FlagTexts> runs_of(FlagTexts flags) {
  const auto schedulers = take_list(flags, "scheduler");
  const auto depths = take_list(flags, "depth");
  const auto loads = take_list(flags, "load");
  const auto seeds = take_list(flags, "seed");
  std::vector<FlagTexts> runs;
  for (const std::string& name : schedulers.empty() ? std::vector<std::string>{"rain"} : schedulers) {
    FlagTexts one = flags;
    one.emplace_back("scheduler", name);
    // A scheduler without depths has one run for all of them.
    const sim::Scheduler* scheduler = sim::find_scheduler(name);
    const bool deep = scheduler == nullptr || sim::has_depth(*scheduler);
    for (FlagTexts& run : combine({one}, "depth", deep ? depths : std::vector<std::string>{}))
      runs.push_back(std::move(run));
  }
  if (std::max<std::size_t>(loads.size(), 1) * std::max<std::size_t>(seeds.size(), 1) >
      kMaxRuns / runs.size())
    throw InputError(fmt::format("too many runs: at most {}", kMaxRuns));
  return combine(combine(runs, "load", loads), "seed", seeds);
}

int run_sweep(const Flags& flags) {
  const std::vector<FlagTexts> runs = runs_of(flags.spec);
  std::string csv;
  std::vector<std::string> labels;
  for (const FlagTexts& run : runs) {
    const sim::RackSpec spec = read_sim_flags(run);
    const sim::Scheduler& scheduler = *sim::find_scheduler(spec.scheduler);
    const bool deep = scheduler.program && sim::has_depth(scheduler);
    labels.push_back(
        fmt::format("{},{},{:.0f},{},", spec.scheduler,
                    deep ? std::to_string(spec.depth.value_or(sim::default_depth(scheduler))) : "",
                    spec.workload.phases[0].rate, spec.seed));
    if (csv.empty()) csv = "scheduler,depth,load_rps,seed," + result_columns(spec) + '\n';
  }
  if (!flags.no_picture) require_plotting();
  const std::filesystem::path folder = flags.out;
  RunJournal journal(folder / "journal");
  const auto rows = do_runs(runs, journal, {.command = "rain sweep", .threads = flags.threads});
  for (std::size_t i = 0; i < rows.size(); ++i) csv += labels[i] + rows[i] + '\n';
  write_whole(folder / "sweep.csv", csv);
  if (!flags.no_picture) plot(folder, {"sweep"});
  journal.remove();
  fmt::print("{}\n", (folder / (flags.no_picture ? "sweep.csv" : "sweep.png")).string());
  return kExitOk;
}

}  // namespace

Run declare_sweep(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.description(
      "run the simulator for every combination of schedulers, depths, loads and seeds\n"
      "--scheduler, --depth, --load and --seed take lists: rain,pallas or 60%,80%,95%. A sweep that was "
      "stopped goes on where it was when it is started again.");
  declare_sim_flags(app, flags->spec);
  app.add_option("--out", flags->out, "folder of sweep.csv and sweep.png (" + flags->out + ")")
      ->type_name("DIR");
  app.add_option("--threads", flags->threads, "runs at a time (one for each core)")
      ->check(CLI::Range(1U, kMaxThreads))
      ->type_name("N");
  app.add_flag("--no-picture", flags->no_picture, "the CSV alone");
  return [flags] { return run_sweep(*flags); };
}

}  // namespace rain::tools
