#include "sim/simulate.h"

#include <algorithm>
#include <utility>

#include "sim/ideal_rack.h"
#include "sim/rack.h"

namespace rain::sim {
namespace {

constexpr std::uint32_t kOnTheWire = 1u << 18;

}  // namespace

std::uint32_t pool_capacity(const RackSpec& spec, WorkerRule rule) {
  const auto slices = static_cast<std::uint32_t>(std::max<std::size_t>(spec.slices.size(), 1));
  const std::uint32_t at_worker = rule == WorkerRule::kReports ? kWorkerQueueBound : kMaxQuota;
  return spec.queue_capacity * slices + spec.workers * at_worker + spec.calibration.recirculation_packets +
         kOnTheWire;
}

tl::expected<Result, std::string> simulate(const RackSpec& spec) {
  if (auto good = spec.validate(); !good) return tl::unexpected(good.error());
  auto workload = workload::Workload::make(spec.workload, spec.seed);
  if (!workload) return tl::unexpected(workload.error());
  const Scheduler& scheduler = *find_scheduler(spec.scheduler);
  if (!scheduler.program) return run_ideal(spec, std::move(*workload));
  unsigned levels = spec.depth.value_or(default_depth(scheduler));
  if (spec.adaptive && spec.adaptive->policy.kind == agent::PolicyKind::kPaper) {
    levels = std::max(levels, spec.adaptive->policy.adaptive.max_quota);
  }
  return dataplane::visit_program<dataplane::SoftMemory>(
      *scheduler.program, levels, [&]<typename Tag>(Tag) -> Result {
        return Rack<typename Tag::type>(spec, std::move(*workload), worker_rule(*scheduler.program)).run();
      });
}

}  // namespace rain::sim
