// A whole rack as child processes: one switch, one process for each server, a controller where the file has one. Started, asked, loaded and stopped by
// `rain rack` and `rain compare`.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "tools/load_run.h"
#include "tools/rack_file.h"
#include "tools/supervisor.h"

namespace rain::tools {

class RackRun {
 public:
  /// `rack` as it will run: its scheduler is given to all children.
  RackRun(Supervisor& supervisor, const RackFile& rack) : supervisor_(supervisor), rack_(rack) {}

  /// Starts the children and waits until every one says that it is ready and the rack answers a request of each class of
  /// `plan`. Throws InputError for what a child called bad input, std::runtime_error for all else; returns false when
  /// interrupted.
  bool start(const LoadPlan& plan);

  /// The rate of `plan` in requests a second; measures service times first where a share of capacity asks for it.
  /// `cores`: processors that all servers share, when they run on this machine.
  double rate_of(const LoadPlan& plan, unsigned cores);

  /// Runs the load, to its end or until interrupted. Throws when a child ends meanwhile.
  Report load(const LoadPlan& plan, const std::string& progress_prefix);

  /// Runs until interrupted. Throws when a child ends.
  void serve();

  struct Stopped {
    std::optional<std::uint64_t> recirculations;  ///< from the counters that the switch printed
    std::string problem;  ///< a child had to be killed, or failed; "" when all is well
  };
  /// Stops the switch, which drains to the servers, then those, then the controller.
  Stopped stop();

  /// Service times that rate_of() measured.
  const std::optional<Calibration>& calibration() const { return calibration_; }

 private:
  void wait_until_ready(std::size_t first);
  void check_children() const;
  /// Runs `work` in a thread of its own while the children are watched.
  void run_watched(const std::function<void(const std::atomic<bool>& stop)>& work);

  Supervisor& supervisor_;
  const RackFile& rack_;
  std::optional<std::size_t> controller_;
  std::optional<Calibration> calibration_;
};

}  // namespace rain::tools
