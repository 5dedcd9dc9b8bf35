#include "softswitch/switch_process.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/prng.h"
#include "base/stop_signals.h"
#include "softswitch/switch_group.h"
#include "softswitch/switch_memory.h"
#include "softswitch/switch_tables.h"

namespace rain::softswitch {
namespace {

// Differs from that of any earlier switch of this rack, so that workers notice the restart.
BootId make_boot_id() {
  SplitMix64 mix(static_cast<std::uint64_t>(wall_clock_now().value) ^ static_cast<std::uint64_t>(getpid())
                                                                          << 48);
  return {static_cast<std::uint32_t>(mix.next())};
}

std::unique_ptr<SwitchGroup> make_group(const SwitchOptions& options, unsigned group, BootId boot_id,
                                        transport::UdpTransport transport) {
  return dataplane::visit_program<dataplane::SoftMemory>(
      options.program_info().id, options.quota, [&]<typename Program>(dataplane::TypeTag<Program>) {
        return std::unique_ptr<SwitchGroup>(
            std::make_unique<ProgramGroup<Program>>(options, group, std::move(transport), boot_id));
      });
}

}  // namespace

SwitchProcess::SwitchProcess(SwitchOptions options)
    : options_(std::move(options)), boot_id_(make_boot_id()) {}

tl::expected<std::unique_ptr<SwitchProcess>, std::string> SwitchProcess::start(const SwitchOptions& options) {
  auto process = prepare(options);
  if (process) (*process)->serve();
  return process;
}

tl::expected<std::unique_ptr<SwitchProcess>, std::string> SwitchProcess::prepare(
    const SwitchOptions& options) {
  if (auto valid = options.validate(); !valid) return tl::unexpected(std::move(valid.error()));
  if (auto problem = memory_problem(options, machine_memory_bytes()); !problem.empty()) {
    return tl::unexpected(std::move(problem));
  }
  const unsigned count = options.group_count();
  auto sockets = transport::UdpTransport::open_group({.listen = options.listen,
                                                      .busy_poll = options.busy_poll,
                                                      .kernel_busy_poll = options.kernel_busy_poll,
                                                      .receive_buffer_bytes = options.receive_buffer_bytes,
                                                      .send_buffer_bytes = options.send_buffer_bytes},
                                                     count, steering(options));
  if (!sockets) return tl::unexpected(std::move(sockets.error()));

  std::unique_ptr<SwitchProcess> process(new SwitchProcess(options));
  process->local_ = sockets->front().local();
  try {
    for (unsigned group = 0; group < count; ++group) {
      process->groups_.push_back(make_group(options, group, process->boot_id_, std::move((*sockets)[group])));
      process->places_.emplace_back(options, group, process->groups_.back()->shape().slices);
    }
  } catch (const std::bad_alloc&) {
    throw std::runtime_error("not enough memory for the task queues: lower queue_capacity or hold_slots");
  } catch (const std::system_error& error) {
    throw std::runtime_error(std::string("cannot make a switch thread's parts: ") + error.what());
  }
  return process;
}

void SwitchProcess::serve() {
  try {
    for (unsigned group = 0; group < groups_.size(); ++group) {
      std::thread& thread =
          threads_.emplace_back([&part = *groups_[group], &stage = stage_] { part.run(stage); });
      pthread_setname_np(thread.native_handle(), ("rain-switch-" + std::to_string(group)).c_str());
    }
  } catch (const std::system_error& error) {
    throw std::runtime_error(std::string("cannot start a switch thread: ") + error.what());
  }
}

SwitchProcess::~SwitchProcess() {
  stage_.store(Stage::kEnd, std::memory_order_relaxed);
  for (const auto& group : groups_) group->wake();
  for (std::thread& thread : threads_) thread.join();
}

void SwitchProcess::drain() {
  Stage expected = Stage::kServe;
  stage_.compare_exchange_strong(expected, Stage::kDrain, std::memory_order_relaxed);
  for (const auto& group : groups_) group->wake();
}

template <typename Visit>
void SwitchProcess::for_each_slice(Visit visit) const {
  for (unsigned group = 0; group < groups_.size(); ++group) {
    for (const SwitchSlice* slice : slices_of(options_, group)) {
      visit(*slice, groups_[group]->counters().slice(places_[group].index_of(slice->id)));
    }
  }
}

SwitchOptions SwitchProcess::options() const {
  const std::lock_guard lock(tables_mutex_);
  return options_;
}

tl::expected<void, std::string> SwitchProcess::apply(std::span<const TableChange> changes) {
  const std::lock_guard lock(tables_mutex_);
  std::vector<dataplane::MemoryShape> room;
  for (const auto& group : groups_) room.push_back(group->shape());
  auto after = changed(options_, changes, room);
  if (!after) return tl::unexpected(std::move(after.error()));
  const bool steers = groups_.size() > 1;
  if (steers) {
    if (const auto possible = transport::compile_steering(steering(*after)); !possible) {
      return tl::unexpected(possible.error());
    }
  }
  std::vector<SlicePlaces> places = places_;
  const TablePlan plan = plan_change(options_, *after, places);
  if (auto done = send_updates(plan.first); !done) return done;
  if (steers && plan.steer) {
    if (auto steered = groups_.front()->steer(steering(*after)); !steered) {
      if (auto undone = send_updates(plan.back); !undone) return undone;
      return steered;
    }
  }
  if (auto done = send_updates(plan.second); !done) return done;
  options_ = std::move(*after);
  places_ = std::move(places);
  return {};
}

tl::expected<void, std::string> SwitchProcess::send_updates(std::span<const GroupUpdate> updates) {
  for (unsigned group = 0; group < groups_.size(); ++group) {
    if (updates[group].empty() || groups_[group]->update(updates[group])) continue;
    return tl::unexpected(std::string("the switch is shutting down"));
  }
  return {};
}

SwitchTotals SwitchProcess::totals() const {
  const std::lock_guard lock(tables_mutex_);
  SwitchTotals totals;
  for (const auto& group : groups_) {
    totals.add(group->counters());
    totals.receive_overflows += group->transport().receive_overflows();
  }
  for_each_slice([&](const SwitchSlice& slice, const SliceCounters& counters) {
    totals.slices.push_back({.name = slice.name,
                             .id = slice.id,
                             .forwarded = counters.forwarded.get(),
                             .buffered = counters.buffered.get(),
                             .dispatched = counters.dispatched.get(),
                             .expired = counters.expired.get()});
  });
  return totals;
}

SwitchReport SwitchProcess::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  SwitchReport report{.program = options_.program, .totals = totals(), .slices = {}};
  for_each_slice([&](const SwitchSlice&, const SliceCounters& counters) {
    report.slices.push_back({counters.queue_length, counters.queue_delay});
  });
  for (const auto& group : groups_) {
    report.drained = report.drained && group->drained();
    report.cut_packets += group->transport().cut_packets();
  }
  return report;
}

tl::expected<SwitchReport, std::string> run_switch(const SwitchOptions& options, const SwitchHooks& hooks) {
  auto process = SwitchProcess::prepare(options);
  if (!process) return tl::unexpected(std::move(process.error()));
  const StopSignals signals;  // until here, where nothing is to be drained, they do what they always do
  (*process)->serve();
  std::shared_ptr<void> user = hooks.on_ready ? hooks.on_ready(**process) : nullptr;
  const bool reports = hooks.on_totals && hooks.totals_interval > Nanos{};
  while (!signals.wait(reports ? hooks.totals_interval : seconds(3600))) {
    if (reports) hooks.on_totals((*process)->totals());
  }
  user.reset();
  (*process)->drain();
  signals.restore();  // the next one ends the process the hard way
  return (*process)->join();
}

}  // namespace rain::softswitch
