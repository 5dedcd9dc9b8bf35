// [agent] of a rack file: whether and how the servers' agents adapt quotas, spill thresholds and slices to the load.
#pragma once

#include <string>
#include <string_view>

#include "agent/policy.h"
#include "base/time.h"
#include "tools/toml_reader.h"

namespace rain::tools {

struct AgentSection {
  agent::PolicyOptions policy{};
  std::string policy_name{};      ///< "": the scheduler's
  Nanos dead_after = seconds(1);  ///< a worker that makes no step for that long is reported
  std::string control_block{};    ///< folder of the servers' files; "": memory of `rain worker`
  std::string decisions{};        ///< folder of the servers' traces; "": none are written
  bool own_process = false;       ///< `rain agent` runs it, not `rain worker`
  std::uint32_t line = 0;

  /// Throws InputError. `folder`: of the rack file; relative paths start there.
  static AgentSection read(TomlReader& reader, const std::string& folder);
  /// Chooses the policy of a scheduler that has quotas. "" or why there is none.
  std::string choose_policy(std::string_view scheduler);
};

}  // namespace rain::tools
