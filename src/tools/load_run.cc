// See load_run.h.
#include "tools/load_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <system_error>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <thread>

#include "apps/app.h"
#include "base/clock.h"
#include "base/endpoint_text.h"
#include "rain/client.h"
#include "rpc/admission.h"
#include "tools/load_agent.h"
#include "transport/udp.h"

namespace rain::tools {
namespace {

using Agent = LoadAgent<transport::UdpTransport>;

/// Time for all threads to be up before the schedule starts.
constexpr Nanos kStartDelay = milliseconds(20);
/// How long a sleep can hide the stop flag and delay the progress counters.
constexpr Nanos kLongestSleep = milliseconds(20);
constexpr Nanos kProgressInterval = seconds(1);
/// Replies to all open requests may come at once. The kernel grants what the system's limit allows.
constexpr std::size_t kReceiveBufferBytes = std::size_t{4} << 20;

void pause(Nanos duration) { poll(nullptr, 0, static_cast<int>(duration.value / 1'000'000)); }

/// Open requests of one connection: what its rate piles up within the timeout, with room for bursts, but within the
/// client's bound. Beyond that, requests are counted as dropped with client_backpressure.
std::uint32_t open_limit(double rate_per_second, Nanos timeout) {
  const double piled_up = 2 * rate_per_second * static_cast<double>(timeout.value) * 1e-9;
  return static_cast<std::uint32_t>(std::clamp(piled_up, 4096.0, double{rpc::ClientCore::kMaxOutstanding}));
}

/// One connection: its agent, and what its thread shows of it to the others.
struct Connection {
  std::unique_ptr<Agent> agent;
  LoadShare::Connection* share = nullptr;
  double rate_per_second = 0;
  std::atomic<std::uint64_t> sent{0}, completed{0}, failed{0};
  std::atomic<bool> finished{false};
  std::thread thread;

  void show(Nanos now) {
    const LoadResults& results = agent->results();
    std::uint64_t sum_sent = 0, sum_completed = 0, sum_failed = 0, refused = 0;
    for (const OutcomeCounts* counts : {&results.measured, &results.warmup}) {
      refused += counts->not_admitted[static_cast<std::size_t>(rpc::Limit::kShare)];
      sum_sent += counts->sent;
      sum_completed += counts->completed;
      sum_failed += counts->failed();
    }
    sent.store(sum_sent, std::memory_order_relaxed);
    completed.store(sum_completed, std::memory_order_relaxed);
    failed.store(sum_failed, std::memory_order_relaxed);
    const double held_back_s = static_cast<double>(agent->held_back_by_share(now).value) * 1e-9;
    const auto waiting = static_cast<std::uint32_t>(std::ceil(held_back_s * rate_per_second));
    share->outstanding.store(agent->outstanding(), std::memory_order_relaxed);
    share->waiting.store(waiting, std::memory_order_relaxed);
    share->refused.store(refused, std::memory_order_relaxed);
  }
};

/// Until all requests have ended; `stop`: no more are sent; `abandon`: at once.
void run_connection(Connection& connection, bool busy_poll, const std::atomic<bool>& stop,
                    const std::atomic<bool>& abandon) {
  // The default slack would let the kernel wake us 50 us late, every time.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  Agent& agent = *connection.agent;
  bool stopped = false;
  Nanos next_show{};
  while (!agent.finished() && !abandon.load(std::memory_order_relaxed)) {
    const Nanos now = monotonic_now();
    if (!stopped && stop.load(std::memory_order_relaxed)) {
      agent.stop(now);
      stopped = true;
    }
    if (now >= next_show) {
      connection.show(now);
      next_show = now + kLongestSleep;
    }
    agent.set_share(connection.share->share.load(std::memory_order_relaxed));
    if (agent.poll(now) != 0 || busy_poll) continue;
    const Nanos after = monotonic_now();
    if (agent.next_due() > after) agent.transport().wait(std::min(agent.next_due() - after, kLongestSleep));
  }
  connection.show(monotonic_now());
  connection.finished.store(true, std::memory_order_release);
}

tl::expected<std::unique_ptr<Agent>, std::string> open_agent(const LoadPlan& plan, const LoadWindow& window,
                                                             const apps::App& app, unsigned index) {
  const LoadSection& load = plan.load;
  const double rate = plan.rate_per_second / load.connections;
  // Streams of one seed: every connection its own, the same in every run.
  const std::uint64_t seed = load.seed * 64 + index;
  auto workload = workload::Workload::make(load.spec(rate), seed);
  if (!workload) return tl::unexpected(workload.error());
  auto socket = transport::UdpTransport::open(
      {.listen = plan.switch_address.is_v4() ? Endpoint::v4(0, 0, 0, 0, 0) : Endpoint{},
       .busy_poll = load.busy_poll,
       .receive_buffer_bytes = kReceiveBufferBytes,
       .kernel_time_stamps = true});
  if (!socket) return tl::unexpected(socket.error());
  const rpc::ClientCoreOptions options{.switch_address = plan.switch_address,
                                       .max_outstanding = open_limit(rate, load.timeout),
                                       .timeout = load.timeout,
                                       .back_off = load.admission != LoadAdmission::kOff};
  auto agent = std::make_unique<Agent>(std::move(*socket), options, window, std::move(*workload), app,
                                       app.make_builder(load.classes, seed), monotonic_now());
  if (load.admission == LoadAdmission::kWait) agent->wait_for_room();
  if (load.sticky > 0) agent->send_sticky(load.sticky, seed);
  return agent;
}

LoadProgress progress_of(const std::vector<std::unique_ptr<Connection>>& connections,
                         const LoadWindow& window, Nanos now) {
  LoadProgress progress{.elapsed = std::max(now - window.start, Nanos{}),
                        .total = window.warmup + window.duration};
  for (const auto& connection : connections) {
    progress.sent += connection->sent.load(std::memory_order_relaxed);
    progress.completed += connection->completed.load(std::memory_order_relaxed);
    progress.failed += connection->failed.load(std::memory_order_relaxed);
  }
  return progress;
}

void watch(const std::vector<std::unique_ptr<Connection>>& connections, const LoadWindow& window,
           const OnProgress& on_progress) {
  Nanos next_progress = window.start + kProgressInterval;
  const auto finished = [](const auto& one) { return one->finished.load(std::memory_order_acquire); };
  while (!std::all_of(connections.begin(), connections.end(), finished)) {
    pause(kLongestSleep);
    const Nanos now = monotonic_now();
    if (now < next_progress) continue;
    next_progress += kProgressInterval;
    if (on_progress) on_progress(progress_of(connections, window, now));
  }
}

Report report_of(const LoadPlan& plan, const std::vector<std::unique_ptr<Connection>>& connections,
                 const LoadShare& share, Nanos started) {
  LoadResults results(plan.load.classes.size());
  for (const auto& connection : connections) {
    results.merge(connection->agent->results());
    LoadResults of_client(plan.load.classes.size());
    const rpc::AdmissionControl& admission = connection->agent->admission();
    of_client.back_offs = admission.back_offs();
    for (const auto& one : plan.load.classes) of_client.windows.push_back(admission.window(*one.type));
    results.merge(of_client);
    const transport::UdpTransport& socket = connection->agent->transport();
    results.sockets += {.send_failures = socket.send_failures(), .cut_packets = socket.cut_packets()};
  }
  const LoadWindow& window = connections.front()->agent->window();
  Report report = make_report(results, window.duration);
  for (std::size_t i = 0; i < plan.load.classes.size(); ++i) {
    report.classes[i].type = *plan.load.classes[i].type;
    report.classes[i].name = plan.load.classes[i].name;
  }
  if (plan.load.admission != LoadAdmission::kOff) {
    report.admission = AdmissionReport{.mode = std::string(load_admission_name(plan.load.admission)),
                                       .share = share.total(),
                                       .told_by_controller = share.told_by_controller(),
                                       .back_offs = results.back_offs,
                                       .windows = results.windows};
  }
  report.scheduler = plan.facts.scheduler;
  report.workers = plan.facts.workers;
  report.depth = plan.facts.depth;
  report.seed = plan.load.seed;
  report.warmup_s = static_cast<double>(window.warmup.value) * 1e-9;
  report.requested_rps = plan.rate_per_second;
  report.connections = plan.load.connections;
  report.wall_s = static_cast<double>((monotonic_now() - started).value) * 1e-9;
  return report;
}

/// A client and the means to make requests, for probe() and calibrate().
struct Caller {
  Client client;
  std::unique_ptr<apps::App> app;
  apps::RequestBuilder build;
  std::array<std::byte, kMaxMessageBytes> buffer{};

  Client::Result call(const LoadSection& load, std::uint16_t class_index, std::int64_t demand,
                      Nanos timeout) {
    const workload::Request request{.at = {}, .gap = {}, .class_index = class_index, .demand = demand};
    return client.call(
        build(request, buffer),
        {.type = *load.classes[class_index].type, .timeout = timeout, .sticky = load.sticky >= 1});
  }
};

tl::expected<std::unique_ptr<Caller>, std::string> open_caller(const LoadPlan& plan) {
  auto client = Client::open({.switch_address = format_endpoint(plan.switch_address)});
  if (!client) return tl::unexpected(client.error().message());
  auto app = apps::make_app(plan.load.app, plan.app_options);
  if (!app) return tl::unexpected(app.error());
  auto build = (*app)->make_builder(plan.load.classes, plan.load.seed);
  return std::make_unique<Caller>(Caller{std::move(*client), std::move(*app), std::move(build)});
}

constexpr Nanos kFirstAttempt = milliseconds(200);  // packets to a switch that starts just now are lost
constexpr Nanos kPauseAfterRefusal = milliseconds(20);

/// One small request of a class.
struct Attempt {
  std::string problem;      ///< "" when all is well
  bool silence = false;     ///< nothing came
  bool overloaded = false;  ///< refused, by a rack that has more to do than it can
};

Attempt ask_once(Caller& caller, const LoadPlan& plan, std::size_t class_index, Nanos timeout) {
  const std::string address = format_endpoint(plan.switch_address);
  const std::string& name = plan.load.classes[class_index].name;
  const Client::Result result = caller.call(plan.load, static_cast<std::uint16_t>(class_index), 1, timeout);
  if (result) {
    const std::string error = caller.app->reply_error(result->payload);
    if (error.empty()) return {};
    return {.problem = fmt::format("{} answers requests of class \"{}\" with: {}; is its application {}?",
                                   address, name, error, plan.load.app)};
  }
  if (result.error().kind == ErrorKind::kTimedOut) {
    return {.problem = fmt::format(
                "nothing answers requests of class \"{}\" at {}: are the switch and its workers running?",
                name, address),
            .silence = true};
  }
  pause(kPauseAfterRefusal);
  return {.problem =
              fmt::format("{} refuses requests of class \"{}\": {}", address, name, result.error().message()),
          .overloaded =
              result.error().kind == ErrorKind::kDropped && rpc::signals_overload(result.error().reason)};
}

/// "" when a request of the class was answered, or refused by a busy rack; else, at the deadline, what happened. Each
/// attempt waits twice as long as the one before: a rack that others load answers late.
std::string probe_class(Caller& caller, const LoadPlan& plan, std::size_t class_index, Nanos deadline,
                        const std::atomic<bool>& stop) {
  Attempt told;
  Nanos timeout = kFirstAttempt;
  while (true) {
    Attempt attempt = ask_once(caller, plan, class_index, timeout);
    if (attempt.problem.empty()) return {};
    // An answer says more than the silence after it: the last attempt may have been a short one.
    if (!attempt.silence || told.problem.empty()) told = std::move(attempt);
    if (stop.load(std::memory_order_relaxed)) return "interrupted";
    const Nanos left = deadline - monotonic_now();
    if (left <= Nanos{}) return told.overloaded ? std::string() : told.problem;
    timeout = std::min(timeout * 2, left);
  }
}

}  // namespace

std::string LoadProgress::text() const {
  const auto whole_seconds = [](Nanos time) { return time.value / 1'000'000'000; };
  return fmt::format("{} of {} s: sent {}, completed {}, failed {}, open {}",
                     whole_seconds(std::min(elapsed, total)), whole_seconds(total + milliseconds(999)), sent,
                     completed, failed, sent - std::min(sent, completed + failed));
}

tl::expected<Report, std::string> run_load(const LoadPlan& plan, const std::atomic<bool>& stop,
                                           const OnProgress& on_progress) {
  auto app = apps::make_app(plan.load.app, plan.app_options);
  if (!app) return tl::unexpected(app.error());
  const Nanos started = monotonic_now();
  LoadWindow window{.start = started, .warmup = plan.load.warmup, .duration = plan.load.duration};
  LoadShare share(plan.load.connections, plan.load.share);
  std::vector<std::unique_ptr<Connection>> connections;
  for (unsigned i = 0; i < plan.load.connections; ++i) {
    auto agent = open_agent(plan, window, **app, i);
    if (!agent) return tl::unexpected(agent.error());
    connections.push_back(std::make_unique<Connection>());
    connections.back()->agent = std::move(*agent);
    connections.back()->share = &share.connection(i);
    connections.back()->rate_per_second = plan.rate_per_second / plan.load.connections;
  }
  if (plan.controller) {
    if (std::string problem = share.attach(*plan.controller); !problem.empty())
      return tl::unexpected(problem);
  }
  // Only now: to open many connections takes longer than the first requests may be late.
  window.start = monotonic_now() + kStartDelay;
  for (const auto& connection : connections) connection->agent->start_at(window.start);
  std::atomic<bool> abandon{false};
  try {
    for (const auto& connection : connections) {
      connection->thread = std::thread(run_connection, std::ref(*connection), plan.load.busy_poll,
                                       std::cref(stop), std::cref(abandon));
    }
  } catch (const std::system_error& error) {
    abandon.store(true, std::memory_order_relaxed);
    for (const auto& connection : connections) {
      if (connection->thread.joinable()) connection->thread.join();
    }
    return tl::unexpected("cannot start a thread for each connection: " + error.code().message());
  }
  watch(connections, window, on_progress);
  for (const auto& connection : connections) connection->thread.join();
  share.detach();
  return report_of(plan, connections, share, started);
}

std::string probe(const LoadPlan& plan, Nanos patience, const std::atomic<bool>& stop) {
  auto caller = open_caller(plan);
  if (!caller) return caller.error();
  const Nanos deadline = monotonic_now() + patience;
  for (std::size_t i = 0; i < plan.load.classes.size(); ++i) {
    if (std::string problem = probe_class(**caller, plan, i, deadline, stop); !problem.empty())
      return problem;
  }
  return {};
}

tl::expected<Calibration, std::string> calibrate(const LoadPlan& plan, Nanos duration,
                                                 const std::atomic<bool>& stop) {
  auto caller = open_caller(plan);
  if (!caller) return tl::unexpected(caller.error());
  const auto& classes = plan.load.classes;
  Calibration calibration;
  double shares = 0;
  const Nanos each = duration / static_cast<std::int64_t>(classes.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    Prng random(plan.load.seed, i);
    Histogram service;
    for (const Nanos until = monotonic_now() + each; monotonic_now() < until;) {
      if (stop.load(std::memory_order_relaxed)) return tl::unexpected(std::string("interrupted"));
      const std::int64_t demand = classes[i].demand.sample(random);
      const Client::Result result =
          (*caller)->call(plan.load, static_cast<std::uint16_t>(i), demand, plan.load.timeout);
      if (!result) {
        return tl::unexpected(
            fmt::format("calibration, class \"{}\": {}", classes[i].name, result.error().message()));
      }
      service.record(result->parts.service);
    }
    const double service_us = service.mean_ns() * 1e-3;
    calibration.classes.push_back(
        {.name = classes[i].name, .count = service.count(), .service_us = service_us});
    calibration.mean_service_us += classes[i].share * service_us;
    shares += classes[i].share;
  }
  calibration.mean_service_us /= shares;
  return calibration;
}

}  // namespace rain::tools
