// What the agent decides at the end of each control interval: one of two policies, with the state that they need.
//
// `paper` is Algorithm 1 (adaptive.h): it moves quotas, by one an interval, and workers between slices. It goes with
// program `rain-paper`.
// `rain` goes with program `rain`, where a quota costs nothing while it is not needed: quotas stay, and each slice's
// spill threshold follows its load (spill_rule.h). Workers move as in Algorithm 1, whose answer to slow tasks that no
// quota can help is then the only one left: a slice is overloaded when tasks are slow and some waited in the switch.
//
// In both, hysteresis.h bounds the moves. Pure: the same reports give the same decisions, which decision_trace.h writes
// down and replays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "agent/adaptive.h"
#include "agent/hysteresis.h"
#include "agent/spill_rule.h"
#include "base/time.h"

namespace rain::agent {

enum class PolicyKind : std::uint8_t { kPaper, kRain };
inline constexpr std::string_view kPolicyNames[] = {"paper", "rain"};
constexpr std::string_view to_text(PolicyKind kind) { return kPolicyNames[static_cast<std::size_t>(kind)]; }
std::optional<PolicyKind> parse_policy(std::string_view text);

inline constexpr Nanos kDefaultControlInterval =
    milliseconds(10);  ///< 1000 sampling intervals of 10 us (section 3.3)

struct PolicyOptions {
  PolicyKind kind = PolicyKind::kPaper;
  AdaptiveOptions adaptive{};
  HysteresisOptions hysteresis{};
  Nanos interval = kDefaultControlInterval;  ///< 100 us to 100 s

  /// Null if all is in range, else what is not and what is allowed.
  const char* problem() const;
};

class Policy {
 public:
  Policy(const PolicyOptions& options, std::size_t slices);

  /// An interval is over. In: what each worker reports. Out: its slice and quota from now on. Allocates nothing once it
  /// has seen as many workers.
  void decide(std::span<AdaptiveWorker> workers);

  /// What the last interval came to.
  std::span<const AdaptiveSlice> slices() const { return slices_; }
  /// The slice's spill threshold from now on; nothing: the policy leaves it alone.
  std::optional<unsigned> spill(std::size_t slice) const;
  const PolicyOptions& options() const { return options_; }
  std::uint64_t role_changes() const { return hysteresis_.role_changes(); }

 private:
  void decide_spills(std::span<const AdaptiveWorker> workers);
  void adapt_moves_only(std::span<AdaptiveWorker> workers);

  PolicyOptions options_;
  std::vector<AdaptiveSlice> slices_;
  Hysteresis hysteresis_;
  SpillRule spills_;
  std::vector<unsigned> quotas_;  // scratch
};

}  // namespace rain::agent
