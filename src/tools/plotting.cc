// See plotting.h.
#include "tools/plotting.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "tools/figures_files.h"
#include "tools/input_error.h"
#include "tools/sim_runs.h"

namespace rain::tools {
namespace {

constexpr const char* kPython = "/usr/bin/python3";  // Debian's: the one that its matplotlib belongs to

/// Exit status; 127 when it cannot be started.
int run_python(const std::vector<std::string>& arguments, bool quiet) {
  std::vector<char*> argv{const_cast<char*>(kPython)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (quiet) {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, kPython, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return 127;
  return WEXITSTATUS(status);
}

}  // namespace

std::string_view figures_file() { return kFiguresFile; }

void require_plotting() {
  if (run_python({"-c", "import matplotlib"}, true) != 0) {
    throw InputError(fmt::format("pictures need {} with matplotlib (Debian: python3-matplotlib)", kPython));
  }
}

void plot(const std::filesystem::path& folder, const std::vector<std::string>& arguments) {
  write_whole(folder / "figures.toml", std::string(kFiguresFile));
  write_whole(folder / "plot.py", std::string(kPlotFile));
  std::vector<std::string> all{(folder / "plot.py").string(), folder.string()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  fflush(stdout);
  if (const int status = run_python(all, false); status != 0)
    throw std::runtime_error(fmt::format("{} failed with status {}", all.front(), status));
}

}  // namespace rain::tools
