// Tests of `rain load`, by running it against racks that run and racks that do not.
#include "tools/load_command.h"

#include <chrono>
#include <thread>

#include <fstream>

#include "base/stop_signals.h"
#include "rain/client.h"
#include "tools/command_support.h"
#include "tools/input_error.h"

namespace rain::tools {
namespace {

/// Four emulated workers behind a switch, until the end of the test.
struct RunningRack {
  RunningRack() : rack("[[server]]\nport = %s\nworkers = 4\napp = 'synthetic'\nemulate = true\nquota = 2\n") {
    running = std::make_unique<Running>(std::vector<std::string>{"rack", rack.file.path()});
    EXPECT_TRUE(running->wait_for("rack ready")) << running->err();
  }
  std::string config() const { return rack.file.path(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(rack.port); }

  RackOnPorts rack;
  std::unique_ptr<Running> running;
};

TEST(LoadCommand, run__one_json_object_with_every_outcome) {
  const RunningRack rack;
  const ScratchFile out("report.json", "");
  const Finished finished =
      run_rain({"load", "--config", rack.config(), "--service", "1ms", "--rate", "400", "--duration", "500ms",
                "--warmup", "100ms", "--json", "--out", out.path()});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);  // throws on anything beside the object
  EXPECT_EQ(json["schema"], "rain.report/1");
  EXPECT_EQ(json["scheduler"], "rain");
  EXPECT_EQ(json["workers"], 4);
  EXPECT_EQ(json["depth"], 2);
  EXPECT_EQ(json["connections"], 2);
  EXPECT_EQ(json["outcomes"]["sent"], json["outcomes"]["completed"]);
  EXPECT_EQ(json["outcomes"]["without_outcome"], 0);
  EXPECT_GT(json["outcomes"]["sent"], 100);
  EXPECT_GE(json["parts_us"]["service"]["mean"], 1000.0);
  EXPECT_GE(json["latency_us"]["mean"], 1000.0);
  EXPECT_GE(json["slowdown"]["mean"], 1.0);
  EXPECT_EQ(json["latency_us"]["p999"], nullptr);  // too few samples
  EXPECT_EQ(json["switch"]["recirculations"], nullptr);
  EXPECT_FALSE(json["classes"][0].contains("latency_distribution_us"));
  std::ifstream stream(out.path());
  const auto written = nlohmann::json::parse(stream);
  EXPECT_GT(written["classes"][0]["latency_distribution_us"].size(), 1u);
  EXPECT_EQ(written["outcomes"], json["outcomes"]);
}

TEST(LoadCommand, run__same_seed_same_requests) {
  const RunningRack rack;
  const auto sent = [&](const char* seed) {
    const Finished finished = run_rain({"load", "--switch", rack.address(), "--app", "synthetic", "--classes",
                                        "a:0.5:exp:10us,b:0.5:exp:20us", "--rate", "1000", "--duration",
                                        "300ms", "--warmup", "0", "--seed", seed, "--json"});
    EXPECT_EQ(finished.status, 0) << finished.err;
    const auto json = nlohmann::json::parse(finished.out);
    EXPECT_EQ(json["scheduler"], nullptr);
    return std::pair(json["classes"][0]["count"].get<int>(), json["classes"][1]["count"].get<int>());
  };
  EXPECT_EQ(sent("1"), sent("1"));
  EXPECT_NE(sent("1"), sent("2"));
}

TEST(LoadCommand, run__table_progress_and_share_of_capacity) {
  const RunningRack rack;
  const Finished finished = run_rain({"load", "--config", rack.config(), "--service", "exp:2ms", "--rate",
                                      "50%", "--duration", "1500ms", "--warmup", "0"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("asked for 1000/s"));
  EXPECT_THAT(finished.out, HasSubstr("latency us"));
  EXPECT_THAT(finished.err, StartsWith("rain load: 1 of 2 s: sent "));
}

TEST(LoadCommand, run__calibrate_measures_service_times) {
  const RunningRack rack;
  const Finished finished =
      run_rain({"load", "--config", rack.config(), "--service", "5ms", "--calibrate", "--json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["schema"], "rain.calibration/1");
  EXPECT_GE(json["mean_service_us"], 5000.0);
  EXPECT_GT(json["capacity_rps"], 0.0);
  EXPECT_LE(json["capacity_rps"], 800.0);
  EXPECT_EQ(json["classes"][0]["name"], "task");
}

TEST(LoadCommand, run__interrupted_reports_what_was_measured) {
  const RunningRack rack;
  Running running({"load", "--config", rack.config(), "--service", "100us", "--rate", "500", "--duration",
                   "60s", "--warmup", "100ms", "--json"});
  ASSERT_TRUE(running.wait_for("rain load: 1 of 61 s"));
  running.send_signal(SIGINT);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err,
              HasSubstr("rain load: interrupted; the report covers what was measured until then\n"));
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_LT(json["duration_s"], 59.0);
  EXPECT_EQ(json["outcomes"]["without_outcome"], 0);
}

TEST(LoadCommand, run__report_that_cannot_be_written_is_a_failure) {
  const RunningRack rack;
  const Finished finished = run_rain({"load", "--config", rack.config(), "--service", "1ms", "--duration",
                                      "100ms", "--warmup", "0", "--json", "--out", "/dev/full"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(finished.err, "rain load: --out = /dev/full: cannot be written\n");
  const Finished no_output = run_rain(
      {"load", "--config", rack.config(), "--service", "1ms", "--duration", "100ms", "--warmup", "0"},
      "/dev/full");
  EXPECT_EQ(no_output.status, 1);
  EXPECT_EQ(no_output.err, "rain load: cannot write standard output: No space left on device\n");
}

TEST(LoadCommand, run__a_second_signal_ends_it_at_once) {
  const RunningRack rack;
  Running running({"load", "--config", rack.config(), "--service", "1s", "--rate", "100", "--duration", "60s",
                   "--timeout", "60s"});
  ASSERT_TRUE(running.wait_for("rain load: 1 of 61 s"));
  running.send_signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::nanoseconds(2 * kSameSignal.value));
  running.send_signal(SIGTERM);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, HasSubstr("rain load: a second signal: ended without a report\n"));
}

TEST(LoadCommand, run__far_beyond_what_this_machine_can_send) {
  const RunningRack rack;
  const Finished finished =
      run_rain({"load", "--config", rack.config(), "--service", "1us", "--rate", "10M", "--duration", "200ms",
                "--warmup", "0", "--timeout", "100ms", "--json"});
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["kept_schedule"], false);
  EXPECT_EQ(json["outcomes"]["without_outcome"], 0);
  EXPECT_GT(json["outcomes"]["sent"], 1'900'000) << "what was given up is among the sent";
}

TEST(LoadCommand, run__a_share_holds_the_load_back) {
  const RunningRack rack;  // four workers, 10 ms each: 400 a second
  const Finished finished =
      run_rain({"load", "--config", rack.config(), "--service", "10ms", "--rate", "800", "--duration",
                "500ms", "--warmup", "100ms", "--admission", "fail", "--share", "4", "--json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["admission"]["mode"], "fail");
  EXPECT_EQ(json["admission"]["share"], 4);
  EXPECT_TRUE(json["admission"]["windows"].contains("task"));
  EXPECT_GT(json["outcomes"]["dropped"]["admission_share"], 100);
  EXPECT_EQ(json["outcomes"]["without_outcome"], 0);
}

TEST(LoadCommand, run__nothing_completed_is_a_failure) {
  const RunningRack rack;  // each task takes longer than the timeout, the probe's did not
  const Finished finished = run_rain({"load", "--config", rack.config(), "--service", "200ms", "--rate", "50",
                                      "--duration", "300ms", "--warmup", "0", "--timeout", "50ms", "--json"});
  EXPECT_EQ(finished.status, 1) << finished.err;
  EXPECT_EQ(nlohmann::json::parse(finished.out)["outcomes"]["completed"], 0);
}

TEST(LoadCommand, run__nothing_answers) {
  const testing::TakenPort silent;
  const std::string address = "127.0.0.1:" + std::to_string(silent.port());
  const Finished finished = run_rain({"load", "--switch", address});
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err, "rain load: nothing answers requests of class \"echo\" at " + address +
                              ": are the switch and its workers running?\n");
}

TEST(LoadCommand, run__another_application_than_the_workers) {
  const RunningRack rack;
  const Finished finished = run_rain({"load", "--switch", rack.address(), "--app", "rocksdb"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, HasSubstr("is its application rocksdb?"));
}

/// Workers 0 and 1 beside the master, worker 2.
class RackWithMaster {
 public:
  explicit RackWithMaster(const std::string& scheduler)
      : rack_("scheduler = '" + scheduler +
              "'\n[[server]]\nname = 'a'\nport = %s\n[[server]]\nname = 'b'\nport = %s\n"
              "[[server]]\nname = 'm'\nport = %s\nmaster = true\n") {
    start({"switch", "--config", config()});
    for (const char* name : {"a", "b", "m"}) start({"worker", "--config", config(), "--server", name});
  }
  std::string config() const { return rack_.file.path(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(rack_.port); }
  /// The last words of the workers, in the order of their ids.
  std::vector<std::string> stop() {
    std::vector<std::string> words;
    for (std::size_t i = 1; i < processes_.size(); ++i) {
      processes_[i]->send_signal(SIGTERM);
      words.push_back(processes_[i]->finish().out);
    }
    return words;
  }

 private:
  void start(const std::vector<std::string>& words) {
    processes_.push_back(std::make_unique<Running>(words));
    EXPECT_TRUE(processes_.back()->wait_for("ready: ")) << processes_.back()->err();
  }

  RackOnPorts rack_;
  std::vector<std::unique_ptr<Running>> processes_;
};

TEST(LoadCommand, run__sticky_requests_are_served_by_the_master_alone) {
  for (const char* scheduler : {"rain", "rain-paper", "jsq"}) {
    SCOPED_TRACE(scheduler);
    RackWithMaster rack(scheduler);
    Client client = Client::open({.switch_address = rack.address()}).value();
    for (int i = 0; i < 50; ++i) {
      const Client::Result reply = client.call(as_payload("x"), {.sticky = true});
      ASSERT_TRUE(reply) << reply.error().message();
      EXPECT_EQ(reply->parts.worker, WorkerId{2});
    }
    const Finished load = run_rain({"load", "--config", rack.config(), "--sticky", "1", "--rate", "500",
                                    "--duration", "500ms", "--warmup", "0", "--json"});
    EXPECT_EQ(load.status, 0) << load.err;
    const auto outcomes = nlohmann::json::parse(load.out)["outcomes"];
    EXPECT_GT(outcomes["completed"], 100);
    EXPECT_EQ(outcomes["completed"], outcomes["sent"]);
    const std::vector<std::string> words = rack.stop();
    EXPECT_THAT(words[0], HasSubstr(", served 0\n"));
    EXPECT_THAT(words[1], HasSubstr(", served 0\n"));
    EXPECT_THAT(words[2], ::testing::Not(HasSubstr(", served 0\n")));
  }
}

TEST(LoadCommand, run__sticky_requests_without_a_master_are_refused) {
  const RunningRack rack;
  const Finished finished = run_rain({"load", "--config", rack.config(), "--sticky", "1", "--rate", "100",
                                      "--duration", "100ms", "--warmup", "0"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, HasSubstr("policy_unsupported"));
}

TEST(LoadCommand, run__bad_input) {
  const std::vector<std::string> to_nowhere{"load", "--switch", "127.0.0.1:1"};
  const auto refused = [&](std::vector<std::string> flags, const std::string& line) {
    flags.insert(flags.begin(), to_nowhere.begin(), to_nowhere.end());
    expect_refused(flags, "rain load: " + line);
  };
  expect_refused({"load"},
                 "rain load: --config or --switch is missing: a rack file, or the switch's address");
  expect_refused({"load", "--switch", "localhost"},
                 "rain load: --switch = localhost: an address such as 10.0.0.1:9000 or [::1]:9000");
  expect_refused({"load", "--config", "/nowhere.toml"}, "rain load: /nowhere.toml: no such file");
  refused({"--scheduler", "haproxy"},
          "--scheduler = haproxy: one of rain, rain-paper, racksched, pallas, random, round-robin, jsq");
  refused({"--app", "redis"}, "--app = \"redis\": one of echo, synthetic, rocksdb");
  refused({"--rate", "0"},
          "--rate = 0: requests a second from 0.1 to 10M such as 5000 or \"20k\", or a share of the workers' "
          "capacity "
          "from \"1%\" to \"200%\"");
  refused({"--rate", "80%"}, "--rate: a share of capacity needs --config or --workers");
  refused({"--app", "synthetic", "--service", "0", "--rate", "80%", "--workers", "2"},
          "--rate = \"80%\": requests a second, as a share of capacity needs service times above 0");
  refused({"--duration", "10"},
          "--duration = 10: a time with its unit (ns, us, ms, s, min) from 1ms to 86400s");
  refused({"--warmup", "-1s"},
          "--warmup = \"-1s\": a time with its unit (ns, us, ms, s, min) from 0s to 86400s");
  refused({"--timeout", "0"}, "--timeout = 0: a time with its unit (ns, us, ms, s, min) from 1ms to 60s");
  refused({"--seed", "-1"}, "--seed = -1: an integer from 0 to 9223372036854775807");
  refused({"--connections", "65"}, "--connections = 65: an integer from 1 to 64");
  refused({"--admission", "maybe"}, "--admission = \"maybe\": one of off, fail, wait");
  refused({"--share", "8"}, "--share = 8: only with admission = fail or wait");
  refused({"--share", "1", "--admission", "wait"}, "--share = 1: at least 1 for each of the 2 connections");
  refused({"--sticky", "1.5"},
          "--sticky = 1.5: a number from 0 to 1, part of the requests that are for their slices' masters");
  refused({"--client", "a\xFF"},
          "--client = \"a?\": a name of 1 to 64 bytes, UTF-8 without control characters");
  refused({"--weight", "99999999999999999999"}, "--weight = 1e+20: an integer from 1 to 1000");
  refused({"--workers", "0"}, "--workers = 0: an integer from 1 to 1024");
  refused({"--service", "10us"}, "--service = \"10us\": only with app = synthetic");
  refused({"--out", "/nowhere/report.json"}, "--out = /nowhere/report.json: cannot be written");
  refused({"--zigzag", "5"}, "'--zigzag' is not expected; --help lists the flags");
  for (const char* flag : {"--arrivals", "--classes"}) {
    const Finished finished = run_rain({"load", "--switch", "127.0.0.1:1", flag, "nonsense"});
    EXPECT_EQ(finished.status, 2) << flag;
    EXPECT_THAT(finished.err, StartsWith("rain load: " + std::string(flag) + " = \"nonsense\": "));
  }
}

TEST(LoadCommand, resolve_rate__share_of_what_the_workers_serve) {
  EXPECT_DOUBLE_EQ(resolve_rate({.per_second = 500, .capacity_share = 0}, 4, 0), 500);
  EXPECT_DOUBLE_EQ(resolve_rate({.per_second = 0, .capacity_share = 0.8}, 32, 5500), 0.8 * 32 / 5500e-6);
  EXPECT_THROW(resolve_rate({.per_second = 0, .capacity_share = 0.8}, 4, 0), InputError);
}

TEST(LoadCommand, exit_status_of__a_request_without_outcome_fails_the_run) {
  Report report;
  report.outcomes = {.sent = 3, .completed = 2, .dropped = {{"queue_full", 1}}, .timed_out = 0};
  EXPECT_EQ(exit_status_of(report), kExitOk);
  report.outcomes.completed = 0;
  report.outcomes.timed_out = 2;
  EXPECT_EQ(exit_status_of(report), kExitFailed) << "nothing was completed";
  report.outcomes.completed = 2;
  report.outcomes.timed_out = 0;
  report.outcomes.sent = 4;
  EXPECT_EQ(exit_status_of(report), kExitFailed);
  report.outcomes.sent = 3;
  report.warmup_outcomes.sent = 1;
  EXPECT_EQ(exit_status_of(report), kExitFailed);
  report.warmup_outcomes.sent = 0;
  report.application_errors = 1;
  EXPECT_EQ(exit_status_of(report), kExitFailed);
}

}  // namespace
}  // namespace rain::tools
