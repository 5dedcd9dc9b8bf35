// What the agents do to the rack while it runs, and the time line; included by rack.h, which declares it.
//
// Decisions come from Adaptation. A quota reaches its worker at once, through shared memory; what is in the switch's
// tables changes a little later, because a controller is between. Of a worker that moves the filed tokens die with its
// epoch; it asks the switch for the new one as soon as the table has changed, and ends the tasks that it holds.
#pragma once

#include "sim/rack.h"

namespace rain::sim {

template <typename Program>
void Rack<Program>::start_agents() {
  if (adaptation_) engine_.schedule(now() + adaptation_->interval(), {.kind = Kind::kControl});
  if (timeline_interval_ > Nanos{}) engine_.schedule(now() + timeline_interval_, {.kind = Kind::kTimeline});
}

template <typename Program>
void Rack<Program>::control() {
  adaptation_->end_interval(now());
  for (std::uint16_t id = 0; id < workers_.size(); ++id) {
    Worker& worker = workers_[id];
    const unsigned quota = adaptation_->quota(WorkerId{id});
    if (quota == worker.ledger->quota()) continue;
    ReportSink sink{*this};
    worker.ledger->set_quota(quota, worker.held, now(), sink);
    worker.limit = std::max(quota, worker.ledger->capacity());
  }
  if (!adaptation_->table_changes().empty()) {
    engine_.schedule(now() + wires_.table_update, {.kind = Kind::kTables});
  }
  engine_.schedule(now() + adaptation_->interval(), {.kind = Kind::kControl});
}

template <typename Program>
void Rack<Program>::update_tables() {
  for (const Adaptation::TableChange& change : adaptation_->table_changes()) {
    if (change.worker) {
      move(*change.worker, change.slice);
    } else {
      switch_.set_spill(change.slice, change.spill);
    }
  }
}

template <typename Program>
void Rack<Program>::move(WorkerId id, SliceId to) {
  Worker& worker = workers_[id.value];
  worker.slice = to.value;
  switch_.move(id, to);
  ReportSink sink{*this};
  worker.ledger->ask_now(now());
  worker.ledger->poll(worker.held, now(), sink);
}

/// A dispatch was accepted: the promise of the quota, and what the worker was doing until then.
template <typename Program>
void Rack<Program>::dispatched_to_quota(const Event& event, const Request& request) {
  Worker& worker = workers_[event.worker];
  const unsigned capacity = worker.ledger->capacity();
  RAIN_ASSERT(worker.ledger->spent() == worker.held + 1 && capacity <= worker.limit);
  worker.limit = std::max(worker.ledger->quota(), capacity);
  if (worker.held > 0) return;
  adaptation_->on_busy(WorkerId{event.worker}, now());
  // A token of another level that was under way may have been faster.
  if (request.in_switch > Nanos{} && event.level == 0)
    worker.token_round_trip = now() - worker.idle_token_sent;
}

template <typename Program>
void Rack<Program>::end_timeline_interval() {
  std::vector<SliceState> slices(slice_count_);
  for (const Worker& worker : workers_) {
    SliceState& slice = slices[worker.slice];
    ++slice.workers;
    slice.depth += worker.ledger ? worker.ledger->quota() : depth_;
  }
  for (SliceState& slice : slices) {
    if (slice.workers > 0) slice.depth /= slice.workers;
  }
  measurement_.end_interval(now(), std::move(slices));
  engine_.schedule(now() + timeline_interval_, {.kind = Kind::kTimeline});
}

}  // namespace rain::sim
