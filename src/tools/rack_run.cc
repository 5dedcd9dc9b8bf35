// See rack_run.h.
#include "tools/rack_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "tools/input_error.h"
#include "tools/load_command.h"
#include "tools/progress_line.h"

namespace rain::tools {
namespace {

/// A database may have to be filled before its server is ready; it says so meanwhile.
constexpr Nanos kAnswerPatience = seconds(10);
constexpr Nanos kCalibrationTime = seconds(1);
constexpr Nanos kStopPatience = seconds(5);
constexpr Nanos kStep = milliseconds(50);

struct StopWork {
  std::atomic<bool>& stop;
  ~StopWork() { stop.store(true, std::memory_order_relaxed); }
};

}  // namespace

void RackRun::check_children() const {
  const Supervisor::Child* ended = supervisor_.first_ended();
  // Whoever signalled us may have signalled them too.
  if (ended == nullptr || supervisor_.interrupted()) return;
  if (ended->exit_status() == kExitBadInput) throw InputError(ended->obituary());
  throw std::runtime_error(ended->obituary());
}

void RackRun::wait_until_ready(std::size_t first) {
  const auto all_ready = [&] {
    for (std::size_t i = first; i < supervisor_.size(); ++i) {
      if (!supervisor_.child(i).ready) return false;
    }
    return true;
  };
  while (!all_ready() && !supervisor_.interrupted()) {
    supervisor_.step(kStep);
    check_children();
  }
}

bool RackRun::start(const LoadPlan& plan) {
  const std::string& scheduler = rack_.in_switch.program;
  supervisor_.start("switch", {"switch", "--config", rack_.path, "--scheduler", scheduler, "--json"}, true);
  wait_until_ready(0);
  if (rack_.controller) {
    controller_ = supervisor_.start("controller", {"controller", "--config", rack_.path});
    wait_until_ready(1);
  }
  for (const ServerSection& server : rack_.servers) {
    if (supervisor_.interrupted()) return false;
    supervisor_.start(server.name,
                      {"worker", "--config", rack_.path, "--scheduler", scheduler, "--server", server.name});
  }
  wait_until_ready(1);
  std::string problem;
  run_watched([&](const std::atomic<bool>& stop) { problem = probe(plan, kAnswerPatience, stop); });
  if (supervisor_.interrupted()) return false;
  if (!problem.empty()) throw std::runtime_error(problem);
  return true;
}

void RackRun::run_watched(const std::function<void(const std::atomic<bool>& stop)>& work) {
  std::atomic<bool> stop{false};
  // Ends with this function, however that ends: the destructors stop the work, then wait for it.
  std::future<void> done = std::async(std::launch::async, [&] { work(stop); });
  const StopWork stop_work{stop};
  while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    supervisor_.step(kStep);
    if (supervisor_.interrupted() || supervisor_.first_ended() != nullptr)
      stop.store(true, std::memory_order_relaxed);
  }
  check_children();
  done.get();
}

double RackRun::rate_of(const LoadPlan& plan, unsigned cores) {
  const unsigned workers = rack_.workers_at_once(cores);
  const auto named = plan.load.mean_service_ns();
  if (plan.load.rate.capacity_share == 0 || named) {
    return resolve_rate(plan.load.rate, workers, named.value_or(0) * 1e-3);
  }
  run_watched([&](const std::atomic<bool>& stop) {
    auto measured = calibrate(plan, kCalibrationTime, stop);
    if (!measured) throw std::runtime_error(measured.error());
    calibration_ = std::move(*measured);
  });
  return resolve_rate(plan.load.rate, workers, calibration_->mean_service_us);
}

Report RackRun::load(const LoadPlan& plan, const std::string& progress_prefix) {
  Report report;
  run_watched([&](const std::atomic<bool>& stop) {
    ProgressLine line(progress_prefix);
    auto result = run_load(plan, stop, [&line](const LoadProgress& progress) { line.show(progress.text()); });
    if (!result) throw std::runtime_error(result.error());
    report = std::move(*result);
  });
  return report;
}

void RackRun::serve() {
  while (!supervisor_.interrupted()) {
    supervisor_.step(seconds(1));
    check_children();
  }
}

RackRun::Stopped RackRun::stop() {
  Stopped stopped;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < supervisor_.size(); ++i) {
    if (i != controller_) order.push_back(i);
  }
  if (controller_) order.push_back(*controller_);  // last: servers say goodbye to it
  for (const std::size_t i : order) {
    const Nanos patience = i == 0 ? rack_.in_switch.drain_limit + seconds(2) : kStopPatience;
    const bool by_itself = supervisor_.stop(i, patience);
    const Supervisor::Child& child = supervisor_.child(i);
    // The switch is gone: all workers wait for it at once, not one after the other.
    for (std::size_t other = 1; i == 0 && other < supervisor_.size(); ++other) {
      if (other != controller_) supervisor_.tell_to_stop(other);
    }
    // One that was told to end before it was up had no time to learn how.
    if (child.succeeded() || (by_itself && !child.ready)) continue;
    if (!stopped.problem.empty()) continue;
    stopped.problem = by_itself ? child.obituary()
                                : fmt::format("{} did not stop within {} s and was killed", child.name,
                                              patience.value / 1'000'000'000);
  }
  const std::string report = supervisor_.size() > 0 ? supervisor_.child(0).captured : "";
  const auto counters = nlohmann::json::parse(report, nullptr, false);
  if (counters.is_object()) {
    stopped.recirculations = counters.at("counters").at("recirculations").get<std::uint64_t>();
  }
  return stopped;
}

}  // namespace rain::tools
