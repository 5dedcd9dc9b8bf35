// Tests of `rain budget`, by running it.
#include "tools/command_support.h"

namespace rain::tools {
namespace {

TEST(BudgetCommand, budget__json_beside_the_paper) {
  const Finished finished = run_rain({"budget", "rain-paper", "--levels", "2", "--json"});
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.err, "");
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["scheduler"], "rain-paper");
  EXPECT_EQ(json["levels"], 2);
  EXPECT_EQ(json["paper_prototype"]["stages"], 11);
  EXPECT_EQ(json["paper_prototype"]["sram_share"], 0.241);
  EXPECT_EQ(json["per_stage"].size(), json["stages"].get<std::size_t>());
  EXPECT_EQ(json["fits"], true);
}

TEST(BudgetCommand, budget__levels_cost_stages) {
  unsigned before = 0;
  for (const char* levels : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    const auto json = nlohmann::json::parse(run_rain({"budget", "rain", "--levels", levels, "--json"}).out);
    EXPECT_GE(json["stages"].get<unsigned>(), before) << levels;
    before = json["stages"].get<unsigned>();
  }
  EXPECT_GT(before, 12u);
}

TEST(BudgetCommand, budget__table_for_every_scheduler) {
  for (const char* scheduler :
       {"rain", "rain-paper", "r2p2", "racksched", "draconis", "pallas", "random", "round-robin", "jsq"}) {
    const Finished finished = run_rain({"budget", scheduler});
    EXPECT_EQ(finished.status, 0) << scheduler;
    EXPECT_THAT(finished.out, HasSubstr("paper's prototype")) << scheduler;
    EXPECT_THAT(finished.out, HasSubstr("24.1 %")) << scheduler;
  }
}

TEST(BudgetCommand, budget__bad_input) {
  expect_refused({"budget"}, "rain budget: SCHEDULER is required");
  expect_refused(
      {"budget", "rian"},
      "rain budget: SCHEDULER = rian: one of rain, rain-paper, r2p2, racksched, draconis, pallas, random, "
      "round-robin, jsq; did you mean 'rain'?");
  expect_refused({"budget", "rain", "--levels", "9"}, "rain budget: --levels = 9: an integer from 1 to 8");
  expect_refused({"budget", "rain", "--levels", "x"},
                 "rain budget: --levels = \"x\": an integer from 1 to 8");
  expect_refused({"budget", "rain", "--workers", "1025"},
                 "rain budget: --workers = 1025: an integer from 1 to 1024");
  expect_refused({"budget", "rain", "--slices", "0"}, "rain budget: --slices = 0: an integer from 1 to 64");
  expect_refused({"budget", "rain", "--queue-capacity", "0"},
                 "rain budget: --queue-capacity = 0: an integer from 1 to 1048576, tasks");
  expect_refused({"budget", "rain", "--level", "3"},
                 "rain budget: '--level' is not expected; did you mean '--levels'?; --help lists the flags");
}

}  // namespace
}  // namespace rain::tools
