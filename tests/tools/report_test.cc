// Tests of report.h: the schema, the rule of samples, and what is said when a figure cannot be believed.
#include "tools/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rain::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Histogram filled(std::uint64_t count, Nanos value = microseconds(10)) {
  Histogram histogram;
  histogram.record(value, count);
  return histogram;
}

Report example() {
  Report report;
  report.scheduler = "rain";
  report.workers = 4;
  report.depth = 2;
  report.seed = 7;
  report.duration_s = 10;
  report.offered_rps = 1000.5;
  report.achieved_rps = 999.25;
  report.latency_us = summarise(filled(20000), 1e-3);
  report.slowdown = summarise(filled(20000, {1500}), 1e-3);
  report.classes.push_back({.type = TaskType{3},
                            .name = "get",
                            .count = 20000,
                            .latency_us = report.latency_us,
                            .slowdown = report.slowdown,
                            .service_us = summarise(filled(5), 1e-3),
                            .latency_distribution_us = distribution_of(filled(20000), 1e-3)});
  report.outcomes = {.sent = 20010, .completed = 20000, .dropped = {{"queue_full", 7}}, .timed_out = 3};
  report.in_switch.queued_ratio = 0.25;
  report.connections = 2;
  return report;
}

TEST(Report, summarise__states_only_what_has_samples) {
  const Summary few = summarise(filled(19), 1e-3);
  EXPECT_TRUE(few.mean && few.max);
  EXPECT_FALSE(few.p50 || few.p90 || few.p99 || few.p999);
  const Summary some = summarise(filled(999), 1e-3);
  EXPECT_TRUE(some.p50 && some.p90);
  EXPECT_FALSE(some.p99 || some.p999);
  EXPECT_FALSE(summarise(filled(9999), 1e-3).p999);
  EXPECT_TRUE(summarise(filled(10000), 1e-3).p999);
  EXPECT_FALSE(summarise(Histogram(), 1e-3).mean);
}

TEST(Report, admission__is_told_when_it_was_on) {
  Report report = example();
  EXPECT_EQ(to_json(report, false)["admission"], nullptr);
  EXPECT_THAT(to_table(report), Not(HasSubstr("admission")));
  report.admission = AdmissionReport{.mode = "wait", .share = 64, .back_offs = 3, .windows = {40}};
  report.admission_us = summarise(filled(20000), 1e-3);
  const nlohmann::ordered_json json = to_json(report, false)["admission"];
  EXPECT_EQ(json["mode"], "wait");
  EXPECT_EQ(json["share"], 64);
  EXPECT_EQ(json["back_offs"], 3);
  EXPECT_EQ(json["windows"]["get"], 40);
  EXPECT_NEAR(json["wait_us"]["p99"].get<double>(), 10, 0.1);
  EXPECT_THAT(to_table(report),
              HasSubstr("admission: wait, share 64, windows narrowed 3 times, at the end get 40\n"));
  EXPECT_THAT(to_table(report), HasSubstr("admission us"));
}

TEST(Report, summarise__scale) {
  const Summary summary = summarise(filled(10000, microseconds(8)), 1e-3);
  EXPECT_DOUBLE_EQ(*summary.mean, 8);
  EXPECT_DOUBLE_EQ(*summary.max, 8);
  EXPECT_NEAR(*summary.p99, 8, 8 * 0.008);
}

TEST(Report, distribution_of__share_above_falls_to_zero) {
  Histogram histogram;
  histogram.record(microseconds(1), 90);
  histogram.record(microseconds(100), 10);
  const Distribution points = distribution_of(histogram, 1e-3);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_DOUBLE_EQ(points[0].second, 0.1);
  EXPECT_DOUBLE_EQ(points[1].second, 0);
  EXPECT_NEAR(points[1].first, 100, 1.6);
}

TEST(Report, to_json__schema) {
  const nlohmann::ordered_json json = to_json(example(), false);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema",
                                            "scheduler",
                                            "workers",
                                            "depth",
                                            "seed",
                                            "duration_s",
                                            "offered_rps",
                                            "achieved_rps",
                                            "latency_us",
                                            "slowdown",
                                            "parts_us",
                                            "classes",
                                            "outcomes",
                                            "switch",
                                            "events",
                                            "wall_s",
                                            "warmup_s",
                                            "requested_rps",
                                            "connections",
                                            "send_lag_us",
                                            "admission",
                                            "kept_schedule",
                                            "failure_warning",
                                            "schedule_warning",
                                            "warmup_outcomes",
                                            "sockets",
                                            "application_errors"}));
  EXPECT_EQ(json["schema"], "rain.report/1");
  EXPECT_EQ(json["offered_rps"], 1000.5);
  EXPECT_EQ(json["latency_us"]["max"], 10.0);
  EXPECT_EQ(json["slowdown"]["mean"], 1.5);
  EXPECT_EQ(json["parts_us"]["wire"]["p99"], nullptr);
  EXPECT_EQ(json["classes"][0]["type"], 3);
  EXPECT_EQ(json["classes"][0]["count"], 20000);
  EXPECT_FALSE(json["classes"][0].contains("latency_distribution_us"));
  EXPECT_EQ(json["outcomes"]["dropped"]["queue_full"], 7);
  EXPECT_EQ(json["outcomes"]["timed_out"], 3);
  EXPECT_EQ(json["outcomes"]["without_outcome"], 0);
  EXPECT_EQ(json["switch"]["queued_ratio"], 0.25);
  EXPECT_EQ(json["switch"]["recirculations"], nullptr);
  EXPECT_EQ(json["schedule_warning"], nullptr);
}

TEST(Report, to_json__unknown_is_null) {
  const nlohmann::ordered_json json = to_json(Report{}, false);
  for (const char* key : {"scheduler", "workers", "depth"}) EXPECT_EQ(json[key], nullptr) << key;
}

TEST(Report, to_json__distributions_on_request) {
  const nlohmann::ordered_json json = to_json(example(), true);
  EXPECT_EQ(json["classes"][0]["latency_distribution_us"].size(), 1u);
}

TEST(Report, outcomes__every_request_is_accounted_for) {
  Outcomes outcomes = example().outcomes;
  EXPECT_EQ(outcomes.dropped_total(), 7u);
  EXPECT_EQ(outcomes.without_outcome(), 0u);
  outcomes.sent += 2;
  EXPECT_EQ(outcomes.without_outcome(), 2u);
}

TEST(Report, to_table__says_what_was_dropped_and_lost) {
  Report report = example();
  EXPECT_THAT(to_table(report), HasSubstr("20010 sent = 20000 completed + 7 dropped + 3 timed out\n"));
  EXPECT_THAT(to_table(report), HasSubstr("dropped, queue_full: 7"));
  EXPECT_THAT(to_table(report), HasSubstr("recirculations unknown"));
  report.outcomes.sent += 2;
  EXPECT_THAT(to_table(report), HasSubstr("2 WITHOUT AN OUTCOME"));
}

TEST(Report, to_table__warns_when_the_schedule_was_not_kept) {
  Report report = example();
  EXPECT_THAT(to_table(report), Not(HasSubstr("WARNING")));
  report.kept_schedule = false;
  report.send_lag_us = summarise(filled(10000, milliseconds(3)), 1e-3);
  EXPECT_THAT(to_table(report), HasSubstr("WARNING: the generator could not keep its schedule"));
  EXPECT_EQ(to_json(report, false)["kept_schedule"], false);
  EXPECT_THAT(to_json(report, false)["schedule_warning"].get<std::string>(), HasSubstr("3000 us late"));
}

TEST(Report, to_table__warns_when_many_requests_failed) {
  Report report = example();
  report.outcomes = {.sent = 1000, .completed = 990, .dropped = {}};
  EXPECT_EQ(report.failure_warning(), "");
  report.outcomes = {.sent = 1000, .completed = 989, .dropped = {}};
  EXPECT_THAT(to_table(report), HasSubstr("WARNING: 1.1 % of the requests failed"));
  EXPECT_THAT(to_json(report, false)["failure_warning"].get<std::string>(), HasSubstr("use a lower rate"));
}

TEST(Report, sockets__printed_when_anything_went_wrong) {
  Report report = example();
  EXPECT_THAT(to_table(report), Not(HasSubstr("sockets")));
  report.sockets = {.send_failures = 3, .cut_packets = 1};
  EXPECT_THAT(to_table(report), HasSubstr("sockets: 3 sends refused, 1 packets cut\n"));
  EXPECT_EQ(to_json(report, false)["sockets"]["send_failures"], 3);
  report.sockets += report.sockets;
  EXPECT_EQ(report.sockets, (SocketCounts{.send_failures = 6, .cut_packets = 2}));
}

TEST(Report, to_table__explains_the_dash) {
  Report report = example();
  EXPECT_THAT(to_table(report), Not(HasSubstr("fewer than 10 samples")));
  report.latency_us = summarise(filled(500), 1e-3);
  EXPECT_THAT(to_table(report), HasSubstr("fewer than 10 samples"));
}

TEST(Report, short_number__digits) {
  EXPECT_EQ(short_number(std::nullopt), "-");
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.0314), "0.031");
  EXPECT_EQ(short_number(3.14159), "3.14");
  EXPECT_EQ(short_number(31.4159), "31.4");
  EXPECT_EQ(short_number(31415.9), "31416");
}

}  // namespace
}  // namespace rain::tools
