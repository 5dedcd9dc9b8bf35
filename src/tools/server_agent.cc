#include "tools/server_agent.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "tools/input_error.h"

namespace rain::tools {
namespace {

/// With a controller, slices may come that the file does not name: the runtime has a place for every id.
constexpr unsigned kSlicesOfController = dataplane::kMaxSlices;

agent::AgentRuntimeOptions runtime_options(const RackFile& rack) {
  agent::AgentRuntimeOptions options{.adapts = rack.agent.has_value(),
                                     .can_move = rack.controller.has_value()};
  if (rack.agent) {
    options.policy = rack.agent->policy;
    options.dead_after = rack.agent->dead_after;
    options.traced = !rack.agent->decisions.empty();
  }
  options.slices =
      rack.controller ? kSlicesOfController : static_cast<unsigned>(rack.in_switch.slices.size());
  return options;
}

void check(const tl::expected<void, std::string>& claimed) {
  if (!claimed) throw InputError(claimed.error());
}

agent::ControlBlock open_block(const RackFile& rack, const ServerSection& server,
                               ServerAgent::Process process) {
  if (!rack.agent || rack.agent->control_block.empty()) return agent::ControlBlock::anonymous(server.workers);
  std::error_code error;
  std::filesystem::create_directories(rack.agent->control_block, error);  // open() says what is wrong
  const auto path = std::filesystem::path(rack.agent->control_block) / (server.name + ".block");
  auto block = agent::ControlBlock::open(path.string(), server.workers);
  if (!block) throw InputError(block.error());
  const bool has_workers = process == ServerAgent::Process::kWorker;
  for (unsigned i = 0; has_workers && i < server.workers; ++i) check(block->claim_worker(i));
  if (!has_workers || ServerAgent::runs_in_worker(rack)) check(block->claim_agent());
  return std::move(*block);
}

}  // namespace

ServerAgent::ServerAgent(const RackFile& rack, const ServerSection& server, Process process)
    : server_(server),
      quota_(rack.effective_quota(server)),
      options_(runtime_options(rack)),
      block_(open_block(rack, server, process)) {
  for (const softswitch::SwitchSlice& slice : rack.in_switch.slices) slice_names_.push_back(slice.name);
  if (!options_.traced) return;
  std::error_code error;
  std::filesystem::create_directories(rack.agent->decisions, error);
  const auto path = std::filesystem::path(rack.agent->decisions) / (server.name + ".jsonl");
  decisions_.open(path, std::ios::app);
  if (!decisions_) throw InputError(fmt::format("cannot write {}", path.string()));
}

bool ServerAgent::runs_in_worker(const RackFile& rack) {
  return rack.controller.has_value() || (rack.agent && !rack.agent->own_process);
}

control::ServerLinkHooks ServerAgent::hooks() {
  return {.orders =
              [this](const control::ServerOrders& orders) {
                {
                  const std::lock_guard lock(mutex_);
                  orders_ = orders;
                }
                wake_.signal();
              },
          .refused =
              [this](const std::string& line, std::optional<WorkerId> move) {
                say(line);
                if (!move) return;
                {
                  const std::lock_guard lock(mutex_);
                  refused_.insert(*move);
                }
                wake_.signal();
              }};
}

void ServerAgent::start(control::ServerLink* link) {
  link_ = link;
  std::vector<agent::AgentWorker> workers;
  for (unsigned i = 0; i < server_.workers; ++i) {
    workers.push_back({.id = {static_cast<std::uint16_t>(server_.first_id.value + i)},
                       .slice = server_.slice.value,
                       .quota = quota_});
  }
  runtime_.emplace(options_, block_, workers, monotonic_now());
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "rain-agent");
}

void ServerAgent::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  wake_.signal();
  if (thread_.joinable()) thread_.join();
}

void ServerAgent::run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    wake_.clear();
    const Nanos now = monotonic_now();
    take_orders(now);
    runtime_->poll(now, *this);
    wake_.wait(runtime_->next_due() - monotonic_now());
  }
}

void ServerAgent::take_orders(Nanos now) {
  std::optional<control::ServerOrders> orders;
  std::set<WorkerId> refused;
  {
    const std::lock_guard lock(mutex_);
    orders = std::exchange(orders_, std::nullopt);
    refused = std::exchange(refused_, {});
  }
  if (orders) {
    for (const control::SliceRow& slice : orders->slices) {
      if (slice.id.value >= slice_names_.size()) slice_names_.resize(slice.id.value + std::size_t{1});
      slice_names_[slice.id.value] = slice.name;
    }
    masters_.clear();
    for (const control::SliceRow& slice : orders->slices) {
      if (slice.master) masters_[slice.id] = *slice.master;
    }
    for (const control::WorkerRow& row : orders->workers) {
      const auto before = rows_.find(row.id);
      obey(row, before == rows_.end() ? nullptr : &before->second);
      rows_[row.id] = row;
    }
  }
  for (const WorkerId worker : pending_.take_failed(refused, now))
    runtime_->on_move_refused(worker, slice_of(worker).value);
}

void ServerAgent::obey(const control::WorkerRow& row, const control::WorkerRow* before) {
  agent::AgentRuntime& runtime = *runtime_;
  const bool known = before != nullptr;
  if (known && *before == row) return;
  if (!known || before->epoch != row.epoch || before->slice != row.slice) {
    pending_.on_moved(row.id);
    runtime.on_moved(row.id, row.slice.value);
  }
  if (row.state != control::WorkerState::kServing) return runtime.set_quota(row.id, 0);
  // The quota of the first orders is what we said ourselves; the agent may have found a better one in the block.
  const auto& reports = runtime.reports();
  const auto mine = std::find_if(reports.begin(), reports.end(),
                                 [&row](const agent::AgentReport& report) { return report.id == row.id; });
  const bool ordered = known && (before->quota_order != row.quota_order || before->state != row.state);
  if (ordered || (mine != reports.end() && mine->wanted == 0)) runtime.set_quota(row.id, row.quota);
}

SliceId ServerAgent::slice_of(WorkerId worker) const {
  const auto row = rows_.find(worker);
  return row == rows_.end() ? server_.slice : row->second.slice;
}

bool ServerAgent::is_master(WorkerId worker) const {
  const auto master = masters_.find(slice_of(worker));
  return master != masters_.end() && master->second == worker;
}

void ServerAgent::move(WorkerId worker, std::uint16_t slice) {
  pending_.ask(worker, monotonic_now());
  if (is_master(worker)) {  // the controller would say no
    const std::lock_guard lock(mutex_);
    refused_.insert(worker);
    return;
  }
  link_->request_move(worker, slice_names_[slice]);
}

void ServerAgent::spill(std::uint16_t slice, unsigned threshold) {
  if (link_ != nullptr) return link_->request_spill(slice_names_[slice], threshold);
  if (std::exchange(said_spill_, true)) return;
  say(fmt::format(
      "slice \"{}\" would do with spill = {}, but thresholds need a controller: they stay as configured",
      slice_names_[slice], threshold));
}

void ServerAgent::report(const std::vector<agent::AgentReport>& workers) {
  if (link_ == nullptr) return;
  reports_.clear();
  for (const agent::AgentReport& worker : workers) {
    reports_.push_back({.id = worker.id,
                        .quota = worker.quota,
                        .held = worker.held,
                        .served = worker.served,
                        .idleness = worker.idleness,
                        .slowdown_p99 = worker.slowdown_p99,
                        .alive = worker.alive,
                        .drained = worker.drained});
  }
  link_->report(reports_);
}

void ServerAgent::say(const std::string& line) {
  std::fputs(fmt::format("rain agent of {}: {}\n", server_.name, line).c_str(), stderr);
}

void ServerAgent::trace(const std::string& lines) { decisions_ << lines << std::flush; }

}  // namespace rain::tools
