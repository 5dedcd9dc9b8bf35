// What one simulated rack is made of and what befalls it, all drawn from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "transport/fault.h"

namespace rain::rack {

enum class Misfortune : std::uint8_t {
  kCutHost,
  kCutClient,
  kRestartSwitch,
  kRestartHost,
  kRaiseEpoch,
  kSetQuota,  // 0 drains the worker
  kMove,      // to another slice, unless it is the last of its own
};
inline constexpr unsigned kMisfortunes = 7;

/// Of a worker, at any time of a run.
inline constexpr unsigned kLargestQuota = 4;

struct ScriptedEvent {
  Nanos at{};
  Misfortune what{};
  unsigned whom = 0;   ///< host, client or worker, modulo how many there are
  Nanos lasts{};       ///< of a cut
  unsigned value = 0;  ///< the quota, modulo all there are
  bool told = false;   ///< a moved worker asks for its epoch at once
};

struct RackPlan {
  std::uint64_t seed = 0;

  unsigned hosts = 1;  ///< sockets that workers share
  unsigned workers_per_host = 1;
  unsigned quota = 1;  ///< at the start
  unsigned slices = 1;
  unsigned clients = 1;
  Nanos sync_interval{};

  std::uint32_t queue_capacity = 1;
  std::uint32_t spill = 0;
  std::uint16_t drain = 0;
  std::uint32_t hold_slots = 0;

  unsigned requests = 0;  ///< of each client
  Nanos mean_gap{};       ///< between a client's requests
  Nanos mean_service{};
  Nanos timeout{};
  unsigned retries = 0;
  unsigned max_outstanding = 1;

  transport::FaultOptions client_faults{}, switch_faults{}, host_faults{};
  bool repeats_requests = false;  ///< the network may deliver a request to the switch more than once
  std::vector<ScriptedEvent> script;
  Nanos faults_until{};

  unsigned workers() const { return hosts * workers_per_host; }
  bool restarts() const {
    for (const ScriptedEvent& event : script) {
      if (event.what == Misfortune::kRestartSwitch || event.what == Misfortune::kRestartHost) return true;
    }
    return false;
  }
};

/// What befalls a rack at a random time before `until`.
inline ScriptedEvent draw_event(Prng& prng, Nanos from, Nanos until, Misfortune first, std::uint64_t kinds,
                                Nanos longest_cut) {
  const auto below = [&prng](Nanos bound) {
    return Nanos{static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(bound.value)))};
  };
  return {.at = from + below(until - from),
          .what = static_cast<Misfortune>(static_cast<std::uint64_t>(first) + prng.below(kinds)),
          .whom = static_cast<unsigned>(prng.below(16)),
          .lasts = below(longest_cut),
          .value = static_cast<unsigned>(prng.below(16)),
          .told = prng.chance(0.7)};
}

/// A plan without faults; draw_faults() adds them.
inline RackPlan draw_rack(std::uint64_t seed) {
  Prng prng(seed, 1);
  const auto between = [&prng](std::uint64_t low, std::uint64_t high) {
    return low + prng.below(high - low + 1);
  };
  const auto between_us = [&between](std::uint64_t low, std::uint64_t high) {
    return microseconds(static_cast<std::int64_t>(between(low, high)));
  };
  RackPlan plan;
  plan.seed = seed;
  plan.hosts = static_cast<unsigned>(between(1, 3));
  plan.workers_per_host = static_cast<unsigned>(between(1, 3));
  plan.quota = static_cast<unsigned>(between(1, kLargestQuota));
  plan.slices = static_cast<unsigned>(between(1, plan.workers() > 1 ? 2 : 1));
  plan.clients = static_cast<unsigned>(between(1, 3));
  plan.sync_interval = between_us(500, 2000);
  plan.queue_capacity = static_cast<std::uint32_t>(between(1, 40));
  plan.spill = static_cast<std::uint32_t>(between(0, plan.workers()));
  plan.drain = static_cast<std::uint16_t>(between(0, 5));
  plan.hold_slots = static_cast<std::uint32_t>(between(1, 8));
  plan.requests = static_cast<unsigned>(between(20, 100));
  plan.mean_service = between_us(1, 60);
  // From a third of the rack's capacity to half beyond it.
  const std::int64_t share = static_cast<std::int64_t>(between(67, 300));
  plan.mean_gap = plan.mean_service * static_cast<std::int64_t>(plan.clients) * share /
                  (100 * static_cast<std::int64_t>(plan.workers()));
  plan.timeout = between_us(1000, 4000);
  plan.retries = prng.chance(0.3) ? static_cast<unsigned>(between(1, 2)) : 0;
  plan.max_outstanding = static_cast<unsigned>(between(1, 24));
  return plan;
}

inline void draw_faults(RackPlan& plan) {
  Prng prng(plan.seed, 2);
  const auto rate = [&prng] { return prng.chance(0.4) ? 0.0 : prng.unit() * 0.15; };
  const auto draw = [&] {
    return transport::FaultOptions{.loss = rate(),
                                   .duplicate = rate(),
                                   .delay = rate(),
                                   .reorder = rate(),
                                   .max_delay = microseconds(static_cast<std::int64_t>(10 + prng.below(500))),
                                   .storage_packets = 64};
  };
  plan.client_faults = draw();
  plan.switch_faults = draw();
  plan.host_faults = draw();
  plan.repeats_requests = prng.chance(0.5);
  if (!plan.repeats_requests) plan.client_faults.on_send = plan.switch_faults.on_receive = false;

  const Nanos span = plan.mean_gap * plan.requests + plan.timeout;
  plan.faults_until = span;
  const unsigned events = prng.chance(0.7) ? static_cast<unsigned>(1 + prng.below(6)) : 0;
  for (unsigned i = 0; i < events; ++i) {
    plan.script.push_back(draw_event(prng, {}, span, Misfortune::kCutHost, kMisfortunes, microseconds(3000)));
  }
}

/// Changes that an operator makes, and nothing goes wrong.
inline void draw_changes(RackPlan& plan) {
  Prng prng(plan.seed, 5);
  plan.faults_until = plan.mean_gap * plan.requests;
  for (unsigned i = 0; i < 8; ++i) {
    plan.script.push_back(draw_event(prng, {}, plan.faults_until, Misfortune::kSetQuota, 2, Nanos{1}));
  }
}

/// A rack that runs for long in a bad network, and something befalls it twice a second.
inline RackPlan draw_long_run(std::uint64_t seed, Nanos duration) {
  RackPlan plan;
  plan.seed = seed;
  plan.hosts = 3;
  plan.workers_per_host = 2;
  plan.quota = 3;
  plan.slices = 2;
  plan.clients = 2;
  plan.sync_interval = milliseconds(100);
  plan.queue_capacity = 32;
  plan.spill = 1;
  plan.drain = 4;
  plan.hold_slots = 8;
  plan.mean_service = milliseconds(10);
  plan.mean_gap = milliseconds(8);
  plan.requests = static_cast<unsigned>(duration.value / plan.mean_gap.value);
  plan.timeout = milliseconds(300);
  plan.max_outstanding = 24;
  plan.client_faults = plan.switch_faults = plan.host_faults = {.loss = 0.02,
                                                                .duplicate = 0.02,
                                                                .delay = 0.05,
                                                                .reorder = 0.05,
                                                                .max_delay = milliseconds(20),
                                                                .storage_packets = 64};
  plan.repeats_requests = true;
  plan.faults_until = duration;
  Prng prng(seed, 6);
  const Nanos step = milliseconds(500);
  for (Nanos at{}; at < duration; at += step) {
    plan.script.push_back(
        draw_event(prng, at, at + step, Misfortune::kCutHost, kMisfortunes, milliseconds(400)));
  }
  return plan;
}

}  // namespace rain::rack
