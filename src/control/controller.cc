#include "control/controller.h"

#include <algorithm>
#include <chrono>

namespace rain::control {
namespace {

/// Shares are counted in 32 bits; no rack is that large.
constexpr std::uint64_t kMostRoom = 1u << 30;
/// Those that have gone are forgotten when there are more.
constexpr std::size_t kMostSwitches = 64;

Result<void> begin_with(Registry& registry, const ControllerOptions& options) {
  for (const SliceRow& slice : options.slices) {
    if (auto added = registry.add_slice(slice); !added) return tl::unexpected(added.error());
  }
  for (const TypeRow& type : options.types) {
    auto added = registry.add_type(type.type, options.slices.at(type.slice.value).name, false);
    if (!added) return tl::unexpected(added.error());
  }
  return {};
}

}  // namespace

Controller::Controller(ControllerOptions options, Registry registry)
    : options_(std::move(options)), registry_(std::move(registry)), clients_(options_.client_lease) {}

Result<std::unique_ptr<Controller>> Controller::open(ControllerOptions options, Nanos now) {
  auto registry = options.saved ? Registry::restore(options.registry, options.saved->registry, now)
                                : Result<Registry>(Registry(options.registry));
  if (!registry) return tl::unexpected(registry.error());
  if (!options.saved) {
    if (auto begun = begin_with(*registry, options); !begun) return tl::unexpected(begun.error());
  }
  std::unique_ptr<Controller> controller(new Controller(std::move(options), std::move(*registry)));
  if (controller->options_.saved) {
    controller->clients_.restore_weights(controller->options_.saved->client_weights);
    controller->settled_ = controller->registry_.version();
    controller->settled_weights_ = controller->clients_.ordered_weights();
  }
  controller->settle();
  return controller;
}

void Controller::settle() {
  const std::uint64_t room = std::min(registry_.room(), kMostRoom);
  clients_.set_total(static_cast<std::uint32_t>(room));
  const bool tables_changed = registry_.version() != settled_;
  if (!tables_changed && clients_.ordered_weights() == settled_weights_) return;
  settled_ = registry_.version();
  settled_weights_ = clients_.ordered_weights();
  // Before anybody is told: who comes back after a crash of ours must not find us knowing less than the switch.
  if (options_.save) {
    const std::string problem = options_.save({registry_.state(), settled_weights_});
    if (problem.empty()) {
      number_is_kept_ = true;
    } else {
      failed_saves_.fetch_add(1, std::memory_order_relaxed);
      if (std::exchange(number_is_kept_, false)) registry_.renew_instance();
      if (options_.note) options_.note(problem);
    }
  }
  if (tables_changed) changed_.notify_all();
}

void Controller::end_leases(Nanos now) {
  const auto done = registry_.tick(now);
  if (done) {
    clients_.extend_leases(registry_.last_jump());
    clients_.expire(now);
  }
  const std::string& note = done ? done->note : done.error().text;
  if (!note.empty() && options_.note) options_.note(note);
  settle();
}

std::uint64_t Controller::attach_switch(const std::string& name, BootId boot_id) {
  const std::lock_guard lock(mutex_);
  if (switches_.size() >= kMostSwitches)
    std::erase_if(switches_, [](const auto& entry) { return !entry.second.attached; });
  SwitchRow& row = switches_[name];
  row = {.name = name,
         .boot_id = boot_id,
         .attached = true,
         .version = 0,
         .refusal = {},
         .session = next_session_++};
  return row.session;
}

void Controller::answer_switch(const std::string& name, std::uint64_t session, Version version,
                               const std::string& refusal) {
  const std::lock_guard lock(mutex_);
  const auto found = switches_.find(name);
  if (found == switches_.end() || found->second.session != session) return;
  found->second.refusal = refusal;
  if (refusal.empty()) found->second.version = version;
  if (!refusal.empty() && options_.note) options_.note("switch " + name + " refused its tables: " + refusal);
}

void Controller::detach_switch(const std::string& name, std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  const auto found = switches_.find(name);
  if (found != switches_.end() && found->second.session == session) found->second.attached = false;
}

Changes Controller::changes_since(std::uint64_t instance, Version version) const {
  const std::lock_guard lock(mutex_);
  return registry_.changes_since(instance, version);
}

Changes Controller::wait_for_changes(std::uint64_t instance, Version version,
                                     std::atomic<bool>& interrupted) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(1),
                    [&] { return interrupted.load() || version != registry_.version(); });
  interrupted.store(false);
  return registry_.changes_since(instance, version);
}

}  // namespace rain::control
