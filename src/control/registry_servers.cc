// The registry's servers: who registers, reports, leaves, and is forgotten; see registry.h.
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
/// Each owns a worker id when it registers; as many again may have lost theirs and still be there.
constexpr std::size_t kMostServers = 2 * dataplane::kMaxWorkers;

/// Epochs count round.
bool is_newer(Epoch a, Epoch b) { return static_cast<std::int16_t>(a.value - b.value) > 0; }

bool is_worker_address(const Endpoint& address) {
  return address.port != 0 && address.address != Endpoint{}.address &&
         address.address != Endpoint::v4(0, 0, 0, 0, 0).address;
}

}  // namespace

bool Registry::owns_worker(const std::string& server) const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [&server](const auto& entry) { return entry.second.row.server == server; });
}

void Registry::forget_servers(Nanos now) {
  std::erase_if(servers_, [&](const auto& entry) {
    const ServerRow& server = entry.second;
    if (server.attached || server.lease_end > now || owns_worker(server.name)) return false;
    for (auto& [slice, wishes] : spill_wishes_) wishes.erase(server.name);
    return true;
  });
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

Result<SliceId> Registry::slice_of(const WorkerClaim& claim) const {
  const std::vector<SliceRow> live = slices();
  for (const SliceRow& slice : live) {
    if (slice.name == claim.slice) return slice.id;
  }
  if (claim.slice.empty() && live.size() == 1) return live.front().id;
  return refuse_slice(fmt::format("worker {}: ", claim.id.value), claim.slice);
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
  if (same_server && !new_life && claim.has_state && is_newer(claim.epoch, row.epoch)) {
    // It has heard of more than our state file has.
    row.epoch.value = static_cast<std::uint16_t>(claim.epoch.value + 1);
    touch(entry);
  }
  const bool stays = same_server && !new_life && is_in_switch(row.state) && row.address == claim.address;
  if (stays) return;
  // An operator's word outlives a lost connection; a new life of the server begins afresh.
  if (same_server && !new_life && (row.state == WorkerState::kDrained || row.state == WorkerState::kRemoved))
    return;
  if (!known) {
    row.id = claim.id;
    // A newer one than it has: whether it was a master then, which the switch's row hangs on, nobody knows any more.
    row.epoch = options_.first_epoch;
    if (claim.has_state) row.epoch.value = static_cast<std::uint16_t>(claim.epoch.value + 1);
  } else if (!entry.removed) {
    ++row.epoch.value;  // those that are out have a new one already
  }
  // An operator's or agent's move is kept across lives; who comes from elsewhere says where it belongs.
  if (!same_server || !has_slice(row.slice)) {
    // Who takes over another's id is no master by that. One that was named before anybody had its id is, in its slice.
    const bool was_named = !known && slices_.at(slice).row.master == claim.id;
    if (!was_named) forget_master(claim.id);
    row.slice = slice;
  }
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
  if (known == servers_.end() && servers_.size() >= kMostServers) {
    return refuse(Reason::kNoRoom, fmt::format("server \"{}\": there are {} servers, the most that can be",
                                               claim.name, servers_.size()));
  }
  ServerRow& server = servers_[claim.name];
  // Workers that this life of the server does not have.
  for_each_in_switch(claim.name, [&](WorkerEntry& entry) {
    const WorkerId worker = entry.row.id;
    if (std::none_of(claim.workers.begin(), claim.workers.end(),
                     [worker](const WorkerClaim& one) { return one.id == worker; }))
      take_out(entry, WorkerState::kLeft);
  });
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
    if ((newest == nullptr || newest->alive) && has_slice(entry.row.slice)) put_in(entry);
  }
  return {};
}

Result<Done> Registry::leave(const std::string& server, std::uint64_t session, Nanos now) {
  if (auto row = session_of(server, session, now); !row) return tl::unexpected(row.error());
  std::set<SliceId> slices;
  for_each_in_switch(server, [&](WorkerEntry& entry) {
    slices.insert(entry.row.slice);
    take_out(entry, entry.row.state == WorkerState::kDraining ? WorkerState::kDrained : WorkerState::kLeft);
  });
  servers_.at(server).attached = false;
  std::string note;
  for (const SliceId slice : slices) {
    const std::string line = unserved(slice);
    if (!line.empty()) note += (note.empty() ? "" : "; ") + line;
  }
  return Done{std::move(note)};
}

void Registry::detach(const std::string& server, std::uint64_t session) {
  const auto found = servers_.find(server);
  if (found != servers_.end() && found->second.session == session) found->second.attached = false;
}

}  // namespace rain::control
