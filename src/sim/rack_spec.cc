#include "sim/rack_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace rain::sim {
namespace {

using dataplane::ProgramId;
using Problem = tl::unexpected<std::string>;

constexpr unsigned kSmallestLarge = static_cast<unsigned>(dataplane::kInlinePayloadBytes) + 1;
constexpr Nanos kLongest = seconds(100'000);  // far below the engine's 2^63 ns, far above anybody's patience

Problem out_of_range(std::string_view what, const auto& value, std::string_view allowed) {
  return Problem(fmt::format("{} = {}: {}", what, value, allowed));
}

tl::expected<void, std::string> check_scheduler(const RackSpec& spec) {
  const Scheduler* scheduler = find_scheduler(spec.scheduler);
  if (scheduler == nullptr) {
    std::string names;
    for (const Scheduler& one : schedulers())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    return Problem(fmt::format("scheduler = {}: one of {}", spec.scheduler, names));
  }
  if (!spec.depth) return {};
  if (!has_depth(*scheduler)) {
    return out_of_range(
        "depth", *spec.depth,
        fmt::format("not with {}, whose workers' queues have no bound to choose", spec.scheduler));
  }
  if (*spec.depth < 1 || *spec.depth > kMaxQuota) {
    return out_of_range("depth", *spec.depth, fmt::format("1 to {}", kMaxQuota));
  }
  return {};
}

tl::expected<void, std::string> check_adaptive(const RackSpec& spec) {
  if (spec.timeline_interval < Nanos{} || spec.timeline_interval > kLongest) {
    return out_of_range("timeline interval", fmt::format("{}ns", spec.timeline_interval.value),
                        "above 0, up to 100000s");
  }
  if (spec.timeline_interval > Nanos{} && spec.scheduler == "ideal")
    return Problem("timeline: not with ideal");
  if (!spec.adaptive) return {};
  const Scheduler& scheduler = *find_scheduler(spec.scheduler);
  const bool tokens = scheduler.program && worker_rule(*scheduler.program) == WorkerRule::kTokens;
  if (!tokens) {
    return Problem(fmt::format("adaptive with {}: only with rain and rain-paper, whose workers have quotas",
                               spec.scheduler));
  }
  const agent::PolicyOptions& policy = spec.adaptive->policy;
  if (const char* wrong = policy.problem()) return Problem(std::string(wrong));
  if (policy.kind == agent::PolicyKind::kRain && *scheduler.program != ProgramId::kRain) {
    return Problem(
        fmt::format("policy rain with {}: only with rain, which has a spill threshold", spec.scheduler));
  }
  if (policy.kind == agent::PolicyKind::kRain && spec.spill) {
    return out_of_range("spill", *spec.spill, "not with policy rain, which sets it");
  }
  const unsigned depth = spec.depth.value_or(default_depth(scheduler));
  if (policy.kind == agent::PolicyKind::kPaper && depth > policy.adaptive.max_quota) {
    return out_of_range("depth", depth,
                        fmt::format("at most the largest quota, {}", policy.adaptive.max_quota));
  }
  return {};
}

tl::expected<void, std::string> check_slices(const RackSpec& spec) {
  if (spec.slices.empty()) return {};
  if (spec.slices.size() > dataplane::kMaxSlices) {
    return out_of_range("slices", spec.slices.size(), fmt::format("at most {}", dataplane::kMaxSlices));
  }
  unsigned workers = 0;
  std::vector<std::uint16_t> served;
  for (const SliceSpec& slice : spec.slices) {
    if (slice.workers == 0) return out_of_range("workers of a slice", 0, "1 or more");
    workers += slice.workers;
    for (const TaskType type : slice.types) {
      if (std::count(served.begin(), served.end(), type.value) != 0) {
        return out_of_range("task type", type.value, "in one slice only");
      }
      served.push_back(type.value);
    }
  }
  if (workers != spec.workers) {
    return Problem(
        fmt::format("slices have {} workers together: as many as the rack, {}", workers, spec.workers));
  }
  for (std::size_t i = 0; i < spec.workload.classes.size(); ++i) {
    if (std::count(served.begin(), served.end(), spec.type_of(i).value) == 0) {
      return Problem(fmt::format("task type {} of class \"{}\": no slice serves it", spec.type_of(i).value,
                                 spec.workload.classes[i].name));
    }
  }
  return {};
}

}  // namespace

const std::vector<Scheduler>& schedulers() {
  static const std::vector<Scheduler> list = [] {
    std::vector<Scheduler> all;
    for (const dataplane::ProgramInfo& info : dataplane::kPrograms)
      all.push_back({info.name, info.help, info.id});
    all.push_back(
        {"ideal", "one central first-come-first-served queue without overhead: the bound", std::nullopt});
    return all;
  }();
  return list;
}

const Scheduler* find_scheduler(std::string_view name) {
  const auto& all = schedulers();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Scheduler& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

WorkerRule worker_rule(ProgramId program) {
  if (program == ProgramId::kDraconis) return WorkerRule::kPulls;
  for (const dataplane::ProgramInfo& info : dataplane::kPrograms) {
    if (info.id == program) return info.uses_tokens ? WorkerRule::kTokens : WorkerRule::kReports;
  }
  RAIN_ASSERT(false && "program id outside the list");
  return WorkerRule::kReports;
}

bool has_depth(const Scheduler& scheduler) {
  return scheduler.program &&
         (*scheduler.program == ProgramId::kR2p2 || worker_rule(*scheduler.program) == WorkerRule::kTokens);
}

unsigned default_depth(const Scheduler& scheduler) {
  if (!has_depth(scheduler)) return 0;
  if (*scheduler.program == ProgramId::kRain) return 4;
  return *scheduler.program == ProgramId::kRainPaper ? 2 : 1;
}

agent::PolicyKind default_policy(const Scheduler& scheduler) {
  return scheduler.program == ProgramId::kRain ? agent::PolicyKind::kRain : agent::PolicyKind::kPaper;
}

tl::expected<void, std::string> RackSpec::validate() const {
  if (auto good = check_scheduler(*this); !good) return good;
  if (auto good = check_adaptive(*this); !good) return good;
  if (workers < 1 || workers > dataplane::kMaxWorkers) {
    return out_of_range("workers", workers, fmt::format("1 to {}", dataplane::kMaxWorkers));
  }
  if (queue_capacity < 1 || queue_capacity > dataplane::kMaxQueueCapacity) {
    return out_of_range("queue capacity", queue_capacity,
                        fmt::format("1 to {} tasks", dataplane::kMaxQueueCapacity));
  }
  if (spill && *spill > queue_capacity) {
    return out_of_range("spill", *spill, fmt::format("0 to the queue's capacity, {}", queue_capacity));
  }
  if (drain > UINT16_MAX) return out_of_range("drain", drain, fmt::format("0 to {}", UINT16_MAX));
  if (duration <= Nanos{} || duration > kLongest) {
    return out_of_range("duration", fmt::format("{}ns", duration.value), "above 0, up to 100000s");
  }
  if (warmup < Nanos{} || warmup > kLongest) {
    return out_of_range("warmup", fmt::format("{}ns", warmup.value), "0 to 100000s");
  }
  if (!(large_share >= 0 && large_share <= 1)) return out_of_range("large share", large_share, "0 to 1");
  if (large_bytes < kSmallestLarge || large_bytes > wire::kMaxPayloadBytes) {
    return out_of_range("large bytes", large_bytes,
                        fmt::format("{} to {}", kSmallestLarge, wire::kMaxPayloadBytes));
  }
  for (const workload::ClassSpec& one : workload.classes) {
    if (one.demand.quantity() != workload::Quantity::kTime) {
      return Problem(
          fmt::format("class \"{}\" = {}: a service time with a unit", one.name, one.demand.text()));
    }
  }
  if (auto good = workload.validate(); !good) return good;
  return check_slices(*this);
}

double RackSpec::capacity_rps() const {
  const double mean_ns = workload.mean_demand();
  return mean_ns > 0 ? static_cast<double>(workers) * 1e9 / mean_ns : std::numeric_limits<double>::infinity();
}

TaskType RackSpec::type_of(std::size_t class_index) const {
  return workload.classes[class_index].type.value_or(TaskType{static_cast<std::uint16_t>(class_index)});
}

}  // namespace rain::sim
