// The controller: registry, clients and switches behind one lock, with everything that waits and writes around them.
// Knows no network: rpc/controller_server.h brings the calls in. Each call is given the time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "control/client_shares.h"
#include "control/registry.h"

namespace rain::control {

/// What outlives the controller.
struct SavedState {
  RegistryState registry{};
  std::map<std::string, std::uint32_t> client_weights{};
};

struct SwitchRow {
  std::string name{};
  BootId boot_id{};
  bool attached = false;
  Version version = 0;    ///< that it has applied
  std::string refusal{};  ///< why it did not apply the newest; "": it did
  std::uint64_t session = 0;
};

struct ControllerOptions {
  RegistryOptions registry{};
  Nanos client_lease = seconds(3);
  /// Slices and types to begin with when there is no saved state.
  std::vector<SliceRow> slices{};
  std::vector<TypeRow> types{};  ///< by the position of their slice
  std::optional<SavedState> saved{};
  /// Keeps the state; one line when it could not. Called with the lock held, after each change of a table. A change that
  /// could not be kept is told all the same: a worker that has died must leave the switch. The registry then takes another
  /// instance number, so that one which comes back with the older state cannot be taken for the one that told more.
  std::function<std::string(const SavedState&)> save{};
  /// One line that an operator may want to read.
  std::function<void(const std::string&)> note{};
};

class Controller {
 public:
  static Result<std::unique_ptr<Controller>> open(ControllerOptions options, Nanos now);

  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// Calls `event(Registry&)`, saves and tells everybody who waits when a table has changed. From any thread.
  template <typename Event>
  auto change(Event event) {
    const std::lock_guard lock(mutex_);
    auto result = event(registry_);
    settle();
    return result;
  }
  /// Likewise for the clients.
  template <typename Event>
  auto change_clients(Event event) {
    const std::lock_guard lock(mutex_);
    auto result = event(clients_);
    settle();
    return result;
  }
  /// Calls `read(const Registry&, const ClientShares&, switches)`.
  template <typename Read>
  auto read(Read read) const {
    const std::lock_guard lock(mutex_);
    return read(registry_, clients_, switches_);
  }
  /// Ends leases. To be called several times in each. `clock` is read when all earlier calls are done: a time that was
  /// taken before another thread's turn would lie before that thread's.
  template <typename Clock>
  void tick(Clock clock) {
    const std::lock_guard lock(mutex_);
    end_leases(clock());
  }

  /// A switch has come: the number of its session.
  std::uint64_t attach_switch(const std::string& name, BootId boot_id);
  void answer_switch(const std::string& name, std::uint64_t session, Version version,
                     const std::string& refusal);
  void detach_switch(const std::string& name, std::uint64_t session);

  Changes changes_since(std::uint64_t instance, Version version) const;
  /// Waits until there is something newer than `version`, `interrupted` was set and wake() called, or a second has passed;
  /// clears `interrupted`. What is newer then: maybe nothing.
  Changes wait_for_changes(std::uint64_t instance, Version version, std::atomic<bool>& interrupted) const;
  /// Wakes those who wait.
  void wake() const {
    // Not between a waiter's look and its sleep.
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  Nanos lease() const { return options_.registry.lease; }
  Nanos client_lease() const { return options_.client_lease; }
  std::uint64_t failed_saves() const { return failed_saves_.load(std::memory_order_relaxed); }

 private:
  Controller(ControllerOptions options, Registry registry);
  void settle();
  void end_leases(Nanos now);

  ControllerOptions options_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Registry registry_;
  ClientShares clients_;
  std::map<std::string, SwitchRow> switches_;
  Version settled_ = 0;
  bool number_is_kept_ = true;  // the saved state has the registry's instance number
  std::map<std::string, std::uint32_t> settled_weights_;
  std::uint64_t next_session_ = 1;
  std::atomic<std::uint64_t> failed_saves_{0};
};

}  // namespace rain::control
