// A whole rack in virtual time: the real switch, worker and client state machines over a memory network with faults.
// One seed decides everything. Checked at every event: no worker holds more tasks than its quota, every request ends
// exactly once, and with a master: sticky tasks run on it alone, and no task waits beside its idle token.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/prng.h"
#include "dataplane/rain_paper.h"
#include "rpc/client_core.h"
#include "rpc/worker_core.h"
#include "softswitch/switch_fixture.h"
#include "transport/fault.h"
#include "transport/memory.h"

namespace rain::softswitch {

using FaultyTransport = transport::FaultTransport<transport::MemoryTransport>;

inline constexpr TaskType kStickyType{
    7};  ///< of the requests that go to the master, so that workers know them

struct RackOptions {
  std::uint64_t seed = 1;
  unsigned workers = 4;
  double sticky = 0;   ///< share of the requests; above 0 the last worker is the master
  unsigned quota = 3;  ///< 0: unbounded workers, for programs that push
  unsigned clients = 2;
  unsigned requests = 300;  ///< of each client
  std::size_t payload_bytes = 40;
  Nanos first_request{};  ///< when clients begin
  double load = 0.8;      ///< share of the workers' capacity, of all clients together
  /// How much of the load the first client offers; the others share the rest.
  std::optional<double> first_client_share{};
  bool back_off = false;  ///< clients heed overload drops; what they do not admit ends at once
  std::uint32_t max_outstanding = 1024;
  Nanos mean_service = microseconds(10);
  std::uint32_t queue_capacity = 1024;
  transport::FaultOptions faults{};  ///< of every endpoint
};

/// Sends each packet at once.
struct TransportSink {
  FaultyTransport& transport;
  Nanos now;
  void send(const wire::Message& message, const Endpoint& to) {
    std::array<std::byte, wire::kMaxPacketBytes> buffer;
    transport.send(now, wire::encode(message, buffer), to);
    transport.flush(now);
  }
};

/// Calls `handle(message, packet)` for all packets that have come.
template <typename Handle>
void receive_all(FaultyTransport& transport, Nanos now, Handle handle) {
  for (auto batch = transport.receive(now); !batch.empty(); batch = transport.receive(now)) {
    for (const transport::RxPacket& packet : batch) {
      wire::Message message;
      ASSERT_EQ(wire::decode(packet.bytes, message), DropReason::kNone);
      handle(message, packet);
    }
  }
}

class VirtualWorker {
 public:
  VirtualWorker(FaultyTransport transport, const rpc::WorkerCoreOptions& options, const RackOptions& rack)
      : transport_(std::move(transport)),
        core_(options),
        quota_(options.quota),
        is_master_(options.id.value + 1u == rack.workers),
        mean_service_(rack.mean_service),
        prng_(rack.seed, 100 + options.id.value) {}

  void step(Nanos now) {
    TransportSink sink{transport_, now};
    receive_all(transport_, now, [&](const wire::Message& message, const transport::RxPacket& packet) {
      core_.on_message(message, packet.source, packet.arrival, now, sink);
    });
    if (core_.running() && done_ <= now) {
      const Payload reply = running_->payload.first(std::min<std::size_t>(8, running_->payload.size()));
      core_.finish(reply, now, sink);
    }
    if (!core_.running()) {
      running_ = core_.begin(now, sink);
      if (running_ != nullptr) {
        done_ = now + prng_.exponential(mean_service_);
        EXPECT_TRUE(is_master_ || running_->type != kStickyType);
      }
    }
    core_.poll(now, sink);
    if (quota_ == 0) return;
    EXPECT_LE(core_.held(), quota_) << "holds more than its quota at " << now.value;
  }
  Nanos next_event() const {
    return std::min({transport_.next_release(), core_.next_due(), core_.running() ? done_ : Nanos::max()});
  }

  FaultyTransport& transport() { return transport_; }
  const rpc::WorkerCore& core() const { return core_; }

 private:
  FaultyTransport transport_;
  rpc::WorkerCore core_;
  unsigned quota_;
  bool is_master_;
  Nanos mean_service_;
  Prng prng_;
  const rpc::TaskView* running_ = nullptr;
  Nanos done_{};
};

class VirtualClient {
 public:
  VirtualClient(FaultyTransport transport, const Endpoint& switch_address, const RackOptions& rack,
                unsigned index)
      : transport_(std::move(transport)),
        core_({.switch_address = switch_address,
               .max_outstanding = rack.max_outstanding,
               .timeout = milliseconds(5),
               .back_off = rack.back_off}),
        mean_gap_(mean_gap(rack, index)),
        sticky_(rack.sticky),
        prng_(rack.seed, 200 + index),
        payload_(rack.payload_bytes, std::byte{0x5A}),
        endings_(rack.requests),
        next_submit_(rack.first_request) {}

  void step(Nanos now) {
    TransportSink sink{transport_, now};
    const auto on_outcome = [this](const rpc::Outcome& outcome) {
      ++endings_[outcome.cookie];
      ++by_ending_[static_cast<std::size_t>(outcome.ending)];
    };
    receive_all(transport_, now, [&](const wire::Message& message, const transport::RxPacket& packet) {
      core_.on_message(message, packet.arrival, on_outcome);
    });
    while (submitted_ < endings_.size() && next_submit_ <= now) {
      rpc::CallSpec call{.cookie = submitted_};
      if (sticky_ > 0 && prng_.chance(sticky_)) {
        call.type = kStickyType, call.policy = wire::Policy::kSticky;
        ++submitted_sticky_;
      }
      const auto accepted = core_.submit(payload_, call, now, sink);
      ASSERT_TRUE(accepted.has_value() || core_.options().back_off);
      if (!accepted) ++endings_[submitted_], ++refused_;
      ++submitted_;
      next_submit_ += prng_.exponential(mean_gap_);
    }
    core_.poll(now, sink, on_outcome);
  }
  Nanos next_event() const {
    const Nanos submit = submitted_ < endings_.size() ? next_submit_ : Nanos::max();
    return std::min({transport_.next_release(), core_.next_due(), submit});
  }

  FaultyTransport& transport() { return transport_; }
  const rpc::ClientCore& core() const { return core_; }
  std::uint64_t submitted() const { return submitted_; }
  std::uint64_t submitted_sticky() const { return submitted_sticky_; }
  std::uint64_t refused() const { return refused_; }  ///< not admitted
  bool finished() const { return submitted_ == endings_.size() && core_.outstanding() == 0; }
  std::uint64_t count(rpc::Ending ending) const { return by_ending_[static_cast<std::size_t>(ending)]; }
  void expect_each_ended_once() const {
    for (std::size_t i = 0; i < submitted_; ++i) EXPECT_EQ(endings_[i], 1u) << "request " << i;
  }

 private:
  static Nanos mean_gap(const RackOptions& rack, unsigned index) {
    const double even = 1.0 / rack.clients;
    const double first = rack.first_client_share.value_or(even);
    const double share = index == 0 ? first : (1 - first) / (rack.clients - 1);
    return {static_cast<std::int64_t>(static_cast<double>(rack.mean_service.value) /
                                      (rack.workers * rack.load * share))};
  }

  FaultyTransport transport_;
  rpc::ClientCore core_;
  Nanos mean_gap_;
  double sticky_;
  Prng prng_;
  std::vector<std::byte> payload_;
  std::vector<unsigned> endings_;  // how often each request ended
  std::array<std::uint64_t, 3> by_ending_{};
  std::size_t submitted_ = 0;
  std::uint64_t submitted_sticky_ = 0;
  std::uint64_t refused_ = 0;
  Nanos next_submit_{};
};

template <typename Program>
class VirtualRack {
 public:
  using Switch = SwitchUnderTest<Program, FaultyTransport>;
  static constexpr Nanos kSyncInterval = microseconds(200);

  explicit VirtualRack(const RackOptions& options)
      : options_(options), switch_options_(one_slice(options.workers)) {
    if (std::is_same_v<Program, dataplane::RainPaperProgram<dataplane::SoftMemory>>) {
      switch_options_.program = "rain-paper";
    }
    switch_options_.quota = std::max(options.quota, 1u);
    switch_options_.hold_slots = options.queue_capacity;
    switch_options_.slices[0].queue_capacity = options.queue_capacity;
    if (options.sticky > 0) {
      switch_options_.slices.push_back(
          {.name = "master", .id = {1}, .host = SliceId{}, .queue_capacity = options.queue_capacity});
      switch_options_.workers.back().slice = {1};
    }
    start_switch(kBootId);
    for (std::uint16_t id = 0; id < options.workers; ++id) {
      workers_.push_back(std::make_unique<VirtualWorker>(
          open(packet_table::worker_address(id)),
          rpc::WorkerCoreOptions{.id = {id},
                                 .switch_address = switch_address_,
                                 .quota = options.quota,
                                 .token_key = packet_table::worker_key(id),
                                 .sync_interval = kSyncInterval,
                                 .push_limit = options.quota == 0 ? rpc::kPushLimit : 0},
          options));
    }
    for (unsigned i = 0; i < options.clients; ++i) {
      clients_.push_back(std::make_unique<VirtualClient>(open(packet_table::client_address(i)),
                                                         switch_address_, options, i));
    }
  }

  /// Until every request has ended, or `until`.
  void run(Nanos until = Nanos::max()) {
    while (now_ < until && !all_finished()) step(until);
  }
  /// That much further, whatever happens.
  void run_for(Nanos duration) {
    const Nanos until = now_ + duration;
    while (now_ < until) step(until);
  }

  /// All faults end, and what was under way arrives.
  void heal() {
    for_each_transport([](FaultyTransport& transport) {
      transport.set_options({});
      transport.heal_all();
    });
  }

  /// The switch dies with all that it holds; a new one starts with empty tables.
  void restart_switch(BootId boot_id) {
    switch_.reset();
    start_switch(boot_id);
  }

  Switch& in_switch() { return *switch_; }
  std::vector<std::unique_ptr<VirtualWorker>>& workers() { return workers_; }
  std::vector<std::unique_ptr<VirtualClient>>& clients() { return clients_; }
  const Endpoint& switch_address() const { return switch_address_; }
  Nanos now() const { return now_; }

  std::uint64_t count(rpc::Ending ending) const {
    std::uint64_t sum = 0;
    for (const auto& client : clients_) sum += client->count(ending);
    return sum;
  }
  template <typename Visit>
  void for_each_transport(Visit visit) {
    visit(switch_->transport);
    for (auto& worker : workers_) visit(worker->transport());
    for (auto& client : clients_) visit(client->transport());
  }

  /// After the last fault: nothing waits, nothing leaks, and every worker's quota is out as tokens.
  void expect_all_capacity_back() {
    EXPECT_EQ(switch_->agent.waiting(), 0u);
    EXPECT_EQ(switch_->memory.free_holds(), switch_options_.hold_slots);
    for (const auto& worker : workers_) {
      EXPECT_EQ(worker->core().held(), 0u);
      EXPECT_EQ(worker->core().ledger()->outstanding(), options_.quota)
          << "worker " << worker->core().id().value;
    }
    EXPECT_EQ(filed_tokens(), static_cast<std::int64_t>(options_.workers * options_.quota));
  }

 private:
  FaultyTransport open(const Endpoint& endpoint) {
    return {network_.open(endpoint), options_.faults, options_.seed * 1000 + endpoint_count_++};
  }
  void start_switch(BootId boot_id) {
    switch_ = std::make_unique<Switch>(switch_options_, open(switch_address_), boot_id);
  }

  void step(Nanos until) {
    now_ = std::min(std::max(now_, next_event()), until);
    while (switch_->agent.poll(now_) > 0) {
    }
    for (auto& worker : workers_) worker->step(now_);
    for (auto& client : clients_) client->step(now_);
    if (options_.sticky > 0) {
      EXPECT_TRUE(balance(0) >= 0 || balance(1) <= 0)
          << "a task waits beside the master's token at " << now_.value;
    }
    RAIN_ASSERT(++steps_ < 10'000'000 && "the rack makes no progress");
  }
  Nanos next_event() const {
    Nanos next = std::min(network_.next_arrival(), switch_->transport.next_release());
    for (const auto& worker : workers_) next = std::min(next, worker->next_event());
    for (const auto& client : clients_) next = std::min(next, client->next_event());
    return next;
  }
  bool all_finished() const {
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const auto& client) { return client->finished(); });
  }
  /// Of idle workers, those of `rain-paper` of all.
  std::int64_t balance(std::uint16_t slice) {
    if constexpr (requires { switch_->program.gate(SliceId{}); }) {
      return switch_->program.gate({slice}).balance;
    } else if constexpr (requires { switch_->program.balance(SliceId{}); }) {
      return switch_->program.balance({slice});
    } else {
      return 0;  // no program that queues
    }
  }
  std::int64_t filed_tokens() {
    std::int64_t filed = 0;
    for (std::uint16_t slice = 0; slice < switch_options_.slices.size(); ++slice) {
      filed += balance(slice);
      if constexpr (requires { switch_->program.gate(SliceId{}); })
        filed += switch_->program.gate({slice}).spare;
    }
    return filed;
  }

  RackOptions options_;
  SwitchOptions switch_options_;
  Endpoint switch_address_ = Endpoint::v4(10, 9, 9, 9, 9000);
  std::uint64_t endpoint_count_ = 0;
  transport::MemoryNetwork network_{{.latency = microseconds(1), .queue_packets = 4096}};
  std::unique_ptr<Switch> switch_;
  std::vector<std::unique_ptr<VirtualWorker>> workers_;
  std::vector<std::unique_ptr<VirtualClient>> clients_;
  Nanos now_{};
  std::uint64_t steps_ = 0;
};

}  // namespace rain::softswitch
