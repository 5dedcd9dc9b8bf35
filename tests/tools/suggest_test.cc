// Tests of suggest.h.
#include "tools/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace rain::tools {
namespace {

constexpr std::array<std::string_view, 4> kWords{"rain", "random", "round-robin", "jsq"};

TEST(Suggest, nearest_word__one_letter_off) {
  EXPECT_EQ(nearest_word("ran", kWords), "rain");
  EXPECT_EQ(nearest_word("randm", kWords), "random");
  EXPECT_EQ(nearest_word("round_robin", kWords), "round-robin");
}

TEST(Suggest, nearest_word__two_letters_swapped) { EXPECT_EQ(nearest_word("rian", kWords), "rain"); }

TEST(Suggest, nearest_word__nothing_near) {
  EXPECT_EQ(nearest_word("haproxy", kWords), "");
  EXPECT_EQ(nearest_word("", std::array<std::string_view, 1>{"rain"}), "");
  EXPECT_EQ(nearest_word("b", std::array<std::string_view, 2>{"a", "bc"}), "");
  EXPECT_EQ(nearest_word("x", std::span<const std::string_view>{}), "");
}

TEST(Suggest, nearest_word__exact_word_is_nearest) { EXPECT_EQ(nearest_word("jsq", kWords), "jsq"); }

TEST(Suggest, did_you_mean__text) {
  EXPECT_EQ(did_you_mean("randon", kWords), "; did you mean 'random'?");
  EXPECT_EQ(did_you_mean("nothing", kWords), "");
}

TEST(Suggest, comma_list__text) {
  EXPECT_EQ(comma_list(kWords), "rain, random, round-robin, jsq");
  EXPECT_EQ(comma_list({}), "");
}

}  // namespace
}  // namespace rain::tools
