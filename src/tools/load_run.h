// Running a load against a rack in real time: one thread and one socket for each connection, merged into a report.
// Before it, the two questions a load asks of a rack: does anything answer, and how long do its tasks take.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "apps/app.h"
#include "base/endpoint.h"
#include "base/time.h"
#include "tools/load_section.h"
#include "tools/load_share.h"
#include "tools/report.h"

namespace rain::tools {

/// What the generator knows of the rack only because it was told: copied into the report.
struct RackFacts {
  std::string scheduler;
  std::optional<unsigned> workers;
  std::optional<unsigned> depth;  ///< quota of a worker; 0: unbounded
};

struct LoadPlan {
  Endpoint switch_address{};
  LoadSection load{};
  double rate_per_second = 0;
  RackFacts facts{};
  apps::AppOptions app_options{};              ///< as the rack's workers have them
  std::optional<LoadController> controller{};  ///< only with an admission that heeds a share
};

/// How far a running load is, summed over its threads.
struct LoadProgress {
  Nanos elapsed{};
  Nanos total{};
  std::uint64_t sent = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  ///< dropped or timed out

  /// "3 of 11 s: sent 14960, completed 14958, failed 0, open 2".
  std::string text() const;
};

/// Hears of the progress once a second, from the thread that called run_load().
using OnProgress = std::function<void(const LoadProgress&)>;

/// Runs the load to its end, or until `stop` is set: then the window ends early and the report says how long it was.
/// Error: one line, when a socket cannot be opened.
tl::expected<Report, std::string> run_load(const LoadPlan& plan, const std::atomic<bool>& stop,
                                           const OnProgress& on_progress);

/// Sends small requests, one after the other, until one of every class has been answered. Returns "" then, or, after
/// `patience`, one line that says what happened instead; a rack that refuses because others keep it busy is no problem.
/// `stop` ends it early, with "interrupted".
std::string probe(const LoadPlan& plan, Nanos patience, const std::atomic<bool>& stop);

struct Calibration {
  struct Class {
    std::string name;
    std::uint64_t count = 0;
    double service_us = 0;
  };
  std::vector<Class> classes;
  double mean_service_us = 0;  ///< over the classes' shares
};

/// Measures service times with one request open at a time, for `duration` in all.
tl::expected<Calibration, std::string> calibrate(const LoadPlan& plan, Nanos duration,
                                                 const std::atomic<bool>& stop);

}  // namespace rain::tools
