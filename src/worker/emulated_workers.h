// Many logical workers on one thread and one socket, whose service time passes without burning a core: a rack of 32
// workers on a laptop, over real sockets or in virtual time.
//
// Each worker has its own quota, FIFO and tokens; dispatches and SYNC_ACKs name theirs. A task that begins is given its
// service time and reply at once; a timer wheel says when it ends.
//
// One thread cannot be in time for all workers, and a thread that slept wakes late. A real worker does not wait for
// either, so tasks run on the worker's own time: one begins when the task before it was due to end, or when it arrived if
// that was later, and its service takes as long as it was said to. What is late is only the packet that says so, and
// lateness does not add up from task to task. (Beginning each task when the thread comes round to it makes a worker
// slower by every delay of the thread: 5 % at 1 ms on a machine that wakes 50 us late.)
#pragma once

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "base/timer_wheel.h"
#include "rpc/packet_sender.h"
#include "rpc/worker_core.h"
#include "transport/transport.h"
#include "worker/control_hook.h"

namespace rain::worker {

/// What the service says of a task that begins.
struct EmulatedTask {
  Nanos service{};                        ///< how long it runs; 0: it ends with the next step
  Payload reply{};                        ///< valid until it ends
  DropReason failed = DropReason::kNone;  ///< not kNone: it ends with DROP(failed) instead of the reply
};

struct EmulatedWorkersOptions {
  rpc::WorkerCoreOptions worker{};          ///< of the first worker; the others' ids follow
  unsigned count = 1;                       ///< 1..65536 - id of the first
  std::vector<std::uint32_t> token_keys{};  ///< of each; none: all have the first one's
  Nanos tick = microseconds(1);             ///< how late a reply may leave though the thread is in time
  Nanos horizon = milliseconds(16);         ///< service times up to this cost least
};

inline constexpr Nanos kControlTick = milliseconds(1);

template <transport::Transport T>
class EmulatedWorkers {
 public:
  EmulatedWorkers(T transport, const EmulatedWorkersOptions& options, Nanos now)
      : transport_(std::move(transport)),
        sender_(transport_),
        options_(options),
        running_(options.count),
        ends_({.capacity = options.count, .granularity = options.tick, .horizon = options.horizon}, now),
        questions_({.capacity = options.count, .granularity = milliseconds(1), .horizon = milliseconds(256)},
                   now) {
    RAIN_ASSERT(options.count >= 1 && options.worker.id.value + options.count <= 65536);
    RAIN_ASSERT(options.token_keys.empty() || options.token_keys.size() == options.count);
    for (unsigned index = 0; index < options.count; ++index) {
      rpc::WorkerCoreOptions worker = options.worker;
      worker.id.value = static_cast<std::uint16_t>(worker.id.value + index);
      if (!options.token_keys.empty()) worker.token_key = options.token_keys[index];
      cores_.emplace_back(worker, now);
      if (worker.quota > 0) questions_.schedule(index, now);
    }
  }
  EmulatedWorkers(const EmulatedWorkers&) = delete;
  EmulatedWorkers& operator=(const EmulatedWorkers&) = delete;

  /// From now on measures and quotas go by the agent's control block, which has a part for each worker. The thread looks
  /// at it every kControlTick.
  void attach(const agent::ControlBlock& block, Nanos now) {
    RAIN_ASSERT(block.workers() == options_.count);
    hooks_.clear();
    for (unsigned index = 0; index < options_.count; ++index) hooks_.emplace_back(block.worker_port(index));
    control_due_ = now;
  }

  /// One step: receives at most a batch, ends and begins tasks. `serve(const rpc::TaskView&, WorkerId)` gives the
  /// EmulatedTask. Returns how many packets and timers it handled.
  template <typename Serve>
  std::size_t poll(Nanos now, Serve&& serve) {
    sender_.set_now(now);
    std::size_t work = 0;
    for (const transport::RxPacket& packet : transport_.receive(now)) {
      ++work;
      take(packet, now, serve);
    }
    work += ends_.advance(now, [&](TimerWheel::Id index) {
      end(index);
      begin(index, serve);
    });
    if (now >= control_due_) exchange_control(now);
    questions_.advance(now, [&](TimerWheel::Id index) { ask(index, now); });
    if (!sender_.empty()) sender_.flush();
    return work;
  }

  /// When poll() has something to do without a packet; Nanos::max() if never.
  Nanos next_due() const { return std::min({ends_.next_wakeup(), questions_.next_wakeup(), control_due_}); }

  /// As WorkerCore::set_quota() and ask_now(), of one worker.
  void set_quota(unsigned index, unsigned quota, Nanos now) {
    sender_.set_now(now);
    cores_[index].set_quota(quota, now, sender_);
    if (!sender_.empty()) sender_.flush();
  }
  void ask_now(unsigned index, Nanos now) {
    cores_[index].ask_now(now);
    if (cores_[index].ledger() != nullptr) questions_.schedule(index, now);
  }
  /// A quota of 0 for all: no further task comes once drained() says so.
  void drain(Nanos now) {
    for (ControlHook& hook : hooks_) hook.leave();
    for (unsigned index = 0; index < options_.count; ++index) set_quota(index, 0, now);
  }
  /// Whether no worker holds anything or can come to hold it.
  bool drained() const {
    return std::all_of(cores_.begin(), cores_.end(),
                       [](const rpc::WorkerCore& core) { return core.drained(); });
  }

  /// No worker takes anything new; what is held is still served.
  void retire() {
    for (rpc::WorkerCore& core : cores_) core.retire();
  }
  /// Tasks held by all workers together.
  unsigned held() const {
    unsigned sum = 0;
    for (const rpc::WorkerCore& core : cores_) sum += core.held();
    return sum;
  }

  /// The first worker for which the switch lacks levels; nullptr: none.
  const rpc::WorkerCore* one_with_silent_levels() const {
    const auto found =
        std::ranges::find_if(cores_, [](const rpc::WorkerCore& core) { return core.silent_levels() > 0; });
    return found == cores_.end() ? nullptr : &*found;
  }

  unsigned count() const { return options_.count; }
  const rpc::WorkerCore& core(unsigned index) const { return cores_[index]; }
  const DropCounters& drops() const { return drops_; }  ///< packets that reached no worker
  T& transport() { return transport_; }

 private:
  struct Running {
    EmulatedTask task;
    Nanos end{};  // in the worker's time; may have passed
  };

  template <typename Serve>
  void take(const transport::RxPacket& packet, Nanos now, Serve& serve) {
    const DropReason reason = wire::decode(packet.bytes, received_);
    if (reason != DropReason::kNone) return drops_.add(reason);
    const unsigned index = addressee(received_);
    rpc::WorkerCore& core = cores_[index];
    core.on_message(received_, packet.source, packet.arrival, now, sender_);
    if (!core.running()) begin(index, serve);
  }

  /// The worker that a packet names. One that names none of ours is the first one's to refuse.
  unsigned addressee(const wire::Message& message) const {
    const bool ack = message.type == wire::MessageType::kSyncAck;
    if (!ack && !message.has_dispatch) return 0;
    const WorkerId worker = ack ? message.sync_ack.worker : message.dispatch.worker;
    const unsigned index = static_cast<unsigned>(worker.value) - options_.worker.id.value;
    return index < options_.count ? index : 0;
  }

  template <typename Serve>
  void begin(unsigned index, Serve& serve) {
    rpc::WorkerCore& core = cores_[index];
    Running& running = running_[index];
    // `running.end` is still that of the task before.
    const Nanos start = std::max(running.end, core.next_arrival());
    const rpc::TaskView* task = core.begin(start, sender_);
    if (task == nullptr) return;
    running.task = serve(*task, core.id());
    running.end = start + running.task.service;
    ends_.schedule(index, running.end);
  }

  void end(unsigned index) {
    const auto& [task, end] = running_[index];
    if (task.failed == DropReason::kNone) {
      cores_[index].finish(task.reply, end, sender_);
    } else {
      cores_[index].finish_refused(task.failed, end, sender_);
    }
    if (!hooks_.empty()) hooks_[index].sample(cores_[index]);
  }

  void exchange_control(Nanos now) {
    for (unsigned index = 0; index < options_.count; ++index) {
      rpc::WorkerCore& core = cores_[index];
      if (hooks_[index].obey(core, now, sender_) && core.ledger() != nullptr) questions_.schedule(index, now);
      hooks_[index].publish(core, now);
    }
    control_due_ = now + kControlTick;
  }

  /// The timer may be early, when tokens were issued meanwhile: then nothing is asked.
  void ask(unsigned index, Nanos now) {
    rpc::WorkerCore& core = cores_[index];
    core.poll(now, sender_);
    questions_.schedule(index, std::min(core.next_due(), now + options_.worker.sync_interval));
  }

  T transport_;
  rpc::PacketSender<T, transport::kBatch> sender_;
  EmulatedWorkersOptions options_;
  std::deque<rpc::WorkerCore> cores_;
  std::vector<Running> running_;
  TimerWheel ends_;       // a timer per worker: its task ends
  TimerWheel questions_;  // a timer per worker: it may have to ask after a token
  std::vector<ControlHook> hooks_;
  Nanos control_due_ = Nanos::max();
  DropCounters drops_;
  wire::Message received_;
};

}  // namespace rain::worker
