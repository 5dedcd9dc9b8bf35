// See sim_flags.h.
#include "tools/sim_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/input_error.h"
#include "tools/suggest.h"
#include "tools/toml_reader.h"
#include "tools/units.h"

namespace rain::tools {
namespace {

using sim::RackSpec;

constexpr Nanos kLongest = seconds(100'000);
constexpr std::string_view kLoadAllowed =
    "requests a second from 0.001 to 1G such as 2600000 or 2.6M, or a share of what the workers can serve "
    "from 0.1% to "
    "1000%";
constexpr std::string_view kSlicesAllowed =
    "for each slice its workers and the task types that it serves, WORKERS@TYPE/TYPE, as in 14@0,18@1/2";

std::vector<std::string_view> scheduler_names() {
  std::vector<std::string_view> names;
  for (const sim::Scheduler& one : sim::schedulers()) names.push_back(one.name);
  return names;
}

template <typename Int>
bool parse_whole(std::string_view text, Int& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

/// WORKERS@TYPE/TYPE,...
std::optional<std::vector<sim::SliceSpec>> parse_slices(std::string_view text) {
  std::vector<sim::SliceSpec> slices;
  for (const std::string_view one : workload::split(text, ',')) {
    const std::vector<std::string_view> halves = workload::split(one, '@');
    sim::SliceSpec& slice = slices.emplace_back();
    if (halves.size() != 2 || !parse_whole(halves[0], slice.workers)) return std::nullopt;
    for (const std::string_view type_text : workload::split(halves[1], '/')) {
      if (!parse_whole(type_text, slice.types.emplace_back().value)) return std::nullopt;
    }
  }
  return slices;
}

std::string set_load(Rate& load, std::string_view text) {
  const auto parsed = parse_rate(text);
  const bool share_fits = parsed && parsed->capacity_share >= 0.001 && parsed->capacity_share <= 10;
  const bool rate_fits =
      parsed && parsed->per_second >= workload::kMinRate && parsed->per_second <= workload::kMaxRate;
  if (!share_fits && !rate_fits) return std::string(kLoadAllowed);
  load = *parsed;
  return {};
}

/// Scheduler and rack.
void read_rack(TomlReader& reader, RackSpec& spec) {
  const std::vector<std::string_view> names = scheduler_names();
  reader.choice("scheduler", spec.scheduler, names);
  reader.integer("workers", spec.workers, 1, dataplane::kMaxWorkers);
  unsigned number = 0;
  if (reader.integer("depth", number, 1, kMaxQuota)) spec.depth = number;
  if (reader.integer("spill", number, 0, dataplane::kMaxQueueCapacity, "waiting tasks")) spec.spill = number;
  reader.integer("drain", spec.drain, 0, UINT16_MAX, "spare tokens; 0: never");
  reader.integer("queue_capacity", spec.queue_capacity, 1, dataplane::kMaxQueueCapacity, "tasks");
  std::string refresh = "reports";
  constexpr std::string_view kRefreshes[] = {"reports", "recirculation"};
  reader.choice("refresh", refresh, kRefreshes);
  spec.refresh_by_recirculation = refresh == kRefreshes[1];
  reader.parsed("slices", kSlicesAllowed, [&](std::string_view text) -> std::string {
    auto slices = parse_slices(text);
    if (!slices) return std::string(kSlicesAllowed);
    spec.slices = std::move(*slices);
    return {};
  });
  bool ideal_network = false;
  reader.flag("ideal_network", ideal_network);
  if (ideal_network) spec.calibration = sim::Calibration::ideal_network();
}

/// Adaptive scheduling. After the rack, whose scheduler decides the policy.
void read_adaptive(TomlReader& reader, RackSpec& spec) {
  bool adaptive = false;
  reader.flag("adaptive", adaptive);
  sim::AdaptiveSpec agents;
  if (const sim::Scheduler* scheduler = sim::find_scheduler(spec.scheduler)) {
    agents.policy.kind = sim::default_policy(*scheduler);
  }
  std::string name(agent::to_text(agents.policy.kind));
  if (reader.choice("policy", name, agent::kPolicyNames)) agents.policy.kind = *agent::parse_policy(name);
  agent::AdaptiveOptions& options = agents.policy.adaptive;
  reader.number("rth", options.ratio_threshold, 0, 1, "of a task's waiting");
  reader.number("sth", options.slowdown_threshold, 1.001, 1e6);
  reader.integer("max_quota", options.max_quota, 1, kMaxQuota);
  reader.duration("control_interval", agents.policy.interval, microseconds(100), seconds(100));
  if (adaptive) {
    spec.adaptive = agents;
    return;
  }
  for (const char* key : {"policy", "rth", "sth", "max_quota", "control_interval"}) {
    if (reader.has(key)) reader.refuse(key, "only together with --adaptive");
  }
}

/// `--service trace:FILE`; false: the service is something else.
bool read_trace(TomlReader& reader, RackSpec& spec) {
  constexpr std::string_view kTrace = "trace:";
  std::string file;
  reader.parsed("service", "a distribution such as exp:10us", [&](std::string_view text) {
    if (text.starts_with(kTrace)) file = text.substr(kTrace.size());
    return std::string();
  });
  if (file.empty()) return false;
  for (const char* key : {"load", "phases", "classes", "arrivals", "large_share", "large_bytes"}) {
    if (reader.has(key))
      reader.refuse(key, "not with a trace, which says when what arrives and how large it is");
  }
  auto trace = workload::Trace::read(file);
  if (!trace) throw InputError(trace.error());
  spec.workload = workload::WorkloadSpec::replay(std::move(*trace));
  return true;
}

/// Classes, arrivals and load.
void read_workload(TomlReader& reader, RackSpec& spec) {
  if (read_trace(reader, spec)) return;
  std::vector<workload::ClassSpec> classes;
  if (reader.has("service") && reader.has("classes")) reader.refuse("service", "not together with --classes");
  const bool has_service =
      reader.parsed("service", "a distribution such as exp:10us", [&](std::string_view text) {
        auto parsed = workload::Distribution::parse(text);
        if (!parsed) return parsed.error();
        classes = {{.name = "all", .share = 1, .type = {}, .demand = std::move(*parsed)}};
        return std::string();
      });
  const bool has_classes =
      reader.parsed("classes", "NAME[@TYPE]:SHARE:DISTRIBUTION,..", [&](std::string_view text) {
        auto parsed = workload::parse_classes(text);
        if (!parsed) return parsed.error();
        classes = std::move(*parsed);
        return std::string();
      });
  if (!has_service && !has_classes) {
    classes = {
        {.name = "all", .share = 1, .type = {}, .demand = workload::Distribution::parse("exp:10us").value()}};
  }
  auto arrivals = workload::Arrival::kPoisson;
  reader.parsed("arrivals", "poisson, uniform or constant", [&](std::string_view text) {
    const auto parsed = workload::parse_arrival(text);
    if (!parsed) return parsed.error();
    arrivals = *parsed;
    return std::string();
  });
  reader.number("large_share", spec.large_share, 0, 1, "of the tasks");
  reader.integer("large_bytes", spec.large_bytes, 9, wire::kMaxPayloadBytes);

  Rate load{.per_second = 0, .capacity_share = 0.8};
  reader.parsed("load", kLoadAllowed, [&](std::string_view text) { return set_load(load, text); });
  spec.workload = workload::WorkloadSpec::steady(load.per_second, std::move(classes), arrivals);
  if (load.capacity_share > 0) spec.workload.phases[0].rate = load.capacity_share * spec.capacity_rps();
  if (spec.workload.phases[0].rate > workload::kMaxRate) {
    reader.refuse("load",
                  fmt::format("requests a second, at most {:.0f}: what so short a service allows is more",
                              workload::kMaxRate));
  }
  if (reader.has("load") && reader.has("phases")) reader.refuse("load", "not together with --phases");
  reader.parsed("phases", "START=RATE[@SHARE/SHARE/..],..", [&](std::string_view text) {
    auto parsed = workload::parse_phases(text);
    if (!parsed) return parsed.error();
    spec.workload.phases = std::move(*parsed);
    return std::string();
  });
}

}  // namespace

void declare_sim_flags(CLI::App& app, FlagTexts& flags) {
  const std::vector<std::string_view> names = scheduler_names();
  const auto flag = [&](const char* key, const std::string& help, const char* type) {
    declare_key_flag(app, flags, key, help, type);
  };
  flag("scheduler", "one of " + comma_list(names) + " (rain)", "NAME");
  flag("workers", "workers of the rack (32)", "N");
  flag("depth", "tasks that a worker holds at most, 1..8: rain, rain-paper, r2p2 (4, 2, 1)", "N");
  flag("spill", "rain: waiting tasks from which busy workers get some (a quarter of the slice's workers)",
       "N");
  flag("drain", "rain: every N-th spare token serves whoever waits; 0: never (4)", "N");
  flag("queue_capacity", "tasks that may wait in a slice (131072)", "N");
  flag("refresh", "racksched: how loads are kept fresh, reports or recirculation (reports)", "HOW");
  flag("slices", "WORKERS@TYPE/TYPE,..: workers and task types of each slice (one slice)", "SLICES");
  flag("load", "requests a second (2.6M), or a share of what the workers can serve (80%)", "RATE");
  flag("phases", "START=RATE[@SHARE/SHARE/..],.. instead of --load: what changes when", "PHASES");
  flag("service",
       "const:T exp:T bimodal:P:A:B trimodal:P1:A:P2:B:C lognormal:MEAN:SIGMA pareto:MEAN:SHAPE "
       "empirical:FILE, "
       "or trace:FILE (exp:10us)",
       "DIST");
  flag("classes", "NAME[@TYPE]:SHARE:DIST,.. or a preset, instead of --service", "CLASSES");
  flag("arrivals", "poisson, uniform or constant gaps (poisson)", "KIND");
  flag("large_share", "share of the tasks whose payload does not fit a switch entry of 8 bytes (0.2)",
       "SHARE");
  flag("large_bytes", "their payload (64)", "N");
  flag("duration", "measured time (10s)", "TIME");
  flag("warmup", "time before, not measured (1s)", "TIME");
  flag("seed", "the same seed gives the same bytes (1)", "N");
  flag("policy",
       "what adapts: paper (Algorithm 1: quotas) or rain (spill thresholds); workers move in both "
       "(that of the scheduler)",
       "NAME");
  flag("rth", "share of the waiting at the worker above which its queue is to blame (0.3)", "SHARE");
  flag("sth", "p99 slowdown above which something is changed (10)", "N");
  flag("max_quota", "policy paper: largest depth, 1..8 (8)", "N");
  flag("control_interval", "time between two decisions (10ms)", "TIME");
  app.add_flag_callback(
      "--adaptive", [&flags] { flags.emplace_back("adaptive", "true"); },
      "adaptive scheduling: the agents run (rain, rain-paper)");
  app.add_flag_callback(
      "--ideal-network", [&flags] { flags.emplace_back("ideal_network", "true"); },
      "hosts, wires and switch passes cost no time");
}

sim::RackSpec read_sim_flags(const FlagTexts& flags) {
  const toml::table table = flags_as_table(flags);
  const std::string no_file;
  TomlReader reader(table, "", no_file);
  RackSpec spec;
  read_rack(reader, spec);
  read_adaptive(reader, spec);
  read_workload(reader, spec);
  reader.duration("duration", spec.duration, Nanos{1}, kLongest);
  reader.duration("warmup", spec.warmup, Nanos{}, kLongest);
  reader.integer("seed", spec.seed, 0, INT64_MAX);
  reader.finish();
  if (const auto good = spec.validate(); !good) throw InputError(good.error());
  return spec;
}

}  // namespace rain::tools
