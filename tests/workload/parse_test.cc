// Numbers and rates as people write them, and what they hear when they write something else.
#include "workload/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rain::workload {
namespace {

using ::testing::ElementsAre;

TEST(parse, in_quotes__one_printable_line_of_bounded_length) {
  EXPECT_EQ(in_quotes("exp:10us"), "\"exp:10us\"");
  EXPECT_EQ(in_quotes(""), "\"\"");
  EXPECT_EQ(in_quotes("a\nb\x1b[31m\xff"), "\"a?b?[31m?\"");
  EXPECT_EQ(in_quotes(std::string(48, 'x')), '"' + std::string(48, 'x') + '"');
  EXPECT_EQ(in_quotes(std::string(1000, 'x')), '"' + std::string(48, 'x') + "...\"");
}

TEST(parse, split__keeps_empty_pieces) {
  EXPECT_THAT(split("a:b::c", ':'), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(split("", ':'), ElementsAre(""));
  EXPECT_THAT(split(":", ':'), ElementsAre("", ""));
}

TEST(parse, parse_number__bounds_belong_to_the_range) {
  EXPECT_EQ(parse_number("0", "share", 0, 1).value(), 0);
  EXPECT_EQ(parse_number("1", "share", 0, 1).value(), 1);
  EXPECT_EQ(parse_number("2.5e-1", "share", 0, 1).value(), 0.25);
}

TEST(parse, parse_number__errors) {
  EXPECT_EQ(parse_number("1.01", "share", 0, 1).error(), "share \"1.01\" is out of range (allowed: 0 to 1)");
  EXPECT_EQ(parse_number("-0.5", "share", 0, 1).error(), "share \"-0.5\" is out of range (allowed: 0 to 1)");
  EXPECT_EQ(parse_number("", "share", 0, 1).error(), "share \"\" is not a number (allowed: 0 to 1)");
  EXPECT_EQ(parse_number("0.5x", "share", 0, 1).error(), "share \"0.5x\" is not a number (allowed: 0 to 1)");
  EXPECT_EQ(parse_number("nan", "share", 0, 1).error(), "share \"nan\" is not a number (allowed: 0 to 1)");
}

TEST(parse, parse_rate__suffixes) {
  EXPECT_DOUBLE_EQ(parse_rate("0").value(), 0);
  EXPECT_DOUBLE_EQ(parse_rate("1500").value(), 1500);
  EXPECT_DOUBLE_EQ(parse_rate("450k").value(), 450'000);
  EXPECT_DOUBLE_EQ(parse_rate("2.2M").value(), 2'200'000);
}

TEST(parse, parse_rate__errors) {
  const std::string allowed = " is not a number of requests a second (allowed: such as 1500, 450k, 2.2M)";
  EXPECT_EQ(parse_rate("fast").error(), "rate \"fast\"" + allowed);
  EXPECT_EQ(parse_rate("5G").error(), "rate \"5G\"" + allowed);
  EXPECT_EQ(parse_rate("").error(), "rate \"\"" + allowed);
  const std::string range = " is out of range (allowed: 0, or 0.001 to 1000000000 requests a second)";
  EXPECT_EQ(parse_rate("-5").error(), "rate \"-5\"" + range);
  EXPECT_EQ(parse_rate("0.0001").error(), "rate \"0.0001\"" + range);
  EXPECT_EQ(parse_rate("2000M").error(), "rate \"2000M\"" + range);
}

}  // namespace
}  // namespace rain::workload
