// Tests of `rain sim`, by running it.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tools/command_support.h"

namespace rain::tools {
namespace {

Finished run_sim(std::vector<std::string> flags) {
  std::vector<std::string> arguments{"sim", "--duration", "5ms", "--warmup", "1ms"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return run_rain(arguments);
}

nlohmann::json run_json(std::vector<std::string> flags) {
  flags.push_back("--json");
  const Finished finished = run_sim(std::move(flags));
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  return nlohmann::json::parse(finished.out);
}

TEST(SimCommand, sim__json_in_the_report_schema) {
  const nlohmann::json json =
      run_json({"--scheduler", "rain-paper", "--depth", "2", "--load", "2.6M", "--seed", "7"});
  EXPECT_EQ(json["schema"], "rain.report/1");
  EXPECT_EQ(json["scheduler"], "rain-paper");
  EXPECT_EQ(json["workers"], 32);
  EXPECT_EQ(json["depth"], 2);
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["duration_s"], 0.005);
  EXPECT_EQ(json["requested_rps"], 2'600'000);
  EXPECT_NEAR(json["offered_rps"].get<double>(), 2.6e6, 5e4);
  for (const char* key : {"mean", "p50", "p90", "p99", "p999", "max"}) {
    EXPECT_TRUE(json["latency_us"][key].is_number()) << key;
    EXPECT_TRUE(json["slowdown"][key].is_number()) << key;
    for (const char* part : {"switch", "worker", "service", "wire"}) {
      EXPECT_TRUE(json["parts_us"][part][key].is_number()) << part << ' ' << key;
    }
  }
  EXPECT_EQ(json["classes"].size(), 1u);
  EXPECT_EQ(json["classes"][0]["count"], json["outcomes"]["completed"]);
  EXPECT_EQ(json["outcomes"]["without_outcome"], 0);
  EXPECT_TRUE(json["switch"]["queued_ratio"].is_number());
  EXPECT_EQ(json["switch"]["recirculations"], 0);
  EXPECT_GT(json["events"], 60'000);
  EXPECT_TRUE(json["wall_s"].is_null());
  EXPECT_EQ(json["overload"]["overloaded"], false);
}

TEST(SimCommand, sim__same_flags_same_bytes) {
  const std::vector<std::string> flags{"--json", "--load", "90%", "--service", "lognormal:10us:1"};
  const Finished first = run_sim(flags);
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(run_sim(flags).out, first.out);
  std::vector<std::string> other = flags;
  other.insert(other.end(), {"--seed", "2"});
  EXPECT_NE(run_sim(other).out, first.out);
}

TEST(SimCommand, sim__timing_shows_the_wall_time) {
  EXPECT_TRUE(run_json({"--timing"})["wall_s"].is_number());
}

TEST(SimCommand, sim__load_as_a_share_of_what_the_workers_serve) {
  EXPECT_EQ(run_json({"--load", "50%", "--service", "const:20us", "--workers", "8"})["requested_rps"],
            200'000);
}

TEST(SimCommand, sim__classes_and_slices) {
  const nlohmann::json json =
      run_json({"--scheduler", "pallas", "--classes", "get@1:0.9:const:8us,scan@2:0.1:const:107us",
                "--slices", "14@1,18@2", "--load", "1M"});
  ASSERT_EQ(json["classes"].size(), 2u);
  EXPECT_EQ(json["classes"][1]["name"], "scan");
  EXPECT_EQ(json["classes"][1]["type"], 2);
  EXPECT_EQ(json["depth"], 0);
}

TEST(SimCommand, sim__a_load_above_capacity_is_reported_as_overload) {
  const nlohmann::json json = run_json({"--load", "120%"});
  EXPECT_EQ(json["overload"]["overloaded"], true);
  EXPECT_NEAR(json["overload"]["growth_rps"].get<double>(), 0.2 * 3.2e6, 0.05 * 3.2e6);
  const Finished table = run_sim({"--load", "120%"});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("OVERLOAD: "));
}

std::string content_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(SimCommand, sim__adaptive_reports_what_the_agents_did) {
  const std::string decisions = ::testing::TempDir() + "sim_command_decisions.jsonl";
  const std::vector<std::string> flags{"--adaptive", "--scheduler", "rain-paper", "--load",
                                       "2.9M",       "--depth",     "1",          "--sth",
                                       "3",          "--max-quota", "5",          "--control-interval",
                                       "200us",      "--decisions", decisions};
  const nlohmann::json json = run_json(flags);
  EXPECT_EQ(json["adaptive"]["intervals"], 30);
  EXPECT_GT(json["adaptive"]["quota_changes"], 0);
  EXPECT_GT(json["adaptive"]["mean_depth"], 1);
  EXPECT_EQ(json["adaptive"]["moves"], 0);
  EXPECT_THAT(run_sim(flags).out, HasSubstr("agents: 30 intervals, "));

  const Finished replayed = run_rain({"replay", decisions});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("30 intervals: the same "));
  std::string spoiled = content_of(decisions);
  spoiled.replace(spoiled.find("\"max_quota\":5"), 13, "\"max_quota\":1");
  std::ofstream(decisions) << spoiled;
  const Finished different = run_rain({"replay", decisions});
  EXPECT_EQ(different.status, 2);
  EXPECT_THAT(different.err, HasSubstr("slice and quota were"));
}

TEST(SimCommand, sim__policy_is_the_schedulers_unless_named) {
  EXPECT_EQ(
      run_json({"--adaptive", "--load", "90%", "--control-interval", "1ms"})["adaptive"]["quota_changes"], 0);
  EXPECT_GT(run_json({"--adaptive", "--policy", "paper", "--load", "130%", "--sth", "2", "--control-interval",
                      "1ms"})["adaptive"]["quota_changes"],
            0);
}

TEST(SimCommand, sim__timeline_is_a_row_for_each_interval) {
  const std::string path = ::testing::TempDir() + "sim_command_timeline.csv";
  EXPECT_EQ(run_sim({"--timeline", path, "--timeline-interval", "1ms", "--slices", "20@0,12@1", "--depth",
                     "3", "--load", "30%"})
                .status,
            0);
  std::istringstream rows(content_of(path));
  std::string row;
  std::getline(rows, row);
  EXPECT_EQ(row, "end_ms,completed,p50_us,p99_us,max_us,slowdown_p99,workers_0,depth_0,workers_1,depth_1");
  std::getline(rows, row);
  EXPECT_THAT(row, ::testing::StartsWith("1.000,"));
  EXPECT_THAT(row, ::testing::EndsWith(",20,3.000,12,3.000"));
  unsigned count = 1;
  while (std::getline(rows, row)) ++count;
  EXPECT_EQ(count, 6u);  // 5 ms after 1 ms of warm-up
}

TEST(SimCommand, replay__refuses_what_is_not_a_trace) {
  testing::expect_refused({"replay", "/nonexistent.jsonl"},
                          "rain replay: /nonexistent.jsonl: cannot be read");
}

TEST(SimCommand, sim__replays_a_trace) {
  const std::string path = ::testing::TempDir() + "sim_command_trace.csv";
  std::ofstream(path) << "arrival_us,type,service_us,size_bytes\n0,3,5,8\n20,4,30,100\n40,3,5,8\n60,3,5,8\n";
  const nlohmann::json json = run_json({"--service", "trace:" + path, "--workers", "1"});
  EXPECT_EQ(json["requested_rps"], 50'000);
  ASSERT_EQ(json["classes"].size(), 2u);
  EXPECT_EQ(json["classes"][0]["type"], 3);
  EXPECT_EQ(json["classes"][1]["name"], "type-4");
  // 5 ms of 80 us, an arrival more where the window cuts one.
  EXPECT_NEAR(json["outcomes"]["completed"].get<int>(), 250, 1);
  EXPECT_EQ(json["classes"][1]["slowdown"]["p50"], 1);
  // The one behind it comes 10 us before it is done.
  EXPECT_NEAR(
      json["parts_us"]["switch"]["max"].get<double>() + json["parts_us"]["worker"]["max"].get<double>(), 10,
      2.5);

  const Finished with_load = run_sim({"--service", "trace:" + path, "--load", "1M"});
  EXPECT_EQ(with_load.status, 2);
  EXPECT_THAT(with_load.err, HasSubstr("not with a trace"));
  std::ofstream(path) << "arrival_us,type,service_us,size_bytes\n0,3,5,8\n20,4,x,100\n";
  const Finished malformed = run_sim({"--service", "trace:" + path});
  EXPECT_EQ(malformed.status, 2);
  EXPECT_THAT(malformed.err, HasSubstr(path + ":3: column 3"));
  EXPECT_EQ(std::count(malformed.err.begin(), malformed.err.end(), '\n'), 1) << malformed.err;
}

TEST(SimCommand, sim__load_in_phases) {
  const nlohmann::json json = run_json({"--phases", "0s=1M,3ms=2M", "--arrivals", "constant"});
  EXPECT_NEAR(json["offered_rps"].get<double>(), 1.6e6, 1e3);  // 2 ms of the one and 3 ms of the other
  const Finished both = run_sim({"--phases", "0s=1M", "--load", "1M"});
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("not together with --phases"));
  EXPECT_EQ(run_sim({"--phases", "1s=1M"}).status, 2);
}

TEST(SimCommand, sim__table_for_people) {
  const Finished finished = run_sim({"--scheduler", "ideal", "--ideal-network"});
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.out, HasSubstr("scheduler ideal, workers 32"));
  EXPECT_THAT(finished.out, HasSubstr("the rack kept up"));
  EXPECT_THAT(finished.out, HasSubstr("events in"));
}

TEST(SimCommand, sim__bad_input_is_one_line_and_status_2) {
  struct Case {
    std::vector<std::string> flags;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{"--scheduler", "rian"},
       "--scheduler = \"rian\": one of rain, rain-paper, r2p2, racksched, draconis, pallas, random, "
       "round-robin, jsq, ideal; did you mean 'rain'?"},
      {{"--workers", "0"}, "--workers = 0: "},
      {{"--depth", "9"}, "--depth = 9: "},
      {{"--scheduler", "random", "--depth", "2"}, "depth = 2: not with random"},
      {{"--load", "-5"}, "--load = -5: requests a second"},
      {{"--load", "0"}, "--load = 0: requests a second"},
      {{"--load", "lots"}, "--load = \"lots\": requests a second"},
      {{"--load", "50%", "--service", "const:0"},
       "--load = \"50%\": requests a second, at most 1000000000: what so short a service allows is more"},
      {{"--service", "normal:10us"}, "unknown kind \"normal\""},
      {{"--service", "exp:10us", "--classes", "a:1:exp:10us"},
       "--service = \"exp:10us\": not together with --classes"},
      {{"--classes", "a:0.5:exp:10us,b:0.4:exp:20us"}, "add up to 0.9"},
      {{"--slices", "16@0,16"}, "--slices = \"16@0,16\": for each slice"},
      {{"--slices", "16@0"}, "slices have 16 workers together"},
      {{"--duration", "0"}, "--duration = 0: "},
      {{"--duration", "-1s"}, "--duration = \"-1s\": "},
      {{"--warmup", "-1s"}, "--warmup = \"-1s\": "},
      {{"--seed", "x"}, "--seed = \"x\": "},
      {{"--large-share", "2"}, "--large-share = 2: "},
      {{"--arrivals", "bursts"}, "arrivals \"bursts\" (allowed: poisson, uniform, constant)"},
      {{"--refresh", "never"}, "--refresh = \"never\": one of reports, recirculation"},
      {{"--adaptive", "--scheduler", "jsq"},
       "adaptive with jsq: only with rain and rain-paper, whose workers have quotas"},
      {{"--policy", "paper"}, "--policy = \"paper\": only together with --adaptive"},
      {{"--adaptive", "--policy", "none"}, "--policy = \"none\": one of paper, rain"},
      {{"--rth", "0.3"}, "--rth = 0.3: only together with --adaptive"},
      {{"--adaptive", "--rth", "1.5"}, "--rth = 1.5: a number from 0 to 1, of a task's waiting"},
      {{"--decisions", "d.jsonl"}, "--decisions: only together with --adaptive"},
      {{"--timeline", "t.csv", "--timeline-interval", "7"},
       "--timeline-interval = \"7\": a time with a unit, 1us or more"},
      {{"--lod", "5"}, "'--lod' is not expected; did you mean '--load'?"},
  };
  for (const Case& one : cases) {
    const Finished finished = run_rain([&] {
      std::vector<std::string> arguments{"sim"};
      arguments.insert(arguments.end(), one.flags.begin(), one.flags.end());
      return arguments;
    }());
    EXPECT_EQ(finished.status, 2) << one.says;
    EXPECT_EQ(finished.out, "") << one.says;
    EXPECT_THAT(finished.err, HasSubstr(one.says));
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
  }
}

}  // namespace
}  // namespace rain::tools
