#include "sim/adaptation.h"

#include <utility>

#include "agent/decision_trace.h"
#include "sim/switch_model.h"

namespace rain::sim {

Adaptation::Adaptation(const RackSpec& spec, unsigned depth)
    : policy_(spec.adaptive->policy, effective_slices(spec).size()),
      trace_(spec.adaptive->trace),
      measured_from_(spec.warmup),
      measured_until_(spec.warmup + spec.duration),
      spills_(policy_.slices().size()) {
  const std::vector<SliceSpec> slices = effective_slices(spec);
  for (std::uint16_t i = 0; i < slices.size(); ++i) {
    for (unsigned n = 0; n < slices[i].workers; ++n) {
      workers_.emplace_back();
      state_.emplace_back();
      state_.back().slice = i;
      state_.back().quota = depth;
    }
  }
  result_.mean_depth = depth;
  if (trace_) result_.decisions = agent::trace_header(policy_.options(), slices.size());
}

void Adaptation::end_interval(Nanos now) {
  const double interval_ns = static_cast<double>(interval().value);
  const double threshold = policy_.options().adaptive.slowdown_threshold;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    if (worker.idle_since != Nanos::max()) {
      worker.idle += now - worker.idle_since;
      worker.idle_since = now;
    }
    state_[i].tasks = worker.window.end_interval(threshold);
    state_[i].service = std::exchange(worker.service, {});
    state_[i].idleness = static_cast<double>(std::exchange(worker.idle, {}).value) / interval_ns;
  }
  before_ = state_;
  policy_.decide(state_);
  count(before_, now);
  if (trace_) result_.decisions += agent::trace_interval(now, before_, state_, policy_);
}

/// Into the result and the changes of tables.
void Adaptation::count(const std::vector<agent::AdaptiveWorker>& before, Nanos now) {
  table_changes_.clear();
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (now > measured_from_ && now <= measured_until_) {
      quota_sum_ += before[i].quota;
      ++quota_count_;
    }
    if (state_[i].slice != before[i].slice) {
      ++result_.moves;
      workers_[i].window.clear();  // of another slice
      table_changes_.push_back(
          {.worker = WorkerId{static_cast<std::uint16_t>(i)}, .slice = SliceId{state_[i].slice}});
    } else if (state_[i].quota != before[i].quota) {
      ++result_.quota_changes;
    }
  }
  for (std::size_t i = 0; i < spills_.size(); ++i) {
    const std::optional<unsigned> spill = policy_.spill(i);
    if (!spill || spill == spills_[i]) continue;
    spills_[i] = spill;
    ++result_.spill_changes;
    table_changes_.push_back(
        {.worker = {}, .slice = SliceId{static_cast<std::uint16_t>(i)}, .spill = *spill});
  }
  ++result_.intervals;
  if (quota_count_ > 0) result_.mean_depth = quota_sum_ / static_cast<double>(quota_count_);
  result_.spills.clear();
  for (const auto& spill : spills_) result_.spills.push_back(spill.value_or(0));
}

}  // namespace rain::sim
