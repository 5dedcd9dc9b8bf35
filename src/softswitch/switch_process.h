// The switch process: one thread for each group of slices, one UDP port for all of them. The rim that waits, reads the
// clock and ends; threads share nothing but the port and the flag that ends them. New tables reach a thread through a box
// of its own (update_box.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <tl/expected.hpp>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "softswitch/switch_options.h"
#include "softswitch/switch_report.h"
#include "softswitch/table_change.h"
#include "softswitch/table_plan.h"

namespace rain::softswitch {

class SwitchGroup;  // one thread's parts
enum class Stage : std::uint8_t;

class SwitchProcess {
 public:
  /// Checks the options, opens the port and starts the threads. Errors are one line: an option's key, value and what
  /// is allowed, "cannot bind 127.0.0.1:9000: address already in use", or memory_problem(). Throws std::runtime_error
  /// when the system has no room for its memory or its threads.
  static tl::expected<std::unique_ptr<SwitchProcess>, std::string> start(const SwitchOptions& options);
  /// The two halves of start(): all but the threads, which takes seconds where its memory is gigabytes; and the threads.
  static tl::expected<std::unique_ptr<SwitchProcess>, std::string> prepare(const SwitchOptions& options);
  void serve();

  SwitchProcess(const SwitchProcess&) = delete;
  SwitchProcess& operator=(const SwitchProcess&) = delete;
  ~SwitchProcess();  ///< ends the threads; tasks that wait are lost, unless drain() and join() came before

  const Endpoint& local() const { return local_; }  ///< where it listens, with the port that the kernel chose
  BootId boot_id() const { return boot_id_; }

  /// New tasks are refused with shutting_down from now on; the threads end when no task waits, at the latest after
  /// SwitchOptions::drain_limit. From any thread or signal handler.
  void drain();

  /// From any thread, while it runs.
  SwitchTotals totals() const;

  /// Changes slices, types and workers while it serves; see table_change.h. All of them or none: the error is one line.
  /// Returns when they are in force, which takes no longer than the threads' current batches. From any thread, not
  /// from a signal handler.
  tl::expected<void, std::string> apply(std::span<const TableChange> changes);

  /// The options with the slices and workers as they are now. From any thread.
  SwitchOptions options() const;

  /// Waits for the threads to end, which they do after drain().
  SwitchReport join();

 private:
  explicit SwitchProcess(SwitchOptions options);
  template <typename Visit>
  void for_each_slice(Visit visit) const;

  tl::expected<void, std::string> send_updates(std::span<const GroupUpdate> updates);

  mutable std::mutex tables_mutex_;  // of options_ and places_, which apply() changes
  SwitchOptions options_;
  std::vector<SlicePlaces> places_;  // of each group
  Endpoint local_{};
  BootId boot_id_{};
  std::atomic<Stage> stage_{};  // serve
  std::vector<std::unique_ptr<SwitchGroup>> groups_;
  std::vector<std::thread> threads_;
};

/// What the caller of run_switch() wants to hear.
struct SwitchHooks {
  /// The port is open and served. What this gives back may use the process, and ends before the process does.
  std::function<std::shared_ptr<void>(SwitchProcess&)> on_ready{};
  Nanos totals_interval{};                               ///< 0: never
  std::function<void(const SwitchTotals&)> on_totals{};  ///< every totals_interval
};

/// All of a process that is a switch: starts, runs until SIGINT or SIGTERM, drains, reports. A second signal while it
/// drains ends it at once, and so does one before it serves. To be called from the main thread while it is the only one.
tl::expected<SwitchReport, std::string> run_switch(const SwitchOptions& options, const SwitchHooks& hooks);

}  // namespace rain::softswitch
