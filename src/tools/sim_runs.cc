// See sim_runs.h.
#include "tools/sim_runs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/duration_text.h"
#include "sim/simulate.h"
#include "tools/input_error.h"
#include "tools/progress_line.h"
#include "tools/report.h"
#include "tools/sim_flags.h"

namespace rain::tools {
namespace {

constexpr std::string_view kQuantileNames[] = {"p50", "p90", "p99", "p999", "p9999"};
constexpr double kQuantiles[] = {0.5, 0.9, 0.99, 0.999, 0.9999};
constexpr double kNsPerUs = 1000;

/// A quantile with too few samples beyond it stays empty, as in a report.
std::string quantile_cells(const Histogram& histogram, double unit) {
  std::string cells;
  for (const double q : kQuantiles) {
    const double beyond = (1 - q) * static_cast<double>(histogram.count());
    cells += beyond + 1e-9 < static_cast<double>(kSamplesBeyond)
                 ? ","
                 : fmt::format(",{:.3f}", static_cast<double>(histogram.quantile(q).value) / unit);
  }
  return cells;
}

std::string quantile_columns(std::string_view before, std::string_view after) {
  std::string names;
  for (const std::string_view q : kQuantileNames) names += fmt::format(",{}{}{}", before, q, after);
  return names;
}

std::string result_cells(const sim::RackSpec& spec, const sim::Result& result) {
  const double duration_s = static_cast<double>(spec.duration.value) * 1e-9;
  const Histogram latency = result.latency();
  const auto completed = static_cast<double>(std::max<std::uint64_t>(result.measured.completed, 1));
  std::string row = fmt::format(
      "{:.0f},{:.0f},{},{},{},{:.0f}", static_cast<double>(result.measured.sent) / duration_s,
      static_cast<double>(result.completed_in_window) / duration_s, result.measured.completed,
      result.measured.dropped_total(), result.growth.overloaded ? 1 : 0, result.growth.per_second);
  row += fmt::format(",{:.3f}", latency.mean_ns() / kNsPerUs) + quantile_cells(latency, kNsPerUs) +
         fmt::format(",{:.3f}", static_cast<double>(latency.max().value) / kNsPerUs);
  row += quantile_cells(result.slowdown(), static_cast<double>(sim::kSlowdownUnit));
  const sim::Scheduler& scheduler = *sim::find_scheduler(spec.scheduler);
  const double depth =
      result.adaptive ? result.adaptive->mean_depth : spec.depth.value_or(sim::default_depth(scheduler));
  row += fmt::format(",{:.4f},{},{},{},{:.3f}", static_cast<double>(result.queued) / completed * 100,
                     result.queue_length.quantile(0.99).value, result.recirculations, result.events, depth);
  if (result.classes.size() < 2) return row;
  for (const sim::ClassResult& one : result.classes) {
    row += quantile_cells(one.latency, kNsPerUs) +
           quantile_cells(one.slowdown, static_cast<double>(sim::kSlowdownUnit));
  }
  return row;
}

/// A run of the list, and about how much work it is.
struct Job {
  std::string key;
  FlagTexts flags;
  double requests = 0;
};

class Workshop {
 public:
  Workshop(std::vector<Job> jobs, RunJournal& journal, const std::string& command)
      : jobs_(std::move(jobs)), journal_(journal), progress_(command + ": "), begin_(monotonic_now()) {
    for (const Job& job : jobs_) all_ += job.requests;
  }

  void run(unsigned threads) {
    {
      std::vector<std::jthread> hands;
      for (unsigned i = 0; i < threads; ++i) hands.emplace_back([this] { work(); });
    }
    show(true);
    progress_.done();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (next_ < jobs_.size() && !failure_) {
      const Job& job = jobs_[next_++];
      lock.unlock();
      std::string row;
      std::exception_ptr failure;
      try {
        const sim::RackSpec spec = read_sim_flags(job.flags);
        const auto result = sim::simulate(spec);
        if (!result) throw InputError(result.error());
        row = result_cells(spec, *result);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      finish(job, row, failure);
    }
  }

  void finish(const Job& job, const std::string& row, std::exception_ptr failure) {
    try {
      if (failure) std::rethrow_exception(failure);
      journal_.add(job.key, row);
    } catch (...) {
      failure_ = std::current_exception();
      return;
    }
    ++done_;
    done_requests_ += job.requests;
    show(false);
  }

  void show(bool last) {
    static const bool terminal = isatty(STDERR_FILENO) == 1;
    const Nanos now = monotonic_now();
    if (!last && now - shown_ < (terminal ? milliseconds(200) : seconds(10))) return;
    shown_ = now;
    const double passed_s = static_cast<double>((now - begin_).value) * 1e-9;
    const double left_s = done_requests_ > 0 ? passed_s * (all_ - done_requests_) / done_requests_ : 0;
    progress_.show(fmt::format("{} of {} runs, {:.0f} % of the work, {:.0f} s passed, about {:.0f} s left",
                               done_, jobs_.size(), all_ > 0 ? done_requests_ / all_ * 100 : 100, passed_s,
                               left_s));
  }

  std::vector<Job> jobs_;
  RunJournal& journal_;
  ProgressLine progress_;
  Nanos begin_;
  Nanos shown_{};
  std::mutex mutex_;  // of all below, the journal and the progress
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  double all_ = 0;
  double done_requests_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

std::string result_columns(const sim::RackSpec& spec) {
  std::string names = "offered_rps,achieved_rps,completed,dropped,overloaded,growth_rps,mean_us" +
                      quantile_columns("", "_us") + ",max_us" + quantile_columns("slowdown_", "") +
                      ",queued_percent,queue_p99,recirculations,events,depth";
  if (spec.workload.classes.size() < 2) return names;
  for (const workload::ClassSpec& one : spec.workload.classes) {
    names += quantile_columns(one.name + "_", "_us") + quantile_columns(one.name + "_slowdown_", "");
  }
  return names;
}

std::string key_of(const FlagTexts& flags) {
  std::string key;
  for (const auto& [name, value] : flags) {
    key += fmt::format("{}{}={}", key.empty() ? "" : " ", name, value);
    // A file that is read may have been changed since.
    for (const std::string_view piece : workload::split(value, ',')) {
      const std::size_t kind = std::max(piece.rfind("trace:") + 1, piece.rfind("empirical:") + 1);
      if (kind == 0) continue;
      std::error_code error;
      const auto time = std::filesystem::last_write_time(piece.substr(piece.find(':', kind) + 1), error);
      key += fmt::format("@{}", time.time_since_epoch().count());
    }
  }
  return key;
}

std::vector<std::string> do_runs(const std::vector<FlagTexts>& runs, RunJournal& journal,
                                 const RunOptions& options) {
  std::vector<Job> jobs;
  std::set<std::string> seen;
  for (const FlagTexts& flags : runs) {
    const std::string key = key_of(flags);
    if (!seen.insert(key).second) continue;
    const sim::RackSpec spec = read_sim_flags(flags);
    if (journal.find(key) != nullptr) continue;
    const double time_s = static_cast<double>((spec.warmup + spec.duration).value) * 1e-9;
    jobs.push_back({key, flags, spec.workload.phases[0].rate * time_s});
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.requests > b.requests; });
  if (jobs.size() < seen.size()) {
    std::fputs(fmt::format("{}: {} of {} runs were done before\n", options.command, seen.size() - jobs.size(),
                           seen.size())
                   .c_str(),
               stderr);
  }
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
  if (!jobs.empty())
    Workshop(std::move(jobs), journal, options.command).run(options.threads == 0 ? cores : options.threads);
  std::vector<std::string> rows;
  for (const FlagTexts& flags : runs) rows.push_back(*journal.find(key_of(flags)));
  return rows;
}

void write_whole(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path draft = file.string() + ".new";
  std::ofstream stream(draft, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) throw std::runtime_error(fmt::format("{}: cannot be written", draft.string()));
  std::filesystem::rename(draft, file);
}

}  // namespace rain::tools
