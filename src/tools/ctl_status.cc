#include "tools/ctl_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/endpoint_text.h"

namespace rain::tools {
namespace {

using control::RackStatus;
using control::WorkerState;
using nlohmann::ordered_json;

double seconds_of(Nanos time) { return static_cast<double>(time.value) * 1e-9; }

std::string slice_name(const RackStatus& status, SliceId id) {
  for (const control::SliceRow& slice : status.slices) {
    if (slice.id == id) return slice.name;
  }
  return std::to_string(id.value);
}

std::string types_of(const RackStatus& status, const control::SliceRow& slice) {
  std::string text;
  for (const control::TypeRow& type : status.types) {
    if (type.slice == slice.id) text += fmt::format("{}{}", text.empty() ? "" : ",", type.type.value);
  }
  if (slice.other_types) text += text.empty() ? "all others" : ", all others";
  return text.empty() ? "none" : text;
}

std::size_t serving_in(const RackStatus& status, SliceId slice) {
  return static_cast<std::size_t>(std::count_if(
      status.workers.begin(), status.workers.end(), [slice](const control::WorkerStatus& worker) {
        return worker.row.slice == slice && worker.row.state == WorkerState::kServing;
      }));
}

/// Whose it is matters: an operator's stays, the agents' follows the load.
std::string spill_of(const control::SliceRow& slice) {
  if (slice.spill) return std::to_string(*slice.spill);
  return slice.agents_spill ? fmt::format("auto {}", *slice.agents_spill) : "default";
}

std::string slices_text(const RackStatus& status) {
  std::string text = fmt::format("{:<16} {:>3} {:>8} {:>9} {:>7} {:>6} {:>7}  {}\n", "slice", "id", "workers",
                                 "capacity", "spill", "drain", "master", "types");
  for (const control::SliceRow& slice : status.slices) {
    text += fmt::format("{:<16} {:>3} {:>8} {:>9} {:>7} {:>6} {:>7}  {}\n", slice.name, slice.id.value,
                        serving_in(status, slice.id), slice.queue_capacity, spill_of(slice), slice.drain,
                        slice.master ? std::to_string(slice.master->value) : "-", types_of(status, slice));
  }
  return text;
}

std::string workers_text(const RackStatus& status) {
  std::string text =
      fmt::format("{:>6} {:<16} {:<16} {:<9} {:>5} {:>5} {:>6} {:>7} {:>9} {:>12}  {}\n", "worker", "server",
                  "slice", "state", "quota", "held", "idle", "epoch", "slowdown", "served", "address");
  for (const control::WorkerStatus& worker : status.workers) {
    const control::WorkerRow& row = worker.row;
    std::string quota = std::to_string(row.quota), held = "-", idle = "-", slowdown = "-", served = "-";
    if (worker.report) {
      quota = std::to_string(worker.report->quota);
      held = std::to_string(worker.report->held);
      idle = fmt::format("{:.0f} %", worker.report->idleness * 100);
      slowdown = fmt::format("{:.1f}", worker.report->slowdown_p99);
      served = std::to_string(worker.report->served);
    }
    text += fmt::format("{:>6} {:<16} {:<16} {:<9} {:>5} {:>5} {:>6} {:>7} {:>9} {:>12}  {}\n", row.id.value,
                        row.server, slice_name(status, row.slice), worker_state_name(row.state), quota, held,
                        idle, row.epoch.value, slowdown, served, format_endpoint(row.address));
  }
  return text;
}

std::string peers_text(const RackStatus& status) {
  std::string text;
  for (const control::SwitchRow& one : status.switches) {
    text +=
        fmt::format("switch {}: {}, tables of version {}{}\n", one.name, one.attached ? "attached" : "away",
                    one.version, one.refusal.empty() ? "" : ", refused the newest: " + one.refusal);
  }
  for (const control::ServerStatus& one : status.servers) {
    text += fmt::format(
        "server {}: {}, lease {}\n", one.name, one.attached ? "attached" : "away",
        one.lease_left > Nanos{} ? fmt::format("ends in {:.1f} s", seconds_of(one.lease_left)) : "has ended");
  }
  for (const control::ClientStatus& one : status.clients) {
    text += fmt::format("client {}: share {}, in flight {}, wants {}, weight {}\n", one.row.name,
                        one.row.share, one.row.in_use, one.row.wanted, one.row.weight);
  }
  return text;
}

}  // namespace

std::string status_text(const RackStatus& status) {
  std::string text = slices_text(status) + '\n' + workers_text(status) + '\n' + peers_text(status);
  text += fmt::format("room for {} requests; tables of version {}\n", status.room, status.version);
  for (const std::string& warning : status.warnings) text += "warning: " + warning + '\n';
  for (const auto& [reason, count] : status.refusals) text += fmt::format("refused, {}: {}\n", reason, count);
  if (status.clock_jumps > 0)
    text += fmt::format("the controller stood still {} times\n", status.clock_jumps);
  return text;
}

ordered_json status_json(const RackStatus& status) {
  ordered_json slices = ordered_json::array(), workers = ordered_json::array(),
               switches = ordered_json::array(), servers = ordered_json::array(),
               clients = ordered_json::array();
  for (const control::SliceRow& slice : status.slices) {
    ordered_json types = ordered_json::array();
    for (const control::TypeRow& type : status.types) {
      if (type.slice == slice.id) types.push_back(type.type.value);
    }
    slices.push_back(
        {{"name", slice.name},
         {"id", slice.id.value},
         {"types", types},
         {"other_types", slice.other_types},
         {"workers", serving_in(status, slice.id)},
         {"queue_capacity", slice.queue_capacity},
         {"spill", slice.spill ? ordered_json(*slice.spill) : ordered_json(nullptr)},
         {"agents_spill", slice.agents_spill ? ordered_json(*slice.agents_spill) : ordered_json(nullptr)},
         {"drain", slice.drain},
         {"group", slice.group},
         {"master", slice.master ? ordered_json(slice.master->value) : ordered_json(nullptr)}});
  }
  for (const control::WorkerStatus& worker : status.workers) {
    const control::WorkerRow& row = worker.row;
    ordered_json one = {{"id", row.id.value},
                        {"server", row.server},
                        {"slice", slice_name(status, row.slice)},
                        {"state", worker_state_name(row.state)},
                        {"address", format_endpoint(row.address)},
                        {"epoch", row.epoch.value},
                        {"weight", row.weight},
                        {"quota_ordered", row.quota}};
    if (worker.report) {
      one["quota"] = worker.report->quota;
      one["held"] = worker.report->held;
      one["served"] = worker.report->served;
      one["idleness"] = worker.report->idleness;
      one["slowdown_p99"] = worker.report->slowdown_p99;
    }
    workers.push_back(one);
  }
  for (const control::SwitchRow& one : status.switches) {
    switches.push_back(
        {{"name", one.name}, {"attached", one.attached}, {"version", one.version}, {"refusal", one.refusal}});
  }
  for (const control::ServerStatus& one : status.servers)
    servers.push_back(
        {{"name", one.name}, {"attached", one.attached}, {"lease_left_s", seconds_of(one.lease_left)}});
  for (const control::ClientStatus& one : status.clients) {
    clients.push_back({{"name", one.row.name},
                       {"weight", one.row.weight},
                       {"share", one.row.share},
                       {"in_use", one.row.in_use},
                       {"wanted", one.row.wanted}});
  }
  return {{"schema", "rain.status/1"},
          {"version", status.version},
          {"slices", slices},
          {"workers", workers},
          {"switches", switches},
          {"servers", servers},
          {"clients", clients},
          {"room", status.room},
          {"warnings", status.warnings},
          {"refusals", status.refusals},
          {"clock_jumps", status.clock_jumps}};
}

}  // namespace rain::tools
