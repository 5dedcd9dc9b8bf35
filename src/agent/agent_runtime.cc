#include "agent/agent_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/decision_trace.h"
#include "base/assert.h"

namespace rain::agent {

const char* AgentRuntimeOptions::problem() const {
  if (const char* wrong = policy.problem()) return wrong;
  if (dead_after < milliseconds(1) || dead_after > seconds(3600)) return "dead_after: 1ms to 1h";
  if (slices < 1) return "slices: at least 1";
  return nullptr;
}

AgentRuntime::AgentRuntime(const AgentRuntimeOptions& options, ControlBlock& block,
                           const std::vector<AgentWorker>& workers, Nanos now)
    : options_(options),
      can_move_(options.can_move),
      block_(block),
      policy_(options.policy, options.slices),
      begun_(now),
      due_(now + options.policy.interval),
      spills_(options.slices) {
  RAIN_ASSERT(options.problem() == nullptr && block.workers() == workers.size());
  for (std::size_t i = 0; i < workers.size(); ++i) {
    RAIN_ASSERT(workers[i].slice < options.slices && workers[i].quota <= kMaxQuota);
    Worker& made = workers_.emplace_back(Worker{.port = block.agent_port(static_cast<unsigned>(i))});
    made.wanted = made.port.wanted().value_or(Wanted{.quota = workers[i].quota});
    made.port.want(made.wanted);
    made.port.take_samples([](const TaskSample&) {});  // begin now
    const WorkerStatus status = made.port.status(now);
    made.steps = status.steps;
    made.stepped = now;
    made.idle = status.idle;
    reports_.push_back({.id = workers[i].id, .slice = workers[i].slice, .wanted = made.wanted.quota});
  }
}

void AgentRuntime::poll(Nanos now, AgentSink& sink) {
  if (now < begun_) {  // a clock that jumped back: nothing can be said of this interval
    begun_ = now;
    due_ = now + options_.policy.interval;
    for (Worker& worker : workers_) worker.stepped = std::min(worker.stepped, now);
    return;
  }
  if (now < due_) return;
  block_.beat();
  for (std::size_t i = 0; i < workers_.size(); ++i) read_worker(i, now, sink);
  decide(now, sink);
  begun_ = now;
  due_ = now + options_.policy.interval;
  sink.report(reports_);
}

void AgentRuntime::read_worker(std::size_t index, Nanos now, AgentSink& sink) {
  Worker& worker = workers_[index];
  AgentReport& report = reports_[index];
  const WorkerStatus status = worker.port.status(now);
  report.lost_samples += worker.port.take_samples([&worker](const TaskSample& sample) {
    worker.window.add(sample);
    worker.service.add(sample);
  });
  const Nanos lasted = std::max(now - begun_, Nanos{1});
  // A worker that was restarted begins its idle time anew.
  const Nanos idle = std::clamp(status.idle - worker.idle, Nanos{}, lasted);
  worker.idle = status.idle;
  report.idleness = static_cast<double>(idle.value) / static_cast<double>(lasted.value);
  report.quota = status.quota;
  report.held = status.held;
  report.served = status.served;
  report.drained = status.drained;

  if (status.steps != worker.steps) {
    worker.steps = status.steps;
    worker.stepped = now;
  }
  const bool alive = now - worker.stepped < options_.dead_after;
  if (alive == report.alive) return;
  report.alive = alive;
  sink.say(alive ? fmt::format("worker {} is back", report.id.value)
                 : fmt::format("worker {} has stood still for {} ms", report.id.value,
                               (now - worker.stepped).value / 1'000'000));
}

void AgentRuntime::decide(Nanos now, AgentSink& sink) {
  indices_.clear();
  before_.clear();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    const TaskStatistics tasks = worker.window.end_interval(options_.policy.adaptive.slowdown_threshold);
    const ServiceStatistics service = std::exchange(worker.service, {});
    reports_[i].slowdown_p99 = tasks.slowdown_p99;
    if (!options_.adapts || !reports_[i].alive || worker.wanted.quota == 0) continue;
    indices_.push_back(i);
    before_.push_back({.slice = reports_[i].slice,
                       .quota = std::min(worker.wanted.quota, options_.policy.adaptive.max_quota),
                       .tasks = tasks,
                       .service = service,
                       .idleness = reports_[i].idleness});
  }
  if (!options_.adapts) return;
  after_ = before_;
  policy_.decide(after_);
  if (options_.traced) {
    std::string lines;
    if (!std::exchange(traced_header_, true)) lines = trace_header(options_.policy, options_.slices);
    sink.trace(lines + trace_interval(now, before_, after_, policy_));
  }
  for (std::size_t i = 0; i < indices_.size(); ++i) take_over(indices_[i], before_[i], after_[i], sink);
  for (std::uint16_t slice = 0; slice < options_.slices; ++slice) {
    // Said of those that workers of ours serve, and again when they come back to one.
    const bool served = std::any_of(indices_.begin(), indices_.end(),
                                    [&](std::size_t index) { return reports_[index].slice == slice; });
    const std::optional<unsigned> spill = served ? policy_.spill(slice) : std::nullopt;
    if (spill && spill != spills_[slice]) sink.spill(slice, *spill);
    spills_[slice] = spill;
  }
}

void AgentRuntime::take_over(std::size_t index, const AdaptiveWorker& before, const AdaptiveWorker& after,
                             AgentSink& sink) {
  Worker& worker = workers_[index];
  AgentReport& report = reports_[index];
  if (after.slice != before.slice) {
    if (!can_move_) {
      if (!std::exchange(said_no_moves_, true)) {
        sink.say(fmt::format(
            "worker {} would move to another slice, but moves need a controller: only quotas are adapted",
            report.id.value));
      }
      return;  // with its quota: that of a worker that moves is for its new slice
    }
    report.slice = after.slice;
    sink.move(report.id, after.slice);
  }
  if (after.quota != worker.wanted.quota) want_quota(index, after.quota);
}

void AgentRuntime::want_quota(std::size_t index, unsigned quota) {
  reports_[index].wanted = workers_[index].wanted.quota = quota;
  workers_[index].port.want(workers_[index].wanted);
}

AgentRuntime::Worker* AgentRuntime::worker(WorkerId id) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (reports_[i].id == id) return &workers_[i];
  }
  return nullptr;
}

void AgentRuntime::set_quota(WorkerId id, unsigned quota) {
  Worker* const at = worker(id);
  if (at == nullptr || quota > kMaxQuota) return;
  want_quota(static_cast<std::size_t>(at - workers_.data()), quota);
}

void AgentRuntime::on_moved(WorkerId id, std::uint16_t slice) {
  Worker* const at = worker(id);
  if (at == nullptr || slice >= options_.slices) return;
  reports_[static_cast<std::size_t>(at - workers_.data())].slice = slice;
  ++at->wanted.ask;  // its epoch is another: the sooner it asks, the sooner it has tokens there
  at->port.want(at->wanted);
}

void AgentRuntime::on_move_refused(WorkerId id, std::uint16_t slice) {
  Worker* const at = worker(id);
  if (at == nullptr || slice >= options_.slices) return;
  reports_[static_cast<std::size_t>(at - workers_.data())].slice = slice;
}

}  // namespace rain::agent
