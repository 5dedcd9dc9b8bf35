// The registry's workers and what operators order of them; see registry.h.
#include <fmt/format.h>

#include "control/names.h"
#include "control/registry.h"

namespace rain::control {
namespace {

std::string both(const std::string& one, const std::string& other) {
  return one + (one.empty() || other.empty() ? "" : "; ") + other;
}

}  // namespace

Result<Registry::WorkerEntry*> Registry::worker_with(WorkerId id) {
  const auto found = workers_.find(id);
  if (found != workers_.end()) return &found->second;
  std::string known;
  for (const auto& [other, entry] : workers_) {
    if (known.size() > 100) {
      known += ", ..";
      break;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", other.value);
  }
  if (known.empty()) {
    return refuse(
        Reason::kUnknown,
        fmt::format("worker {} is unknown: no server has registered yet; the controller began {} s ago",
                    id.value, (last_now_ - first_now_).value / 1'000'000'000));
  }
  return refuse(Reason::kUnknown, fmt::format("worker {} is unknown; there are: {}", id.value, known));
}

void Registry::forget_master(WorkerId worker) {
  for (auto& [id, entry] : slices_) {
    if (entry.removed || entry.row.master != worker) continue;
    entry.row.master.reset();
    touch(entry);
  }
}

bool Registry::is_master(const WorkerRow& worker) const {
  return has_slice(worker.slice) && slices_.at(worker.slice).row.master == worker.id;
}

void Registry::begin_epoch(WorkerEntry& entry) {
  ++entry.row.epoch.value;
  touch(entry);
}

void Registry::take_out(WorkerEntry& entry, WorkerState state) {
  entry.row.state = state;
  if (!entry.removed) ++entry.row.epoch.value;
  entry.removed = true;
  touch(entry);
}

void Registry::lose(WorkerEntry& entry) {
  take_out(entry, entry.row.state == WorkerState::kDraining ? WorkerState::kDrained : WorkerState::kCrashed);
}

void Registry::put_in(WorkerEntry& entry) {
  entry.row.state = WorkerState::kServing;
  entry.removed = false;
  touch(entry);
}

Result<void> Registry::check_not_last(const WorkerRow& worker, bool force) const {
  if (force || worker.state != WorkerState::kServing || serving_in(worker.slice) > 1) return {};
  return refuse(
      Reason::kLastWorker,
      fmt::format(
          "worker {} is the last one that serves slice \"{}\": its tasks would {}; force it if that is "
          "what you want",
          worker.id.value, name_of(worker.slice), options_.uses_tokens ? "wait for ever" : "be refused"));
}

Result<Done> Registry::drain(WorkerId worker, bool force) {
  auto entry = worker_with(worker);
  if (!entry) return tl::unexpected(entry.error());
  WorkerRow& row = (*entry)->row;
  if (row.state == WorkerState::kDraining || row.state == WorkerState::kDrained)
    return Done{"nothing changes"};
  if (row.state != WorkerState::kServing) {
    return refuse(Reason::kWrongState, fmt::format("worker {} is {}: one that serves can be drained",
                                                   worker.value, worker_state_name(row.state)));
  }
  if (auto last = check_not_last(row, force); !last) return tl::unexpected(last.error());
  row.state = WorkerState::kDraining;
  touch(**entry);
  const std::string rest = unserved(row.slice);
  if (!is_master(row)) return Done{rest};
  return Done{both(fmt::format("slice \"{}\" is without its master: sticky tasks {} until another is named",
                               name_of(row.slice), options_.uses_tokens ? "wait" : "are refused"),
                   rest)};
}

std::string Registry::end_mastership(const WorkerRow& worker) {
  const bool was_master = is_master(worker);
  forget_master(worker.id);
  if (!was_master) return {};
  return fmt::format("slice \"{}\" has no master now: sticky tasks are refused until one is named",
                     name_of(worker.slice));
}

Result<Done> Registry::remove(WorkerId worker, bool force) {
  auto entry = worker_with(worker);
  if (!entry) return tl::unexpected(entry.error());
  WorkerRow& row = (*entry)->row;
  if (row.state == WorkerState::kRemoved) return Done{"nothing changes"};
  if (auto last = check_not_last(row, force); !last) return tl::unexpected(last.error());
  const bool was_in = is_in_switch(row.state);
  const std::string ended = end_mastership(row);
  take_out(**entry, WorkerState::kRemoved);
  return Done{both(ended, was_in ? unserved(row.slice) : "")};
}

Result<Done> Registry::resume(WorkerId worker) {
  auto entry = worker_with(worker);
  if (!entry) return tl::unexpected(entry.error());
  WorkerRow& row = (*entry)->row;
  if (row.state == WorkerState::kServing) return Done{"nothing changes"};
  if (row.state == WorkerState::kCrashed || row.state == WorkerState::kLeft ||
      !servers_.at(row.server).attached) {
    return refuse(Reason::kWrongState,
                  fmt::format("worker {} is {}, and comes back when its server \"{}\" does", worker.value,
                              worker_state_name(row.state), row.server));
  }
  if (!has_slice(row.slice)) {
    return refuse(Reason::kUnknown, fmt::format("worker {}: its slice \"{}\" was removed; move it to another",
                                                worker.value, name_of(row.slice)));
  }
  ++row.quota_order;
  put_in(**entry);
  return Done{};
}

Done Registry::moved(WorkerEntry& entry, SliceEntry& to) {
  const SliceId from = entry.row.slice;
  const std::string ended = end_mastership(entry.row);
  entry.row.slice = to.row.id;
  begin_epoch(entry);
  return {both(ended, unserved(from))};
}

Result<Done> Registry::move(WorkerId worker, const std::string& slice, bool force) {
  auto entry = worker_with(worker);
  if (!entry) return tl::unexpected(entry.error());
  auto to = slice_named(slice);
  if (!to) return tl::unexpected(to.error());
  WorkerRow& row = (*entry)->row;
  if (row.slice == (*to)->row.id) return Done{"nothing changes"};
  if (row.state == WorkerState::kDraining) {
    return refuse(
        Reason::kWrongState,
        fmt::format("worker {} is draining: one that serves can be moved, or one that is out", worker.value));
  }
  if (auto last = check_not_last(row, force); !last) return tl::unexpected(last.error());
  return moved(**entry, **to);
}

Result<Done> Registry::request_move(const std::string& server, std::uint64_t session, WorkerId worker,
                                    const std::string& slice, Nanos now) {
  if (auto row = session_of(server, session, now); !row) return tl::unexpected(row.error());
  auto entry = worker_with(worker);
  if (!entry) return tl::unexpected(entry.error());
  if ((*entry)->row.server != server) {
    return refuse(Reason::kUnknown,
                  fmt::format("server {}: worker {} is none of its", shown_name(server), worker.value));
  }
  if ((*entry)->row.state != WorkerState::kServing) {
    return refuse(Reason::kWrongState, fmt::format("worker {} is {}: one that serves can be moved",
                                                   worker.value, worker_state_name((*entry)->row.state)));
  }
  if (is_master((*entry)->row)) {
    return refuse(Reason::kWrongState,
                  fmt::format("worker {} is the master of slice \"{}\": an operator moves it", worker.value,
                              name_of((*entry)->row.slice)));
  }
  return move(worker, slice, false);
}

Result<Done> Registry::set_quota(WorkerId worker, unsigned quota) {
  auto entry = worker_with(worker);
  if (!entry) return tl::unexpected(entry.error());
  if (quota < 1 || quota > kMaxQuota) {
    return refuse(Reason::kOutOfRange,
                  fmt::format("worker {}: quota {}: 1 to {} is allowed; drain it to have it take nothing",
                              worker.value, quota, kMaxQuota));
  }
  // The same again is an order when the agent has found another one since.
  const WorkerReport* newest = report_of(worker);
  if ((*entry)->row.quota == quota && (newest == nullptr || newest->quota == quota))
    return Done{"nothing changes"};
  (*entry)->row.quota = quota;
  ++(*entry)->row.quota_order;
  touch(**entry);
  return Done{};
}

}  // namespace rain::control
