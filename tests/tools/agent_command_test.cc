// Tests of [agent] of a rack file, and of `rain agent` by running it beside its `rain worker`.
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "agent/control_block.h"
#include "tools/command_support.h"
#include "tools/input_error.h"
#include "tools/rack_file.h"

namespace rain::tools {
namespace {

RackFile read(const std::string& text) {
  const ScratchFile file("rack.toml", text);
  return RackFile::read(file.path());
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(AgentSection, read__defaults_and_the_policy_of_the_scheduler) {
  EXPECT_FALSE(read("[[server]]\n").agent.has_value());
  const RackFile rain = read("[[server]]\n[agent]\n");
  EXPECT_EQ(rain.agent->policy.kind, agent::PolicyKind::kRain);
  EXPECT_EQ(rain.agent->policy.interval, milliseconds(10));
  EXPECT_FALSE(rain.agent->own_process);
  const RackFile paper = read("[switch]\nscheduler = 'rain-paper'\n[[server]]\n[agent]\nhold = 7000\n");
  EXPECT_EQ(paper.agent->policy.kind, agent::PolicyKind::kPaper);
  EXPECT_EQ(paper.agent->policy.hysteresis.longest_hold, 7000u) << "never less than hold";
}

TEST(AgentSection, read__refusals) {
  const std::pair<const char*, const char*> kRefused[] = {
      {"polcy = 'rain'", "rack.toml:3: key 'polcy' = \"rain\": unknown in [agent]"},
      {"policy = 'fast'", "rack.toml:3: key 'policy' = \"fast\": one of paper, rain"},
      {"control_interval = '99us'", "rack.toml:3: key 'control_interval' = \"99us\": a time with its unit"},
      {"control_interval = '101s'", "rack.toml:3: key 'control_interval' = \"101s\": a time with its unit"},
      {"slowdown_threshold = 1", "rack.toml:3: key 'slowdown_threshold' = 1: a number from 1.001 to 1e+06"},
      {"slowdown_threshold = nan", "rack.toml:3: key 'slowdown_threshold' = nan: a number from 1.001"},
      {"ratio_threshold = 1.5", "rack.toml:3: key 'ratio_threshold' = 1.5: a number from 0 to 1"},
      {"max_quota = 0", "rack.toml:3: key 'max_quota' = 0: an integer from 1 to 8"},
      {"max_quota = 9", "rack.toml:3: key 'max_quota' = 9: an integer from 1 to 8"},
      {"hold = -1", "rack.toml:3: key 'hold' = -1: an integer from 0 to 1048576"},
      {"hold = 50\nlongest_hold = 49", "rack.toml:4: key 'longest_hold' = 49: an integer from 50 to 1048576"},
      {"dead_after = '0s'", "rack.toml:3: key 'dead_after' = \"0s\": a time with its unit"},
      {"process = 'thread'", "rack.toml:3: key 'process' = \"thread\": one of worker, own"},
      {"process = 'own'", "rack.toml:3: key 'process' = \"own\": \"own\" only with a control_block"},
      {"process = 'own'\ncontrol_block = 'blocks'\n[controller]\nlisten = '127.0.0.1:9300'",
       "rack.toml:3: key 'process' = \"own\": \"worker\" in a rack with a [controller]"},
  };
  for (const auto& [text, message] : kRefused) {
    EXPECT_THAT(refusal("[[server]]\n[agent]\n" + std::string(text) + "\n"), HasSubstr(message)) << text;
  }
  EXPECT_THAT(refusal("[switch]\nscheduler = 'random'\n[[server]]\n[agent]\n"),
              HasSubstr("there is nothing to adapt with scheduler random"));
}

const char* const kOwnAgent =
    "scheduler = 'rain-paper'\n[[server]]\nname = 'a'\nport = %s\nworkers = 2\napp = 'synthetic'\nemulate = "
    "true\n"
    "[agent]\npolicy = 'paper'\nprocess = 'own'\ncontrol_block = 'blocks'\ndecisions = 'decisions'\n";

TEST(AgentCommand, run__bad_input) {
  const RackOnPorts none("[[server]]\nname = 'a'\nport = %s\n[agent]\n");
  expect_refused({"agent"}, "rain agent: --config is required");
  expect_refused({"agent", "--config", none.file.path()},
                 "rain agent: " + none.file.path() +
                     ": [agent] with process = \"own\" is needed; otherwise `rain worker` runs the agent");
  const RackOnPorts own(kOwnAgent);
  expect_refused({"agent", "--config", own.file.path(), "--server", "b"},
                 "rain agent: --server = b: one of the servers of " + own.file.path() + ": a");
}

TEST(AgentCommand, run__another_control_block__is_refused_with_the_numbers) {
  const RackOnPorts rack(kOwnAgent);
  const auto folder = rack.file.folder() / "blocks";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "a.block").string();
  ASSERT_TRUE(agent::ControlBlock::open(path, 3));
  Finished finished = run_rain({"agent", "--config", rack.file.path()});
  EXPECT_EQ(finished.status, 2);
  EXPECT_THAT(finished.err, HasSubstr("is for 3 workers, not for 2: remove the file"));
  std::filesystem::remove(path);
  ASSERT_TRUE(agent::ControlBlock::open(path, 2));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::uint64_t version = 99;
  file.seekp(8);  // after the magic
  file.write(reinterpret_cast<const char*>(&version), sizeof version);
  file.close();
  for (const char* command : {"agent", "worker"}) {
    finished = run_rain({command, "--config", rack.file.path()});
    EXPECT_EQ(finished.status, 2) << command;
    EXPECT_THAT(finished.err, HasSubstr("has version 99, this program writes version")) << command;
  }
}

TEST(AgentCommand, run__two_of_a_kind_on_one_control_block__the_second_is_refused) {
  const RackOnPorts rack(kOwnAgent);
  Running worker({"worker", "--config", rack.file.path()});
  ASSERT_TRUE(worker.wait_for("ready: ")) << worker.err();
  Running agent({"agent", "--config", rack.file.path()});
  ASSERT_TRUE(agent.wait_for("ready: ")) << agent.err();
  const std::string block = (rack.file.folder() / "blocks" / "a.block").string();
  expect_refused({"worker", "--config", rack.file.path()}, "rain worker: control block " + block +
                                                               ": process " + std::to_string(worker.pid()) +
                                                               " has worker 0's place: end it first");
  expect_refused({"agent", "--config", rack.file.path()}, "rain agent: control block " + block +
                                                              ": process " + std::to_string(agent.pid()) +
                                                              " has the agent's place: end it first");
}

TEST(AgentCommand, run__adapts_a_worker_of_another_process__is_killed_and_comes_back) {
  const RackOnPorts rack(kOwnAgent);
  Running the_switch({"switch", "--config", rack.file.path()});
  Running worker({"worker", "--config", rack.file.path()});
  ASSERT_TRUE(the_switch.wait_for("ready: ")) << the_switch.err();
  ASSERT_TRUE(worker.wait_for("ready: ")) << worker.err();
  {
    Running agent({"agent", "--config", rack.file.path()});
    ASSERT_TRUE(agent.wait_for("ready: agent of a, policy paper, 2 workers\n")) << agent.err();
    agent.send_signal(SIGKILL);
    agent.finish();
  }
  const std::string trace = (rack.file.folder() / "decisions" / "a.jsonl").string();
  std::filesystem::remove(trace);  // its last line may be cut
  Running agent({"agent", "--config", rack.file.path(), "--server", "a"});
  ASSERT_TRUE(agent.wait_for("ready: ")) << agent.err();
  const Finished load = run_rain({"load", "--config", rack.file.path(), "--rate", "500", "--service",
                                  "const:1ms", "--duration", "500ms", "--warmup", "0", "--timeout", "1min"});
  EXPECT_EQ(load.status, 0) << load.out << load.err;
  agent.send_signal(SIGTERM);
  EXPECT_EQ(agent.finish().status, 0);
  const Finished replay = run_rain({"replay", trace});
  EXPECT_EQ(replay.status, 0) << replay.err;
  EXPECT_THAT(replay.out, HasSubstr("the same"));
  worker.send_signal(SIGTERM);
  EXPECT_EQ(worker.finish().status, 0) << "lives without the agent";
}

}  // namespace
}  // namespace rain::tools
