// The rack's promises on real sockets while packets are lost, repeated and reordered, hosts crash, the switch restarts,
// quotas change and workers move. Two seconds; RAIN_RACK_SECONDS=n for n. What happens is drawn from a seed, when it
// happens is the machine's.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/prng.h"
#include "client/client_agent.h"
#include "rack_plan.h"
#include "softswitch/switch_process.h"
#include "softswitch/table_change.h"
#include "transport/fault.h"
#include "transport/udp.h"
#include "worker/emulated_workers.h"

namespace rain::rack {
namespace {

using UdpNet = transport::FaultTransport<transport::UdpTransport>;
using Workers = worker::EmulatedWorkers<UdpNet>;

constexpr Nanos kSyncInterval = milliseconds(20);
constexpr unsigned kPerHost = 2;
constexpr unsigned kHosts = 2;
constexpr unsigned kSlices = 2;
constexpr unsigned kStartQuota = 3;
constexpr std::uint32_t kTokenKey = 7;
constexpr transport::FaultOptions kFaults{
    .loss = 0.02, .duplicate = 0.02, .delay = 0.02, .reorder = 0.02, .max_delay = milliseconds(2)};

UdpNet open_net(const Endpoint& listen, bool faults, std::uint64_t seed) {
  return UdpNet(transport::UdpTransport::open({.listen = listen}).value(),
                faults ? kFaults : transport::FaultOptions{}, seed);
}

/// A thread with some workers. Everything that touches them happens on it.
class Host {
 public:
  Host(const Endpoint& switch_address, unsigned number)
      : switch_address_(switch_address), number_(number), quotas_(kPerHost, kStartQuota) {
    start(Endpoint::v4(127, 0, 0, 1, 0));
    thread_ = std::thread([this] { run(); });
  }
  ~Host() {
    stopping_ = true;
    thread_.join();
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  const Endpoint& address() const { return address_; }

  void set_quota(unsigned index, unsigned quota) {
    tell([this, index, quota] { set_quota_here(index, quota); });
  }
  void ask_now(unsigned index) {
    tell([this, index] { workers_->ask_now(index, monotonic_now()); });
  }
  /// It forgets all it knew, and comes back on the same port.
  void crash() {
    tell([this] {
      workers_.reset();
      start(address_);
    });
  }
  void heal() {
    tell([this] {
      healed_ = true;
      workers_->transport().set_options({});
    });
  }
  /// A number that stays as it is while all tokens are home; nullopt: they are not.
  std::optional<std::uint64_t> tokens_at_home() {
    std::atomic<bool> done = false;
    std::optional<std::uint64_t> sum = 0;
    tell([&] {
      for (unsigned i = 0; i < kPerHost; ++i) {
        const rpc::TokenLedger& ledger = *workers_->core(i).ledger();
        if (!ledger.settled() || ledger.outstanding() != quotas_[i]) sum.reset();
        for (std::uint8_t level = 0; sum && level < quotas_[i]; ++level)
          *sum += ledger.generation({level}).value;
      }
      done = true;
    });
    while (!done) std::this_thread::yield();
    return sum;
  }

 private:
  void tell(std::function<void()> command) {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
  }

  void start(const Endpoint& listen) {
    UdpNet net = open_net(listen, !healed_, ++lives_ * 100 + number_);
    address_ = net.local();
    worker::EmulatedWorkersOptions options;
    options.worker = {.id = {static_cast<std::uint16_t>(number_ * kPerHost)},
                      .switch_address = switch_address_,
                      .quota = kStartQuota,
                      .token_key = kTokenKey,
                      .sync_interval = kSyncInterval,
                      .push_limit = 0,
                      .max_payload_bytes = 64};
    options.count = kPerHost;
    workers_ = std::make_unique<Workers>(std::move(net), options, monotonic_now());
    bounds_.assign(kPerHost, kStartQuota);
    for (unsigned i = 0; i < kPerHost; ++i) set_quota_here(i, quotas_[i]);
  }

  void set_quota_here(unsigned index, unsigned quota) {
    quotas_[index] = quota;
    bounds_[index] = std::max(quota, workers_->core(index).ledger()->capacity());
    workers_->set_quota(index, quota, monotonic_now());
  }

  void run() {
    while (!stopping_) {
      std::vector<std::function<void()>> commands;
      {
        const std::lock_guard lock(mutex_);
        commands.swap(commands_);
      }
      for (const auto& command : commands) command();
      const auto serve = [](const rpc::TaskView&, WorkerId) {
        return worker::EmulatedTask{.service = microseconds(500)};
      };
      const std::size_t work = workers_->poll(monotonic_now(), serve);
      check();
      if (work == 0) workers_->transport().wait(milliseconds(1));
    }
  }

  void check() {
    for (unsigned i = 0; i < kPerHost; ++i) {
      const rpc::WorkerCore& core = workers_->core(i);
      const unsigned capacity = core.ledger()->capacity();
      EXPECT_LE(capacity, bounds_[i]) << "a worker has more out than its quota";
      EXPECT_LE(core.held() + core.ledger()->outstanding(), capacity);
      bounds_[i] = std::max(quotas_[i], capacity);
    }
  }

  Endpoint switch_address_;
  unsigned number_;
  Endpoint address_{};
  std::vector<unsigned> quotas_;
  std::vector<unsigned> bounds_;
  std::unique_ptr<Workers> workers_;
  std::uint64_t lives_ = 0;
  bool healed_ = false;
  std::mutex mutex_;
  std::vector<std::function<void()>> commands_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

/// One client that keeps asking, on the caller's thread.
class Asker {
 public:
  explicit Asker(const Endpoint& switch_address)
      : agent_(open_net(Endpoint::v4(127, 0, 0, 1, 0), true, 1), options(switch_address), monotonic_now()) {}

  void submit(Prng& prng) {
    const auto accepted =
        agent_.submit(as_payload("work"),
                      {.type = {static_cast<std::uint16_t>(prng.below(kSlices))}, .cookie = endings_.size()},
                      monotonic_now());
    if (accepted) endings_.push_back(0);
  }
  void poll() {
    const std::size_t work = agent_.poll(monotonic_now(), [this](const rpc::Outcome& outcome) {
      ++endings_.at(outcome.cookie);
      replies_ += outcome.ending == rpc::Ending::kReply ? 1u : 0u;
    });
    if (work == 0) agent_.transport().wait(milliseconds(1));
  }
  void heal() { agent_.transport().set_options({}); }
  unsigned outstanding() const { return static_cast<unsigned>(agent_.core().outstanding()); }
  std::uint64_t replies() const { return replies_; }
  const std::vector<unsigned>& endings() const { return endings_; }

 private:
  static rpc::ClientCoreOptions options(const Endpoint& switch_address) {
    return {.switch_address = switch_address,
            .max_outstanding = 16,
            .id_count = 4096,
            .timeout = milliseconds(200),
            .max_payload_bytes = 64};
  }

  client::ClientAgent<UdpNet> agent_;
  std::vector<unsigned> endings_;  // of each request
  std::uint64_t replies_ = 0;
};

class UdpFaultsTest : public testing::Test {
 protected:
  UdpFaultsTest() {
    options_.listen =
        Endpoint::v4(127, 0, 0, 1, open_net(Endpoint::v4(127, 0, 0, 1, 0), false, 0).local().port);
    options_.quota = kLargestQuota;
    options_.max_workers = kHosts * kPerHost;
    options_.slices = {{.name = "a", .id = {0}, .task_types = {{0}}},
                       {.name = "b", .id = {1}, .task_types = {{1}}}};
    for (unsigned host = 0; host < kHosts; ++host) {
      hosts_.push_back(std::make_unique<Host>(options_.listen, host));
      for (unsigned i = 0; i < kPerHost; ++i) {
        options_.workers.push_back({.id = {static_cast<std::uint16_t>(host * kPerHost + i)},
                                    .slice = {static_cast<std::uint16_t>(i % kSlices)},
                                    .address = hosts_[host]->address(),
                                    .token_key = kTokenKey,
                                    .epoch = {1}});
      }
    }
    quotas_.assign(options_.workers.size(), kStartQuota);
    switch_ = softswitch::SwitchProcess::start(options_).value();
  }

  void set_quota(unsigned worker, unsigned quota) {
    quotas_[worker] = quota;
    hosts_[worker / kPerHost]->set_quota(worker % kPerHost, quota);
  }

  /// Into the other slice, unless it is the last of its own.
  void move(unsigned worker) {
    softswitch::SwitchWorker& row = options_.workers[worker];
    unsigned peers = 0;
    for (const softswitch::SwitchWorker& other : options_.workers)
      peers += other.slice == row.slice ? 1u : 0u;
    if (peers == 1) return;
    row.slice = {static_cast<std::uint16_t>(1 - row.slice.value)};
    ++row.epoch.value;
    const softswitch::TableChange change = softswitch::SetWorker{row};
    const auto applied = switch_->apply({&change, 1});
    EXPECT_TRUE(applied) << applied.error();
    hosts_[worker / kPerHost]->ask_now(worker % kPerHost);
  }

  void strike() {
    const auto worker = static_cast<unsigned>(prng_.below(quotas_.size()));
    switch (prng_.below(8)) {
      case 0:
        return hosts_[worker / kPerHost]->crash();
      case 1:
        switch_.reset();
        switch_ = softswitch::SwitchProcess::start(options_).value();
        return;
      case 2:
      case 3:
      case 4:
        return move(worker);
      default:
        return set_quota(worker, static_cast<unsigned>(prng_.below(kLargestQuota + 1)));
    }
  }

  /// The sum of all hosts' numbers; nullopt while a token is not home.
  std::optional<std::uint64_t> tokens_at_home() {
    std::uint64_t sum = 0;
    for (const auto& host : hosts_) {
      const auto tokens = host->tokens_at_home();
      if (!tokens) return std::nullopt;
      sum += *tokens;
    }
    return sum;
  }

  /// The workers ask the switch after each token several times meanwhile; were one not filed there, they would issue
  /// another.
  bool tokens_stay_home(Asker& asker) {
    const auto before = tokens_at_home();
    if (!before) return false;
    const Nanos end = monotonic_now() + kSyncInterval * std::int64_t{5};
    while (monotonic_now() < end) asker.poll();
    return tokens_at_home() == before;
  }

  softswitch::SwitchOptions options_;
  std::vector<unsigned> quotas_;
  Prng prng_{1};
  std::vector<std::unique_ptr<Host>> hosts_;  // before the switch: workers come first and find it
  std::unique_ptr<softswitch::SwitchProcess> switch_;
};

TEST_F(UdpFaultsTest, rain__tokens_come_home_after_loss_crashes_and_moves) {
  const char* many = std::getenv("RAIN_RACK_SECONDS");
  const Nanos lasts = seconds(many != nullptr ? std::strtoll(many, nullptr, 10) : 2);
  Asker asker(options_.listen);
  const Nanos start = monotonic_now();
  Nanos next_strike = start, next_request = start;
  for (Nanos now = start; now < start + lasts && !HasFailure(); now = monotonic_now()) {
    if (now >= next_strike) {
      strike();
      next_strike = now + milliseconds(50);
    }
    if (now >= next_request) {
      asker.submit(prng_);
      next_request = now + prng_.exponential(milliseconds(1));
    }
    asker.poll();
  }

  asker.heal();
  for (const auto& host : hosts_) host->heal();
  for (unsigned worker = 0; worker < quotas_.size(); ++worker) {
    if (quotas_[worker] == 0) set_quota(worker, 1);
  }
  const Nanos limit = monotonic_now() + seconds(30);
  while (asker.outstanding() > 0 && monotonic_now() < limit) asker.poll();
  bool home = false;
  while (!home && monotonic_now() < limit && !HasFailure()) home = tokens_stay_home(asker);
  EXPECT_TRUE(home) << "tokens were lost, or are still missed";

  EXPECT_EQ(asker.endings(), std::vector<unsigned>(asker.endings().size(), 1));
  EXPECT_GT(asker.replies(), 0u);
  // A task may yet be refused: it met the token that a crashed life of a worker left above its present quota.
  const std::uint64_t wanted = asker.replies() + 8;
  while (asker.replies() < wanted && monotonic_now() < limit) {
    if (asker.outstanding() == 0) asker.submit(prng_);
    asker.poll();
  }
  EXPECT_EQ(asker.replies(), wanted) << "the rack does not serve";
}

}  // namespace
}  // namespace rain::rack
