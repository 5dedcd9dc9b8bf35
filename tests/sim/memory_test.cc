// Memory does not depend on how long a run is: a program of its own, because it counts every allocation.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "sim/simulate.h"
#include "specs.h"

namespace {

std::atomic<std::uint64_t> g_allocations{0};

void* counted(std::size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace rain::sim {
namespace {

struct Cost {
  std::uint64_t allocations;
  std::uint32_t most_in_flight;
};

Cost cost_of(const std::string& scheduler, Nanos duration) {
  const RackSpec spec = rack_spec(scheduler, 2'200'000, "exp:10us", duration);
  const std::uint64_t before = g_allocations.load();
  const auto result = simulate(spec);
  return {g_allocations.load() - before, result->most_in_flight};
}

TEST(Memory, simulate__allocates_as_often_for_a_long_run_as_for_a_short_one) {
  for (const Scheduler& scheduler : schedulers()) {
    if (scheduler.name == "draconis") continue;  // 2.2 million are too much for it: its fetches and pulls
    const std::string name(scheduler.name);
    const Cost brief = cost_of(name, milliseconds(5));
    const Cost lengthy = cost_of(name, milliseconds(40));
    EXPECT_EQ(brief.allocations, lengthy.allocations) << name;
    EXPECT_LT(lengthy.most_in_flight, 1'000u) << name;
  }
}

}  // namespace
}  // namespace rain::sim
