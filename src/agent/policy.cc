#include "agent/policy.h"

#include <algorithm>

#include "base/assert.h"

namespace rain::agent {

std::optional<PolicyKind> parse_policy(std::string_view text) {
  for (const PolicyKind kind : {PolicyKind::kPaper, PolicyKind::kRain}) {
    if (to_text(kind) == text) return kind;
  }
  return std::nullopt;
}

const char* PolicyOptions::problem() const {
  if (const char* wrong = adaptive.problem()) return wrong;
  if (const char* wrong = hysteresis.problem()) return wrong;
  if (interval < microseconds(100) || interval > seconds(100)) return "control interval: 100us to 100s";
  return nullptr;
}

Policy::Policy(const PolicyOptions& options, std::size_t slices)
    : options_(options), slices_(slices), hysteresis_(options.hysteresis, slices), spills_(slices) {
  RAIN_ASSERT(options.problem() == nullptr);
}

void Policy::decide(std::span<AdaptiveWorker> workers) {
  if (options_.kind == PolicyKind::kPaper) {
    adapt(options_.adaptive, workers, slices_, hysteresis_.permits());
  } else {
    decide_spills(workers);
    adapt_moves_only(workers);
  }
  hysteresis_.on_interval(slices_);
}

std::optional<unsigned> Policy::spill(std::size_t slice) const {
  if (options_.kind == PolicyKind::kPaper) return std::nullopt;
  return spills_.spill(slice);
}

/// Before the moves: the reports are of the slices as they were.
void Policy::decide_spills(std::span<const AdaptiveWorker> workers) {
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    ServiceStatistics sum;
    unsigned count = 0;
    for (const AdaptiveWorker& worker : workers) {
      if (worker.slice != i) continue;
      sum.merge(worker.service);
      ++count;
    }
    spills_.on_interval(i, count, sum, options_.interval);
  }
}

/// Algorithm 1 with all quotas at their largest: only its moves are taken over.
void Policy::adapt_moves_only(std::span<AdaptiveWorker> workers) {
  AdaptiveOptions options = options_.adaptive;
  quotas_.clear();
  options.max_quota = 1;
  for (const AdaptiveWorker& worker : workers) {
    quotas_.push_back(worker.quota);
    options.max_quota = std::max(options.max_quota, worker.quota);
  }
  for (AdaptiveWorker& worker : workers) worker.quota = options.max_quota;
  adapt(options, workers, slices_, hysteresis_.permits());
  for (std::size_t i = 0; i < workers.size(); ++i) workers[i].quota = quotas_[i];
}

}  // namespace rain::agent
