// The frame of the `rain` command: subcommands, flags, exit statuses and the one place where errors become
// text.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rain::tools {

/// What a subcommand does once its flags are read: returns the exit status, throws InputError for bad input.
using Run = std::function<int()>;

// Each declares its flags on `app`.
Run declare_switch(CLI::App& app);
Run declare_worker(CLI::App& app);
Run declare_agent(CLI::App& app);
Run declare_controller(CLI::App& app);
Run declare_ctl(CLI::App& app);
Run declare_load(CLI::App& app);
Run declare_rack(CLI::App& app);
Run declare_compare(CLI::App& app);
Run declare_budget(CLI::App& app);
Run declare_sweep(CLI::App& app);
Run declare_figures(CLI::App& app);
Run declare_sim(CLI::App& app);
Run declare_replay(CLI::App& app);

/// All of `rain`. Returns the exit status (input_error.h).
int run_command(int argc, const char* const* argv);

/// Declares a flag that takes a value in the words of a rack file's key: its text is kept for a TomlReader,
/// which checks it. `key` is the file's key; the flag is the same with dashes. `flags` must live as long as
/// the app.
using FlagTexts = std::vector<std::pair<std::string, std::string>>;
void declare_key_flag(CLI::App& app, FlagTexts& flags, const std::string& key, const std::string& help,
                      const std::string& type);

}  // namespace rain::tools
