// The registry's servers and workers; see registry.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/endpoint_text.h"
#include "control/names.h"
#include "control/registry.h"

namespace rain::control {
namespace {

/// More than any worker can have served, or a FIFO can hold: a report beyond is nonsense.
constexpr std::uint64_t kMostServed = std::uint64_t{1} << 53;
constexpr std::uint32_t kMostHeld = 1u << 20;
constexpr double kLargestSlowdown = 1e9;

bool is_worker_address(const Endpoint& address) {
  return address.port != 0 && address.address != Endpoint{}.address &&
         address.address != Endpoint::v4(0, 0, 0, 0, 0).address;
}

}  // namespace

Result<Registry::WorkerEntry*> Registry::worker_with(WorkerId id) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return refuse(Reason::kUnknown, fmt::format("worker {} is unknown", id.value));
  return &found->second;
}

Result<ServerRow*> Registry::session_of(const std::string& server, std::uint64_t session, Nanos now) {
  if (auto clock = advance(now); !clock) return tl::unexpected(clock.error());
  const auto found = servers_.find(server);
  if (found == servers_.end())
    return refuse(Reason::kUnknown, fmt::format("server {} is unknown", shown_name(server)));
  if (found->second.session != session) {
    return refuse(Reason::kStale,
                  fmt::format("server {}: a newer session has taken its place", shown_name(server)));
  }
  found->second.lease_end = now + options_.lease;
  return &found->second;
}

void Registry::forget_master(WorkerId worker) {
  for (auto& [id, entry] : slices_) {
    if (entry.removed || entry.row.master != worker) continue;
    entry.row.master.reset();
    touch(entry);
  }
}

void Registry::take_out(WorkerEntry& entry, WorkerState state) {
  forget_master(entry.row.id);
  entry.row.state = state;
  if (!entry.removed) ++entry.row.epoch.value;
  entry.removed = true;
  touch(entry);
}

void Registry::lose(WorkerEntry& entry) {
  take_out(entry, entry.row.state == WorkerState::kDraining ? WorkerState::kDrained : WorkerState::kCrashed);
}

bool Registry::has_slice(const WorkerRow& worker) const {
  const auto slice = slices_.find(worker.slice);
  return slice != slices_.end() && !slice->second.removed;
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
      fmt::format("worker {} is the last one that serves slice \"{}\": its tasks would wait for ever; "
                  "force it if that is what you want",
                  worker.id.value, name_of(worker.slice)));
}

Result<SliceId> Registry::slice_of(const WorkerClaim& claim) const {
  std::vector<const SliceRow*> live;
  std::string names;
  for (const auto& [id, entry] : slices_) {
    if (entry.removed) continue;
    if (entry.row.name == claim.slice) return id;
    live.push_back(&entry.row);
    names += (names.empty() ? "" : ", ") + entry.row.name;
  }
  if (claim.slice.empty() && live.size() == 1) return live.front()->id;
  return refuse(Reason::kUnknown,
                fmt::format("worker {}: slice {} is unknown; there {}", claim.id.value,
                            shown_name(claim.slice), names.empty() ? "is none" : "are: " + names));
}

Result<void> Registry::check_claim(const ServerClaim& claim) const {
  if (!is_name(claim.name))
    return refuse(Reason::kOutOfRange, fmt::format("server {}: {}", shown_name(claim.name), kNameAllowed));
  if (claim.workers.empty())
    return refuse(Reason::kOutOfRange, fmt::format("server \"{}\": it has no workers", claim.name));
  std::set<WorkerId> ids;
  const std::uint32_t most = std::min(options_.max_workers, dataplane::kMaxWorkers);
  for (const WorkerClaim& worker : claim.workers) {
    const auto of = [&](const std::string& problem) {
      return fmt::format("server \"{}\": worker {}: {}", claim.name, worker.id.value, problem);
    };
    if (worker.id.value >= most) return refuse(Reason::kNoRoom, of(fmt::format("ids are 0 to {}", most - 1)));
    if (!ids.insert(worker.id).second) return refuse(Reason::kDuplicate, of("it is there twice"));
    if (worker.weight < 1 || worker.weight > dataplane::kMaxWeight) {
      return refuse(Reason::kOutOfRange,
                    of(fmt::format("weight {}: 1 to {} is allowed", worker.weight, dataplane::kMaxWeight)));
    }
    if (worker.quota < 1 || worker.quota > kMaxQuota)
      return refuse(Reason::kOutOfRange,
                    of(fmt::format("quota {}: 1 to {} is allowed", worker.quota, kMaxQuota)));
    if (!is_worker_address(worker.address))
      return refuse(Reason::kOutOfRange, of(fmt::format("address {}: the switch cannot send there",
                                                        format_endpoint(worker.address))));
    const auto owner = workers_.find(worker.id);
    if (owner != workers_.end() && owner->second.row.server != claim.name &&
        is_in_switch(owner->second.row.state))
      return refuse(Reason::kDuplicate,
                    of(fmt::format("server \"{}\" has this id", owner->second.row.server)));
    for (const auto& [id, entry] : workers_) {
      if (entry.row.server == claim.name || entry.row.address != worker.address ||
          !is_in_switch(entry.row.state))
        continue;
      return refuse(Reason::kDuplicate, of(fmt::format("worker {} of server \"{}\" has address {}", id.value,
                                                       entry.row.server, format_endpoint(worker.address))));
    }
  }
  return {};
}

void Registry::put(const ServerClaim& server, const WorkerClaim& claim, SliceId slice, bool new_life) {
  WorkerEntry& entry = workers_[claim.id];
  WorkerRow& row = entry.row;
  const bool known = entry.version != 0;
  const bool same_server = known && row.server == server.name;
  const bool stays = same_server && !new_life && is_in_switch(row.state) && row.address == claim.address;
  if (stays) return;
  // An operator's word outlives a lost connection; a new life of the server begins afresh.
  if (same_server && !new_life && (row.state == WorkerState::kDrained || row.state == WorkerState::kRemoved))
    return;
  if (!known) {
    row.id = claim.id;
    row.epoch = claim.has_state ? claim.epoch : options_.first_epoch;
  } else if (!entry.removed) {
    ++row.epoch.value;  // those that are out have a new one already
  }
  // An operator's or agent's move is kept across lives; who comes from elsewhere says where it belongs.
  const auto kept = slices_.find(row.slice);
  if (!same_server || kept == slices_.end() || kept->second.removed) row.slice = slice;
  if (!same_server || row.token_key == 0 || claim.token_key != 0)
    row.token_key = claim.token_key != 0 ? claim.token_key : options_.draw_key();
  row.server = server.name;
  row.address = claim.address;
  row.weight = claim.weight;
  if (!same_server || new_life) row.quota = claim.quota;
  reports_.erase(claim.id);
  put_in(entry);
}

Result<std::uint64_t> Registry::enter(const ServerClaim& claim, Nanos now) {
  if (auto clock = advance(now); !clock) return tl::unexpected(clock.error());
  if (auto valid = check_claim(claim); !valid) return tl::unexpected(valid.error());
  std::vector<SliceId> slices;
  for (const WorkerClaim& worker : claim.workers) {
    auto slice = slice_of(worker);
    if (!slice) return tl::unexpected(slice.error());
    slices.push_back(*slice);
  }
  const auto known = servers_.find(claim.name);
  const bool new_life = known != servers_.end() && known->second.incarnation != claim.incarnation;
  if (new_life && known->second.attached && known->second.lease_end > now) {
    return refuse(Reason::kDuplicate,
                  fmt::format("server \"{}\": one of this name is attached and its lease has {} ms to go",
                              claim.name, (known->second.lease_end - now).value / 1'000'000));
  }
  ServerRow& server = servers_[claim.name];
  // Workers that this life of the server does not have.
  for (auto& [id, entry] : workers_) {
    if (entry.row.server != claim.name || !is_in_switch(entry.row.state)) continue;
    const WorkerId worker = id;
    if (std::none_of(claim.workers.begin(), claim.workers.end(),
                     [worker](const WorkerClaim& one) { return one.id == worker; }))
      take_out(entry, WorkerState::kLeft);
  }
  for (std::size_t i = 0; i < claim.workers.size(); ++i) put(claim, claim.workers[i], slices[i], new_life);
  server.name = claim.name;
  server.incarnation = claim.incarnation;
  server.session = next_session_++;
  server.attached = true;
  server.lease_end = now + options_.lease;
  return server.session;
}

Result<void> Registry::check_report(const std::string& server, const WorkerReport& report) const {
  const auto found = workers_.find(report.id);
  if (found == workers_.end() || found->second.row.server != server) {
    return refuse(Reason::kUnknown, fmt::format("report of server {}: worker {} is none of its",
                                                shown_name(server), report.id.value));
  }
  const auto nonsense = [&](const std::string& what) {
    return refuse(Reason::kNonsense, fmt::format("report of worker {}: {}", report.id.value, what));
  };
  if (report.quota > kMaxQuota)
    return nonsense(fmt::format("quota {}: 0 to {} is possible", report.quota, kMaxQuota));
  if (report.held > kMostHeld)
    return nonsense(fmt::format("holds {} tasks: at most {} is possible", report.held, kMostHeld));
  if (report.served > kMostServed)
    return nonsense(fmt::format("served {} tasks: at most {} is possible", report.served, kMostServed));
  if (!(report.idleness >= 0 && report.idleness <= 1))
    return nonsense(fmt::format("idleness {}: 0 to 1 is possible", report.idleness));
  if (!(report.slowdown_p99 >= 0 && report.slowdown_p99 <= kLargestSlowdown))
    return nonsense(fmt::format("slowdown {}: 0 to {:g} is possible", report.slowdown_p99, kLargestSlowdown));
  return {};
}

Result<void> Registry::report(const std::string& server, std::uint64_t session,
                              std::span<const WorkerReport> reports, Nanos now) {
  // Whoever reports nonsense is alive all the same.
  if (auto row = session_of(server, session, now); !row) return tl::unexpected(row.error());
  for (const WorkerReport& report : reports) {
    if (auto valid = check_report(server, report); !valid) return valid;
  }
  for (const WorkerReport& report : reports) {
    WorkerEntry& entry = workers_.at(report.id);
    reports_[report.id] = report;
    if (entry.row.state == WorkerState::kDraining && report.drained) take_out(entry, WorkerState::kDrained);
    if (is_in_switch(entry.row.state) && !report.alive) lose(entry);
  }
  // A lease that had ended, or a worker that moves again. Those that their agent calls dead stay out, as do those whose
  // slice was removed meanwhile.
  for (auto& [id, entry] : workers_) {
    if (entry.row.server != server || entry.row.state != WorkerState::kCrashed) continue;
    const WorkerReport* newest = report_of(id);
    if ((newest == nullptr || newest->alive) && has_slice(entry.row)) put_in(entry);
  }
  return {};
}

Result<Done> Registry::leave(const std::string& server, std::uint64_t session, Nanos now) {
  if (auto row = session_of(server, session, now); !row) return tl::unexpected(row.error());
  std::set<SliceId> slices;
  for (auto& [id, entry] : workers_) {
    if (entry.row.server != server || !is_in_switch(entry.row.state)) continue;
    slices.insert(entry.row.slice);
    take_out(entry, entry.row.state == WorkerState::kDraining ? WorkerState::kDrained : WorkerState::kLeft);
  }
  servers_.at(server).attached = false;
  std::string note;
  for (const SliceId slice : slices) {
    const std::string line = left_empty(slice);
    if (!line.empty()) note += (note.empty() ? "" : "; ") + line;
  }
  return Done{std::move(note)};
}

void Registry::detach(const std::string& server, std::uint64_t session) {
  const auto found = servers_.find(server);
  if (found != servers_.end() && found->second.session == session) found->second.attached = false;
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
  forget_master(worker);
  row.state = WorkerState::kDraining;
  touch(**entry);
  return Done{left_empty(row.slice)};
}

Result<Done> Registry::remove(WorkerId worker, bool force) {
  auto entry = worker_with(worker);
  if (!entry) return tl::unexpected(entry.error());
  WorkerRow& row = (*entry)->row;
  if (row.state == WorkerState::kRemoved) return Done{"nothing changes"};
  if (auto last = check_not_last(row, force); !last) return tl::unexpected(last.error());
  const bool was_in = is_in_switch(row.state);
  take_out(**entry, WorkerState::kRemoved);
  return Done{was_in ? left_empty(row.slice) : ""};
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
  if (!has_slice(row)) {
    return refuse(Reason::kUnknown, fmt::format("worker {}: its slice \"{}\" was removed; move it to another",
                                                worker.value, name_of(row.slice)));
  }
  ++row.quota_order;
  put_in(**entry);
  return Done{};
}

Done Registry::moved(WorkerEntry& entry, SliceEntry& to) {
  const SliceId from = entry.row.slice;
  forget_master(entry.row.id);
  entry.row.slice = to.row.id;
  ++entry.row.epoch.value;
  touch(entry);
  return {left_empty(from)};
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
  const auto from = slices_.find(row.slice);
  if (is_in_switch(row.state) && from->second.row.group != (*to)->row.group) {
    return refuse(
        Reason::kOtherGroup,
        fmt::format(
            "worker {}: slice \"{}\" belongs to switch thread {}, slice \"{}\" to thread {}; a worker "
            "stays with its thread",
            worker.value, from->second.row.name, from->second.row.group, slice, (*to)->row.group));
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
  (*entry)->row.quota = quota;
  ++(*entry)->row.quota_order;
  touch(**entry);
  return Done{};
}

}  // namespace rain::control
