#include "softswitch/switch_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rain::softswitch {
namespace {

using testing::HasSubstr;
using testing::Not;

SwitchReport report_of_two_threads() {
  SwitchCounters first(1);
  first.add(SwitchCounter::kForwarded, 30);
  first.add(SwitchCounter::kBuffered, 5);
  first.drops().add(DropReason::kQueueFull, 2);
  SwitchCounters second(1);
  second.add(SwitchCounter::kForwarded, 60);
  second.add(SwitchCounter::kBuffered, 5);
  second.drops().add(DropReason::kQueueFull, 1);
  SwitchReport report;
  report.program = "rain";
  report.totals.add(first);
  report.totals.add(second);
  report.totals.slices = {{.name = "fast", .id = {0}, .forwarded = 30, .buffered = 5, .dispatched = 5},
                          {.name = "slow", .id = {1}, .forwarded = 60, .buffered = 5, .dispatched = 3}};
  report.slices.resize(2);
  report.slices[0].queue_length.record(Nanos{0}, 95);
  report.slices[1].queue_length.record(Nanos{40}, 5);
  return report;
}

TEST(SwitchReport, add__sums_threads) {
  const SwitchReport report = report_of_two_threads();
  EXPECT_EQ(report.totals.get(SwitchCounter::kForwarded), 90u);
  EXPECT_EQ(report.totals.get(DropReason::kQueueFull), 3u);
  EXPECT_EQ(report.waiting(), 2u);
}

TEST(SwitchReport, queued_ratio__of_accepted_tasks) {
  EXPECT_DOUBLE_EQ(report_of_two_threads().queued_ratio(), 0.1);
  EXPECT_EQ(SwitchReport{}.queued_ratio(), 0);
}

TEST(SwitchReport, queue_p99__over_all_slices) {
  EXPECT_EQ(report_of_two_threads().queue_p99(), 40u);
  EXPECT_EQ(SwitchReport{}.queue_p99(), 0u);
}

TEST(SwitchReport, text__names_what_happened_and_nothing_else) {
  SwitchReport report = report_of_two_threads();
  const std::string text = report.text();
  EXPECT_THAT(text, HasSubstr("scheduler rain"));
  EXPECT_THAT(text, HasSubstr("forwarded                   90\n"));
  EXPECT_THAT(text, HasSubstr("drop.queue_full             3\n"));
  EXPECT_THAT(text, Not(HasSubstr("drop.bad_magic")));
  EXPECT_THAT(text, Not(HasSubstr("socket_overflows")));
  EXPECT_THAT(text, Not(HasSubstr("cut_packets")));
  EXPECT_THAT(text, Not(HasSubstr("not drained")));
  EXPECT_THAT(text, HasSubstr("\n  slow "));
  report.drained = false;
  report.totals.receive_overflows = 7;
  EXPECT_THAT(report.text(), HasSubstr("not drained in time: 2 tasks"));
  report.cut_packets = 9;
  EXPECT_THAT(report.text(), HasSubstr("socket_overflows            7"));
  EXPECT_THAT(report.text(), HasSubstr("cut_packets                 9\n"));
}

TEST(SwitchCounters, list__names_are_distinct_and_explained) {
  std::set<std::string> names;
  for (const SwitchCounterInfo& info : kSwitchCounters) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_STRNE(info.help, "") << info.name;
  }
  EXPECT_STREQ(kSwitchCounters[static_cast<std::size_t>(SwitchCounter::kRecirculations)].name,
               "recirculations");
}

}  // namespace
}  // namespace rain::softswitch
