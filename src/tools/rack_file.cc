// See rack_file.h. Reading goes section by section; validate() then checks what concerns several of them.
#include "tools/rack_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/endpoint_text.h"
#include "control/names.h"
#include "dataplane/programs.h"
#include "tools/input_error.h"
#include "tools/suggest.h"
#include "tools/toml_reader.h"

namespace rain::tools {
namespace {

using softswitch::SwitchOptions;
using softswitch::SwitchSlice;

constexpr std::uint16_t kFirstPort = 9100;
constexpr WorkerId kNoId{UINT16_MAX};
/// What a switch with a controller has room for at least, unless the file says otherwise.
constexpr std::uint32_t kWorkerRoom = 256;
constexpr std::uint32_t kSliceRoom = 16;

std::string address_and_port(const std::string& address, unsigned port) {
  if (address.find(':') == address.npos) return fmt::format("{}:{}", address, port);
  return fmt::format("[{}]:{}", address, port);
}

/// An address of one host. Not so 0.0.0.0 and ::, which no packet comes from, multicast and broadcast.
bool is_host_address(const Endpoint& endpoint) {
  if (endpoint.is_v4()) {
    const auto first = endpoint.address[12];
    return first > std::uint8_t{0} && first < std::uint8_t{224};
  }
  return endpoint.address != Endpoint{}.address && endpoint.address[0] != std::uint8_t{0xFF};
}

void read_switch(TomlReader reader, SwitchOptions& options) {
  reader.parsed("listen", "an address and port as a string", [&](std::string_view text) {
    const auto endpoint = parse_endpoint(text);
    if (endpoint) options.listen = *endpoint;
    const bool usable = endpoint.has_value() && endpoint->port != 0 && is_host_address(*endpoint);
    return usable ? ""
                  : "an address that clients and workers reach, such as \"10.0.0.1:9000\" or \"[::1]:9000\"";
  });
  reader.choice("scheduler", options.program, scheduler_names());
  reader.integer("seed", options.seed, 0, INT64_MAX);
  reader.integer("hold_slots", options.hold_slots, 0, 1 << 20, "payloads over 8 bytes that may wait at once");
  reader.flag("busy_poll", options.busy_poll);
  reader.duration("kernel_busy_poll", options.kernel_busy_poll, Nanos{}, seconds(1));
  reader.bytes("receive_buffer", options.receive_buffer_bytes, 0, 1 << 30);
  reader.bytes("send_buffer", options.send_buffer_bytes, 0, 1 << 30);
  reader.duration("drain_limit", options.drain_limit, Nanos{}, seconds(3600));
  reader.integer("max_workers", options.max_workers, 1, dataplane::kMaxWorkers, "worker ids are below it");
  reader.integer("max_slices", options.max_slices, 1, dataplane::kMaxSlices, "of each thread");
  reader.integer("max_queue_capacity", options.max_queue_capacity, 1, dataplane::kMaxQueueCapacity, "tasks");
  reader.finish();
}

SwitchSlice read_slice(TomlReader& reader, std::size_t index) {
  SwitchSlice slice;
  slice.id.value = static_cast<std::uint16_t>(index);
  slice.name.clear();
  reader.name("name", slice.name);
  std::vector<std::int64_t> types;
  reader.integers("types", types, 0, UINT16_MAX);
  for (const std::int64_t type : types)
    slice.task_types.push_back(TaskType{static_cast<std::uint16_t>(type)});
  reader.integer("queue_capacity", slice.queue_capacity, 1, dataplane::kMaxQueueCapacity, "tasks");
  std::uint32_t spill = 0;
  if (reader.integer("spill", spill, 0, slice.queue_capacity, "waiting tasks")) slice.spill = spill;
  reader.integer("drain", slice.drain, 0, UINT16_MAX,
                 "every drain-th spare token serves the queue; 0: none does");
  reader.flag("recirculate", slice.recirculate);
  reader.integer("group", slice.group, 0, softswitch::kMaxGroups - 1, "the switch thread");
  reader.finish();
  if (slice.name.empty()) reader.refuse("name", control::kNameAllowed);
  return slice;
}

/// Settings of applications: each key belongs to one and is refused with the others.
void read_app_options(TomlReader& reader, std::string_view app, apps::AppOptions& options) {
  constexpr std::int64_t kMaxKeys = 100'000'000;
  const auto only_with = [&](std::string_view key, std::string_view owner, bool present) {
    if (present && app != owner) reader.refuse(key, fmt::format("only with app = {}", owner));
  };
  only_with("synthetic_limit", "synthetic",
            reader.duration("synthetic_limit", options.synthetic_limit, microseconds(1), seconds(100)));
  only_with("rocksdb_directory", "rocksdb", reader.text("rocksdb_directory", options.rocksdb_directory));
  only_with("rocksdb_small_keys", "rocksdb",
            reader.integer("rocksdb_small_keys", options.rocksdb_small_keys, 1, kMaxKeys));
  only_with("rocksdb_large_keys", "rocksdb",
            reader.integer("rocksdb_large_keys", options.rocksdb_large_keys, 1, kMaxKeys));
}

SliceId read_slice_name(TomlReader& reader, const std::vector<SwitchSlice>& slices) {
  std::string name;
  std::vector<std::string_view> names;
  for (const SwitchSlice& one : slices) names.push_back(one.name);
  if (!reader.text("slice", name)) {
    if (slices.size() > 1) reader.refuse("slice", "the name of a [[slice]], as there are several");
    return {};
  }
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    reader.refuse("slice",
                  fmt::format("the name of a [[slice]]: {}{}", comma_list(names), did_you_mean(name, names)));
  }
  return {static_cast<std::uint16_t>(found - names.begin())};
}

ServerSection read_server(TomlReader reader, const std::vector<SwitchSlice>& slices, std::size_t index) {
  ServerSection section;
  section.lines = {.name = reader.line("name"),
                   .first_id = reader.line("first_id"),
                   .port = reader.line("port"),
                   .master = reader.line("master")};
  section.name = fmt::format("server-{}", index);
  reader.name("name", section.name);
  reader.parsed("address", "a numeric address as a string", [&](std::string_view text) {
    section.address = text;
    const auto endpoint = parse_endpoint(address_and_port(section.address, 1));
    const bool usable = endpoint.has_value() && is_host_address(*endpoint);
    return usable ? "" : "a numeric IPv4 or IPv6 address such as \"10.0.0.7\" or \"fd00::7\"";
  });
  reader.integer("port", section.port, 1, UINT16_MAX);
  reader.integer("workers", section.workers, 1, dataplane::kMaxWorkers);
  section.first_id = kNoId;
  reader.integer("first_id", section.first_id.value, 0, dataplane::kMaxWorkers - 1);
  reader.integer("quota", section.quota, 1, kMaxQuota, "tasks that a worker may hold at once");
  reader.integer("weight", section.weight, 1, dataplane::kMaxWeight, "slots in a round of pallas");
  reader.integer("token_key", section.token_key, 0, UINT32_MAX);
  reader.choice("app", section.app, apps::app_names());
  reader.flag("emulate", section.emulate);
  reader.flag("busy_poll", section.busy_poll);
  reader.duration("sync_interval", section.sync_interval, milliseconds(1), seconds(60));
  read_app_options(reader, section.app, section.app_options);
  section.slice = read_slice_name(reader, slices);
  reader.flag("master", section.master);
  reader.finish();
  if (section.emulate && section.app != "synthetic")
    reader.refuse("emulate", "true only with app = synthetic");
  if (section.master && section.workers > 1)
    reader.refuse("master", "true only with workers = 1: a slice has one master");
  return section;
}

/// Ids and ports that the file leaves out follow those before them.
void number_servers(std::vector<ServerSection>& servers) {
  std::uint32_t next_id = 0;
  std::map<std::string, std::uint32_t> next_port;
  for (ServerSection& server : servers) {
    if (server.first_id == kNoId) server.first_id.value = static_cast<std::uint16_t>(next_id);
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
  auto controller = reader.table("controller");
  auto agent = reader.table("agent");
  reader.finish();
  if (servers.empty()) reader.refuse_table("there is no [[server]]; a rack has at least one");
  if (in_switch) read_switch(*in_switch, rack.in_switch);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (controller) rack.controller = ControllerSection::read(*controller, folder);
  if (agent) {
    rack.agent = AgentSection::read(*agent, folder);
    const std::string problem = rack.agent->choose_policy(rack.in_switch.program);
    if (!problem.empty()) agent->refuse_table(problem);
    if (rack.controller && rack.agent->own_process) {
      agent->refuse("process", "\"worker\" in a rack with a [controller]: the server's link is there");
    }
  }
  std::vector<SwitchSlice>& switch_slices = rack.in_switch.slices;
  for (TomlReader& one : slices) {
    switch_slices.push_back(read_slice(one, switch_slices.size()));
    rack.slice_lines_.push_back(one.line());
    if (const auto valid = rack.in_switch.validate_slices(); !valid) rack.refuse(one.line(), valid.error());
  }
  if (slices.empty()) {
    switch_slices.emplace_back();
    rack.slice_lines_.push_back(1);
  }
  for (TomlReader& one : servers) {
    rack.servers.push_back(read_server(one, switch_slices, rack.servers.size()));
  }
  number_servers(rack.servers);
  if (load) {
    rack.load.emplace().app = rack.servers.front().app;
    rack.load_line_ = load->line();
    rack.load->read(*load);
  }
  rack.check_slices();
  rack.check_servers();
  rack.check_load();
  rack.list_workers();
  return rack;
}

void RackFile::make_room() {
  std::uint32_t ids = kWorkerRoom, slices = kSliceRoom, capacity = 1;
  for (const ServerSection& server : servers)
    ids = std::max(ids, std::uint32_t{server.first_id.value} + server.workers);
  for (const SwitchSlice& slice : in_switch.slices) capacity = std::max(capacity, slice.queue_capacity);
  slices = std::max(slices, static_cast<std::uint32_t>(in_switch.slices.size()));
  if (in_switch.max_workers == 0) in_switch.max_workers = ids;
  if (in_switch.max_slices == 0) in_switch.max_slices = slices;
  if (in_switch.max_queue_capacity == 0) in_switch.max_queue_capacity = capacity;
  in_switch.quota = kMaxQuota;
}

void RackFile::add_master_slice(const ServerSection& server) {
  std::vector<SwitchSlice>& slices = in_switch.slices;
  const SwitchSlice of_master = master_slice(slices[server.slice.value]);
  const std::uint32_t most = in_switch.max_slices != 0 ? in_switch.max_slices : dataplane::kMaxSlices;
  const auto on_its_thread = std::count_if(
      slices.begin(), slices.end(), [&](const SwitchSlice& slice) { return slice.group == of_master.group; });
  if (static_cast<std::uint32_t>(on_its_thread) >= most) {
    refuse(
        server.lines.master,
        fmt::format("key 'master' = true: there is room for {} slices, and one with a master counts as two",
                    most));
  }
  slices.push_back(of_master);
}

void RackFile::list_workers() {
  in_switch.quota = 1;
  for (const ServerSection& server : servers) {
    in_switch.quota = std::max(in_switch.quota, server.quota);
    if (agent) in_switch.quota = std::max(in_switch.quota, agent->policy.adaptive.max_quota);
    if (server.master) add_master_slice(server);
    for (unsigned worker = 0; worker < server.workers; ++worker) {
      in_switch.workers.push_back(
          {.id = {static_cast<std::uint16_t>(server.first_id.value + worker)},
           .slice = server.master ? softswitch::master_slice_id(server.slice) : server.slice,
           .address = server.endpoint(worker),
           .token_key = server.token_key,
           .epoch = {},
           .weight = server.weight});
    }
  }
  if (controller) make_room();
  if (const auto valid = in_switch.validate(); !valid)
    throw InputError(fmt::format("{}: {}", path, valid.error()));
}

void RackFile::set_scheduler(std::string_view name) {
  check_scheduler(name);
  in_switch.program = name;
  if (agent && !agent->choose_policy(name).empty())
    agent.reset();  // a scheduler to compare with, without quotas
}

void RackFile::refuse(std::uint32_t line, const std::string& problem) const {
  throw InputError(fmt::format("{}:{}: {}", path, line, problem));
}

void RackFile::check_slices() const {
  for (const SwitchSlice& slice : in_switch.slices) {
    const auto names_it = [&](const ServerSection& server) { return server.slice == slice.id; };
    if (std::any_of(servers.begin(), servers.end(), names_it)) continue;
    refuse(slice_lines_[slice.id.value],
           fmt::format("slice \"{}\" has no workers: a [[server]] must name it", slice.name));
  }
}

void RackFile::check_servers() const {
  std::set<std::string> names;
  std::map<SliceId, std::string> masters;
  std::map<unsigned, std::string> ids;
  std::map<Endpoint, std::string> endpoints{{in_switch.listen, "the switch"}};
  for (const ServerSection& server : servers) {
    const unsigned last_id = server.first_id.value + server.workers - 1u;
    if (!names.insert(server.name).second) {
      refuse(server.lines.name,
             fmt::format("key 'name' = \"{}\": another server has this name", server.name));
    }
    if (server.master && !masters.emplace(server.slice, server.name).second) {
      refuse(server.lines.master,
             fmt::format("key 'master' = true: \"{}\" is the master of its slice", masters[server.slice]));
    }
    if (last_id >= dataplane::kMaxWorkers) {
      refuse(server.lines.first_id,
             fmt::format("worker ids {} to {} of \"{}\": ids are 0 to {}", server.first_id.value, last_id,
                         server.name, dataplane::kMaxWorkers - 1));
    }
    if (server.port + server.ports() - 1 > UINT16_MAX) {
      refuse(server.lines.port,
             fmt::format("key 'port' = {}: {} workers need as many ports, and 65535 is the last", server.port,
                         server.workers));
    }
    for (unsigned id = server.first_id.value; id <= last_id; ++id) {
      const auto [other, fresh] = ids.emplace(id, server.name);
      if (fresh) continue;
      refuse(server.lines.first_id, fmt::format("key 'first_id' = {}: worker id {} belongs to \"{}\"",
                                                server.first_id.value, id, other->second));
    }
    for (unsigned worker = 0; worker < server.ports(); ++worker) {
      const auto [other, fresh] = endpoints.emplace(server.endpoint(worker), '"' + server.name + '"');
      if (fresh) continue;
      refuse(server.lines.port, fmt::format("key 'port' = {}: port {} of {} belongs to {}", server.port,
                                            server.port + worker, server.address, other->second));
    }
  }
}

void RackFile::check_load() const {
  if (!load) return;
  for (const workload::ClassSpec& one : load->classes) {
    const auto serves = [&one](const SwitchSlice& slice) {
      const auto& types = slice.task_types;
      return slice.takes_other_types() || std::find(types.begin(), types.end(), *one.type) != types.end();
    };
    if (std::any_of(in_switch.slices.begin(), in_switch.slices.end(), serves)) continue;
    refuse(load_line_,
           fmt::format("class \"{}\" has type {}, which no slice serves", one.name, one.type->value));
  }
}

unsigned RackFile::worker_count() const { return static_cast<unsigned>(in_switch.workers.size()); }

unsigned RackFile::workers_at_once(unsigned cores) const {
  unsigned emulated = 0;
  for (const ServerSection& server : servers) emulated += server.emulate ? server.workers : 0u;
  return emulated + std::min(cores, worker_count() - emulated);
}

unsigned RackFile::effective_quota(const ServerSection& server) const {
  return in_switch.program_info().uses_tokens ? server.quota : 0;
}

const ServerSection& RackFile::chosen_server(const std::string& name) const {
  if (!name.empty()) return server_named(name);
  if (servers.size() == 1) return servers.front();
  std::vector<std::string_view> names;
  for (const ServerSection& server : servers) names.push_back(server.name);
  throw InputError(fmt::format("--server is missing: one of the servers of {}: {}", path, comma_list(names)));
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
