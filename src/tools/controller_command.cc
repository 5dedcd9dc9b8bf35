// `rain controller`: the controller of a rack, until SIGINT or SIGTERM. The rack goes on without it.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "base/clock.h"
#include "base/endpoint_text.h"
#include "base/stop_signals.h"
#include "control/controller.h"
#include "control/rpc/controller_server.h"
#include "control/rpc/state_file.h"
#include "tools/command.h"
#include "tools/input_error.h"
#include "tools/rack_file.h"
#include "tools/supervisor.h"

namespace rain::tools {
namespace {

/// Leases are looked after that often in each.
constexpr std::int64_t kTicksInALease = 20;

void say(const std::string& text) { std::fputs(("rain controller: " + text + '\n').c_str(), stderr); }

/// Token keys and the registry's number must not be guessed: the system's own entropy.
std::uint64_t draw() {
  std::ifstream source("/dev/urandom", std::ios::binary);
  std::uint64_t bits = 0;
  if (!source.read(reinterpret_cast<char*>(&bits), sizeof bits))
    throw std::runtime_error("/dev/urandom cannot be read: there is nothing to make token keys of");
  return bits;
}

std::uint32_t draw_key() {
  std::uint32_t key = 0;
  while (key == 0) key = static_cast<std::uint32_t>(draw());  // 0 stands for "none"
  return key;
}

control::ControllerOptions options_of(const RackFile& rack) {
  const ControllerSection& section = *rack.controller;
  control::ControllerOptions options{.registry = {.instance = draw(),
                                                  .first_epoch = {static_cast<std::uint16_t>(draw())},
                                                  .lease = section.lease,
                                                  .max_slices = rack.in_switch.max_slices,
                                                  .max_workers = rack.in_switch.max_workers,
                                                  .max_queue_capacity = rack.in_switch.max_queue_capacity,
                                                  .uses_tokens = rack.in_switch.program_info().uses_tokens,
                                                  .draw_key = draw_key},
                                     .client_lease = section.lease};
  for (const softswitch::SwitchSlice& slice : rack.in_switch.slices) {
    if (slice.host) continue;  // follows from its master
    control::SliceRow row;
    row.name = slice.name;
    row.other_types = slice.takes_other_types();
    row.queue_capacity = slice.queue_capacity;
    row.spill = slice.spill;
    row.drain = slice.drain;
    row.recirculate = slice.recirculate;
    row.group = slice.group;
    for (const ServerSection& server : rack.servers) {
      if (server.master && server.slice == slice.id) row.master = server.first_id;
    }
    options.slices.push_back(row);
    for (const TaskType type : slice.task_types)
      options.types.push_back({type, {static_cast<std::uint16_t>(options.slices.size() - 1)}});
  }
  options.note = say;
  if (section.state_file.empty()) return options;
  if (const std::string problem = control::state_file_problem(section.state_file); !problem.empty())
    throw InputError(problem);
  auto saved = control::read_state_file(section.state_file);
  if (!saved) throw InputError(saved.error());
  options.saved = std::move(*saved);
  options.save = [path = section.state_file](const control::SavedState& state) {
    return control::write_state_file(path, state);
  };
  return options;
}

int run(const std::string& config) {
  const RackFile rack = RackFile::read(config);
  if (!rack.controller)
    throw InputError(config + ": there is no [controller]; it says where the controller listens");
  const StopSignals signals;
  control::ControllerOptions options = options_of(rack);
  const bool recovered = options.saved.has_value();
  auto controller = control::Controller::open(std::move(options), monotonic_now());
  if (!controller) throw InputError(rack.controller->state_file + ": " + controller.error().text);
  auto server = control::ControllerServer::start(**controller, rack.controller->address);
  if (!server) throw InputError(server.error());
  std::fputs(fmt::format("{}controller on {}, {}{}\n", kReadyPrefix, format_endpoint((*server)->local()),
                         rack.controller->address.tls.used() ? "TLS" : "plain",
                         recovered ? ", as it was before, by its state file" : "")
                 .c_str(),
             stderr);
  while (!signals.wait(rack.controller->lease / kTicksInALease)) (*controller)->tick(monotonic_now);
  return kExitOk;
}

}  // namespace

Run declare_controller(CLI::App& app) {
  auto config = std::make_shared<std::string>();
  app.add_option("--config", *config, "the rack file, with a [controller]")->required()->type_name("FILE");
  return [config] { return run(*config); };
}

}  // namespace rain::tools
