// See registry.h. Here: versions, the clock, saving and restoring, and what status reads. Slices are in
// registry_slices.cc, servers in registry_servers.cc, workers in registry_workers.cc, spill thresholds in registry_spills.cc.
#include "control/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "control/names.h"

namespace rain::control {
namespace {

template <typename Key, typename Row, typename KeyOf>
bool load(const std::vector<Versioned<Row>>& rows, Version version, std::map<Key, Versioned<Row>>& into,
          KeyOf key_of) {
  for (const Versioned<Row>& entry : rows) {
    if (entry.version == 0 || entry.version > version) return false;
    if (!into.emplace(key_of(entry.row), entry).second) return false;
  }
  return true;
}

template <typename Key, typename Row>
std::vector<Versioned<Row>> all(const std::map<Key, Versioned<Row>>& entries) {
  std::vector<Versioned<Row>> rows;
  for (const auto& [key, entry] : entries) rows.push_back(entry);
  return rows;
}

template <typename Key, typename Row>
std::vector<Row> present(const std::map<Key, Versioned<Row>>& entries) {
  std::vector<Row> rows;
  for (const auto& [key, entry] : entries) {
    if (!entry.removed) rows.push_back(entry.row);
  }
  return rows;
}

/// Those newer than `since`; tombstones only for who may still have the row.
template <typename Key, typename Row>
std::vector<Versioned<Row>> newer(const std::map<Key, Versioned<Row>>& entries, Version since, bool reset) {
  std::vector<Versioned<Row>> rows;
  for (const auto& [key, entry] : entries) {
    if (reset ? !entry.removed : entry.version > since) rows.push_back(entry);
  }
  return rows;
}

}  // namespace

Registry::Registry(RegistryOptions options) : options_(std::move(options)) {
  RAIN_ASSERT(options_.draw_key && options_.lease > Nanos{});
}

tl::unexpected<Refusal> Registry::refuse(Reason reason, std::string text) const {
  ++refusals_[static_cast<std::size_t>(reason)];
  return tl::unexpected(Refusal{reason, std::move(text)});
}

Result<void> Registry::advance(Nanos now) {
  if (has_clock_ && now < last_now_) {
    return refuse(Reason::kClock, fmt::format("the controller's clock went back by {} ms: nothing is changed",
                                              (last_now_ - now).value / 1'000'000));
  }
  last_now_ = now;
  if (!has_clock_) first_now_ = last_tick_ = now;
  has_clock_ = true;
  return {};
}

Result<Done> Registry::tick(Nanos now) {
  if (auto clock = advance(now); !clock) return tl::unexpected(clock.error());
  const Nanos gap = now - last_tick_;
  last_tick_ = now;
  last_jump_ = gap > options_.lease / 2 ? gap : Nanos{};
  if (last_jump_ > Nanos{}) {
    ++clock_jumps_;
    for (auto& [name, server] : servers_) server.lease_end += gap;
    return Done{
        fmt::format("the controller stood still for {} ms: leases are extended", gap.value / 1'000'000)};
  }
  std::string note;
  for (auto& [name, server] : servers_) {
    if (server.lease_end > now) continue;
    unsigned taken_out = 0;
    for_each_in_switch(name, [&](WorkerEntry& entry) {
      lose(entry);
      ++taken_out;
    });
    if (taken_out == 0) continue;
    note += fmt::format("{}server {}: its lease has ended, {} workers are taken out",
                        note.empty() ? "" : "; ", shown_name(name), taken_out);
  }
  forget_servers(now);
  for (auto& [id, entry] : slices_) agree_spill(entry);
  return Done{std::move(note)};
}

Changes Registry::changes_since(std::uint64_t instance, Version version) const {
  const bool reset = instance != options_.instance || version > version_ || version == 0;
  return {.instance = options_.instance,
          .version = version_,
          .reset = reset,
          .slices = newer(slices_, version, reset),
          .types = newer(types_, version, reset),
          // With those that are out: a server that is told everything must hear that its worker has to stop.
          .workers = newer(workers_, reset ? 0 : version, false)};
}

void Registry::renew_instance() {
  const std::uint64_t before = options_.instance;
  while (options_.instance == before)
    options_.instance = std::uint64_t{options_.draw_key()} << 32 | options_.draw_key();
}

Result<void> Registry::check_version(Version version) const {
  if (version == version_) return {};
  return refuse(Reason::kStale,
                fmt::format("version {} is not the present one, {}: somebody else has changed something",
                            version, version_));
}

RegistryState Registry::state() const {
  RegistryState state{.instance = options_.instance,
                      .version = version_,
                      .slices = all(slices_),
                      .types = all(types_),
                      .workers = all(workers_),
                      .servers = {}};
  for (const auto& [name, server] : servers_)
    state.servers.push_back({.name = name, .incarnation = server.incarnation});
  return state;
}

Result<Registry> Registry::restore(RegistryOptions options, const RegistryState& state, Nanos now) {
  options.instance = state.instance;
  Registry registry(std::move(options));
  registry.version_ = state.version;
  const auto bad = [&registry](const std::string& what) {
    return registry.refuse(Reason::kOutOfRange, "the state is not one that a controller writes: " + what);
  };
  if (!load(state.slices, state.version, registry.slices_, [](const SliceRow& row) { return row.id; }))
    return bad("slices with the same id, or newer than the whole");
  if (!load(state.types, state.version, registry.types_, [](const TypeRow& row) { return row.type; }))
    return bad("a type that is there twice, or newer than the whole");
  if (!load(state.workers, state.version, registry.workers_, [](const WorkerRow& row) { return row.id; }))
    return bad("workers with the same id, or newer than the whole");
  for (const auto& [id, entry] : registry.slices_) {
    if (id.value >= dataplane::kMaxSlices || !is_name(entry.row.name))
      return bad(fmt::format("slice {}", id.value));
  }
  for (const auto& [type, entry] : registry.types_) {
    if (!entry.removed && !registry.has_slice(entry.row.slice))
      return bad(
          fmt::format("type {} has slice {}, which does not exist", type.value, entry.row.slice.value));
  }
  for (const auto& [id, entry] : registry.workers_) {
    const WorkerRow& row = entry.row;
    const bool valid = id.value < dataplane::kMaxWorkers && is_name(row.server) && row.weight >= 1 &&
                       row.weight <= dataplane::kMaxWeight && row.quota >= 1 && row.quota <= kMaxQuota &&
                       static_cast<std::size_t>(row.state) < kWorkerStateCount &&
                       (!is_in_switch(row.state) || registry.has_slice(row.slice)) &&
                       entry.removed == !is_in_switch(row.state);
    if (!valid) return bad(fmt::format("worker {}", id.value));
  }
  for (ServerRow server : state.servers) {
    server.lease_end = now + registry.options_.lease;
    server.session = 0;
    server.attached = false;
    if (!is_name(server.name) || !registry.servers_.emplace(server.name, server).second)
      return bad("servers with the same name");
  }
  // A worker whose server is missing would never expire.
  for (const auto& [id, entry] : registry.workers_) {
    if (registry.servers_.contains(entry.row.server)) continue;
    return bad(
        fmt::format("worker {} has server {}, which does not exist", id.value, shown_name(entry.row.server)));
  }
  if (auto clock = registry.advance(now); !clock) return tl::unexpected(clock.error());
  return registry;
}

std::vector<SliceRow> Registry::slices() const { return present(slices_); }

std::vector<TypeRow> Registry::types() const { return present(types_); }

std::vector<WorkerRow> Registry::workers() const {
  std::vector<WorkerRow> rows;
  for (const auto& [id, entry] : workers_) rows.push_back(entry.row);
  return rows;
}

std::vector<ServerRow> Registry::servers() const {
  std::vector<ServerRow> rows;
  for (const auto& [name, server] : servers_) rows.push_back(server);
  return rows;
}

const WorkerReport* Registry::report_of(WorkerId worker) const {
  const auto found = reports_.find(worker);
  return found == reports_.end() ? nullptr : &found->second;
}

std::uint64_t Registry::room() const {
  std::uint64_t sum = 0;
  for (const auto& [id, entry] : slices_) {
    if (!entry.removed) sum += entry.row.queue_capacity;
  }
  for (const auto& [id, entry] : workers_) {
    if (entry.row.state != WorkerState::kServing) continue;
    const WorkerReport* report = report_of(id);
    sum += report != nullptr && report->quota > 0 ? report->quota : entry.row.quota;
  }
  return sum;
}

std::vector<std::string> Registry::warnings() const {
  std::vector<std::string> lines;
  for (const auto& [id, entry] : slices_) {
    if (entry.removed) continue;
    if (const std::string line = unserved(id); !line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace rain::control
