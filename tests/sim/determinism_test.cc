// The same seed gives the same result to the last bit: today, on every machine, with every compiler.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "sim/simulate.h"
#include "specs.h"

namespace rain::sim {
namespace {

/// FNV-1a over everything that a result holds.
class Fingerprint {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) {
      hash_ = (hash_ ^ (word & 0xFF)) * 0x100000001B3;
      word >>= 8;
    }
  }
  void add(const Histogram& histogram) {
    histogram.for_each([&](const Histogram::Bucket& bucket) {
      add(static_cast<std::uint64_t>(bucket.lowest.value));
      add(bucket.count);
    });
    add(static_cast<std::uint64_t>(histogram.min().value));
    add(static_cast<std::uint64_t>(histogram.max().value));
  }
  void add(const OutcomeCounts& outcomes) {
    add(outcomes.sent);
    add(outcomes.completed);
    for (unsigned i = 0; i < outcomes.dropped.size(); ++i) {  // what did not occur may be new to the list
      if (outcomes.dropped[i] == 0) continue;
      add(i);
      add(outcomes.dropped[i]);
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325;
};

std::uint64_t fingerprint(const RackSpec& spec) {
  const auto result = simulate(spec);
  EXPECT_TRUE(result) << (result ? "" : result.error());
  Fingerprint print;
  for (const ClassResult& one : result->classes) {
    print.add(one.latency);
    print.add(one.slowdown);
    print.add(one.service);
  }
  for (const Histogram* histogram :
       {&result->in_switch, &result->in_worker, &result->wire, &result->queue_length}) {
    print.add(*histogram);
  }
  print.add(result->measured);
  print.add(result->warmup);
  for (const std::uint64_t count : {result->queued, result->completed_in_window, result->recirculations,
                                    result->empty_pulls, result->events}) {
    print.add(count);
  }
  return print.value();
}

RackSpec mixed_spec(const std::string& scheduler) {
  RackSpec spec = rack_spec(scheduler, 900'000, "const:1us", milliseconds(4));
  spec.workload.classes = {
      {.name = "short", .share = 0.7, .type = {}, .demand = service("exp:10us")},
      {.name = "long", .share = 0.2, .type = {}, .demand = service("lognormal:50us:1.2")},
      {.name = "rare", .share = 0.1, .type = {}, .demand = service("pareto:30us:1.8")}};
  return spec;
}

TEST(Determinism, simulate__repeats_itself_and_follows_its_seed) {
  for (const Scheduler& scheduler : schedulers()) {
    RackSpec spec = mixed_spec(std::string(scheduler.name));
    const std::uint64_t first = fingerprint(spec);
    EXPECT_EQ(fingerprint(spec), first) << scheduler.name;
    spec.seed = 2;
    EXPECT_NE(fingerprint(spec), first) << scheduler.name;
  }
}

// Changes when the model, a program or the workload changes what it does, and only then: look why before you
// write down another number.
TEST(Determinism, simulate__gives_these_very_bits) {
  EXPECT_EQ(fingerprint(mixed_spec("rain")), 0x525e0106bacca6e8u);
  EXPECT_EQ(fingerprint(mixed_spec("rain-paper")), 0xc51764dade9b047au);
  EXPECT_EQ(fingerprint(mixed_spec("ideal")), 0xb18d909878f88274u);
}

}  // namespace
}  // namespace rain::sim
