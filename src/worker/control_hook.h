// A worker's end of the agent's control block: what the worker measured goes there, the quota that the agent wants comes
// from there. The worker's core knows nothing of it.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/control_block.h"
#include "rpc/worker_core.h"

namespace rain::worker {

class ControlHook {
 public:
  explicit ControlHook(const agent::WorkerPort& port) : port_(port) {}

  /// Does what the agent newly wants. True: the core has questions to ask at once.
  template <rpc::Sink S>
  bool obey(rpc::WorkerCore& core, Nanos now, S& sink) {
    const std::optional<agent::Wanted> wanted = port_.wanted();
    if (leaving_ || !wanted || wanted == done_) return false;
    if (wanted->quota != core.quota()) core.set_quota(wanted->quota, now, sink);
    // The first word is not a change: a worker that begins asks after everything anyway.
    if (done_ && wanted->ask != done_->ask) core.ask_now(now);
    done_ = wanted;
    return true;
  }

  /// From now on it obeys nobody: a worker that takes back its tokens to leave must not be given new ones.
  void leave() { leaving_ = true; }

  /// After a task may have ended: adds it to the samples.
  void sample(const rpc::WorkerCore& core) {
    const rpc::EndedTask& task = core.last_ended();
    if (task.number == sampled_) return;
    sampled_ = task.number;
    port_.add({.worker_wait = task.in_worker,
               .switch_wait = task.in_switch,
               .service = task.service,
               .switch_queue = task.queue_length,
               .token_round_trip = task.token_round_trip});
  }

  void publish(const rpc::WorkerCore& core, Nanos now) {
    port_.publish({.idle = core.idle_time(now),
                   .quota = core.quota(),
                   .held = core.held(),
                   .drained = core.drained(),
                   .served = core.served()},
                  core.held() == 0, now);
  }

 private:
  agent::WorkerPort port_;
  std::optional<agent::Wanted> done_{};
  std::uint64_t sampled_ = 0;
  bool leaving_ = false;
};

}  // namespace rain::worker
