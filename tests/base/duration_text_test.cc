// Durations in text: units, fractions, refusals, and that both directions agree.
#include "base/duration_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rain {
namespace {

using namespace rain::literals;
using testing::HasSubstr;

TEST(duration_text, parse__accepts) {
  struct Row {
    const char* text;
    Nanos expected;
  };
  const Row rows[] = {
      {"0", 0_ns},
      {"0s", 0_ns},
      {"1ns", 1_ns},
      {"10us", 10_us},
      {"1.5ms", 1500_us},
      {"2s", 2_s},
      {"1min", 60_s},
      {"0.5min", 30_s},
      {"0.000000001s", 1_ns},
      {"007us", 7_us},
      {"1.0ns", 1_ns},
      {"1.50us", 1500_ns},
      {"9223372036s", seconds(9223372036)},
      {"9223372036854775807ns", Nanos::max()},
      {"9223372036.854775807s", Nanos::max()},
      {"0.999999999min", Nanos{59'999'999'940}},
  };
  for (const Row& row : rows) {
    const auto parsed = parse_duration(row.text);
    ASSERT_TRUE(parsed) << parsed.error();
    EXPECT_EQ(*parsed, row.expected) << row.text;
  }
}

TEST(duration_text, parse__refuses) {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"", "is no duration"},
      {"ms", "is no duration"},
      {"-1ms", "is no duration"},
      {"+1ms", "is no duration"},
      {".5ms", "is no duration"},
      {" 1ms", "is no duration"},
      {"1.ms", "is no duration"},
      {"1.0000000000s", "is no duration"},
      {"10", "has no unit"},
      {"1.5", "has no unit"},
      {"1 ms", "unknown unit"},
      {"1ms ", "unknown unit"},
      {"1MS", "unknown unit"},
      {"1h", "unknown unit"},
      {"1e3ms", "unknown unit"},
      {"0.5ns", "whole number"},
      {"1.0005us", "whole number"},
      {"9223372037s", "too long"},
      {"9223372036.854775808s", "too long"},
      {"9223372036854775808ns", "too long"},
      {"99999999999999999999s", "too long"},
  };
  for (const Row& row : rows) {
    const auto parsed = parse_duration(row.text);
    ASSERT_FALSE(parsed) << row.text;
    EXPECT_THAT(parsed.error(), HasSubstr(row.message)) << row.text;
    EXPECT_THAT(parsed.error(), HasSubstr("for example 1.5ms")) << row.text;
  }
}

TEST(duration_text, parse__message_is_one_printable_line) {
  const auto parsed = parse_duration("1\n\x7f" + std::string(1000, 'x'));
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().size(), 160U);
  for (const char c : parsed.error()) EXPECT_TRUE(c >= ' ' && c <= '~');
}

TEST(duration_text, format__largest_unit_without_fraction) {
  EXPECT_EQ(format_duration({}), "0s");
  EXPECT_EQ(format_duration(1_ns), "1ns");
  EXPECT_EQ(format_duration(1500_us), "1500us");
  EXPECT_EQ(format_duration(90_s), "90s");
  EXPECT_EQ(format_duration(Nanos{-2'000}), "-2us");
  for (const Nanos duration : {1_ns, 999_ns, 10_us, 1500_us, 1_s, 3600_s, Nanos::max()}) {
    EXPECT_EQ(parse_duration(format_duration(duration)).value(), duration);
  }
}

}  // namespace
}  // namespace rain
