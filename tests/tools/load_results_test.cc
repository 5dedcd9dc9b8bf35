// Tests of load_results.h: what a completed request adds to the histograms, and the report that follows.
#include "tools/load_results.h"

#include <gtest/gtest.h>

namespace rain::tools {
namespace {

constexpr LatencyParts kParts{.in_switch = microseconds(3),
                              .in_worker = microseconds(5),
                              .service = microseconds(2),
                              .worker = {},
                              .queue_length = 7};

TEST(LoadResults, slowdown_thousandths__waiting_and_service_over_service) {
  EXPECT_EQ(slowdown_thousandths(kParts), Nanos{5000});
  EXPECT_EQ(slowdown_thousandths({.in_switch = {}, .in_worker = {}, .service = microseconds(2)}),
            Nanos{1000});
}

TEST(LoadResults, slowdown_thousandths__no_service_time_divides_by_a_nanosecond) {
  EXPECT_EQ(slowdown_thousandths({.in_switch = {}, .in_worker = Nanos{4}, .service = {}}), Nanos{4000});
}

TEST(LoadResults, record__lag_counts_into_latency_but_not_into_the_wire) {
  LoadResults results(2);
  results.record(1, microseconds(100), microseconds(14), kParts);
  EXPECT_EQ(results.classes[1].latency.max(), microseconds(114));
  EXPECT_EQ(results.classes[1].service.max(), microseconds(2));
  EXPECT_EQ(results.classes[0].latency.count(), 0u);
  EXPECT_EQ(results.wire.max(), microseconds(4));
  EXPECT_EQ(results.in_switch.max(), microseconds(3));
  EXPECT_EQ(results.in_worker.max(), microseconds(5));
  EXPECT_EQ(results.queue_length.max(), Nanos{7});
  EXPECT_EQ(results.queued, 1u);
}

TEST(LoadResults, merge__adds_everything) {
  LoadResults a(1), b(1);
  a.record(0, {}, microseconds(14), kParts);
  b.record(0, {}, microseconds(24), kParts);
  b.send_lag.record(microseconds(9));
  b.measured = {.sent = 5, .completed = 2, .timed_out = 1};
  b.measured.not_admitted[static_cast<std::size_t>(rpc::Limit::kShare)] = 1;
  b.admission.record(microseconds(3));
  b.back_offs = 4;
  b.windows = {6};
  b.measured.dropped[static_cast<std::size_t>(DropReason::kQueueFull)] = 1;
  b.warmup.sent = 3;
  b.completed_in_window = 4;
  b.application_errors = 1;
  b.first_application_error = "no such key";
  a.merge(b);
  EXPECT_EQ(a.classes[0].latency.count(), 2u);
  EXPECT_EQ(a.send_lag.count(), 1u);
  EXPECT_EQ(a.queued, 2u);
  EXPECT_EQ(a.admission.count(), 1u);
  EXPECT_EQ(a.back_offs, 4u);
  EXPECT_EQ(a.windows, std::vector<std::uint64_t>{6});
  EXPECT_EQ(a.measured.failed(), 3u);
  EXPECT_EQ(a.measured.sent, 5u);
  EXPECT_EQ(a.warmup.sent, 3u);
  EXPECT_EQ(a.completed_in_window, 4u);
  EXPECT_EQ(a.application_errors, 1u);
  EXPECT_EQ(a.first_application_error, "no such key");
}

TEST(LoadResults, to_outcomes__names_the_reasons) {
  OutcomeCounts counts{.sent = 20, .completed = 5, .timed_out = 1, .given_up = 2, .waited_out = 4};
  counts.not_admitted[static_cast<std::size_t>(rpc::Limit::kMaxOutstanding)] = 1;
  counts.not_admitted[static_cast<std::size_t>(rpc::Limit::kShare)] = 1;
  counts.not_admitted[static_cast<std::size_t>(rpc::Limit::kWindow)] = 3;
  counts.dropped[static_cast<std::size_t>(DropReason::kQueueFull)] = 3;
  const Outcomes outcomes = counts.to_outcomes();
  EXPECT_EQ(outcomes.dropped, (std::map<std::string, std::uint64_t>{{"client_backpressure", 1},
                                                                    {"admission_share", 1},
                                                                    {"admission_window", 3},
                                                                    {"admission_timeout", 4},
                                                                    {"generator_overload", 2},
                                                                    {"queue_full", 3}}));
  EXPECT_EQ(outcomes.without_outcome(), 0u);
}

TEST(LoadResults, make_report__rates_over_the_measured_window) {
  LoadResults results(1);
  for (int i = 0; i < 1000; ++i) results.record(0, {}, microseconds(14), kParts);
  results.measured = {.sent = 1000, .completed = 1000};
  results.warmup = {.sent = 500, .completed = 500};
  results.completed_in_window = 900;
  const Report report = make_report(results, seconds(2));
  EXPECT_DOUBLE_EQ(report.offered_rps, 500);
  EXPECT_DOUBLE_EQ(report.achieved_rps, 450);
  EXPECT_EQ(report.events, 1500u);
  EXPECT_DOUBLE_EQ(*report.in_switch.queued_ratio, 1);
  EXPECT_DOUBLE_EQ(*report.in_switch.queue_p99, 7);
  EXPECT_DOUBLE_EQ(*report.slowdown.mean, 5);
  EXPECT_DOUBLE_EQ(*report.wire_us.mean, 4);
  EXPECT_EQ(report.classes.at(0).count, 1000u);
  EXPECT_TRUE(report.kept_schedule);
}

TEST(LoadResults, make_report__nothing_measured) {
  const Report report = make_report(LoadResults(1), Nanos{});
  EXPECT_EQ(report.offered_rps, 0);
  EXPECT_FALSE(report.latency_us.mean.has_value());
  EXPECT_FALSE(report.in_switch.queued_ratio.has_value());
}

TEST(LoadResults, keeps_schedule__lag_against_latency) {
  Histogram lag, latency;
  lag.record(microseconds(90), 1000);
  latency.record(microseconds(20), 1000);
  EXPECT_TRUE(keeps_schedule(lag, latency));  // below 100 us: a timer's accuracy
  lag.record(microseconds(150), 100);
  EXPECT_FALSE(keeps_schedule(lag, latency));
  latency.record(milliseconds(2), 100);
  EXPECT_TRUE(keeps_schedule(lag, latency));  // below a tenth of what is measured
}

}  // namespace
}  // namespace rain::tools
