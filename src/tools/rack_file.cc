// See rack_file.h. Reading goes section by section; validate() then checks what concerns several of them.
#include "tools/rack_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/endpoint_text.h"
#include "dataplane/programs.h"
#include "tools/load_section.h"
#include "tools/suggest.h"
#include "tools/toml_reader.h"

namespace rain::tools {
namespace {

constexpr std::uint16_t kFirstPort = 9100;

std::string address_and_port(const std::string& address, unsigned port) {
  if (address.find(':') == address.npos) return fmt::format("{}:{}", address, port);
  return fmt::format("[{}]:{}", address, port);
}

void read_switch(TomlReader reader, SwitchSection& section) {
  reader.parsed("listen", "an address and port as a string", [&](std::string_view text) {
    const auto endpoint = parse_endpoint(text);
    if (endpoint) section.listen = *endpoint;
    const bool usable = endpoint.has_value() && endpoint->port != 0;
    return usable ? "" : "an address such as \"10.0.0.1:9000\" or \"[::1]:9000\"";
  });
  reader.choice("scheduler", section.scheduler, scheduler_names());
  reader.flag("busy_poll", section.busy_poll);
  reader.integer("hold_slots", section.hold_slots, 0, 1 << 20, "payloads over 8 bytes that may wait at once");
  reader.bytes("receive_buffer", section.receive_buffer_bytes, 64 << 10, 1 << 30);
  reader.integer("seed", section.seed, 0, INT64_MAX);
  reader.finish();
}

SliceSection read_slice(TomlReader reader) {
  SliceSection section;
  section.line = reader.line();
  if (!reader.text("name", section.name)) section.name.clear();
  std::vector<std::int64_t> types;
  reader.integers("types", types, 0, UINT16_MAX);
  for (const std::int64_t type : types) section.types.push_back(TaskType{static_cast<std::uint16_t>(type)});
  reader.integer("queue_capacity", section.queue_capacity, 1, dataplane::kMaxQueueCapacity, "tasks");
  std::uint32_t spill = 0;
  if (reader.integer("spill", spill, 0, section.queue_capacity - 1, "waiting tasks")) section.spill = spill;
  reader.integer("drain", section.drain, 0, UINT16_MAX,
                 "every drain-th spare token serves the queue; 0: none does");
  reader.integer("group", section.group, 0, kMaxGroups - 1, "the switch thread");
  reader.finish();
  if (section.name.empty()) reader.refuse("name", "a string that is not empty");
  return section;
}

void read_rocksdb(TomlReader reader, RocksDbSection& section) {
  reader.text("path", section.path);
  reader.integer("keys", section.keys, 1, 1'000'000'000);
  reader.integer("value_bytes", section.value_bytes, 1, 1024);
  reader.finish();
}

ServerSection read_server(TomlReader reader, const std::vector<SliceSection>& slices, unsigned index) {
  ServerSection section;
  section.line = reader.line();
  section.name = fmt::format("server-{}", index);
  reader.text("name", section.name);
  reader.parsed("address", "a numeric address as a string", [&](std::string_view text) {
    section.address = text;
    const bool usable = parse_endpoint(address_and_port(section.address, 1)).has_value();
    return usable ? "" : "a numeric IPv4 or IPv6 address such as \"10.0.0.7\" or \"fd00::7\"";
  });
  reader.integer("port", section.port, 1, UINT16_MAX);
  reader.integer("workers", section.workers, 1, dataplane::kMaxWorkers);
  section.first_id.value = UINT16_MAX;  // none yet
  reader.integer("first_id", section.first_id.value, 0, dataplane::kMaxWorkers - 1);
  std::string slice;
  if (reader.text("slice", slice)) {
    std::vector<std::string_view> names;
    for (const SliceSection& one : slices) names.push_back(one.name);
    const auto found = std::find(names.begin(), names.end(), slice);
    if (found == names.end()) {
      reader.refuse("slice", fmt::format("the name of a [[slice]]: {}{}", comma_list(names),
                                         did_you_mean(slice, names)));
    }
    section.slice.value = static_cast<std::uint16_t>(found - names.begin());
  } else if (slices.size() > 1) {
    reader.finish();
    reader.refuse("slice", "the name of a [[slice]], as there are several");
  }
  reader.integer("quota", section.quota, 1, kMaxQuota, "tasks that a worker may hold at once");
  reader.integer("token_key", section.token_key, 0, UINT32_MAX);
  reader.choice("app", section.app, app_names());
  reader.flag("emulate", section.emulate);
  reader.flag("busy_poll", section.busy_poll);
  reader.duration("sync_interval", section.sync_interval, milliseconds(1), seconds(60));
  const auto rocksdb = reader.table("rocksdb");
  if (rocksdb) read_rocksdb(*rocksdb, section.rocksdb);
  reader.finish();
  if (rocksdb && section.app != "rocksdb") reader.refuse("rocksdb", "only with app = \"rocksdb\"");
  if (section.emulate && section.app != "synthetic")
    reader.refuse("emulate", "true only with app = \"synthetic\"");
  return section;
}

/// Ids and ports that the file leaves out follow those before them.
void number_servers(std::vector<ServerSection>& servers) {
  std::uint32_t next_id = 0;
  std::map<std::string, std::uint32_t> next_port;
  for (ServerSection& server : servers) {
    if (server.first_id.value == UINT16_MAX) server.first_id.value = static_cast<std::uint16_t>(next_id);
    next_id = server.first_id.value + std::uint32_t{server.workers};
    std::uint32_t& port = next_port.try_emplace(server.address, kFirstPort).first->second;
    if (server.port == 0) server.port = static_cast<std::uint16_t>(std::min<std::uint32_t>(port, UINT16_MAX));
    port = server.port + server.ports();
  }
}

}  // namespace

std::vector<std::string_view> scheduler_names() {
  std::vector<std::string_view> names;
  for (const dataplane::ProgramInfo& program : dataplane::kPrograms) {
    if (program.on_sockets) names.push_back(program.name);
  }
  return names;
}

void check_scheduler(std::string_view name) {
  const std::vector<std::string_view> names = scheduler_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw InputError(
      fmt::format("--scheduler = {}: one of {}{}", name, comma_list(names), did_you_mean(name, names)));
}

Endpoint ServerSection::endpoint(unsigned worker) const {
  return *parse_endpoint(address_and_port(address, emulate ? port : port + worker));
}

RackFile RackFile::read(const std::string& path) {
  RackFile rack;
  rack.path = path;
  const toml::table root = parse_toml_file(path);
  TomlReader reader(root, "the file", rack.path);
  auto in_switch = reader.table("switch");
  std::vector<TomlReader> slices = reader.tables("slice");
  std::vector<TomlReader> servers = reader.tables("server");
  auto load = reader.table("load");
  reader.finish();
  if (servers.empty()) reader.refuse_table("there is no [[server]]; a rack has at least one");
  if (in_switch) read_switch(*in_switch, rack.in_switch);
  if (slices.empty()) rack.slices.emplace_back();
  for (TomlReader& one : slices) rack.slices.push_back(read_slice(one));
  for (TomlReader& one : servers) {
    rack.servers.push_back(read_server(one, rack.slices, static_cast<unsigned>(rack.servers.size())));
  }
  number_servers(rack.servers);
  if (load) {
    rack.load.emplace().app = rack.servers.front().app;
    rack.load_line = load->line();
    rack.load->read(*load);
  }
  rack.check_slices();
  rack.check_groups();
  rack.check_servers();
  rack.check_load();
  return rack;
}

void RackFile::refuse(std::uint32_t line, const std::string& problem) const {
  throw InputError(fmt::format("{}:{}: {}", path, line, problem));
}

void RackFile::check_slices() const {
  std::set<std::string> names;
  std::map<std::uint16_t, std::string> types;
  unsigned without_types = 0;
  if (slices.size() > dataplane::kMaxSlices) {
    refuse(slices.back().line, fmt::format("{} slices: at most {}", slices.size(), dataplane::kMaxSlices));
  }
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const SliceSection& slice = slices[i];
    if (!names.insert(slice.name).second) {
      refuse(slice.line, fmt::format("key 'name' = \"{}\": another slice has this name", slice.name));
    }
    for (const TaskType type : slice.types) {
      const auto [other, fresh] = types.emplace(type.value, slice.name);
      if (fresh) continue;
      refuse(slice.line,
             fmt::format("key 'types' = {}: slice \"{}\" has this type", type.value, other->second));
    }
    if (slice.types.empty() && ++without_types > 1) {
      refuse(slice.line,
             "key 'types' is missing: only one slice may leave it out (it serves all other types)");
    }
    if (workers_of(SliceId{static_cast<std::uint16_t>(i)}) == 0) {
      refuse(slice.line, fmt::format("slice \"{}\" has no workers: a [[server]] must name it", slice.name));
    }
  }
}

void RackFile::check_groups() const {
  for (unsigned group = 0; group < group_count(); ++group) {
    const auto in_group = [group](const SliceSection& slice) { return slice.group == group; };
    if (std::any_of(slices.begin(), slices.end(), in_group)) continue;
    refuse(slices.front().line,
           fmt::format("key 'group': no slice has {}; groups are numbered from 0 without gaps", group));
  }
}

void RackFile::check_servers() const {
  std::set<std::string> names;
  std::map<unsigned, std::string> ids;
  std::map<Endpoint, std::string> endpoints{{in_switch.listen, "the switch"}};
  for (const ServerSection& server : servers) {
    const unsigned last_id = server.first_id.value + server.workers - 1u;
    if (!names.insert(server.name).second) {
      refuse(server.line, fmt::format("key 'name' = \"{}\": another server has this name", server.name));
    }
    if (last_id >= dataplane::kMaxWorkers) {
      refuse(server.line, fmt::format("worker ids {} to {} of \"{}\": ids are 0 to {}", server.first_id.value,
                                      last_id, server.name, dataplane::kMaxWorkers - 1));
    }
    if (server.port + server.ports() - 1 > UINT16_MAX) {
      refuse(server.line, fmt::format("key 'port' = {}: {} workers need as many ports, and 65535 is the last",
                                      server.port, server.workers));
    }
    for (unsigned id = server.first_id.value; id <= last_id; ++id) {
      const auto [other, fresh] = ids.emplace(id, server.name);
      if (fresh) continue;
      refuse(server.line, fmt::format("key 'first_id' = {}: worker id {} belongs to \"{}\"",
                                      server.first_id.value, id, other->second));
    }
    for (unsigned worker = 0; worker < server.ports(); ++worker) {
      const auto [other, fresh] = endpoints.emplace(server.endpoint(worker), '"' + server.name + '"');
      if (fresh) continue;
      refuse(server.line, fmt::format("key 'port' = {}: port {} of {} belongs to {}", server.port,
                                      server.port + worker, server.address, other->second));
    }
  }
}

void RackFile::check_load() const {
  if (!load) return;
  const auto serves = [](const SliceSection& slice, TaskType type) {
    return slice.types.empty() ||
           std::find(slice.types.begin(), slice.types.end(), type) != slice.types.end();
  };
  for (const workload::ClassSpec& one : load->classes) {
    if (std::any_of(slices.begin(), slices.end(),
                    [&](const auto& slice) { return serves(slice, *one.type); }))
      continue;
    refuse(load_line,
           fmt::format("class \"{}\" has type {}, which no slice serves", one.name, one.type->value));
  }
}

unsigned RackFile::worker_count() const {
  unsigned count = 0;
  for (const ServerSection& server : servers) count += server.workers;
  return count;
}

unsigned RackFile::workers_of(SliceId slice) const {
  unsigned count = 0;
  for (const ServerSection& server : servers) {
    if (server.slice == slice) count += server.workers;
  }
  return count;
}

std::uint32_t RackFile::spill_of(SliceId slice) const {
  const SliceSection& section = slices[slice.value];
  return section.spill.value_or(std::min<std::uint32_t>(workers_of(slice) / 4, section.queue_capacity - 1));
}

unsigned RackFile::group_count() const {
  unsigned last = 0;
  for (const SliceSection& slice : slices) last = std::max(last, slice.group);
  return last + 1;
}

unsigned RackFile::effective_quota(const ServerSection& server) const {
  return dataplane::find_program(in_switch.scheduler)->uses_tokens ? server.quota : 0;
}

const ServerSection& RackFile::server_named(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const ServerSection& server : servers) {
    if (server.name == name) return server;
    names.push_back(server.name);
  }
  throw InputError(fmt::format("--server = {}: one of the servers of {}: {}{}", name, path, comma_list(names),
                               did_you_mean(name, names)));
}

}  // namespace rain::tools
