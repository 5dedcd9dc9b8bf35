// `rain worker`: one server of a rack, a thread and a UDP port for each of its workers, or one of each for all when they
// are emulated. Ends with SIGINT or SIGTERM, after it has served what it holds.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "apps/app.h"
#include "base/endpoint_text.h"
#include "base/stop_signals.h"
#include "rain/worker.h"
#include "tools/command.h"
#include "tools/emulated_server.h"
#include "tools/input_error.h"
#include "tools/rack_file.h"
#include "tools/server_agent.h"
#include "tools/server_session.h"
#include "tools/suggest.h"
#include "tools/supervisor.h"
#include "worker/attach.h"

namespace rain::tools {
namespace {

struct WorkerFlags {
  std::string config;
  std::string server;
  std::string scheduler;
};

using TokenKeys = std::vector<std::uint32_t>;  // of the server's workers

void print_note(const std::string& text) { std::fputs(("rain worker: " + text + '\n').c_str(), stderr); }

WorkerOptions worker_options(const RackFile& rack, const ServerSection& server, const TokenKeys& keys,
                             unsigned index) {
  return {.id = {static_cast<std::uint16_t>(server.first_id.value + index)},
          .listen_address = format_endpoint(server.endpoint(index)),
          .switch_address = format_endpoint(rack.in_switch.listen),
          .quota = rack.effective_quota(server),
          .token_key = keys[index],
          .sync_interval = server.sync_interval,
          .busy_poll = server.busy_poll,
          .on_note = print_note};
}

/// Preparing may take long, and the signals are blocked: they are asked after here.
void print_progress(std::string_view what, std::uint64_t done, std::uint64_t total) {
  if (StopSignals::pending()) {
    std::fputs("interrupted\n", stderr);
    std::_Exit(kExitFailed);
  }
  std::fputs(fmt::format("{}: {} of {}\n", what, done, total).c_str(), stderr);
}

void print_ready(const RackFile& rack, const ServerSection& server) {
  const unsigned last = server.first_id.value + server.workers - 1u;
  const unsigned quota = rack.effective_quota(server);
  std::fputs(
      fmt::format("{}server {}, app {}, workers {}..{} on {}{}, quota {}, switch {}\n", kReadyPrefix,
                  server.name, server.app, server.first_id.value, last, format_endpoint(server.endpoint(0)),
                  server.emulate       ? " (emulated)"
                  : server.workers > 1 ? " and following ports"
                                       : "",
                  quota == 0 ? "unbounded" : std::to_string(quota), format_endpoint(rack.in_switch.listen))
          .c_str(),
      stderr);
}

void print_totals(std::uint64_t served, const std::array<std::uint64_t, kDropReasonCount>& drops,
                  std::uint64_t cut_packets) {
  std::string text = fmt::format("served {}", served);
  for (std::size_t i = 1; i < drops.size(); ++i) {
    if (drops[i] != 0) text += fmt::format(", {} {}", drop_reason_name(static_cast<DropReason>(i)), drops[i]);
  }
  if (cut_packets != 0) text += fmt::format(", cut_packets {}", cut_packets);
  fmt::print("{}\n", text);
}

/// Threads that end with the scope, however it is left: a worker whose thread runs must be told to stop.
template <typename Stop>
class Threads {
 public:
  explicit Threads(Stop stop) : stop_(std::move(stop)) {}
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    stop_();
    for (std::thread& thread : threads_) thread.join();
  }
  template <typename Body>
  void start(Body body) {
    try {
      threads_.emplace_back(std::move(body));
    } catch (const std::system_error& error) {
      throw std::runtime_error(
          fmt::format("cannot start thread {}: {}", threads_.size() + 1, error.code().message()));
    }
  }

 private:
  Stop stop_;
  std::vector<std::thread> threads_;
};

int run_threads(const RackFile& rack, const ServerSection& server, const TokenKeys& keys, apps::App& app,
                const StopSignals& signals, ServerAgent* agent) {
  std::vector<Worker> workers;
  for (unsigned i = 0; i < server.workers; ++i) {
    auto worker = Worker::open(worker_options(rack, server, keys, i), app.make_handler());
    if (!worker)
      throw InputError(fmt::format("worker {}: {}", server.first_id.value + i, worker.error().message()));
    if (agent != nullptr) worker::Attach::to(*worker, agent->block().worker_port(i));
    workers.push_back(std::move(*worker));
  }
  {
    Threads threads([&workers] {
      for (Worker& worker : workers) worker.stop();
    });
    for (Worker& worker : workers) threads.start([&worker] { worker.run(); });
    print_ready(rack, server);
    signals.wait();
    if (agent != nullptr) agent->stop();
  }
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Worker::Stats stats = workers[i].stats();
    fmt::print("worker {}: idle {:.1f} %, ", server.first_id.value + i, stats.idleness * 100);
    print_totals(stats.served, stats.drops, stats.cut_packets);
  }
  return kExitOk;
}

int run_emulated(const RackFile& rack, const ServerSection& server, const TokenKeys& keys,
                 const StopSignals& signals, ServerAgent* agent) {
  EmulatedServer workers({.listen = server.endpoint(0),
                          .switch_address = rack.in_switch.listen,
                          .first_id = server.first_id,
                          .count = server.workers,
                          .quota = rack.effective_quota(server),
                          .token_keys = keys,
                          .sync_interval = server.sync_interval,
                          .busy_poll = server.busy_poll,
                          .longest_service = server.app_options.synthetic_limit,
                          .control = agent == nullptr ? nullptr : &agent->block(),
                          .on_note = print_note});
  {
    Threads threads([&workers] { workers.stop(); });
    threads.start([&workers] { workers.run(); });
    print_ready(rack, server);
    signals.wait();
    if (agent != nullptr) agent->stop();
  }
  print_totals(workers.served(), workers.drops(), workers.cut_packets());
  return kExitOk;
}

int run(const WorkerFlags& flags) {
  RackFile rack = RackFile::read(flags.config);
  if (!flags.scheduler.empty()) rack.set_scheduler(flags.scheduler);
  const ServerSection& server = rack.chosen_server(flags.server);
  const StopSignals signals;  // before any thread exists, so that only this one hears them
  auto app = apps::make_app(server.app, server.app_options);
  if (!app) throw InputError(app.error());
  if (const auto prepared = (*app)->prepare(print_progress); !prepared)
    throw std::runtime_error(prepared.error());
  // Both outlive the workers: the session goes first, when they have taken back their tokens and may leave the switch.
  std::optional<ServerAgent> agent;
  std::unique_ptr<ServerSession> session;
  if (rack.agent || rack.controller) agent.emplace(rack, server, ServerAgent::Process::kWorker);
  TokenKeys keys(server.workers, server.token_key);
  if (rack.controller) {
    session = ServerSession::open(rack, server, signals, agent->hooks());
    if (!session) return kExitOk;  // a signal came before the controller did
    keys = session->token_keys();
  }
  const bool runs_agent = ServerAgent::runs_in_worker(rack);
  const AgentRun agent_run(runs_agent ? &*agent : nullptr, session ? &session->link() : nullptr);
  ServerAgent* const shared = agent ? &*agent : nullptr;
  return server.emulate ? run_emulated(rack, server, keys, signals, shared)
                        : run_threads(rack, server, keys, **app, signals, shared);
}

}  // namespace

Run declare_worker(CLI::App& app) {
  auto flags = std::make_shared<WorkerFlags>();
  app.add_option("--config", flags->config, "the rack file")->required()->type_name("FILE");
  app.add_option("--server", flags->server, "which [[server]] of the file this is")->type_name("NAME");
  app.add_option(
         "--scheduler", flags->scheduler,
         "instead of the file's (decides whether workers have a quota): " + comma_list(scheduler_names()))
      ->type_name("NAME");
  return [flags] { return run(*flags); };
}

}  // namespace rain::tools
