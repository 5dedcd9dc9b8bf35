#include "control/rpc/messages.h"

#include <fmt/format.h>

#include "base/endpoint_text.h"
#include "control/names.h"

namespace rain::control {
namespace {

tl::unexpected<Refusal> refuse(std::string text) {
  return tl::unexpected(Refusal{Reason::kOutOfRange, std::move(text)});
}

/// A number of the network in the type that it must fit.
template <typename Int>
Result<Int> narrow(std::uint64_t value, const char* what) {
  if (value <= std::numeric_limits<Int>::max()) return static_cast<Int>(value);
  return refuse(fmt::format("{} {}: 0 to {} is allowed", what, value, std::numeric_limits<Int>::max()));
}

/// Calls narrow() into `out`; the first refusal is kept in `problem`.
template <typename Int>
void take(Int& out, std::uint64_t value, const char* what, std::optional<Refusal>& problem) {
  const auto narrowed = narrow<Int>(value, what);
  if (narrowed) {
    out = *narrowed;
  } else if (!problem) {
    problem = narrowed.error();
  }
}

void take_address(Endpoint& out, const std::string& text, std::optional<Refusal>& problem) {
  const auto endpoint = parse_endpoint(text);
  if (endpoint) {
    out = *endpoint;
  } else if (!problem) {
    problem = Refusal{Reason::kOutOfRange, fmt::format("address {}: {}", shown_name(text), endpoint.error())};
  }
}

template <typename Row>
Result<Row> done(Row row, std::optional<Refusal> problem) {
  if (problem) return tl::unexpected(std::move(*problem));
  return row;
}

template <typename Row, typename Messages>
Result<void> rows_from(const Messages& messages, std::vector<Versioned<Row>>& out) {
  out.reserve(static_cast<std::size_t>(messages.size()));
  for (const auto& entry : messages) {
    auto row = from_message(entry.row());
    if (!row) return tl::unexpected(row.error());
    out.push_back({std::move(*row), entry.version(), entry.removed()});
  }
  return {};
}

template <typename Row, typename Messages>
void rows_to(const std::vector<Versioned<Row>>& rows, Messages& out) {
  for (const Versioned<Row>& entry : rows) {
    auto& message = *out.Add();
    *message.mutable_row() = to_message(entry.row);
    message.set_version(entry.version);
    message.set_removed(entry.removed);
  }
}

template <typename From, typename To>
Result<void> tables_from(const From& message, To& out) {
  out.instance = message.instance();
  out.version = message.version();
  if (auto rows = rows_from(message.slices(), out.slices); !rows) return rows;
  if (auto rows = rows_from(message.types(), out.types); !rows) return rows;
  return rows_from(message.workers(), out.workers);
}

template <typename From, typename To>
void tables_to(const From& tables, To& out) {
  out.set_instance(tables.instance);
  out.set_version(tables.version);
  rows_to(tables.slices, *out.mutable_slices());
  rows_to(tables.types, *out.mutable_types());
  rows_to(tables.workers, *out.mutable_workers());
}

}  // namespace

v1::Slice to_message(const SliceRow& row) {
  v1::Slice message;
  message.set_id(row.id.value);
  message.set_name(row.name);
  message.set_other_types(row.other_types);
  message.set_queue_capacity(row.queue_capacity);
  if (row.spill) message.set_spill(*row.spill);
  if (row.agents_spill) message.set_agents_spill(*row.agents_spill);
  message.set_drain(row.drain);
  message.set_recirculate(row.recirculate);
  message.set_group(row.group);
  if (row.master) message.set_master(row.master->value);
  return message;
}

v1::TaskType to_message(const TypeRow& row) {
  v1::TaskType message;
  message.set_type(row.type.value);
  message.set_slice(row.slice.value);
  return message;
}

v1::Worker to_message(const WorkerRow& row) {
  v1::Worker message;
  message.set_id(row.id.value);
  message.set_server(row.server);
  message.set_slice(row.slice.value);
  message.set_address(format_endpoint(row.address));
  message.set_epoch(row.epoch.value);
  message.set_token_key(row.token_key);
  message.set_weight(row.weight);
  message.set_quota(row.quota);
  message.set_quota_order(row.quota_order);
  message.set_state(static_cast<v1::WorkerState>(row.state));
  return message;
}

v1::WorkerReport to_message(const WorkerReport& report) {
  v1::WorkerReport message;
  message.set_id(report.id.value);
  message.set_quota(report.quota);
  message.set_held(report.held);
  message.set_served(report.served);
  message.set_idleness(report.idleness);
  message.set_slowdown_p99(report.slowdown_p99);
  message.set_dead(!report.alive);
  message.set_drained(report.drained);
  return message;
}

v1::Tables to_message(const Changes& changes) {
  v1::Tables message;
  tables_to(changes, message);
  message.set_reset(changes.reset);
  return message;
}

v1::ServerHello to_message(const ServerClaim& claim) {
  v1::ServerHello message;
  message.set_name(claim.name);
  message.set_incarnation(claim.incarnation);
  for (const WorkerClaim& worker : claim.workers) {
    v1::WorkerClaim& one = *message.add_workers();
    one.set_id(worker.id.value);
    one.set_slice(worker.slice);
    one.set_address(format_endpoint(worker.address));
    one.set_weight(worker.weight);
    one.set_quota(worker.quota);
    one.set_token_key(worker.token_key);
    one.set_has_state(worker.has_state);
    one.set_epoch(worker.epoch.value);
  }
  return message;
}

v1::State to_message(const SavedState& state) {
  v1::State message;
  message.set_format(kStateFormat);
  tables_to(state.registry, message);
  for (const ServerRow& server : state.registry.servers) {
    v1::ServerLife& life = *message.add_servers();
    life.set_name(server.name);
    life.set_incarnation(server.incarnation);
  }
  message.mutable_client_weights()->insert(state.client_weights.begin(), state.client_weights.end());
  return message;
}

Result<TypeRow> from_message(const v1::TaskType& message) {
  TypeRow row;
  std::optional<Refusal> problem;
  take(row.type.value, message.type(), "type", problem);
  take(row.slice.value, message.slice(), "slice", problem);
  return done(row, problem);
}

Result<WorkerRow> from_message(const v1::Worker& message) {
  WorkerRow row;
  std::optional<Refusal> problem;
  take(row.id.value, message.id(), "worker id", problem);
  row.server = message.server();
  take(row.slice.value, message.slice(), "slice", problem);
  take_address(row.address, message.address(), problem);
  take(row.epoch.value, message.epoch(), "epoch", problem);
  row.token_key = message.token_key();
  take(row.weight, message.weight(), "weight", problem);
  row.quota = message.quota();
  row.quota_order = message.quota_order();
  std::uint8_t state = 0;
  take(state, static_cast<std::uint64_t>(message.state()), "worker state", problem);
  if (state >= kWorkerStateCount) return refuse(fmt::format("worker state {}: unknown", state));
  row.state = static_cast<WorkerState>(state);
  return done(std::move(row), std::move(problem));
}

Result<SliceRow> from_message(const v1::Slice& message) {
  SliceRow row;
  std::optional<Refusal> problem;
  take(row.id.value, message.id(), "slice id", problem);
  row.name = message.name();
  row.other_types = message.other_types();
  row.queue_capacity = message.queue_capacity();
  if (message.has_spill()) row.spill = message.spill();
  if (message.has_agents_spill()) row.agents_spill = message.agents_spill();
  take(row.drain, message.drain(), "drain", problem);
  row.recirculate = message.recirculate();
  row.group = message.group();
  if (message.has_master()) take(row.master.emplace().value, message.master(), "master", problem);
  return done(std::move(row), std::move(problem));
}

Result<Changes> from_message(const v1::Tables& message) {
  Changes changes;
  changes.reset = message.reset();
  if (auto rows = tables_from(message, changes); !rows) return tl::unexpected(rows.error());
  return changes;
}

Result<ServerClaim> from_message(const v1::ServerHello& message) {
  ServerClaim claim{.name = message.name(), .incarnation = message.incarnation(), .workers = {}};
  std::optional<Refusal> problem;
  for (const v1::WorkerClaim& one : message.workers()) {
    WorkerClaim& worker = claim.workers.emplace_back();
    take(worker.id.value, one.id(), "worker id", problem);
    worker.slice = one.slice();
    take_address(worker.address, one.address(), problem);
    take(worker.weight, one.weight(), "weight", problem);
    worker.quota = one.quota();
    worker.token_key = one.token_key();
    worker.has_state = one.has_state();
    take(worker.epoch.value, one.epoch(), "epoch", problem);
  }
  return done(std::move(claim), std::move(problem));
}

Result<WorkerReport> from_message(const v1::WorkerReport& message) {
  WorkerReport report;
  const auto id = worker_id(message.id());
  if (!id) return tl::unexpected(id.error());
  report.id = *id;
  report.quota = message.quota();
  report.held = message.held();
  report.served = message.served();
  report.idleness = message.idleness();
  report.slowdown_p99 = message.slowdown_p99();
  report.alive = !message.dead();
  report.drained = message.drained();
  return report;
}

Result<SavedState> from_message(const v1::State& message) {
  if (message.format() != kStateFormat)
    return refuse(fmt::format("format {}: this controller reads format {}", message.format(), kStateFormat));
  SavedState state;
  if (auto rows = tables_from(message, state.registry); !rows) return tl::unexpected(rows.error());
  for (const v1::ServerLife& life : message.servers()) {
    ServerRow& server = state.registry.servers.emplace_back();
    server.name = life.name();
    server.incarnation = life.incarnation();
  }
  for (const auto& [name, weight] : message.client_weights()) {
    if (!is_name(name) || weight < 1 || weight > kMaxShareWeight)
      return refuse(
          fmt::format("client {}: weight {}: 1 to {} is allowed", shown_name(name), weight, kMaxShareWeight));
    state.client_weights[name] = weight;
  }
  return state;
}

Result<SlicePatch> from_message(const v1::SetSlice& message) {
  SlicePatch patch;
  if (message.has_queue_capacity()) patch.queue_capacity = message.queue_capacity();
  if (message.has_spill()) patch.spill = message.spill();
  patch.default_spill = message.default_spill();
  std::optional<Refusal> problem;
  if (message.has_drain()) take(patch.drain.emplace(), message.drain(), "drain", problem);
  return done(patch, problem);
}

Result<WorkerId> worker_id(std::uint32_t id) {
  const auto value = narrow<std::uint16_t>(id, "worker id");
  if (!value) return tl::unexpected(value.error());
  return WorkerId{*value};
}

Result<TaskType> task_type(std::uint32_t type) {
  const auto value = narrow<std::uint16_t>(type, "type");
  if (!value) return tl::unexpected(value.error());
  return TaskType{*value};
}

}  // namespace rain::control
