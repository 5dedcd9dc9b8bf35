#include "tools/agent_section.h"

#include <fmt/format.h>

#include <filesystem>

namespace rain::tools {
namespace {

constexpr std::string_view kProcesses[] = {"worker", "own"};

}  // namespace

AgentSection AgentSection::read(TomlReader& reader, const std::string& folder) {
  AgentSection section;
  section.line = reader.line();
  agent::PolicyOptions& policy = section.policy;
  reader.choice("policy", section.policy_name, agent::kPolicyNames);
  reader.duration("control_interval", policy.interval, microseconds(100), seconds(100));
  reader.number("slowdown_threshold", policy.adaptive.slowdown_threshold, 1.001, 1e6);
  reader.number("ratio_threshold", policy.adaptive.ratio_threshold, 0, 1);
  reader.integer("max_quota", policy.adaptive.max_quota, 1, kMaxQuota);
  reader.integer("hold", policy.hysteresis.hold, 0, 1 << 20, "control intervals");
  policy.hysteresis.longest_hold = std::max(policy.hysteresis.longest_hold, policy.hysteresis.hold);
  reader.integer("longest_hold", policy.hysteresis.longest_hold, policy.hysteresis.hold, 1 << 20,
                 "control intervals, at least hold");
  reader.duration("dead_after", section.dead_after, milliseconds(1), seconds(3600));
  const auto path = [&](std::string_view key, std::string& out) {
    if (reader.text(key, out)) out = (std::filesystem::path(folder) / out).lexically_normal().string();
  };
  path("control_block", section.control_block);
  path("decisions", section.decisions);
  std::string process = "worker";
  reader.choice("process", process, kProcesses);
  section.own_process = process == "own";
  reader.finish();
  if (section.own_process && section.control_block.empty()) {
    reader.refuse("process", "\"own\" only with a control_block, the folder that workers and agent share");
  }
  return section;
}

std::string AgentSection::choose_policy(std::string_view scheduler) {
  if (scheduler != "rain" && scheduler != "rain-paper") {
    return fmt::format("there is nothing to adapt with scheduler {}; rain and rain-paper have quotas",
                       scheduler);
  }
  const std::string_view name = !policy_name.empty()  ? std::string_view(policy_name)
                                : scheduler == "rain" ? "rain"
                                                      : "paper";
  policy.kind = *agent::parse_policy(name);
  return {};
}

}  // namespace rain::tools
