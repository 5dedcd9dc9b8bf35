// The whole rack in virtual time: public agents of clients and workers, the switch agent with a real program, a network
// in memory with faults. Everything that happens follows from the plan's seed.
//
// After every step of every agent the promises are checked (rack_promises.h); at the end the faults stop, what is open ends, and
// every token must be home again (heal()).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "client/client_agent.h"
#include "rack_plan.h"
#include "rack_promises.h"
#include "rack_switch.h"

namespace rain::rack {

/// `Program` and `kLevelled` as for RackPromises.
template <typename Program, bool kLevelled>
class SimulatedRack {
 public:
  explicit SimulatedRack(const RackPlan& plan)
      : plan_(plan),
        network_({.latency = microseconds(1)}),
        service_prng_(plan.seed, 3),
        client_prng_(plan.seed, 4) {
    records_.reserve(plan.clients * plan.requests);
    for (unsigned worker = 0; worker < plan.workers(); ++worker) {
      workers_.push_back({.slice = {static_cast<std::uint16_t>(worker % plan.slices)}, .quota = plan.quota});
    }
    start_switch();
    hosts_.resize(plan.hosts);
    for (unsigned host = 0; host < plan.hosts; ++host) start_host(host);
    for (unsigned i = 0; i < plan.clients; ++i) start_client();
    std::sort(plan_.script.begin(), plan_.script.end(),
              [](const ScriptedEvent& a, const ScriptedEvent& b) { return a.at < b.at; });
  }

  /// The whole run; failures are GoogleTest's.
  void run() {
    run_until([this] { return now_ >= plan_.faults_until && all_submitted(); });
    if (!testing::Test::HasFailure()) heal();
  }

  /// Differs when anything differed in two runs.
  std::uint64_t digest() const { return digest_; }
  std::uint64_t executions() const { return executions_; }
  const std::vector<Record>& records() const { return records_; }

 private:
  static constexpr Endpoint kSwitch = Endpoint::v4(10, 0, 0, 1, 9000);
  static Endpoint host_address(unsigned host) {
    return Endpoint::v4(10, 0, 1, static_cast<std::uint8_t>(host), 9100);
  }
  static Endpoint client_address(unsigned client) {
    return Endpoint::v4(10, 0, 2, static_cast<std::uint8_t>(client), 5000);
  }
  static constexpr std::uint32_t kKey = 0x1234'5678;

  struct ClientState {
    std::unique_ptr<client::ClientAgent<Net>> agent;
    unsigned submitted = 0;
    Nanos next_submit{};
  };

  // --- parts and their lives ---

  Net open(const Endpoint& endpoint, const transport::FaultOptions& faults) {
    return Net(network_.open(endpoint), healed_ ? transport::FaultOptions{.storage_packets = 64} : faults,
               plan_.seed * 1000 + ++lives_);
  }

  void start_switch() {
    switch_.reset();
    std::uint32_t ring = 1;
    while (ring < plan_.queue_capacity) ring *= 2;
    // Twice the tokens that workers may have out: after a restart, a late repeat of a token of the old life is filed
    // beside its worker's new one, until a task takes it and is refused. Dead ones have no room of their own.
    std::uint32_t tokens = 1;
    while (tokens < 2 * plan_.workers() * (kLevelled ? 1 : kLargestQuota)) tokens *= 2;
    const dataplane::MemoryShape shape{.slices = plan_.slices,
                                       .workers = plan_.workers(),
                                       .task_ring = ring,
                                       .token_ring = tokens,
                                       .hold_slots = plan_.hold_slots};
    switch_.emplace(shape, open(kSwitch, plan_.switch_faults), records_, BootId{++boots_});
    for (std::uint16_t slice = 0; slice < plan_.slices; ++slice) {
      switch_->memory.set_slice({slice}, {.present = true,
                                          .queue_capacity = plan_.queue_capacity,
                                          .spill = plan_.spill,
                                          .drain = plan_.drain});
      switch_->memory.set_type({slice}, {slice});
    }
    for (unsigned worker = 0; worker < plan_.workers(); ++worker) set_worker(worker);
  }

  void set_worker(unsigned worker) {
    switch_->memory.set_worker({static_cast<std::uint16_t>(worker)},
                               {.present = true,
                                .slice = workers_[worker].slice,
                                .epoch = workers_[worker].epoch,
                                .token_key = kKey,
                                .address = host_address(worker / plan_.workers_per_host)});
  }

  void start_host(unsigned host) {
    hosts_[host].reset();
    worker::EmulatedWorkersOptions options;
    options.worker = {.id = {static_cast<std::uint16_t>(host * plan_.workers_per_host)},
                      .switch_address = kSwitch,
                      .quota = plan_.quota,
                      .token_key = kKey,
                      .sync_interval = plan_.sync_interval,
                      .push_limit = 1,
                      .max_payload_bytes = 64};
    options.count = plan_.workers_per_host;
    options.horizon = microseconds(500);
    hosts_[host] = std::make_unique<worker::EmulatedWorkers<Net>>(open(host_address(host), plan_.host_faults),
                                                                  options, now_);
    for (unsigned i = 0; i < plan_.workers_per_host; ++i) {
      WorkerPlan& worker = workers_[host * plan_.workers_per_host + i];
      worker.bound = std::max(plan_.quota, worker.quota);
      hosts_[host]->set_quota(i, worker.quota, now_);
    }
  }

  void set_quota(unsigned worker, unsigned quota) {
    worker::EmulatedWorkers<Net>& host = *hosts_[worker / plan_.workers_per_host];
    const unsigned index = worker % plan_.workers_per_host;
    workers_[worker].quota = quota;
    workers_[worker].bound = std::max(quota, host.core(index).ledger()->capacity());
    host.set_quota(index, quota, now_);
  }

  void move(unsigned worker, SliceId to, bool told) {
    const SliceId from = workers_[worker].slice;
    if (std::count_if(workers_.begin(), workers_.end(),
                      [from](const WorkerPlan& plan) { return plan.slice == from; }) == 1) {
      return;
    }
    workers_[worker].slice = to;
    begin_epoch(worker, from);
    if (told) hosts_[worker / plan_.workers_per_host]->ask_now(worker % plan_.workers_per_host, now_);
  }

  void begin_epoch(unsigned worker, SliceId of_its_tokens) {
    ++workers_[worker].epoch.value;
    set_worker(worker);
    switch_->program.forget_dead_tokens(of_its_tokens);
  }

  void start_client() {
    ClientState& state = clients_.emplace_back();
    state.agent = std::make_unique<client::ClientAgent<Net>>(
        open(client_address(static_cast<unsigned>(clients_.size() - 1)), plan_.client_faults),
        rpc::ClientCoreOptions{.switch_address = kSwitch,
                               .max_outstanding = plan_.max_outstanding,
                               .id_count = 1024,
                               .timeout = plan_.timeout,
                               .max_retries = plan_.retries,
                               .max_payload_bytes = 64},
        now_);
  }

  void strike(const ScriptedEvent& event) {
    const unsigned host = event.whom % plan_.hosts;
    const unsigned client = event.whom % plan_.clients;
    const unsigned worker = event.whom % plan_.workers();
    switch (event.what) {
      case Misfortune::kCutHost:
        return cut(host_address(host), event.lasts);
      case Misfortune::kCutClient:
        return cut(client_address(client), event.lasts);
      case Misfortune::kRestartSwitch:
        return start_switch();
      case Misfortune::kRestartHost:
        return start_host(host);
      case Misfortune::kRaiseEpoch:
        return begin_epoch(worker, workers_[worker].slice);
      case Misfortune::kSetQuota:
        return set_quota(worker, event.value % (kLargestQuota + 1));
      case Misfortune::kMove:
        return move(worker, {static_cast<std::uint16_t>((workers_[worker].slice.value + 1) % plan_.slices)},
                    event.told);
    }
  }

  void cut(const Endpoint& peer, Nanos lasts) {
    switch_->transport.partition(peer);
    cuts_.push_back({now_ + lasts, peer});
  }

  // --- virtual time ---

  template <typename Done>
  void run_until(Done done) {
    while (!done()) {
      settle();
      if (testing::Test::HasFailure()) return;
      now_ = std::max(next_event(), now_ + Nanos{1});
      ASSERT_LT(now_, plan_.faults_until + seconds(20)) << "the rack never comes to rest";
    }
  }

  void settle() {
    while (next_script_ < plan_.script.size() && plan_.script[next_script_].at <= now_) {
      strike(plan_.script[next_script_++]);
      check();
    }
    std::erase_if(cuts_, [this](const Cut& cut) {
      if (cut.until > now_) return false;
      switch_->transport.heal(cut.peer);
      return true;
    });
    constexpr unsigned kMaxRounds = 1000;
    for (unsigned round = 0; step() > 0; ++round) ASSERT_LT(round, kMaxRounds) << "packets circle for ever";
  }

  std::size_t step() {
    std::size_t work = switch_->agent.poll(now_);
    check();
    for (unsigned host = 0; host < plan_.hosts; ++host) {
      work += hosts_[host]->poll(now_, [this](const rpc::TaskView& task, WorkerId) { return serve(task); });
      check();
    }
    for (ClientState& client : clients_) {
      while (client.submitted < plan_.requests && client.next_submit <= now_) submit(client);
      work += client.agent->poll(now_, [this](const rpc::Outcome& outcome) { hear(outcome); });
    }
    return work;
  }

  Nanos next_event() {
    Nanos next = std::min(network_.next_arrival(), switch_->transport.next_release());
    if (next_script_ < plan_.script.size()) next = std::min(next, plan_.script[next_script_].at);
    for (const Cut& cut : cuts_) next = std::min(next, cut.until);
    for (const auto& host : hosts_)
      next = std::min({next, host->next_due(), host->transport().next_release()});
    for (const ClientState& client : clients_) {
      next = std::min({next, client.agent->next_due(), client.agent->transport().next_release()});
      if (client.submitted < plan_.requests) next = std::min(next, client.next_submit);
    }
    return next;
  }

  bool all_submitted() const {
    return std::all_of(clients_.begin(), clients_.end(),
                       [this](const ClientState& client) { return client.submitted == plan_.requests; });
  }

  // --- what clients and workers do ---

  void submit(ClientState& client) {
    ++client.submitted;
    client.next_submit = now_ + client_prng_.exponential(plan_.mean_gap);
    const std::uint64_t number = records_.size();
    std::array<std::byte, 40> bytes{};
    std::memcpy(bytes.data(), &number, sizeof(number));
    const std::size_t size = client_prng_.chance(0.8) ? sizeof(number) : 9 + client_prng_.below(32);
    records_.emplace_back();
    const auto accepted =
        client.agent->submit(std::span(bytes).first(size),
                             {.type = {static_cast<std::uint16_t>(client_prng_.below(plan_.slices))},
                              .deadline = client_prng_.chance(0.1) ? plan_.mean_service : Nanos{},
                              .retries = plan_.retries,
                              .cookie = number},
                             now_);
    if (accepted) return;
    EXPECT_EQ(accepted.error(), ErrorKind::kBackpressure);
    records_.pop_back();
  }

  worker::EmulatedTask serve(const rpc::TaskView& task) {
    std::uint64_t number = 0;
    std::memcpy(&number, task.payload.data(), sizeof(number));
    Record& record = records_.at(number);
    ++record.executions;
    ++executions_;
    EXPECT_LE(record.executions, record.delivered)
        << "request " << number << " ran more often than it was sent";
    replies_.push_back(std::make_unique<std::uint64_t>(number));
    return {.service = service_prng_.exponential(plan_.mean_service),
            .reply = std::as_bytes(std::span(replies_.back().get(), 1)),
            .failed = service_prng_.chance(0.02) ? DropReason::kHandlerFailed : DropReason::kNone};
  }

  void hear(const rpc::Outcome& outcome) {
    Record& record = records_.at(outcome.cookie);
    EXPECT_EQ(++record.endings, 1u) << "request " << outcome.cookie << " ended again";
    if (outcome.ending == rpc::Ending::kReply) {
      std::uint64_t number = 0;
      ASSERT_EQ(outcome.payload.size(), sizeof(number));
      std::memcpy(&number, outcome.payload.data(), sizeof(number));
      EXPECT_EQ(number, outcome.cookie) << "a reply to another request";
      EXPECT_GE(record.executions, 1u);
    }
    record.dropped = outcome.ending == rpc::Ending::kDropped;
    record.reason = outcome.reason;
    for (const std::uint64_t part : {outcome.cookie, static_cast<std::uint64_t>(outcome.ending),
                                     static_cast<std::uint64_t>(now_.value)}) {
      digest_ = (digest_ ^ part) * 0x100'0000'01B3;
    }
  }

  void check() {
    promises_.check_workers(hosts_, workers_);
    promises_.check_switch(*switch_, workers_);
  }

  /// The faults stop; all that is open ends, and within the bound all tokens are home.
  void heal() {
    healed_ = true;
    const transport::FaultOptions none{.storage_packets = 64};
    switch_->transport.set_options(none);
    switch_->transport.heal_all();
    cuts_.clear();
    next_script_ = plan_.script.size();
    for (const auto& host : hosts_) host->transport().set_options(none);
    for (ClientState& client : clients_) client.agent->transport().set_options(none);

    for (unsigned worker = 0; worker < plan_.workers(); ++worker) {
      if (workers_[worker].quota == 0) set_quota(worker, 1);  // or its slice may have nobody to serve it
    }
    // Lost tokens come home within the bound, and then every task that still waits is served.
    const Nanos bound = now_ + plan_.sync_interval * kHealIntervals + kSlack;
    run_until([&] { return now_ >= bound && quiet(); });
    if (testing::Test::HasFailure()) return;
    ASSERT_LE(now_, bound + plan_.timeout * std::int64_t{plan_.retries + 1} + kSlack)
        << "requests outlive their timeouts";
    promises_.check_tokens_are_home(*switch_, hosts_, workers_);
    promises_.check_records(records_);
  }

  /// Nothing is open, waits or runs.
  bool quiet() {
    if (switch_->agent.waiting() > 0) return false;
    for (const auto& host : hosts_) {
      if (host->held() > 0) return false;
    }
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const ClientState& client) { return client.agent->core().outstanding() == 0; });
  }

  /// A lost token is asked after within one interval, a lost dispatch given up after two more; one for a lost question or
  /// answer at the end of the faults, two for the granularity of the workers' timers.
  static constexpr std::int64_t kHealIntervals = 6;
  static constexpr Nanos kSlack = milliseconds(2);

  struct Cut {
    Nanos until;
    Endpoint peer;
  };

  RackPlan plan_;
  RackPromises<Program, kLevelled> promises_{plan_};
  transport::MemoryNetwork network_;
  Prng service_prng_;
  Prng client_prng_;
  Nanos now_{};
  std::vector<Record> records_;
  std::vector<WorkerPlan> workers_;
  std::optional<SwitchLife<Program>> switch_;
  Hosts hosts_;
  std::vector<ClientState> clients_;
  std::vector<Cut> cuts_;
  std::vector<std::unique_ptr<std::uint64_t>> replies_;
  std::size_t next_script_ = 0;
  std::uint32_t boots_ = 0;
  std::uint64_t lives_ = 0;
  std::uint64_t executions_ = 0;
  std::uint64_t digest_ = 0xCBF2'9CE4'8422'2325;
  bool healed_ = false;
};

}  // namespace rain::rack
