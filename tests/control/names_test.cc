#include "control/names.h"

#include <gtest/gtest.h>

namespace rain::control {
namespace {

TEST(Names, is_name__bounds) {
  EXPECT_TRUE(is_name("a"));
  EXPECT_TRUE(is_name(std::string(64, 'x')));
  EXPECT_TRUE(
      is_name("gr\xC3\xBC"
              "n 1"));
  EXPECT_FALSE(is_name(""));
  EXPECT_FALSE(is_name(std::string(65, 'x')));
  EXPECT_FALSE(is_name("a\nb"));
  EXPECT_FALSE(is_name("a\x7F"));
  EXPECT_FALSE(is_name("\xFF")) << "no UTF-8";
}

TEST(Names, shown_name__is_one_short_line) {
  EXPECT_EQ(shown_name("kv-0"), "\"kv-0\"");
  EXPECT_EQ(shown_name("a\nb\x7F"), "\"a b \"");
  EXPECT_EQ(shown_name("a\xFF"), "\"a?\"");
  EXPECT_EQ(shown_name(std::string(1000, 'x')), '"' + std::string(64, 'x') + "...\"");
}

}  // namespace
}  // namespace rain::control
