// `rain replay`: gives a trace of agents' decisions to the decision code once more, and says whether it decides the same.
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <string>

#include "agent/decision_trace.h"
#include "tools/command.h"
#include "tools/input_error.h"

namespace rain::tools {
namespace {

int run_replay(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw InputError(fmt::format("{}: cannot be read", file));
  const auto replay = agent::replay_trace(stream);
  if (!replay) throw InputError(fmt::format("{}: {}", file, replay.error()));
  fmt::print("{} intervals: the same {} changes of quotas and {} moves\n", replay->intervals,
             replay->quota_changes, replay->moves);
  return kExitOk;
}

}  // namespace

Run declare_replay(CLI::App& app) {
  auto file = std::make_shared<std::string>();
  app.add_option("FILE", *file, "as written by rain sim --decisions, or by an agent")->required();
  return [file] { return run_replay(*file); };
}

}  // namespace rain::tools
