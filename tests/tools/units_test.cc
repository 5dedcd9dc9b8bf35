// Tests of units.h.
#include "tools/units.h"

#include <gtest/gtest.h>

namespace rain::tools {
namespace {

TEST(Units, parse_bytes__units) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("64KiB"), 65536u);
  EXPECT_EQ(parse_bytes("1.5MiB"), 1572864u);
  EXPECT_EQ(parse_bytes("2GiB"), 2147483648u);
}

TEST(Units, parse_bytes__refused) {
  for (const char* text :
       {"", "KiB", "-1", "4 KiB", "4kb", "0.3KiB", "1e3", "99999999999999999999GiB", "+1"}) {
    EXPECT_FALSE(parse_bytes(text).has_value()) << text;
  }
}

TEST(Units, parse_rate__requests_a_second) {
  EXPECT_EQ(parse_rate("20000"), (Rate{.per_second = 20000, .capacity_share = 0}));
  EXPECT_EQ(parse_rate("20k"), (Rate{.per_second = 20000, .capacity_share = 0}));
  EXPECT_EQ(parse_rate("1.5M"), (Rate{.per_second = 1.5e6, .capacity_share = 0}));
}

TEST(Units, parse_rate__share_of_capacity) {
  EXPECT_EQ(parse_rate("80%"), (Rate{.per_second = 0, .capacity_share = 0.8}));
}

TEST(Units, parse_rate__refused) {
  for (const char* text : {"", "%", "-5", "5x", "80 %", "k", "5kk", "five"}) {
    EXPECT_FALSE(parse_rate(text).has_value()) << text;
  }
}

TEST(Units, format_rate__reads_back) {
  EXPECT_EQ(format_rate({.per_second = 4654.5, .capacity_share = 0}), "4654.5/s");
  EXPECT_EQ(format_rate({.per_second = 0, .capacity_share = 0.8}), "80%");
}

TEST(Units, parse_number__plain_decimals_only) {
  EXPECT_EQ(parse_number("0.5"), 0.5);
  EXPECT_EQ(parse_number("12"), 12.0);
  for (const char* text : {"", "x", "1e5", "1 ", " 1", "-1", "nan", "inf", "0x10"}) {
    EXPECT_FALSE(parse_number(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace rain::tools
