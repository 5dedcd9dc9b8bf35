// `rain switch`: the switch of a rack, until SIGINT or SIGTERM; then it drains, and prints its counters.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/duration_text.h"
#include "base/endpoint_text.h"
#include "control/rpc/switch_link.h"
#include "softswitch/switch_memory.h"
#include "softswitch/switch_process.h"
#include "tools/command.h"
#include "tools/input_error.h"
#include "tools/rack_file.h"
#include "tools/suggest.h"
#include "tools/supervisor.h"
#include "tools/toml_reader.h"

namespace rain::tools {
namespace {

using nlohmann::ordered_json;
using softswitch::SwitchCounter;
using softswitch::SwitchReport;
using softswitch::SwitchTotals;

constexpr std::uint64_t kMuchMemoryBytes = std::uint64_t{1} << 30;  // about half a second until it serves

struct SwitchFlags {
  std::string config;
  std::string scheduler;
  FlagTexts texts;
  bool json = false;
};

ordered_json report_json(const SwitchReport& report) {
  ordered_json counters = ordered_json::object();
  for (std::size_t i = 0; i < report.totals.counters.size(); ++i) {
    counters[softswitch::kSwitchCounters[i].name] = report.totals.counters[i];
  }
  ordered_json drops = ordered_json::object();
  for (std::size_t i = 1; i < report.totals.drops.size(); ++i) {
    if (report.totals.drops[i] == 0) continue;
    drops[drop_reason_name(static_cast<DropReason>(i))] = report.totals.drops[i];
  }
  ordered_json slices = ordered_json::array();
  for (std::size_t i = 0; i < report.slices.size(); ++i) {
    const softswitch::SliceTotals& totals = report.totals.slices[i];
    slices.push_back({{"name", totals.name},
                      {"forwarded", totals.forwarded},
                      {"buffered", totals.buffered},
                      {"dispatched", totals.dispatched},
                      {"waiting", totals.waiting()},
                      {"queue_p99", report.slices[i].queue_length.quantile(0.99).value},
                      {"queue_delay_p99_us",
                       static_cast<double>(report.slices[i].queue_delay.quantile(0.99).value) / 1000}});
  }
  return {{"schema", "rain.switch/1"},
          {"scheduler", report.program},
          {"counters", counters},
          {"drops", drops},
          {"socket_overflows", report.totals.receive_overflows},
          {"cut_packets", report.cut_packets},
          {"queued_ratio", report.queued_ratio()},
          {"queue_p99", report.queue_p99()},
          {"slices", slices},
          {"drained", report.drained}};
}

void print_totals(const SwitchTotals& totals) {
  std::uint64_t waiting = 0;
  for (const softswitch::SliceTotals& slice : totals.slices) waiting += slice.waiting();
  std::fputs(fmt::format("packets in {}, out {}; tasks forwarded {}, dispatched {}, waiting {}, refused {}\n",
                         totals.get(SwitchCounter::kPacketsIn), totals.get(SwitchCounter::kPacketsOut),
                         totals.get(SwitchCounter::kForwarded), totals.get(SwitchCounter::kDispatched),
                         waiting, totals.get(SwitchCounter::kRefused))
                 .c_str(),
             stderr);
}

std::shared_ptr<control::SwitchLink> open_link(const ControllerSection& controller,
                                               softswitch::SwitchProcess& process) {
  auto link = control::SwitchLink::open(
      {.controller = controller.address,
       .name = format_endpoint(process.local()),
       .boot_id = process.boot_id()},
      {.apply =
           [&process](std::span<const softswitch::TableChange> changes) {
             const auto applied = process.apply(changes);
             return applied ? "" : applied.error();
           },
       .note = [](const std::string& text) { std::fputs(("rain switch: " + text + '\n').c_str(), stderr); }});
  if (!link) throw InputError(link.error());
  return std::move(*link);
}

int run(const SwitchFlags& flags) {
  RackFile rack = RackFile::read(flags.config);
  if (!flags.scheduler.empty()) rack.set_scheduler(flags.scheduler);
  softswitch::SwitchHooks hooks;
  const toml::table table = flags_as_table(flags.texts);
  const std::string no_file;
  TomlReader reader(table, "", no_file);
  reader.duration("stats", hooks.totals_interval, milliseconds(10), seconds(3600));
  hooks.on_totals = print_totals;
  const auto controller = rack.controller;
  const unsigned worker_count = rack.worker_count();
  // With a controller the workers come from it, with their keys and epochs.
  if (controller) rack.in_switch.workers.clear();
  const std::uint64_t memory_bytes = softswitch::memory_bytes(rack.in_switch);
  const std::string memory = softswitch::memory_text(memory_bytes);
  hooks.on_ready = [&](softswitch::SwitchProcess& process) -> std::shared_ptr<void> {
    auto link = controller ? open_link(*controller, process) : nullptr;
    std::fputs(fmt::format("{}switch on {}, scheduler {}, {} workers, {} thread{}, {}\n", kReadyPrefix,
                           format_endpoint(process.local()), rack.in_switch.program, worker_count,
                           rack.in_switch.group_count(), rack.in_switch.group_count() == 1 ? "" : "s", memory)
                   .c_str(),
               stderr);
    return link;
  };
  if (const std::string warning = rack.in_switch.warning(); !warning.empty())
    std::fputs(("rain switch: " + warning + '\n').c_str(), stderr);
  if (memory_bytes >= kMuchMemoryBytes) {
    std::fputs(fmt::format("rain switch: takes {} of memory, which takes a while\n", memory).c_str(), stderr);
  }
  const auto report = softswitch::run_switch(rack.in_switch, hooks);
  if (!report) throw InputError(report.error());  // its address is taken, or not this machine's; its memory
  if (flags.json) {
    fmt::print("{}\n", report_json(*report).dump());
  } else {
    fmt::print("{}", report->text());
  }
  if (report->drained) return kExitOk;
  std::fputs(fmt::format("rain switch: {} tasks were still queued after {}\n", report->waiting(),
                         format_duration(rack.in_switch.drain_limit))
                 .c_str(),
             stderr);
  return kExitFailed;
}

}  // namespace

Run declare_switch(CLI::App& app) {
  auto flags = std::make_shared<SwitchFlags>();
  app.add_option("--config", flags->config, "the rack file")->required()->type_name("FILE");
  app.add_option("--scheduler", flags->scheduler, "instead of the file's: " + comma_list(scheduler_names()))
      ->type_name("NAME");
  declare_key_flag(app, flags->texts, "stats", "print totals that often, such as 1s", "TIME");
  app.add_flag("--json", flags->json, "counters at the end as one JSON object");
  return [flags] { return run(*flags); };
}

}  // namespace rain::tools
