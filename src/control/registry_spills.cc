// The registry's spill thresholds: what agents wish for, against what an operator said; see registry.h.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "control/names.h"
#include "control/registry.h"

namespace rain::control {

unsigned Registry::serving_of(const std::string& server, SliceId slice) const {
  return static_cast<unsigned>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const WorkerRow& worker = entry.second.row;
    return worker.server == server && worker.slice == slice && worker.state == WorkerState::kServing;
  }));
}

Result<Done> Registry::request_spill(const std::string& server, std::uint64_t session,
                                     const std::string& slice, std::uint32_t spill, Nanos now) {
  if (auto row = session_of(server, session, now); !row) return tl::unexpected(row.error());
  auto found = slice_named(slice);
  if (!found) return tl::unexpected(found.error());
  SliceEntry& entry = **found;
  if (spill > entry.row.queue_capacity) {
    return refuse(Reason::kOutOfRange,
                  fmt::format("server {}: slice \"{}\": spill {}: at most its capacity, {}",
                              shown_name(server), slice, spill, entry.row.queue_capacity));
  }
  const unsigned workers = serving_of(server, entry.row.id);
  if (workers == 0) {
    return refuse(Reason::kWrongState, fmt::format("server {}: none of its workers serves slice \"{}\"",
                                                   shown_name(server), slice));
  }
  spill_wishes_[entry.row.id][server] = {.threshold = spill, .asked_for = workers, .workers = 0};
  agree_spill(entry);
  return Done{entry.row.spill ? fmt::format("an operator has set {}", *entry.row.spill) : ""};
}

void Registry::agree_spill(SliceEntry& entry) {
  // While an operator's word is in force, no row changes: each change is written to disk and sent to the switches.
  if (entry.removed || entry.row.spill) return;
  const auto wished = spill_wishes_.find(entry.row.id);
  if (wished == spill_wishes_.end()) return;
  std::vector<SpillWish> wishes;
  for (const auto& [name, wish] : wished->second) {
    const auto server = servers_.find(name);
    if (server == servers_.end() || server->second.lease_end <= last_now_) continue;
    wishes.push_back(wish);
    wishes.back().workers = serving_of(name, entry.row.id);
  }
  const auto agreed = agreed_spill(wishes, serving_in(entry.row.id), entry.row.queue_capacity);
  if (!agreed || agreed == entry.row.agents_spill) return;
  entry.row.agents_spill = agreed;
  touch(entry);
}

}  // namespace rain::control
