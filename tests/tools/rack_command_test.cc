// Tests of `rain rack`, and with it of supervisor.h and rack_run.h: a rack comes up whole, and whatever ends it, nothing
// is left behind.
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/stop_signals.h"
#include "tools/command_support.h"

namespace rain::tools {
namespace {

constexpr unsigned kPorts = 4;
/// The rack of most tests: a switch and two servers, four ports in all.
std::string two_servers() { return "[[server]]\nname = 'a'\nport = %s\n[[server]]\nname = 'b'\nport = %s\n"; }

std::vector<pid_t> children_of(pid_t pid) {
  const std::string id = std::to_string(pid);
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children;
  for (pid_t child; list >> child;) children.push_back(child);
  return children;
}

std::string command_line(pid_t pid) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/cmdline");
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Children end on their own time when their parent has been killed.
bool become_free(std::uint16_t first, unsigned count) {
  for (int i = 0; i < 3000 && !all_free(first, count); ++i) usleep(10'000);
  return all_free(first, count);
}

TEST(RackCommand, run__serves_until_sigterm_and_leaves_nothing) {
  const RackOnPorts rack(two_servers(), kPorts);
  Running running({"rack", rack.file.path()});
  ASSERT_TRUE(running.wait_for("rack ready: scheduler rain, 2 servers, 2 workers\n")) << running.err();
  EXPECT_THAT(running.err(), HasSubstr("[switch] ready: switch on 127.0.0.1:"));
  EXPECT_THAT(running.err(), HasSubstr("[a] ready: server a"));
  EXPECT_THAT(running.err(), HasSubstr("[b] ready: server b"));
  EXPECT_EQ(children_of(running.pid()).size(), 3u);
  running.send_signal(SIGTERM);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("rack stopped\n"));
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(all_free(rack.port, kPorts));
}

TEST(RackCommand, run__load_with_one_json_object) {
  const RackOnPorts rack(two_servers() + "[load]\nrate = 500\nduration = '500ms'\nwarmup = '100ms'\n",
                         kPorts);
  const Finished finished = run_rain({"rack", rack.file.path(), "--json", "--scheduler", "round-robin"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["scheduler"], "round-robin");
  EXPECT_EQ(json["workers"], 2);
  EXPECT_EQ(json["depth"], 0);
  EXPECT_EQ(json["switch"]["recirculations"], 0);  // known: from the switch's counters
  EXPECT_EQ(json["outcomes"]["without_outcome"], 0);
  EXPECT_GT(json["outcomes"]["completed"], 100);
  EXPECT_TRUE(all_free(rack.port, kPorts));
}

TEST(RackCommand, run__load_flags_and_table) {
  const RackOnPorts rack(two_servers(), kPorts);
  const Finished finished =
      run_rain({"rack", rack.file.path(), "--rate", "300", "--duration", "300ms", "--warmup", "0"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, StartsWith("scheduler rain, workers 2, quota 4, seed 1\n"));
}

TEST(RackCommand, run__no_load_although_the_file_has_one) {
  const RackOnPorts rack(two_servers() + "[load]\nrate = 500\n", kPorts);
  Running running({"rack", rack.file.path(), "--no-load"});
  ASSERT_TRUE(running.wait_for("rack ready")) << running.err();
  running.send_signal(SIGINT);
  EXPECT_EQ(running.finish().status, 0);
}

TEST(RackCommand, run__interrupted_load_is_reported_and_fails) {
  const RackOnPorts rack(two_servers(), kPorts);
  Running running(
      {"rack", rack.file.path(), "--rate", "300", "--duration", "60s", "--warmup", "0", "--json"});
  ASSERT_TRUE(running.wait_for("[load] 1 of 60 s")) << running.err();
  running.send_signal(SIGINT);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, HasSubstr("interrupted; the report covers what was measured until then"));
  EXPECT_LT(nlohmann::json::parse(finished.out)["duration_s"], 59.0);
  EXPECT_TRUE(all_free(rack.port, kPorts));
}

TEST(RackCommand, run__a_child_that_dies_ends_the_rack_and_is_named) {
  const RackOnPorts rack(two_servers(), kPorts);
  Running running({"rack", rack.file.path()});
  ASSERT_TRUE(running.wait_for("rack ready")) << running.err();
  for (const pid_t child : children_of(running.pid())) {
    if (command_line(child).ends_with(std::string("--server\0b\0", 11))) kill(child, SIGKILL);
  }
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, HasSubstr("rain rack: b was killed by signal 9"));
  EXPECT_TRUE(all_free(rack.port, kPorts));
}

TEST(RackCommand, run__interrupted_before_it_is_ready) {
  const RackOnPorts rack(two_servers(), kPorts);
  Running running({"rack", rack.file.path()});
  ASSERT_TRUE(running.wait_for("[switch] ready"));
  running.send_signal(SIGTERM);
  const Finished finished = running.finish();
  EXPECT_THAT(finished.err, ::testing::Not(HasSubstr("killed by signal")));
  EXPECT_TRUE(all_free(rack.port, kPorts));
}

/// As when a service manager signals all processes: servers that are still starting are struck down by it.
TEST(RackCommand, run__interrupted_together_with_its_servers) {
  const RackOnPorts rack(two_servers(), kPorts);
  Running running({"rack", rack.file.path()});
  ASSERT_TRUE(running.wait_for("[switch] ready"));
  running.send_signal(SIGTERM);
  const std::vector<pid_t> children = children_of(running.pid());
  for (std::size_t i = 1; i < children.size(); ++i) kill(children[i], SIGTERM);  // the first is the switch
  const Finished finished = running.finish();
  EXPECT_THAT(finished.err, HasSubstr("rain rack: interrupted before the rack was ready\n"));
  EXPECT_THAT(finished.err, ::testing::Not(HasSubstr("rain rack: a")));
  EXPECT_THAT(finished.err, ::testing::Not(HasSubstr("rain rack: b")));
  EXPECT_TRUE(all_free(rack.port, kPorts));
}

/// Runs with requests that nobody answers in time, so that one signal does not end it for a minute.
TEST(RackCommand, run__a_second_signal_ends_everything_at_once) {
  const RackOnPorts rack(
      "drain_limit = '1min'\n[[server]]\nport = %s\napp = 'synthetic'\nemulate = true\nsynthetic_limit = "
      "'100s'\n"
      "[load]\nservice = '100s'\nrate = 100\nduration = '60s'\nwarmup = '0'\ntimeout = '1min'\n",
      kPorts);
  Running running({"rack", rack.file.path()});
  ASSERT_TRUE(running.wait_for("[load] 1 of 60 s")) << running.err();
  running.send_signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::nanoseconds(2 * kSameSignal.value));
  running.send_signal(SIGTERM);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, ::testing::EndsWith("rain rack: a second signal: all processes were killed\n"));
  EXPECT_TRUE(all_free(rack.port, kPorts));
}

/// As timeout(1) does it.
TEST(RackCommand, run__two_signals_at_once_are_one) {
  const RackOnPorts rack(two_servers(), kPorts);
  Running running({"rack", rack.file.path()});
  ASSERT_TRUE(running.wait_for("rack ready")) << running.err();
  running.send_signal(SIGINT);
  running.send_signal(SIGTERM);
  EXPECT_EQ(running.finish().status, 0) << running.err();
}

TEST(RackCommand, run__an_overloaded_rack_still_reports) {
  const RackOnPorts rack(
      "drain_limit = '0s'\n[[server]]\nport = %s\napp = 'synthetic'\nemulate = true\nquota = "
      "1\nsynthetic_limit = '2s'\n"
      "[load]\nservice = '2s'\nrate = 200\nduration = '300ms'\nwarmup = '0'\ntimeout = '100ms'\n",
      kPorts);
  const Finished finished = run_rain({"rack", rack.file.path(), "--json"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, HasSubstr("rain rack: switch exited with status 1: rain switch: "));
  EXPECT_THAT(finished.err, HasSubstr("tasks were still queued after"));
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_GT(json["outcomes"]["timed_out"], 20);
  EXPECT_EQ(json["outcomes"]["without_outcome"], 0);
  EXPECT_TRUE(all_free(rack.port, kPorts));
}

TEST(RackCommand, run__killed_outright_takes_its_children_along) {
  const RackOnPorts rack(two_servers(), kPorts);
  Running running({"rack", rack.file.path()});
  ASSERT_TRUE(running.wait_for("rack ready")) << running.err();
  EXPECT_FALSE(all_free(rack.port, kPorts));
  running.send_signal(SIGKILL);
  EXPECT_EQ(running.finish().status, 128 + SIGKILL);
  EXPECT_TRUE(become_free(rack.port, kPorts));
}

TEST(RackCommand, run__ports_in_use) {
  const testing::TakenPort taken;
  const std::string port = std::to_string(taken.port());
  const ScratchFile of_switch("rack.toml", "[switch]\nlisten = \"127.0.0.1:" + port + "\"\n[[server]]\n");
  const Finished first = run_rain({"rack", of_switch.path()});
  EXPECT_EQ(first.status, 2) << first.err;
  EXPECT_THAT(first.err, HasSubstr("rain rack: switch exited with status 2: rain switch: "));
  EXPECT_THAT(first.err, HasSubstr("127.0.0.1:" + port));
  const RackOnPorts of_worker("[[server]]\nname = 'a'\nport = " + port + "\n");
  const Finished second = run_rain({"rack", of_worker.file.path()});
  EXPECT_EQ(second.status, 2) << second.err;
  EXPECT_THAT(second.err, HasSubstr("rain rack: a exited with status 2: rain worker: "));
  EXPECT_TRUE(all_free(of_worker.port, 1));
}

TEST(RackCommand, run__bad_input) {
  const RackOnPorts rack(two_servers(), kPorts);
  const std::string path = rack.file.path();
  expect_refused({"rack"}, "rain rack: FILE is required");
  expect_refused({"rack", "/nowhere.toml"}, "rain rack: /nowhere.toml: no such file");
  expect_refused(
      {"rack", path, "--scheduler", "random2"},
      "rain rack: --scheduler = random2: one of rain, rain-paper, racksched, pallas, random, round-robin, "
      "jsq; did you mean 'random'?");
  expect_refused({"rack", path, "--json"},
                 "rain rack: --json and --out are for a load: [load] in the file, or --load");
  expect_refused(
      {"rack", path, "--rate", "x"},
      "rain rack: --rate = \"x\": requests a second from 0.1 to 10M such as 5000 or \"20k\", or a share of "
      "the workers' capacity from \"1%\" to \"200%\"");
}

}  // namespace
}  // namespace rain::tools
