// See command.h.
#include "tools/command.h"

#include <fmt/format.h>
#include <new>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "tools/input_error.h"
#include "tools/suggest.h"

namespace rain::tools {
namespace {

struct Command {
  const char* name;
  const char* help;
  Run (*declare)(CLI::App&);
};

constexpr Command kCommands[] = {
    {"rack", "start a whole rack (switch, workers, optionally a load) from one file", declare_rack},
    {"switch", "run the switch of a rack", declare_switch},
    {"worker", "run the workers of one server of a rack", declare_worker},
    {"agent", "run the agent of one server in a process of its own", declare_agent},
    {"controller", "run the controller of a rack, by which it is changed while it runs", declare_controller},
    {"ctl", "ask the controller of a rack, and change the rack through it", declare_ctl},
    {"load", "offer a load to a rack, open loop, and report latencies", declare_load},
    {"compare", "run the same load behind several schedulers and report them side by side", declare_compare},
    {"budget", "print what a scheduler would cost on a programmable switch", declare_budget},
    {"sim", "simulate a rack in virtual time", declare_sim},
    {"replay", "repeat the decisions of a trace of adaptive scheduling", declare_replay},
    {"sweep", "simulate every combination of schedulers, depths, loads and seeds", declare_sweep},
    {"figures", "simulate and draw the papers' figures, and hold them against the papers' claims",
     declare_figures},
};

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  return names;
}

/// CLI11's words on one line; for an unexpected argument ours, with the nearest flag.
std::string parse_problem(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> extras = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || extras.empty()) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
  const std::vector<std::string> names = flag_names(app);
  const std::vector<std::string_view> views(names.begin(), names.end());
  return fmt::format("'{}' is not expected{}; --help lists the flags", extras.front(),
                     did_you_mean(extras.front(), views));
}

std::string command_problem(int argc, const char* const* argv) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  if (argc < 2) return "a command is missing: one of " + comma_list(names);
  return fmt::format("'{}' is not a command: one of {}{}", argv[1], comma_list(names),
                     did_you_mean(argv[1], names));
}

/// Standard output that could not be written is a failure, whatever the command made of itself.
int flush_output(const std::string& command, int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fputs(fmt::format("{}: cannot write standard output: {}\n", command, std::strerror(errno)).c_str(),
             stderr);
  return status == kExitOk ? kExitFailed : status;
}

int bad_input(const std::string& command, const std::string& problem) {
  std::fputs(fmt::format("{}: {}\n", command, problem).c_str(), stderr);
  return kExitBadInput;
}

}  // namespace

void declare_key_flag(CLI::App& app, FlagTexts& flags, const std::string& key, const std::string& help,
                      const std::string& type) {
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  app.add_option_function<std::string>(
         flag, [&flags, key](const std::string& text) { flags.emplace_back(key, text); }, help)
      ->type_name(type);
}

int run_command(int argc, const char* const* argv) {
  CLI::App app{"Rain schedules microsecond-scale requests for a rack of servers.", "rain"};
  app.set_version_flag("--version", std::string("rain ") + RAIN_VERSION);
  app.require_subcommand(1);
  std::vector<Run> runs;
  for (const Command& command : kCommands) {
    CLI::App* subcommand = app.add_subcommand(command.name, command.help);
    runs.push_back(command.declare(*subcommand));
  }
  std::string name = "rain";
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto parsed = app.get_subcommands();
    std::fputs((parsed.empty() ? app : *parsed.front()).help().c_str(), stdout);
    return flush_output(name, kExitOk);
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return flush_output(name, kExitOk);
  } catch (const CLI::ParseError& error) {
    const auto parsed = app.get_subcommands();
    if (parsed.empty()) return bad_input(name, command_problem(argc, argv));
    return bad_input(name + ' ' + parsed.front()->get_name(), parse_problem(*parsed.front(), error));
  }
  const CLI::App* chosen = app.get_subcommands().front();
  name += ' ' + chosen->get_name();
  const auto all = app.get_subcommands([](CLI::App*) { return true; });
  const auto index = static_cast<std::size_t>(std::find(all.begin(), all.end(), chosen) - all.begin());
  try {
    return flush_output(name, runs[index]());
  } catch (const InputError& error) {
    return bad_input(name, error.what());
  } catch (const std::bad_alloc&) {
    std::fputs(fmt::format("{}: not enough memory\n", name).c_str(), stderr);
    return kExitFailed;
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}: {}\n", name, error.what()).c_str(), stderr);
    return kExitFailed;
  }
}

}  // namespace rain::tools
