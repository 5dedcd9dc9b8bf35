// Many runs of the simulator on all cores, each described by the flags that `rain sim` would be given: what
// `rain sweep` and `rain figures` have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/rack_spec.h"
#include "tools/command.h"
#include "tools/run_journal.h"

namespace rain::tools {

/// The columns of a row, separated by commas: the same for all specs with these classes.
std::string result_columns(const sim::RackSpec& spec);

/// The flags as one line, which says everything about the run.
std::string key_of(const FlagTexts& flags);

struct RunOptions {
  std::string command;   ///< in front of the progress: "rain sweep"
  unsigned threads = 0;  ///< 0: one for each core
};

/// Does every run that the journal lacks, those that take longest first, and returns the rows in the order of `runs`.
/// Runs with the same flags are done once. Throws InputError before the first run if any of them cannot be done.
std::vector<std::string> do_runs(const std::vector<FlagTexts>& runs, RunJournal& journal,
                                 const RunOptions& options);

/// Writes a file whole or not at all. Throws std::runtime_error.
void write_whole(const std::filesystem::path& file, const std::string& text);

}  // namespace rain::tools
