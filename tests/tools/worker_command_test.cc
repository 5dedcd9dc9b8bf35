// Tests of `rain worker`, by running it.
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "tools/command_support.h"

namespace rain::tools {
namespace {

using ::testing::MatchesRegex;

TEST(WorkerCommand, run__ready_without_a_switch_and_ends_on_sigterm) {
  const RackOnPorts rack("[[server]]\nname = 'a'\nport = %s\nworkers = 2\nquota = 3\n");
  Running running({"worker", "--config", rack.file.path()});
  const std::string ready =
      "ready: server a, app echo, workers 0..1 on 127.0.0.1:" + std::to_string(rack.port + 1) +
      " and following ports, quota 3, switch 127.0.0.1:" + std::to_string(rack.port) + "\n";
  ASSERT_TRUE(running.wait_for(ready)) << running.err();
  running.send_signal(SIGTERM);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.out, HasSubstr("worker 0: idle "));
  EXPECT_THAT(finished.out, HasSubstr("worker 1: idle "));
}

TEST(WorkerCommand, run__emulated_workers_share_a_port) {
  const RackOnPorts rack("[[server]]\nport = %s\nworkers = 32\napp = 'synthetic'\nemulate = true\n");
  Running running({"worker", "--config", rack.file.path(), "--scheduler", "random"});
  ASSERT_TRUE(running.wait_for("workers 0..31 on 127.0.0.1:" + std::to_string(rack.port + 1) +
                               " (emulated), quota unbounded"))
      << running.err();
  running.send_signal(SIGINT);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.out, "served 0\n");
}

TEST(WorkerCommand, run__a_switch_for_lower_quotas__is_said_once) {
  for (const char* emulate : {"false", "true"}) {
    const std::string server =
        "[[server]]\nport = %s\napp = 'synthetic'\nsync_interval = '1ms'\nemulate = " + std::string(emulate) +
        "\nquota = ";
    const RackOnPorts rack(server + "2\n");
    std::string higher = content_of(rack.file.path());
    higher.replace(higher.find("quota = 2"), 9, "quota = 4");
    const ScratchFile other("rack.toml", higher);
    Running in_switch({"switch", "--config", rack.file.path()});
    ASSERT_TRUE(in_switch.wait_for("ready: ")) << in_switch.err();
    Running worker({"worker", "--config", other.path()});
    ASSERT_TRUE(worker.wait_for(" of the tokens of quota 4")) << worker.err();
    worker.send_signal(SIGTERM);
    const Finished finished = worker.finish();
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err.find("the switch knows no "), finished.err.rfind("the switch knows no "));
  }
}

TEST(WorkerCommand, run__goes_on_after_a_stop) {
  for (const char* emulate : {"false", "true"}) {
    const RackOnPorts rack("[[server]]\nport = %s\napp = 'synthetic'\nemulate = " + std::string(emulate));
    Running running({"worker", "--config", rack.file.path()});
    ASSERT_TRUE(running.wait_for("ready: ")) << running.err();
    running.send_signal(SIGSTOP);
    running.send_signal(SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(running.pid()), &ended, WEXITED | WNOHANG | WNOWAIT), 0);
    EXPECT_EQ(ended.si_pid, 0) << emulate;
    running.send_signal(SIGTERM);
    EXPECT_EQ(running.finish().status, 0);
  }
}

TEST(WorkerCommand, run__port_in_use) {
  const testing::TakenPort taken;
  const std::string port = std::to_string(taken.port());
  for (const char* emulate : {"false", "true"}) {
    const ScratchFile file("rack.toml",
                           "[[server]]\nport = " + port + "\napp = 'synthetic'\nemulate = " + emulate);
    const Finished finished = run_rain({"worker", "--config", file.path()});
    EXPECT_EQ(finished.status, 2) << emulate;
    EXPECT_EQ(finished.out, "");
    EXPECT_THAT(finished.err, MatchesRegex("rain worker: .*127.0.0.1:" + port + ".*in use[^\n]*\n"));
  }
}

TEST(WorkerCommand, run__bad_input) {
  const RackOnPorts rack("[[server]]\nname = 'a'\nport = %s\n[[server]]\nname = 'b'\nport = %s\n");
  const std::string path = rack.file.path();
  expect_refused({"worker"}, "rain worker: --config is required");
  expect_refused({"worker", "--config", path},
                 "rain worker: --server is missing: one of the servers of " + path + ": a, b");
  expect_refused({"worker", "--config", path, "--server", "c"},
                 "rain worker: --server = c: one of the servers of " + path + ": a, b");
  expect_refused(
      {"worker", "--config", path, "--server", "a", "--scheduler", "ran"},
      "rain worker: --scheduler = ran: one of rain, rain-paper, racksched, pallas, random, round-robin, jsq; "
      "did you mean 'rain'?");
  const ScratchFile bad("bad.toml", "[[server]]\nslice = 'none'\n");
  expect_refused(
      {"worker", "--config", bad.path()},
      "rain worker: " + bad.path() + ":2: key 'slice' = \"none\": the name of a [[slice]]: default");
}

}  // namespace
}  // namespace rain::tools
