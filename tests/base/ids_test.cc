// Ids compare by value; generations compare as serial numbers.
#include "base/ids.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace rain {
namespace {

static_assert(!std::is_convertible_v<WorkerId, SliceId> && !std::is_convertible_v<WorkerId, std::uint16_t>);

TEST(ids, strong_id__compares_by_value) {
  EXPECT_EQ(WorkerId{7}, WorkerId{7});
  EXPECT_LT(TaskType{1}, TaskType{2});
  EXPECT_EQ(WorkerId{}, WorkerId{0});
  EXPECT_GE(kNoLevel.value, kMaxQuota);
}

TEST(ids, generation__newer_than_wraps) {
  EXPECT_TRUE(Generation{1}.newer_than(Generation{0}));
  EXPECT_FALSE(Generation{0}.newer_than(Generation{1}));
  EXPECT_FALSE(Generation{5}.newer_than(Generation{5}));
  EXPECT_TRUE(Generation{0}.newer_than(Generation{UINT32_MAX}));
  EXPECT_TRUE(Generation{0x7FFF'FFFF}.newer_than(Generation{0}));
  EXPECT_FALSE(Generation{0x8000'0000}.newer_than(Generation{0}));
  EXPECT_EQ(Generation{UINT32_MAX}.next(), Generation{0});
}

TEST(ids, generation__follows_what_is_little_older) {
  for (const std::uint32_t last : {1u, 0x7FFF'FFFFu, UINT32_MAX}) {
    for (const std::uint32_t ahead : {1u, kMaxGenerationLeap}) {
      EXPECT_TRUE(Generation{last + ahead}.follows({last}));
      EXPECT_FALSE(Generation{last + ahead}.leaps_from({last}));
    }
    for (const std::uint32_t ahead : {kMaxGenerationLeap + 1, 0x7FFF'FFFFu}) {
      EXPECT_FALSE(Generation{last + ahead}.follows({last}));
      EXPECT_TRUE(Generation{last + ahead}.leaps_from({last}));
    }
    for (const std::uint32_t ahead : {0u, 0x8000'0000u, UINT32_MAX}) {  // itself, neither, older
      EXPECT_FALSE(Generation{last + ahead}.follows({last}));
      EXPECT_FALSE(Generation{last + ahead}.leaps_from({last}));
    }
  }
  EXPECT_TRUE(Generation{kMaxFirstGeneration}.follows({0})) << "nothing was seen";
  EXPECT_TRUE(Generation{kMaxFirstGeneration + 1}.leaps_from({0}));
  EXPECT_FALSE(Generation{0}.follows({0}));
}

}  // namespace
}  // namespace rain
