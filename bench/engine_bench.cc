// The discrete-event engine against the obvious one on the same mix of events, that of a rack: constant delays
// on the wire, exponential service times, some dozen events pending. And the whole simulator: `rain-paper`,
// depth 2, at 2.6 million requests a second, with data-plane program, token ledger and histograms.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>

#include "base/prng.h"
#include "sim/engine.h"
#include "sim/plain_engine.h"
#include "sim/simulate.h"

namespace rain::sim {
namespace {

enum class Kind : std::uint32_t { kArrival, kTask, kServiceEnd, kToken, kReply };

struct MixEvent {
  Kind kind;
  std::uint32_t worker;
  std::uint64_t request;
};

/// As many tasks as tokens circulate that every worker is always busy: nothing but the engine costs time.
template <typename EngineType>
class Mix {
 public:
  Mix() {
    for (std::uint64_t& time : services_)
      time = static_cast<std::uint64_t>(random_.exponential(microseconds(10)).value);
    engine_.schedule(0, Nanos{0}, {Kind::kArrival, 0, 0});
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) start(worker, worker);
  }

  void step() {
    MixEvent event{};
    engine_.pop(event);
    const Nanos now = engine_.now();
    switch (event.kind) {
      case Kind::kArrival:
        engine_.schedule(1, now + microseconds(1), {Kind::kTask, event.worker, event.request});
        engine_.schedule(0, now + gap(), {Kind::kArrival, (event.worker + 1) % kWorkers, event.request + 1});
        break;
      case Kind::kTask:
        engine_.schedule(2, now + microseconds(1), {Kind::kToken, event.worker, event.request});
        break;
      case Kind::kServiceEnd:
        engine_.schedule(3, now + microseconds(2), {Kind::kReply, event.worker, event.request});
        start(event.worker, event.request + kWorkers);
        break;
      case Kind::kToken:
      case Kind::kReply:
        checksum_ += event.request;
        break;
    }
  }

  std::uint64_t checksum() const { return checksum_; }

 private:
  static constexpr std::uint32_t kWorkers = 32;
  static constexpr std::size_t kDraws = 4096;

  Nanos gap() { return {static_cast<std::int64_t>(services_[draw_++ % kDraws] * 12 / 385)}; }
  void start(std::uint32_t worker, std::uint64_t request) {
    const Nanos service{static_cast<std::int64_t>(services_[draw_++ % kDraws])};
    engine_.schedule(engine_.now() + service, {Kind::kServiceEnd, worker, request});
  }

  EngineType engine_;
  Prng random_{1};
  std::array<std::uint64_t, kDraws> services_{};
  std::size_t draw_ = 0;
  std::uint64_t checksum_ = 0;
};

template <typename EngineType>
void engine_mix(benchmark::State& state) {
  Mix<EngineType> mix;
  constexpr int kBatch = 1024;
  for (auto _ : state) {
    for (int i = 0; i < kBatch; ++i) mix.step();
  }
  benchmark::DoNotOptimize(mix.checksum());
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(engine_mix<Engine<MixEvent, 5>>)->Name("events/engine")->Repetitions(7);
BENCHMARK(engine_mix<PlainEngine<MixEvent>>)->Name("events/priority_queue")->Repetitions(7);

/// Items are events of the engine; five of them make a request.
void whole_simulation(benchmark::State& state, const char* scheduler, unsigned depth) {
  RackSpec spec;
  spec.scheduler = scheduler;
  if (depth != 0) spec.depth = depth;
  spec.workload = workload::WorkloadSpec::steady(
      2'600'000,
      {{.name = "all", .share = 1, .type = {}, .demand = workload::Distribution::parse("exp:10us").value()}});
  spec.warmup = milliseconds(1);
  spec.duration = milliseconds(99);
  std::uint64_t events = 0;
  for (auto _ : state) {
    const auto result = simulate(spec);
    RAIN_ASSERT(result && !result->growth.overloaded);
    events += result->events;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
}
BENCHMARK_CAPTURE(whole_simulation, rain_paper_depth_2, "rain-paper", 2)
    ->Unit(benchmark::kMillisecond)
    ->Repetitions(7);
BENCHMARK_CAPTURE(whole_simulation, rain_defaults, "rain", 0)->Unit(benchmark::kMillisecond)->Repetitions(7);
BENCHMARK_CAPTURE(whole_simulation, jsq, "jsq", 0)->Unit(benchmark::kMillisecond)->Repetitions(7);

}  // namespace
}  // namespace rain::sim

BENCHMARK_MAIN();
