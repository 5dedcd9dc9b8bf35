// What a rack promises at every moment, and what once its faults have healed. Failures are GoogleTest's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "rack_plan.h"
#include "rack_switch.h"
#include "worker/emulated_workers.h"

namespace rain::rack {

using Hosts = std::vector<std::unique_ptr<worker::EmulatedWorkers<Net>>>;

/// A worker as the control plane wants it.
struct WorkerPlan {
  SliceId slice{};
  Epoch epoch{1};
  unsigned quota = 0;
  unsigned bound =
      0;  ///< of what it may come to hold: its quota, or what it had when that fell, and ever less
};

/// `Program`: the switch program. `kLevelled`: it is `rain`, whose tokens have levels and whose tasks may wait beside
/// spare ones.
template <typename Program, bool kLevelled>
class RackPromises {
 public:
  explicit RackPromises(const RackPlan& plan) : plan_(plan) {}

  void check_workers(const Hosts& hosts, std::vector<WorkerPlan>& workers) const {
    for (unsigned worker = 0; worker < plan_.workers(); ++worker) {
      const rpc::WorkerCore& core = core_of(hosts, worker);
      const rpc::TokenLedger& ledger = *core.ledger();
      unsigned& bound = workers[worker].bound;
      ASSERT_EQ(ledger.quota(), workers[worker].quota);
      ASSERT_LE(core.held(), bound) << "worker " << worker << " holds more tasks than its quota";
      ASSERT_EQ(core.held(), ledger.spent());
      ASSERT_LE(ledger.spent() + ledger.outstanding(), ledger.capacity());
      ASSERT_LE(ledger.capacity(), bound) << "worker " << worker << " has more out than its quota";
      bound = std::max(ledger.quota(), ledger.capacity());
      if (ledger.settled()) {
        ASSERT_EQ(bound, ledger.quota());
      }
    }
  }

  /// No worker idles with a filed token while a task waits; for levelled tokens within the spill rule, by which spare
  /// tokens wait beside at most `spill` tasks.
  void check_switch(SwitchLife<Program>& life, const std::vector<WorkerPlan>& workers) const {
    std::uint64_t all_waiting = 0;
    for (std::uint16_t slice = 0; slice < plan_.slices; ++slice) {
      const std::uint64_t waiting = life.program.waiting({slice});
      all_waiting += waiting;
      ASSERT_LE(waiting, plan_.queue_capacity);
      if (waiting == 0) continue;
      const Filed tokens = filed(life, workers, {slice});
      ASSERT_EQ(tokens.idle, 0u) << waiting << " tasks wait and a worker is idle";
      if (!kLevelled || waiting > plan_.spill) {
        ASSERT_EQ(tokens.spare, 0u) << waiting << " tasks wait beside spare tokens";
      }
    }
    ASSERT_EQ(all_waiting, life.agent.waiting());
  }

  /// Every token is with the switch, and both halves of the ledger agree on it.
  void check_tokens_are_home(SwitchLife<Program>& life, const Hosts& hosts,
                             const std::vector<WorkerPlan>& workers) const {
    for (unsigned worker = 0; worker < plan_.workers(); ++worker) {
      const rpc::TokenLedger& ledger = *core_of(hosts, worker).ledger();
      ASSERT_TRUE(ledger.settled()) << "worker " << worker << " waits for a token to come home";
      ASSERT_EQ(ledger.epoch(), workers[worker].epoch);
      ASSERT_EQ(ledger.outstanding(), workers[worker].quota) << "worker " << worker << " lost tokens";
      // A worker does not know what an earlier life of it, with a higher quota, left at the switch.
      for (unsigned level = ledger.quota(); level < kLargestQuota && !plan_.restarts(); ++level) {
        ASSERT_FALSE(is_filed(life, worker, level)) << "worker " << worker << " level " << level;
      }
      for (unsigned level = 0; level < ledger.quota(); ++level) {
        ASSERT_TRUE(is_filed(life, worker, level))
            << "worker " << worker << " level " << level << " leaked: seen "
            << seen(life, worker, level).value << ", consumed "
            << ledger_cell(life, kConsumedRegister, worker, level).value << ", the worker has out "
            << ledger.generation({static_cast<std::uint8_t>(level)}).value;
        ASSERT_EQ(seen(life, worker, level), ledger.generation({static_cast<std::uint8_t>(level)}));
      }
    }
  }

  void check_records(const std::vector<Record>& records) const {
    for (std::size_t number = 0; number < records.size(); ++number) {
      const Record& record = records[number];
      ASSERT_EQ(record.endings, 1u) << "request " << number;
      if (plan_.retries == 0 && !plan_.repeats_requests) {
        ASSERT_LE(record.executions, 1u) << "request " << number;
      }
      // Who hears DROP knows that it did not run.
      if (record.dropped && record.reason != DropReason::kHandlerFailed && record.delivered <= 1 &&
          !plan_.restarts()) {
        ASSERT_EQ(record.executions, 0u) << "request " << number << ": " << drop_reason_name(record.reason);
      }
    }
  }

 private:
  /// Tokens that the switch has filed, by its half of the ledger.
  struct Filed {
    unsigned idle = 0;
    unsigned spare = 0;
  };
  Filed filed(SwitchLife<Program>& life, const std::vector<WorkerPlan>& workers, SliceId slice) const {
    Filed found;
    for (unsigned worker = 0; worker < plan_.workers(); ++worker) {
      if (workers[worker].slice != slice) continue;
      for (unsigned level = 0; level < kLargestQuota; ++level) {
        if (!is_filed(life, worker, level)) continue;
        ++(level == 0 ? found.idle : found.spare);
      }
    }
    return found;
  }
  const rpc::WorkerCore& core_of(const Hosts& hosts, unsigned worker) const {
    return hosts[worker / plan_.workers_per_host]->core(worker % plan_.workers_per_host);
  }
  bool is_filed(SwitchLife<Program>& life, unsigned worker, unsigned level) const {
    return seen(life, worker, level).newer_than(ledger_cell(life, kConsumedRegister, worker, level));
  }
  Generation seen(SwitchLife<Program>& life, unsigned worker, unsigned level) const {
    return ledger_cell(life, kSeenRegister, worker, level);
  }
  Generation ledger_cell(SwitchLife<Program>& life, std::uint8_t id, unsigned worker, unsigned level) const {
    return *life.memory.template cell<Generation>(id, worker * kMaxQuota + level);
  }
  static constexpr std::uint8_t kSeenRegister = register_named<Program>("token_seen");
  static constexpr std::uint8_t kConsumedRegister = register_named<Program>("token_consumed");

  const RackPlan& plan_;
};

}  // namespace rain::rack
