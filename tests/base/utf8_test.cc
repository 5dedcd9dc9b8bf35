#include "base/utf8.h"

#include <gtest/gtest.h>

namespace rain {
namespace {

TEST(Utf8, utf8_character__lengths) {
  EXPECT_EQ(utf8_character(""), 0u);
  EXPECT_EQ(utf8_character("ab"), 1u);
  EXPECT_EQ(utf8_character("\xC3\xBCx"), 2u);
  EXPECT_EQ(utf8_character("\xE2\x82\xAC"), 3u);
  EXPECT_EQ(utf8_character("\xF0\x9F\x8C\xA7"), 4u);
}

TEST(Utf8, utf8_character__what_is_none) {
  for (const char* bytes :
       {"\x80", "\xBF", "\xFF", "\xC3", "\xC3(", "\xE2\x82", "\xE2(\xAC", "\xF0\x9F\x8C", "\xF5\x80\x80\x80"})
    EXPECT_EQ(utf8_character(bytes), 0u) << bytes;
  EXPECT_EQ(utf8_character("\xC0\xAF"), 0u) << "longer than needed";
  EXPECT_EQ(utf8_character("\xE0\x80\xAF"), 0u) << "longer than needed";
  EXPECT_EQ(utf8_character("\xF0\x80\x80\xAF"), 0u) << "longer than needed";
  EXPECT_EQ(utf8_character("\xED\xA0\x80"), 0u) << "half of a pair";
  EXPECT_EQ(utf8_character("\xF4\x90\x80\x80"), 0u) << "beyond the last character";
}

TEST(Utf8, is_plain_text__no_control_characters) {
  EXPECT_TRUE(is_plain_text("gr\xC3\xBCn 1"));
  EXPECT_FALSE(is_plain_text("a\nb"));
  EXPECT_FALSE(is_plain_text("a\x7F"));
  EXPECT_FALSE(
      is_plain_text("\xC2\x9B"
                    "2J"))
      << "an escape of its own";
  EXPECT_TRUE(is_plain_text("\xC2\xA0"));
  EXPECT_FALSE(is_plain_text("a\xFF"));
}

TEST(Utf8, one_line__is_fit_for_a_terminal) {
  EXPECT_EQ(one_line("kv-0", 10), "kv-0");
  EXPECT_EQ(one_line("a\nb\x7F\xC2\x9B", 10), "a b  ");
  EXPECT_EQ(one_line("a\xFF\xC3", 10), "a??");
  EXPECT_EQ(one_line("0123456789", 4), "0123...");
  EXPECT_EQ(one_line("012\xC3\xBC", 4), "012...") << "no half of a character";
}

}  // namespace
}  // namespace rain
