// How the rack's parts act; included by rack.h, which declares them.
#pragma once

#include "sim/rack.h"

namespace rain::sim {

template <typename Program>
Rack<Program>::Rack(const RackSpec& spec, workload::Workload workload, WorkerRule rule)
    : wires_(spec.calibration),
      rule_(rule),
      depth_(spec.depth.value_or(default_depth(*find_scheduler(spec.scheduler)))),
      fetches_(rule == WorkerRule::kPulls),
      drain_time_(drain_time(spec)),
      longest_backlog_(Link(wires_.recirculation_gbps).send({}, kMinFrameBytes) *
                       wires_.recirculation_packets),
      switch_(spec),
      pool_(pool_capacity(spec, rule)),
      client_(spec, std::move(workload)),
      measurement_(spec),
      from_client_(wires_.link_gbps),
      to_client_(wires_.link_gbps),
      recirculation_(wires_.recirculation_gbps),
      from_server_(wires_.worker_servers, Link(wires_.link_gbps)),
      to_server_(wires_.worker_servers, Link(wires_.link_gbps)) {
  for (std::size_t i = 0; i < spec.workload.classes.size(); ++i) types_.push_back(spec.type_of(i));
  workers_.resize(spec.workers);
  timeline_interval_ = spec.timeline_interval;
  if (spec.adaptive) adaptation_.emplace(spec, depth_);
  std::uint16_t first = 0;
  const std::vector<SliceSpec> slices = effective_slices(spec);
  slice_count_ = slices.size();
  for (std::uint16_t slice = 0; slice < slices.size(); ++slice) {
    for (unsigned n = 0; n < slices[slice].workers; ++n) workers_[first++].slice = slice;
  }
  for (std::uint16_t id = 0; id < spec.workers; ++id) {
    workers_[id].server = static_cast<std::uint16_t>(id * wires_.worker_servers / spec.workers);
    workers_[id].limit = depth_;
    if (rule != WorkerRule::kTokens) continue;
    workers_[id].ledger.emplace(
        rpc::TokenLedgerOptions{.worker = WorkerId{id}, .quota = depth_, .token_key = kTokenKey});
  }
  if (rule == WorkerRule::kTokens) sync_acks_.resize(std::size_t{spec.workers} * kMaxQuota);
}

template <typename Program>
Result Rack<Program>::run() {
  start();
  const Nanos give_up = measurement_.window_end() + drain_time_;
  const auto goes_on = [&] { return sending_ || (measurement_.in_flight() > 0 && now() < give_up); };
  const auto handle_at = [&](auto lane, const Event& event) { handle_usual<lane()>(event); };
  while (goes_on() && engine_.step(handle_at)) continue;
  Result result = measurement_.finish(engine_.processed(), pool_.high_water(), now());
  if (adaptation_) result.adaptive = adaptation_->finish();
  return result;
}

template <typename Program>
void Rack<Program>::start() {
  for (std::uint16_t id = 0; id < workers_.size(); ++id) {
    ReportSink sink{*this};
    if (rule_ == WorkerRule::kTokens) workers_[id].ledger->poll(0, now(), sink);
    if (rule_ == WorkerRule::kPulls) send_pull(WorkerId{id}, now());
  }
  start_agents();
  send_next_request();
}

/// What mostly comes from this lane, without asking further.
template <typename Program>
template <unsigned kLane>
[[gnu::always_inline]] inline void Rack<Program>::handle_usual(const Event& event) {
  if (kLane == kRequests && event.kind == Kind::kRequest) [[likely]]
    return request_at_switch(event.request);
  if (kLane == kReports && event.kind == Kind::kFeedback) [[likely]]
    return report_at_switch(event);
  if (kLane == kDispatches && event.kind == Kind::kDispatch) [[likely]]
    return dispatch_at_worker(event);
  if (kLane == kReplies && event.kind == Kind::kReply) [[likely]]
    return reply_at_client(event.request);
  if (kLane == kLaneCount && event.kind == Kind::kServiceEnd) [[likely]]
    return service_end(WorkerId{event.worker});
  handle(event);
}

template <typename Program>
void Rack<Program>::handle(const Event& event) {
  switch (event.kind) {
    case Kind::kRequest:
      return request_at_switch(event.request);
    case Kind::kRecirculated:
      return task_at_switch(event.request);
    case Kind::kFeedback:
    case Kind::kSync:
    case Kind::kRecall:
      return report_at_switch(event);
    case Kind::kPull:
      return pull_at_switch(event);
    case Kind::kDispatch:
      return dispatch_at_worker(event);
    case Kind::kSyncAck:
      return sync_ack_at_worker(event);
    case Kind::kNoTask:
      return send_pull(WorkerId{event.worker}, now() + wires_.pull_gap);
    case Kind::kFetched:
      return run_head(WorkerId{event.worker});
    case Kind::kServiceEnd:
      return service_end(WorkerId{event.worker});
    case Kind::kReply:
      return reply_at_client(event.request);
    case Kind::kDrop:
      return drop_at_client(event.request, static_cast<DropReason>(event.level));
    case Kind::kControl:
      return control();
    case Kind::kTables:
      return update_tables();
    case Kind::kTimeline:
      return end_timeline_interval();
  }
}

// --- client ---

/// Draws the next request and sends it on its way at once: nothing that happens until then can change it.
template <typename Program>
void Rack<Program>::send_next_request() {
  const RequestIndex index = pool_.take();
  Request& request = pool_[index];
  sending_ = client_.next(request);
  if (!sending_) return pool_.give_back(index);
  const Nanos sent = from_client_.send(request.at + wires_.host_send, frames_.request(request.payload_bytes));
  engine_.schedule(kRequests, sent + wires_.link + wires_.pass / 2,
                   {.kind = Kind::kRequest, .request = index});
}

template <typename Program>
void Rack<Program>::reply_at_client(RequestIndex index) {
  measurement_.on_completed(pool_[index], now());
  pool_.give_back(index);
}

template <typename Program>
void Rack<Program>::drop_at_client(RequestIndex index, DropReason reason) {
  measurement_.on_dropped(pool_[index], reason);
  pool_.give_back(index);
}

// --- switch ---

template <typename Program>
void Rack<Program>::request_at_switch(RequestIndex index) {
  Request& request = pool_[index];
  request.in_switch = now();
  measurement_.on_sent(request.at);
  task_at_switch(index);
  send_next_request();
}

template <typename Program>
void Rack<Program>::task_at_switch(RequestIndex index) {
  const Request& request = pool_[index];
  const dataplane::Verdict verdict = switch_.task(index, request, types_[request.class_index], now());
  switch (verdict.action) {
    case dataplane::Action::kForward:
      return send_task(index, verdict);
    case dataplane::Action::kBuffered:
      return;
    case dataplane::Action::kRecirculate:
      return recirculate(index, verdict.carried);
    case dataplane::Action::kReplyDrop:
      return send_drop(index, verdict.reason);
    default:
      RAIN_ASSERT(false && "a task ended without a word to its client");
  }
}

template <typename Program>
void Rack<Program>::report_at_switch(const Event& event) {
  const bool token = event.kind == Kind::kFeedback;
  act_on_report(event,
                switch_.report({.type = token ? wire::MessageType::kFeedback : wire::MessageType::kSync,
                                .worker = WorkerId{event.worker},
                                .epoch = Epoch{static_cast<std::uint16_t>(event.request)},
                                .level = Level{event.level},
                                .generation = event.generation,
                                .held = event.held,
                                .recall = event.kind == Kind::kRecall},
                               now()));
}

template <typename Program>
void Rack<Program>::act_on_report(const Event& event, const dataplane::Verdict& verdict) {
  switch (verdict.action) {
    case dataplane::Action::kConsume:
      return;
    case dataplane::Action::kDispatch:
      return send_task(switch_.dispatched(verdict), verdict);
    case dataplane::Action::kReplySync:
      sync_acks_[std::size_t{event.worker} * kMaxQuota + event.level] = verdict.sync;
      return answer_worker(Kind::kSyncAck, event);
    case dataplane::Action::kRecirculate:
      return act_on_report(event, switch_.sweep_and_report_again(verdict, now()));
    case dataplane::Action::kIgnore:  // its worker moved while it was under way, and will issue another
      RAIN_ASSERT(adaptation_ && verdict.reason == DropReason::kStaleEpoch);
      return;
    default:
      RAIN_ASSERT(false && "a token or report was refused in a network that loses nothing");
  }
}

template <typename Program>
void Rack<Program>::pull_at_switch(const Event& event) {
  const dataplane::Verdict verdict = switch_.report(
      {.type = wire::MessageType::kPull, .worker = WorkerId{event.worker}, .held = event.held}, now());
  if (verdict.action == dataplane::Action::kDispatch) return send_task(switch_.dispatched(verdict), verdict);
  RAIN_ASSERT(verdict.action == dataplane::Action::kReplyDrop && verdict.reason == DropReason::kNoTask);
  measurement_.on_empty_pull();
  answer_worker(Kind::kNoTask, event);
}

template <typename Program>
void Rack<Program>::send_task(RequestIndex index, const dataplane::Verdict& verdict) {
  Request& request = pool_[index];
  request.in_switch = now() - request.in_switch;
  request.queue_length = verdict.queue_length;
  const std::uint32_t payload =
      fetches_ && request.payload_bytes > dataplane::kInlinePayloadBytes ? 0 : request.payload_bytes;
  Link& link = to_server_[workers_[verdict.worker.value].server];
  const Nanos sent = link.send(now() + wires_.pass - wires_.pass / 2, frames_.dispatch(payload));
  engine_.schedule(kDispatches, sent + wires_.link + wires_.host_receive,
                   {.kind = Kind::kDispatch,
                    .level = verdict.level.value,
                    .worker = verdict.worker.value,
                    .request = index,
                    .generation = verdict.generation});
}

template <typename Program>
void Rack<Program>::recirculate(RequestIndex index, const dataplane::Carried& carried) {
  measurement_.on_recirculated();
  Request& request = pool_[index];
  request.carried = carried;
  const Nanos at_port = now() + wires_.pass - wires_.pass / 2;
  if (recirculation_.backlog(at_port) > longest_backlog_) {
    request.in_switch = now() - request.in_switch;
    return send_drop(index, DropReason::kRecirculationLimit);
  }
  const Nanos sent = recirculation_.send(at_port, frames_.request(request.payload_bytes));
  engine_.schedule(kRecirculations, sent + wires_.recirculation_loop + wires_.pass / 2,
                   {.kind = Kind::kRecirculated, .request = index});
}

template <typename Program>
void Rack<Program>::send_drop(RequestIndex index, DropReason reason) {
  const Nanos sent = to_client_.send(now() + wires_.pass - wires_.pass / 2, frames_.drop());
  engine_.schedule(kReplies, sent + wires_.link + wires_.host_receive,
                   {.kind = Kind::kDrop, .level = static_cast<std::uint8_t>(reason), .request = index});
}

/// SYNC_ACK or "no task", to the worker that asked.
template <typename Program>
void Rack<Program>::answer_worker(Kind kind, const Event& asked) {
  Link& link = to_server_[workers_[asked.worker].server];
  const std::uint32_t bytes = kind == Kind::kSyncAck ? frames_.sync_ack() : frames_.drop();
  const Nanos sent = link.send(now() + wires_.pass - wires_.pass / 2, bytes);
  Event answer = asked;
  answer.kind = kind;
  engine_.schedule(kDispatches, sent + wires_.link + wires_.host_receive, answer);
}

// --- worker ---

template <typename Program>
void Rack<Program>::dispatch_at_worker(const Event& event) {
  Worker& worker = workers_[event.worker];
  Request& request = pool_[event.request];
  request.in_worker = now();
  if (rule_ == WorkerRule::kTokens) {
    const auto spend = worker.ledger->spend(Level{event.level}, event.generation);
    RAIN_ASSERT(spend == rpc::TokenLedger::Spend::kAccepted && worker.held < worker.limit);
    if (adaptation_) [[unlikely]]
      dispatched_to_quota(event, request);
  } else if (worker.held >= kWorkerQueueBound) {
    measurement_.on_dropped(request, DropReason::kWorkerQueueFull);
    report_finished(WorkerId{event.worker});
    return pool_.give_back(event.request);
  }
  if (worker.held++ > 0) {
    pool_[worker.last].next = event.request;
    worker.last = event.request;
    return;
  }
  worker.first = worker.last = event.request;
  begin_head(WorkerId{event.worker});
}

template <typename Program>
void Rack<Program>::sync_ack_at_worker(const Event& event) {
  wire::Message message;
  message.type = wire::MessageType::kSyncAck;
  message.request_id = {event.sequence};
  message.sync_ack = sync_acks_[std::size_t{event.worker} * kMaxQuota + event.level];
  ReportSink sink{*this};
  Worker& worker = workers_[event.worker];
  worker.ledger->on_sync_ack(message, worker.held, now(), sink);
}

template <typename Program>
void Rack<Program>::begin_head(WorkerId id) {
  const Request& request = pool_[workers_[id.value].first];
  if (!fetches_ || request.payload_bytes <= dataplane::kInlinePayloadBytes) return run_head(id);
  const Nanos round_trip = (wires_.to_registers() + wires_.from_registers()) * 2;
  engine_.schedule(now() + round_trip, {.kind = Kind::kFetched, .worker = id.value});
}

template <typename Program>
void Rack<Program>::run_head(WorkerId id) {
  Request& request = pool_[workers_[id.value].first];
  const Nanos since = now() + wires_.core_per_task;
  request.in_worker = since - request.in_worker;
  engine_.schedule(since + request.service, {.kind = Kind::kServiceEnd, .worker = id.value});
}

/// The reply goes straight to the client, the token or report to the switch, the core to the next task.
template <typename Program>
void Rack<Program>::service_end(WorkerId id) {
  Worker& worker = workers_[id.value];
  const RequestIndex done = worker.first;
  worker.first = pool_[done].next;
  --worker.held;
  const Nanos at_switch =
      from_server_[worker.server].send(now() + wires_.host_send, frames_.reply()) + wires_.link + wires_.pass;
  const Nanos at_client = to_client_.send(at_switch, frames_.reply()) + wires_.link + wires_.host_receive;
  engine_.schedule(kReplies, at_client, {.kind = Kind::kReply, .request = done});
  if (adaptation_) [[unlikely]] {
    adaptation_->on_task_end(id, pool_[done], std::exchange(worker.token_round_trip, {}), worker.held, now());
    // Unless it is out already, because a dispatch crossed it.
    if (worker.held == 0 && !worker.ledger->outstanding(Level{0})) worker.idle_token_sent = now();
  }
  report_finished(id);
  if (worker.held > 0) begin_head(id);
}

/// What the switch hears when a task has ended.
template <typename Program>
void Rack<Program>::report_finished(WorkerId id) {
  Worker& worker = workers_[id.value];
  switch (rule_) {
    case WorkerRule::kTokens: {
      ReportSink sink{*this};
      return worker.ledger->refund(worker.held, now(), sink);
    }
    case WorkerRule::kReports:
      return send_report(
          Kind::kFeedback,
          {.worker = id, .epoch = kEpoch, .queue_length = static_cast<std::uint16_t>(worker.held)}, 0);
    case WorkerRule::kPulls:
      return send_pull(id, now());
  }
}

template <typename Program>
void Rack<Program>::send_report(Kind kind, const wire::TokenFields& fields, std::uint16_t sequence) {
  Link& link = from_server_[workers_[fields.worker.value].server];
  const Nanos sent = link.send(now() + wires_.host_send, frames_.report());
  engine_.schedule(kReports, sent + wires_.link + wires_.pass / 2,
                   {.kind = kind,
                    .level = fields.level.value,
                    .worker = fields.worker.value,
                    .request = fields.epoch.value,
                    .generation = fields.generation,
                    .held = fields.queue_length,
                    .sequence = sequence});
}

template <typename Program>
void Rack<Program>::send_pull(WorkerId id, Nanos at) {
  Link& link = from_server_[workers_[id.value].server];
  const Nanos sent = link.send(at + wires_.host_send, frames_.pull());
  engine_.schedule(kReports, sent + wires_.link + wires_.pass / 2, {.kind = Kind::kPull, .worker = id.value});
}

}  // namespace rain::sim
