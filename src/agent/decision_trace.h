// The agent's decisions as a trace that can be replayed: what it was told and what it decided, interval by interval.
// The simulator and the real agent write the same format, so that a decision taken on a rack is repeated on a desk.
//
// JSON lines. The first says which policy with which options; each further one is an interval:
//   {"schema":"rain.decisions/1","policy":"paper","slices":2,"interval_ns":10000000,"slowdown_threshold":10,..,
//    "fields":["slice","quota",..]}
//   {"at_ns":10000000,"workers":[[0,2,1.5,0,0,0.81,..],..],"to":[[0,2],..],"spill":[8,8]}
// `workers` has the fields that the header names, a worker a row; `to` slice and quota from now on; `spill` is there with
// policy `rain`. Numbers are written so that they read back as the very same, and `at_ns` rises. When slices, options or the policy's state
// begin anew (the agent was restarted), a new header stands in the trace.
#pragma once

#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "agent/policy.h"

namespace rain::agent {

/// The line that begins a trace, newline included.
std::string trace_header(const PolicyOptions& options, std::size_t slices);
/// An interval's line, newline included. `before` and `after`: what decide() was given and what it made of it.
std::string trace_interval(Nanos at, std::span<const AdaptiveWorker> before,
                           std::span<const AdaptiveWorker> after, const Policy& policy);

struct Replay {
  std::uint64_t intervals = 0;
  std::uint64_t quota_changes = 0;
  std::uint64_t moves = 0;
};
/// Gives each interval's reports to a policy and compares the decisions. Error: one line with the number of the line
/// of the trace, what is wrong with it or what was decided differently.
tl::expected<Replay, std::string> replay_trace(std::istream& trace);

}  // namespace rain::agent
