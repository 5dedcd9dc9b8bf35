// One logical worker without I/O: the FIFO of tasks it holds, the tokens it has out, its replies. Virtual
// time.
//
// The caller feeds it packets, takes the head task with begin(), runs it, and hands the result to finish(),
// which answers the client and gives the token back. One task runs at a time, to completion. A thread may
// host many cores on one socket (emulated workers): dispatches and SYNC_ACKs name their worker.
//
// Before finish() the caller drains its socket, so that the level of the token counts every task that has
// come.
//
// A task is bound to this worker by a token (quota > 0) or pushed without one by a scheduler that uses none
// (random, round-robin, jsq). Pushed ones are bounded by push_limit and reported by a FEEDBACK without level.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "base/drop_counters.h"
#include "rpc/sink.h"
#include "rpc/task_fifo.h"
#include "rpc/token_ledger.h"

namespace rain::rpc {

/// Pushed tasks that a worker holds at most; further ones are refused with worker_queue_full.
inline constexpr unsigned kPushLimit = 4096;

struct WorkerCoreOptions {
  WorkerId id{};
  Endpoint switch_address{};  ///< the only source of dispatches and SYNC_ACKs that is listened to
  unsigned quota = 4;         ///< tokens at once, 0..kMaxQuota; 0: no tokens ever, only pushed tasks
  std::uint32_t token_key = 0;
  Nanos sync_interval = milliseconds(100);
  unsigned push_limit = kPushLimit;  ///< 0..kPushLimit; 0 only with quota > 0
  std::size_t max_payload_bytes =
      wire::kMaxPayloadBytes;  ///< larger requests are refused with oversized_payload
};

/// The task that runs. `payload` is valid until finish().
struct TaskView {
  Payload payload;
  TaskType type;
  RequestId request_id;
  Endpoint client;
  Nanos in_switch;
  Nanos in_worker;
};

/// A task that has run, as its worker saw it.
struct EndedTask {
  std::uint64_t number = 0;        ///< counts the tasks that have run, from 1; 0: none has
  Nanos in_switch{};               ///< waited in the switch
  Nanos in_worker{};               ///< waited here
  Nanos service{};                 ///< ran; never negative
  std::uint16_t queue_length = 0;  ///< tasks that waited in its slice when it was dispatched
  /// From the end of the task before to the arrival of this one, when this one had been waiting for a token and the
  /// worker was idle: what it lost in between. 0: not so.
  Nanos token_round_trip{};
};

/// For people: the switch does not answer for that many of the quota's levels.
inline std::string silent_levels_text(WorkerId worker, unsigned quota, unsigned silent) {
  return "worker " + std::to_string(worker.value) + ": the switch knows no " + std::to_string(silent) +
         " of the tokens of quota " + std::to_string(quota) + ", so it holds at most " +
         std::to_string(quota - std::min(quota, silent)) + " tasks: the switch was started with lower quotas";
}

class WorkerCore {
 public:
  explicit WorkerCore(const WorkerCoreOptions& options, Nanos now = {})
      : options_(options),
        fifo_((options.quota > 0 ? kMaxQuota : 0) + options.push_limit, options.max_payload_bytes),
        opened_(now),
        idle_since_(now) {
    RAIN_ASSERT(options.quota <= kMaxQuota && options.push_limit <= kPushLimit);
    if (options.quota == 0) return;
    ledger_.emplace(TokenLedgerOptions{.worker = options.id,
                                       .quota = options.quota,
                                       .token_key = options.token_key,
                                       .sync_interval = options.sync_interval,
                                       .switch_address = options.switch_address});
  }

  /// A decoded packet, whatever it is. `arrival`: when the host received it; later than `now` counts as `now`.
  template <Sink S>
  void on_message(const wire::Message& message, const Endpoint& source, Nanos arrival, Nanos now, S& sink);

  /// The head task, now running; nullptr when none waits. Tasks whose deadline has passed are refused on the
  /// way.
  template <Sink S>
  const TaskView* begin(Nanos now, S& sink);

  /// The running task is done: REPLY to the client (at most wire::kMaxPayloadBytes), token or report to the
  /// switch.
  template <Sink S>
  void finish(Payload reply, Nanos now, S& sink);

  /// The running task gave no reply: DROP(reason) to the client, token or report to the switch.
  template <Sink S>
  void finish_refused(DropReason reason, Nanos now, S& sink);

  /// Asks the switch after silent tokens; the first call asks after all.
  template <Sink S>
  void poll(Nanos now, S& sink) {
    if (ledger_) ledger_->poll(held(), now, sink);
  }
  /// When poll() has something to do next.
  Nanos next_due() const { return ledger_ ? ledger_->next_due() : Nanos::max(); }

  /// Tokens at once from now on, 0..kMaxQuota; a lower number takes tokens back from the switch. Not for a worker
  /// that was opened without tokens: there it does nothing.
  template <Sink S>
  void set_quota(unsigned quota, Nanos now, S& sink) {
    if (ledger_) ledger_->set_quota(quota, held(), now, sink);
  }
  unsigned quota() const { return ledger_ ? ledger_->quota() : 0; }
  /// The next poll() asks after all tokens: after a move, so that the new epoch is learnt in one round trip.
  void ask_now(Nanos now) {
    if (ledger_) ledger_->ask_now(now);
  }
  /// After set_quota(0): nothing is held and nothing can come any more.
  bool drained() const { return held() == 0 && quota() == 0 && (!ledger_ || ledger_->settled()); }

  /// Issues no more tokens and refuses what comes from now on with shutting_down; what is held is still to be
  /// served.
  void retire() {
    retired_ = true;
    if (ledger_) ledger_->retire();
  }

  WorkerId id() const { return options_.id; }
  unsigned held() const { return fifo_.size(); }  ///< unfinished tasks, the running one included
  bool running() const { return running_.has_value(); }
  /// When the task arrived that begin() looks at first; 0 when none waits.
  Nanos next_arrival() const { return fifo_.empty() ? Nanos{} : fifo_.front().arrival; }
  std::uint64_t served() const { return served_; }
  /// The task that ran last, whether it gave a reply or not.
  const EndedTask& last_ended() const { return last_ended_; }
  const DropCounters& drops() const { return drops_; }
  const TokenLedger* ledger() const { return ledger_ ? &*ledger_ : nullptr; }
  /// As TokenLedger::silent_levels().
  unsigned silent_levels() const { return ledger_ ? ledger_->silent_levels() : 0; }

  /// Time without a task since the start.
  Nanos idle_time(Nanos now) const {
    return idle_ + (held() == 0 ? std::max(now - idle_since_, Nanos{}) : Nanos{});
  }
  /// The same as a share of the time since the start, 0..1.
  double idleness(Nanos now) const {
    const Nanos lived = now - opened_;
    return lived > Nanos{} ? static_cast<double>(idle_time(now).value) / static_cast<double>(lived.value)
                           : 1.0;
  }

 private:
  struct Running {
    TaskView view;
    Nanos since;
  };

  template <Sink S>
  void on_request(const wire::Message& message, const Endpoint& source, Nanos arrival, Nanos now, S& sink);
  template <Sink S>
  void take(const wire::Message& message, Nanos arrival, Nanos now, S& sink);
  void end_running(Nanos now);
  template <Sink S>
  void end_head(Nanos now, S& sink);
  template <Sink S>
  void give_back(bool pushed, Nanos now, S& sink);
  template <Sink S>
  void refuse(DropReason reason, const Endpoint& client, RequestId request_id, wire::Layout layout, S& sink);

  WorkerCoreOptions options_;
  TaskFifo fifo_;  // the running task is its front
  std::optional<TokenLedger> ledger_;
  std::optional<Running> running_;
  unsigned pushed_ = 0;  // of the tasks held
  bool retired_ = false;
  Nanos opened_;
  Nanos idle_since_;
  Nanos idle_{};
  std::uint64_t served_ = 0;
  EndedTask last_ended_;
  Nanos token_round_trip_{};  // of the head task
  DropCounters drops_;
};

template <Sink S>
void WorkerCore::on_message(const wire::Message& message, const Endpoint& source, Nanos arrival, Nanos now,
                            S& sink) {
  if (message.type == wire::MessageType::kRequest) return on_request(message, source, arrival, now, sink);
  if (message.type != wire::MessageType::kSyncAck) return drops_.add(DropReason::kUnexpectedMessage);
  if (source != options_.switch_address) return drops_.add(DropReason::kAddressMismatch);
  if (message.sync_ack.worker != options_.id) return drops_.add(DropReason::kUnknownWorker);
  if (ledger_ && message.has_extension && ledger_->on_sync_ack(message, held(), now, sink)) return;
  drops_.add(DropReason::kUnexpectedMessage);
}

template <Sink S>
void WorkerCore::on_request(const wire::Message& message, const Endpoint& source, Nanos arrival, Nanos now,
                            S& sink) {
  // REQn follows a REQREADY, and we send none.
  if (!message.first) return drops_.add(DropReason::kMultiPacketUnsupported);
  if (!message.has_dispatch) {  // a client that takes us for the switch
    return refuse(DropReason::kUnexpectedMessage, source, message.request_id, message.layout, sink);
  }
  if (source != options_.switch_address) return drops_.add(DropReason::kAddressMismatch);
  const wire::DispatchFields& dispatch = message.dispatch;
  const auto refuse_it = [&](DropReason reason) {
    refuse(reason, dispatch.client, message.request_id, message.layout, sink);
  };
  if (dispatch.worker != options_.id) return refuse_it(DropReason::kUnknownWorker);

  const bool pushed = dispatch.level == kNoLevel;
  if (!pushed) {
    const TokenLedger::Spend spend =
        ledger_ ? ledger_->spend(dispatch.level, dispatch.generation) : TokenLedger::Spend::kRefused;
    if (spend == TokenLedger::Spend::kRepeated) return drops_.add(DropReason::kStaleDispatch);
    if (spend == TokenLedger::Spend::kRefused) return refuse_it(DropReason::kStaleDispatch);
  }
  DropReason reason = DropReason::kNone;
  if (retired_)
    reason = DropReason::kShuttingDown;
  else if (message.packet != 1)
    reason = DropReason::kMultiPacketUnsupported;
  else if (message.payload.size() > fifo_.max_payload_bytes())
    reason = DropReason::kOversizedPayload;
  else if (pushed && pushed_ >= options_.push_limit)
    reason = DropReason::kWorkerQueueFull;
  if (reason == DropReason::kNone) return take(message, arrival, now, sink);
  refuse_it(reason);
  give_back(pushed, now, sink);
}

template <Sink S>
void WorkerCore::take(const wire::Message& message, Nanos arrival, Nanos now, S&) {
  const wire::DispatchFields& dispatch = message.dispatch;
  const bool pushed = dispatch.level == kNoLevel;
  if (fifo_.empty()) {
    idle_ += std::max(now - idle_since_, Nanos{});
    const bool waited = !pushed && dispatch.switch_delay_ns > 0 && last_ended_.number > 0;
    token_round_trip_ = waited ? std::max(std::min(arrival, now) - idle_since_, Nanos{}) : Nanos{};
  }
  if (pushed) ++pushed_;
  fifo_.push({.arrival = std::min(arrival, now),
              .client = dispatch.client,
              .request_id = message.request_id,
              .type = message.request.task_type,
              .deadline_us = message.request.deadline_us,
              .switch_delay_ns = dispatch.switch_delay_ns,
              .queue_length = dispatch.queue_length,
              .payload_bytes = 0,
              .layout = message.layout,
              .pushed = pushed},
             message.payload);
}

template <Sink S>
const TaskView* WorkerCore::begin(Nanos now, S& sink) {
  RAIN_ASSERT(!running_);
  while (!fifo_.empty()) {
    const HeldTask& task = fifo_.front();
    const Nanos in_switch{task.switch_delay_ns};
    const Nanos in_worker = std::max(now - task.arrival, Nanos{});
    if (task.deadline_us == 0 || in_switch + in_worker <= microseconds(task.deadline_us)) {
      running_ = {.view = {.payload = fifo_.front_payload(),
                           .type = task.type,
                           .request_id = task.request_id,
                           .client = task.client,
                           .in_switch = in_switch,
                           .in_worker = in_worker},
                  .since = now};
      return &running_->view;
    }
    refuse(DropReason::kDeadlinePassed, task.client, task.request_id, task.layout, sink);
    end_head(now, sink);
  }
  return nullptr;
}

template <Sink S>
void WorkerCore::finish(Payload reply, Nanos now, S& sink) {
  RAIN_ASSERT(running_ && reply.size() <= wire::kMaxPayloadBytes);
  const HeldTask& task = fifo_.front();
  wire::Message message;
  message.layout = task.layout;
  message.type = wire::MessageType::kReply;
  message.first = message.last = true;
  message.request_id = task.request_id;
  message.packet = 1;
  message.has_extension = true;
  message.reply = {.worker = options_.id,
                   .switch_delay_ns = task.switch_delay_ns,
                   .worker_delay_ns = saturate_to_u32(running_->view.in_worker),
                   .service_ns = saturate_to_u32(now - running_->since),
                   .queue_length = task.queue_length};
  message.payload = reply;
  sink.send(message, task.client);
  ++served_;
  end_running(now);
  end_head(now, sink);
}

template <Sink S>
void WorkerCore::finish_refused(DropReason reason, Nanos now, S& sink) {
  RAIN_ASSERT(running_);
  const HeldTask& task = fifo_.front();
  refuse(reason, task.client, task.request_id, task.layout, sink);
  end_running(now);
  end_head(now, sink);
}

inline void WorkerCore::end_running(Nanos now) {
  last_ended_ = {.number = last_ended_.number + 1,
                 .in_switch = running_->view.in_switch,
                 .in_worker = running_->view.in_worker,
                 .service = std::max(now - running_->since, Nanos{}),
                 .queue_length = fifo_.front().queue_length,
                 .token_round_trip = token_round_trip_};
  running_.reset();
}

template <Sink S>
void WorkerCore::end_head(Nanos now, S& sink) {
  const bool pushed = fifo_.front().pushed;
  fifo_.pop();
  token_round_trip_ = {};
  if (pushed) --pushed_;
  if (fifo_.empty()) idle_since_ = now;
  give_back(pushed, now, sink);
}

/// What the switch hears when a task has ended: its token again, or that a pushed one is done.
template <Sink S>
void WorkerCore::give_back(bool pushed, Nanos now, S& sink) {
  if (!pushed) return ledger_->refund(held(), now, sink);
  wire::Message report;
  report.type = wire::MessageType::kFeedback;
  report.first = report.last = true;
  report.packet = 1;
  report.has_extension = true;
  report.token = {.worker = options_.id,
                  .epoch = ledger_ ? ledger_->epoch() : Epoch{},
                  .token_key = options_.token_key,
                  .level = kNoLevel,
                  .queue_length = static_cast<std::uint16_t>(held())};
  sink.send(report, options_.switch_address);
}

template <Sink S>
void WorkerCore::refuse(DropReason reason, const Endpoint& client, RequestId request_id, wire::Layout layout,
                        S& sink) {
  drops_.add(reason);
  wire::Message drop;
  drop.layout = layout;
  drop.type = wire::MessageType::kDrop;
  drop.first = drop.last = true;
  drop.request_id = request_id;
  drop.packet = 1;
  drop.has_extension = true;
  drop.drop.reason = reason;
  sink.send(drop, client);
}

}  // namespace rain::rpc
