// The model of the rack: what its parts cost, that nothing is lost, and that no run is endless.
#include "sim/rack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/simulate.h"
#include "specs.h"

namespace rain::sim {
namespace {

Result run(const RackSpec& spec) {
  auto result = simulate(spec);
  EXPECT_TRUE(result) << (result ? "" : result.error());
  return std::move(*result);
}

std::uint64_t dropped(const Result& result, DropReason reason) {
  return result.measured.dropped[static_cast<std::size_t>(reason)];
}

/// A worker at a time, so that nothing ever waits.
RackSpec lonely_requests(const std::string& scheduler) {
  RackSpec spec = rack_spec(scheduler, 1'000, "const:10us", milliseconds(200));
  spec.large_share = 0;
  return spec;
}

/// One worker that always has a task to fetch.
RackSpec one_busy_worker(const std::string& scheduler) {
  RackSpec spec = rack_spec(scheduler, 110'000, "const:10us", milliseconds(20));
  spec.workers = 1;
  spec.large_share = 0;
  return spec;
}

TEST(Rack, run__a_lonely_request_takes_its_service_and_the_wire) {
  for (const std::string scheduler : {"rain", "rain-paper", "random", "jsq", "pallas", "r2p2"}) {
    const Result result = run(lonely_requests(scheduler));
    // 3 us on the client's side, 1 us from switch to worker.
    EXPECT_NEAR(static_cast<double>(result.latency().min().value), 14'000, 30) << scheduler;
    EXPECT_EQ(result.in_switch.max(), Nanos{0}) << scheduler;
    EXPECT_EQ(result.in_worker.max(), Nanos{0}) << scheduler;
  }
  EXPECT_EQ(run(lonely_requests("ideal")).latency().quantile(0.5),
            run(lonely_requests("ideal")).latency().max());
  EXPECT_NEAR(static_cast<double>(run(lonely_requests("ideal")).latency().min().value), 13'000, 40);
}

TEST(Rack, run__nothing_but_service_without_a_network) {
  RackSpec spec = lonely_requests("rain");
  spec.calibration = Calibration::ideal_network();
  const Result result = run(spec);
  EXPECT_EQ(result.latency().min(), microseconds(10));
  EXPECT_EQ(result.wire.max(), Nanos{0});
}

TEST(Rack, run__a_token_brings_the_next_task_after_two_microseconds) {
  for (const std::string scheduler : {"rain", "rain-paper"}) {
    RackSpec spec = one_busy_worker(scheduler);
    spec.depth = 1;
    const Result result = run(spec);
    // 20 ms of 10 us of service and the round trip, to the nanosecond but for the window's ends.
    const double cycle_ns = 20e6 / static_cast<double>(result.completed_in_window);
    EXPECT_NEAR(cycle_ns, 12'000, 8) << scheduler;
    spec.depth = 2;
    EXPECT_NEAR(20e6 / static_cast<double>(run(spec).completed_in_window), 10'000, 6) << scheduler;
  }
}

TEST(Rack, run__a_task_that_costs_core_time_keeps_the_worker_for_so_long) {
  RackSpec spec = one_busy_worker("rain-paper");
  spec.calibration.core_per_task = microseconds(1);
  EXPECT_NEAR(20e6 / static_cast<double>(run(spec).completed_in_window), 11'000, 7);
}

TEST(Rack, run__every_request_ends_once_below_and_above_capacity) {
  for (const Scheduler& scheduler : schedulers()) {
    for (const double load : {0.3, 0.75, 1.3}) {
      RackSpec spec = rack_spec(std::string(scheduler.name), load * 32e5, "exp:10us", milliseconds(10));
      spec.queue_capacity = 256;
      if (scheduler.name == "r2p2") spec.calibration.recirculation_packets = 200;
      const Result result = run(spec);
      EXPECT_GT(result.measured.sent, 1'000u);
      EXPECT_EQ(result.measured.in_flight(), 0u) << scheduler.name << " at " << load;
      EXPECT_EQ(result.warmup.in_flight(), 0u) << scheduler.name << " at " << load;
      EXPECT_EQ(result.measured.completed, result.latency().count());
      EXPECT_EQ(result.measured.completed, result.wire.count());
      EXPECT_EQ(result.growth.overloaded, load > 1) << scheduler.name << " at " << load;
      if (load < 1) {
        EXPECT_EQ(result.measured.dropped_total(), 0u) << scheduler.name;
      }
    }
  }
}

TEST(Rack, run__the_parts_of_a_latency_add_up) {
  for (const std::string scheduler : {"rain", "rain-paper", "racksched", "draconis"}) {
    const Result result = run(rack_spec(scheduler, 2'200'000, "exp:10us", milliseconds(10)));
    const double parts = result.in_switch.mean_ns() + result.in_worker.mean_ns() + result.wire.mean_ns() +
                         result.service().mean_ns();
    EXPECT_NEAR(parts, result.latency().mean_ns(), 0.01) << scheduler;
  }
}

TEST(Rack, run__overload_is_reported_with_what_the_rack_could_not_serve) {
  for (const std::string scheduler : {"ideal", "rain", "rain-paper", "jsq", "random"}) {
    RackSpec spec = rack_spec(scheduler, 3'840'000, "const:10us", milliseconds(50));  // 120 %
    const Result result = run(spec);
    EXPECT_TRUE(result.growth.overloaded) << scheduler;
    EXPECT_NEAR(result.growth.per_second, 640'000, 20'000) << scheduler;
    EXPECT_GT(result.growth.second_half, result.growth.first_half * 2) << scheduler;
  }
}

TEST(Rack, run__a_full_queue_is_answered_with_drop) {
  RackSpec spec = rack_spec("rain", 4'000'000, "const:10us", milliseconds(10));
  spec.queue_capacity = 4;
  const Result result = run(spec);
  EXPECT_GT(dropped(result, DropReason::kQueueFull), 1'000u);
  EXPECT_LE(result.queue_length.max(), Nanos{4});
  EXPECT_TRUE(result.growth.overloaded);
}

TEST(Rack, run__a_pushed_workers_queue_is_bounded) {
  RackSpec spec = rack_spec("random", 400'000, "const:10us", milliseconds(60));
  spec.workers = 1;
  const Result result = run(spec);
  EXPECT_GT(dropped(result, DropReason::kWorkerQueueFull), 0u);
  EXPECT_EQ(result.measured.in_flight(), 0u);
  EXPECT_LE(result.most_in_flight, kWorkerQueueBound + 1'000);
}

TEST(Rack, run__a_recirculation_costs_a_pass_and_its_share_of_the_port) {
  // Two workers of 10 us and a round trip: 74 % of what JBSQ(1) gets out of them, so that the port never queues.
  RackSpec spec = rack_spec("r2p2", 120'000, "const:10us", milliseconds(50));
  spec.workers = 2;
  spec.large_share = 0;
  const Result result = run(spec);
  ASSERT_FALSE(result.growth.overloaded);
  ASSERT_GT(result.recirculations, 1'000u);
  const Calibration wires;
  const double each = static_cast<double>((wires.pass + wires.recirculation_loop).value) + 8;
  const double waited =
      result.in_switch.mean_ns() * static_cast<double>(result.in_switch.count()) * 1.1;  // warm-up
  EXPECT_NEAR(waited / static_cast<double>(result.recirculations), each, each * 0.1);
}

TEST(Rack, run__recirculating_packets_share_the_ports_bandwidth) {
  RackSpec fast = rack_spec("r2p2", 200'000, "const:10us", milliseconds(5));  // 2 workers: some always wait
  fast.workers = 2;
  fast.depth = 1;
  RackSpec slow = fast;
  slow.calibration.recirculation_gbps = 1;  // 704 ns a packet
  slow.calibration.recirculation_packets = 20;
  const Result result = run(slow);
  EXPECT_LT(result.recirculations * 5, run(fast).recirculations);
  EXPECT_GT(dropped(result, DropReason::kRecirculationLimit), 0u);
  EXPECT_EQ(result.measured.in_flight(), 0u);
}

TEST(Rack, run__racksched_refreshes_by_a_second_pass_of_each_task_if_told_to) {
  RackSpec spec = rack_spec("racksched", 2'000'000, "exp:10us", milliseconds(5));
  EXPECT_EQ(run(spec).recirculations, 0u);
  spec.refresh_by_recirculation = true;
  const Result result = run(spec);
  EXPECT_EQ(result.recirculations, result.measured.sent + result.warmup.sent);
}

TEST(Rack, run__a_pulling_worker_asks_again_while_there_is_nothing) {
  RackSpec spec = lonely_requests("draconis");
  spec.workers = 4;
  const Result result = run(spec);
  const Calibration wires;
  const double period =
      static_cast<double>((wires.to_registers() + wires.from_registers() + wires.pull_gap).value);
  const double pulls = 4 * 220e6 / period;
  EXPECT_NEAR(static_cast<double>(result.empty_pulls), pulls, pulls * 0.05);
  // A task waits for the next PULL of one of four workers, and no longer than a whole period.
  EXPECT_GT(result.in_switch.mean_ns(), 0);
  EXPECT_LT(result.in_switch.max(), Nanos{static_cast<std::int64_t>(period) + 50});
}

TEST(Rack, run__a_large_task_costs_a_pulling_worker_a_fetch) {
  RackSpec small = lonely_requests("draconis");
  RackSpec large = small;
  large.large_share = 1;
  const Result of_small = run(small);
  const Result of_large = run(large);
  EXPECT_EQ(of_small.in_worker.max(), Nanos{0});
  EXPECT_EQ(of_large.in_worker.min(), of_large.in_worker.max());
  const Calibration wires;
  EXPECT_EQ(of_large.in_worker.max(), (wires.to_registers() + wires.from_registers()) * 2);
  // Whoever keeps the payload, or its packet, has it at hand.
  large.scheduler = "rain-paper";
  large.workload.phases[0].rate = 3'000'000;
  large.warmup = {};
  large.duration = milliseconds(5);
  const Result held = run(large);
  EXPECT_GT(held.queued, 0u);
  EXPECT_EQ(held.measured.dropped_total(), 0u);
}

TEST(Rack, run__slices_keep_their_tasks_apart) {
  for (const std::string scheduler : {"rain", "rain-paper", "pallas", "jsq"}) {
    RackSpec spec;
    spec.scheduler = scheduler;
    // 14 workers for 1.05 million short tasks a second: 57 %; 18 for 450 thousand long ones: 250 %.
    spec.workload = workload::WorkloadSpec::steady(
        1'500'000, {{.name = "get", .share = 0.7, .type = TaskType{5}, .demand = service("const:8us")},
                    {.name = "scan", .share = 0.3, .type = TaskType{9}, .demand = service("const:100us")}});
    spec.slices = {{.workers = 14, .types = {TaskType{5}}}, {.workers = 18, .types = {TaskType{9}}}};
    spec.warmup = {};
    spec.duration = milliseconds(5);
    const Result result = run(spec);
    EXPECT_TRUE(result.growth.overloaded) << scheduler;
    EXPECT_EQ(result.classes[0].type, TaskType{5});
    EXPECT_LT(result.classes[0].slowdown.quantile(0.99), Nanos{2'500}) << scheduler;
    EXPECT_GT(result.classes[1].slowdown.quantile(0.99), Nanos{10'000}) << scheduler;
  }
}

TEST(Rack, run__deeper_queues_trade_waiting_places) {
  const auto with_depth = [](unsigned depth) {
    RackSpec spec = rack_spec("rain-paper", 2'600'000, "exp:10us", milliseconds(20));
    spec.depth = depth;
    return run(spec);
  };
  const Result one = with_depth(1);
  const Result four = with_depth(4);
  EXPECT_EQ(one.in_worker.max(), Nanos{0});
  EXPECT_GT(one.in_switch.mean_ns(), four.in_switch.mean_ns());
  EXPECT_GT(four.in_worker.mean_ns(), 0);
}

/// Takes every task and gives none back.
template <typename M>
class BlackHole {
 public:
  static constexpr std::array kRegisters{dataplane::RandomUnit<0, 0>::Spec::value};
  explicit BlackHole(M&) {}
  dataplane::Verdict pass(const dataplane::PacketView&, Nanos) {
    return {.action = dataplane::Action::kBuffered};
  }
  void forget_dead_tokens(SliceId) {}
};

TEST(Rack, run__ends_though_requests_never_do) {
  const RackSpec spec = rack_spec("random", 100'000, "const:10us", milliseconds(10));
  Rack<BlackHole<dataplane::SoftMemory>> rack(spec, workload::Workload::make(spec.workload, 1).value(),
                                              WorkerRule::kReports);
  const Result result = rack.run();
  EXPECT_GT(result.measured.sent, 900u);
  EXPECT_EQ(result.measured.in_flight(), result.measured.sent);
  EXPECT_LE(result.ended, spec.warmup + spec.duration + drain_time(spec));
}

TEST(Rack, run__an_absurd_load_waits_for_the_clients_wire) {
  RackSpec spec = rack_spec("rain", 900'000'000, "const:10us", milliseconds(2));
  spec.queue_capacity = 16;
  const Result result = run(spec);
  // 100 Gbit/s carry some 130 million requests a second.
  EXPECT_GT(result.ended, milliseconds(11));
  EXPECT_LT(result.ended, milliseconds(20));
  EXPECT_EQ(result.measured.in_flight(), 0u);
  EXPECT_TRUE(result.growth.overloaded);
  EXPECT_LT(result.most_in_flight, 2'000u);
}

TEST(Rack, run__no_worker_is_idle_for_ever_after_a_pause) {
  RackSpec spec = rack_spec("rain", 2'000'000, "exp:10us", milliseconds(10));
  spec.workload.phases = {{.start = {}, .rate = 2e6, .shares = {}},
                          {.start = milliseconds(4), .rate = 0, .shares = {}},
                          {.start = milliseconds(6), .rate = 2e6, .shares = {}}};
  const Result result = run(spec);
  EXPECT_NEAR(static_cast<double>(result.measured.sent), 16'000, 800);
  EXPECT_EQ(result.measured.in_flight(), 0u);
}

}  // namespace
}  // namespace rain::sim
