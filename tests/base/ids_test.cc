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

}  // namespace
}  // namespace rain
