// What the simulated rack's parts cost, each constant with its unit and its reason. Calibrated once and used for every
// figure alike; docs/reproduction.md repeats it.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace rain::sim {

/// The defaults add up to the two figures that are calibrated: the token of a finished task, sent behind its reply,
/// brings its worker the next task of 8 bytes after 2 us (a test measures it), and the client's side of the wire takes
/// 3 us in all (1 us for the request to reach the switch's queue, 2 us for the reply from worker to client).
struct Calibration {
  /// Application to wire, and wire to application: user-space driver, doorbell, DMA over PCIe. Latency only: the core
  /// goes on.
  Nanos host_send{700};
  Nanos host_receive{700};
  /// A cable of the rack and the two MACs at its ends; what the two calibrated figures leave for it.
  Nanos link{87};
  /// A switch pass from port to port: parser, 12 ingress and 12 egress stages, queues empty. The registers lie in its
  /// middle: a decision is taken half a pass after the packet came in, and leaves half a pass later.
  Nanos pass{400};
  /// Ports of servers, client and switch, in Gbit/s, as in the paper's testbed (section 5.1). 0: no serialisation.
  std::uint32_t link_gbps = 100;
  /// Servers that the workers are spread over; each has one port, as the client has. Two as in the paper's testbed.
  std::uint32_t worker_servers = 2;
  /// From a pipeline's end back to its start, beyond the pass itself: the loopback port's MAC.
  Nanos recirculation_loop{100};
  /// Bandwidth of the recirculation port, and the packets that may stand before it; one more is dropped with
  /// recirculation_limit. 100 Gbit/s is one port of the switch, 64 Ki minimum-sized packets a share of its buffer.
  std::uint32_t recirculation_gbps = 100;
  std::uint32_t recirculation_packets = 65'536;
  /// Time of the worker's core that a task costs beside its service. 0: the papers' service times include it, and
  /// 32 workers of 10 us serve 3.2 million requests a second.
  Nanos core_per_task{0};
  /// An idle worker's polling loop between the answer "no task" and the next PULL.
  Nanos pull_gap{100};

  /// From an agent's decision to the switch's tables: controller and switch driver. Quotas need none of it, agents and
  /// workers share memory.
  Nanos table_update = microseconds(100);

  /// `--ideal-network`: hosts, wires and passes cost nothing. What a scheduler does by itself, recirculating and
  /// polling, keeps its cost: without it such a scheduler would do it infinitely often in no time.
  static constexpr Calibration ideal_network() {
    Calibration ideal;
    ideal.host_send = ideal.host_receive = ideal.link = ideal.pass = Nanos{};
    ideal.link_gbps = 0;
    return ideal;
  }

  /// Sender's application to the registers, and from there to the receiver's application; serialisation apart.
  constexpr Nanos to_registers() const { return host_send + link + pass / 2; }
  constexpr Nanos from_registers() const { return pass - pass / 2 + link + host_receive; }
};

}  // namespace rain::sim
