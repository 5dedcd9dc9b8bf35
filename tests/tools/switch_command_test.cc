// Tests of `rain switch`, by running it.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "tools/command_support.h"

namespace rain::tools {
namespace {

const char* const kServer = "[[server]]\nport = %s\nworkers = 2\n";

TEST(SwitchCommand, run__ready_then_counters_at_the_end) {
  const RackOnPorts rack(kServer);
  Running running({"switch", "--config", rack.file.path(), "--json", "--stats", "20ms"});
  ASSERT_TRUE(running.wait_for("ready: switch on 127.0.0.1:" + std::to_string(rack.port) +
                               ", scheduler rain, 2 workers, 1 thread, "))
      << running.err();
  EXPECT_TRUE(
      running.wait_for("packets in 0, out 0; tasks forwarded 0, dispatched 0, waiting 0, refused 0\n"));
  running.send_signal(SIGTERM);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["schema"], "rain.switch/1");
  EXPECT_EQ(json["scheduler"], "rain");
  EXPECT_EQ(json["counters"]["packets_in"], 0);
  EXPECT_EQ(json["counters"]["recirculations"], 0);
  EXPECT_EQ(json["drained"], true);
  EXPECT_EQ(json["slices"][0]["name"], "default");
}

TEST(SwitchCommand, run__counters_as_text_and_another_scheduler) {
  const RackOnPorts rack(kServer);
  Running running({"switch", "--config", rack.file.path(), "--scheduler", "jsq"});
  ASSERT_TRUE(running.wait_for("scheduler jsq")) << running.err();
  running.send_signal(SIGINT);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.out, HasSubstr("jsq"));
}

TEST(SwitchCommand, run__warns_of_tasks_that_may_starve) {
  const RackOnPorts rack(
      "[[slice]]\nname = 's'\nqueue_capacity = 8\nspill = 8\ndrain = 0\n[[server]]\nport = %s\n");
  Running running({"switch", "--config", rack.file.path()});
  ASSERT_TRUE(running.wait_for("ready: ")) << running.err();
  EXPECT_THAT(running.err(),
              ::testing::StartsWith("rain switch: slice \"s\": with drain = 0 newer tasks may overtake"));
  running.send_signal(SIGTERM);
  EXPECT_EQ(running.finish().status, 0);
}

/// As the kernel sees this process.
std::uint64_t address_space_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(SwitchCommand, run__no_room_for_the_queues_is_a_failure_not_bad_input) {
  constexpr rlim_t kRoom = 1 << 30;
  if (address_space_bytes() > kRoom / 2) GTEST_SKIP() << "this build needs more room than the test leaves";
  const RackOnPorts rack("hold_slots = 1048576\n[[server]]\nport = %s\n");
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit little{.rlim_cur = kRoom, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_AS, &little);
  Running running({"switch", "--config", rack.file.path()});
  setrlimit(RLIMIT_AS, &before);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(finished.err,
            "rain switch: takes 1.5 GiB of memory, which takes a while\n"
            "rain switch: not enough memory for the task queues: lower queue_capacity or hold_slots\n");
}

TEST(SwitchCommand, run__port_in_use) {
  const testing::TakenPort taken;
  const ScratchFile file(
      "rack.toml", "[switch]\nlisten = \"127.0.0.1:" + std::to_string(taken.port()) + "\"\n[[server]]\n");
  const Finished finished = run_rain({"switch", "--config", file.path()});
  EXPECT_EQ(finished.status, 2);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, ::testing::MatchesRegex("rain switch: .*127.0.0.1:" +
                                                    std::to_string(taken.port()) + ".*in use[^\n]*\n"));
}

TEST(SwitchCommand, run__bad_input) {
  const RackOnPorts rack(kServer);
  const std::string path = rack.file.path();
  expect_refused({"switch"}, "rain switch: --config is required");
  expect_refused({"switch", "--config", "/nowhere.toml"}, "rain switch: /nowhere.toml: no such file");
  expect_refused(
      {"switch", "--config", path, "--scheduler", "haproxy"},
      "rain switch: --scheduler = haproxy: one of rain, rain-paper, racksched, pallas, random, round-robin, "
      "jsq");
  expect_refused({"switch", "--config", path, "--stats", "5"},
                 "rain switch: --stats = 5: a time with its unit (ns, us, ms, s, min) from 10ms to 3600s");
  expect_refused({"switch", "--config", path, "--confg"},
                 "rain switch: '--confg' is not expected; did you mean '--config'?; --help lists the flags");
  const ScratchFile bad("bad.toml", "[switch]\nscheduler = \"rian\"\n[[server]]\n");
  expect_refused(
      {"switch", "--config", bad.path()},
      "rain switch: " + bad.path() +
          ":2: key 'scheduler' = \"rian\": one of rain, rain-paper, racksched, pallas, random, round-robin, "
          "jsq; did you mean 'rain'?");
}

}  // namespace
}  // namespace rain::tools
