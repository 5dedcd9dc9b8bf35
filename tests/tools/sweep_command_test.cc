// Tests of `rain sweep`, by running it: also by killing it half-way.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/command_support.h"

namespace rain::tools {
namespace {

std::vector<std::string> sweep(const std::string& out, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"sweep",
                                     "--scheduler",
                                     "rain,rain-paper,pallas",
                                     "--depth",
                                     "1,2",
                                     "--load",
                                     "50%,80%",
                                     "--seed",
                                     "1,2,3",
                                     "--duration",
                                     "20ms",
                                     "--warmup",
                                     "1ms",
                                     "--out",
                                     out,
                                     "--threads",
                                     "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(SweepCommand, sweep__a_row_for_each_combination) {
  const ScratchFile place("x", "");
  const Finished finished = run_rain(sweep(place.folder() / "out"));
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, (place.folder() / "out/sweep.png").string() + "\n");
  EXPECT_THAT(finished.err, HasSubstr("30 of 30 runs, 100 % of the work"));
  EXPECT_GT(std::filesystem::file_size(place.folder() / "out/sweep.png"), 1000u);
  EXPECT_FALSE(std::filesystem::exists(place.folder() / "out/journal"));
  const std::string csv = content_of(place.folder() / "out/sweep.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 31);
  EXPECT_TRUE(csv.starts_with("scheduler,depth,load_rps,seed,offered_rps,"));
  EXPECT_THAT(csv, HasSubstr("\nrain,1,1600000,1,"));
  EXPECT_THAT(csv, HasSubstr("\nrain-paper,2,2560000,3,"));
  EXPECT_THAT(csv, HasSubstr("\npallas,,2560000,2,"));  // no depth: one run for both
}

TEST(SweepCommand, sweep__killed_and_started_again_ends_with_the_same_bytes) {
  const ScratchFile place("x", "");
  const std::string whole = place.folder() / "whole";
  const std::string killed = place.folder() / "killed";
  ASSERT_EQ(run_rain(sweep(whole, {"--no-picture"})).status, 0);
  {
    Running running(sweep(killed, {"--no-picture"}));
    ASSERT_TRUE(running.wait_for(" of 30 runs, ")) << running.err();  // at least one is done
    running.send_signal(SIGKILL);
    EXPECT_EQ(running.finish().status, 128 + SIGKILL);
  }
  ASSERT_FALSE(std::filesystem::exists(killed + "/sweep.csv")) << "it ended before it was killed";
  const Finished again = run_rain(sweep(killed, {"--no-picture"}));
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("of 30 runs were done before"));
  EXPECT_EQ(content_of(killed + "/sweep.csv"), content_of(whole + "/sweep.csv"));
}

TEST(SweepCommand, sweep__same_bytes_with_any_number_of_threads) {
  const ScratchFile place("x", "");
  std::string csv[2];
  for (const int i : {0, 1}) {
    const std::string out = place.folder() / std::to_string(i);
    const Finished finished =
        run_rain({"sweep", "--scheduler", "racksched,r2p2", "--load", "60%,90%", "--duration", "5ms",
                  "--warmup", "0", "--out", out, "--no-picture", "--threads", i == 0 ? "1" : "3"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    csv[i] = content_of(out + "/sweep.csv");
  }
  EXPECT_EQ(csv[0], csv[1]);
}

TEST(SweepCommand, sweep__refusals) {
  expect_refused({"sweep", "--seed", "1,1"}, "rain sweep: --seed = 1,1: 1 stands there twice");
  const Finished unknown = run_rain({"sweep", "--scheduler", "rain,best"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("best"));
  EXPECT_THAT(unknown.err, HasSubstr("rain-paper, "));
  const Finished load = run_rain({"sweep", "--load", "50%,fast"});
  EXPECT_EQ(load.status, 2);
  EXPECT_THAT(load.err, HasSubstr("--load = \"fast\""));
  const Finished threads = run_rain({"sweep", "--threads", "0"});
  EXPECT_EQ(threads.status, 2);
  EXPECT_EQ(std::count(threads.err.begin(), threads.err.end(), '\n'), 1);
  const ScratchFile file("x", "");
  const Finished folder = run_rain({"sweep", "--duration", "1ms", "--warmup", "0", "--out", file.path()});
  EXPECT_EQ(folder.status, 2);
  EXPECT_THAT(folder.err, HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace rain::tools
