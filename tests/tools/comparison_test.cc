// Tests of comparison.h.
#include "tools/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rain::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report run(const std::string& scheduler, double slowdown_p99) {
  Report report;
  report.scheduler = scheduler;
  report.slowdown.p99 = slowdown_p99;
  report.classes.resize(2);
  report.classes[0].name = "get";
  report.classes[1].name = "scan";
  report.classes[0].latency_us.p99 = slowdown_p99 * 10;
  return report;
}

TEST(Comparison, ratio__unstated_stays_unstated) {
  EXPECT_EQ(ratio(6, 2), 3);
  EXPECT_FALSE(ratio(std::nullopt, 2).has_value());
  EXPECT_FALSE(ratio(6, std::nullopt).has_value());
  EXPECT_FALSE(ratio(6, 0).has_value());
}

TEST(Comparison, reference__rain_or_the_last) {
  EXPECT_EQ((Comparison{{run("rain", 1), run("random", 2)}}.reference()), 0u);
  EXPECT_EQ((Comparison{{run("jsq", 1), run("random", 2)}}.reference()), 1u);
}

TEST(Comparison, to_table__ratios_against_the_reference) {
  const std::string table = Comparison{{run("random", 30), run("rain", 4)}}.to_table();
  EXPECT_THAT(table, HasSubstr("random/rain"));
  EXPECT_THAT(table, HasSubstr("7.50x"));
  EXPECT_THAT(table, HasSubstr("get latency p99 us"));
  EXPECT_THAT(table, HasSubstr("send lag p99 us"));
  EXPECT_THAT(table, HasSubstr("without outcome"));
  EXPECT_THAT(table, Not(HasSubstr("WARNING")));
}

TEST(Comparison, to_table__a_run_that_cannot_be_believed_is_named) {
  Comparison comparison{{run("random", 30), run("rain", 4)}};
  comparison.runs[1].kept_schedule = false;
  EXPECT_THAT(comparison.to_table(), HasSubstr("WARNING, rain: the generator could not keep its schedule"));
}

TEST(Comparison, to_json__ratios_and_runs) {
  const auto json = Comparison{{run("random", 30), run("rain-paper", 5), run("rain", 4)}}.to_json();
  EXPECT_EQ(json["schema"], "rain.compare/1");
  EXPECT_EQ(json["reference"], "rain");
  EXPECT_EQ(json["slowdown_p99_ratio"]["random/rain"], 7.5);
  EXPECT_EQ(json["slowdown_p99_ratio"]["rain-paper/rain"], 1.25);
  EXPECT_EQ(json["runs"].size(), 3u);
}

}  // namespace
}  // namespace rain::tools
