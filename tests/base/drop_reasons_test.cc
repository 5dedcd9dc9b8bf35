// The drop reasons: numbers are wire format and pinned here; names and help are unique and present.
#include "base/drop_reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace rain {
namespace {

TEST(drop_reasons, numbers__are_pinned_because_they_travel) {
  EXPECT_EQ(static_cast<int>(DropReason::kNone), 0);
  EXPECT_EQ(static_cast<int>(DropReason::kTruncatedHeader), 1);
  EXPECT_EQ(static_cast<int>(DropReason::kOversizedPayload), 8);
  EXPECT_EQ(static_cast<int>(DropReason::kUnknownTaskType), 10);
  EXPECT_EQ(static_cast<int>(DropReason::kDuplicateToken), 16);
  EXPECT_EQ(static_cast<int>(DropReason::kQueueFull), 19);
  EXPECT_EQ(static_cast<int>(DropReason::kStaleDispatch), 25);
  EXPECT_EQ(static_cast<int>(DropReason::kHandlerFailed), 31);
}

TEST(drop_reasons, list__is_dense_with_unique_names_and_help) {
  std::set<std::string> names;
  for (unsigned number = 0; number < kDropReasonCount; ++number) {
    const auto reason = static_cast<DropReason>(number);
    const std::string name = drop_reason_name(reason);
    EXPECT_NE(name, "unknown") << "no reason has the number " << number;
    EXPECT_TRUE(names.insert(name).second) << name << " occurs twice";
    EXPECT_STRNE(drop_reason_help(reason), "");
  }
}

TEST(drop_reasons, outside__has_a_name_and_no_help) {
  const auto outside = static_cast<DropReason>(kDropReasonCount);
  EXPECT_STREQ(drop_reason_name(outside), "unknown");
  EXPECT_STREQ(drop_reason_help(outside), "");
}

TEST(drop_reasons, from_wire__maps_the_list_and_nothing_else) {
  for (unsigned number = 0; number < kDropReasonCount; ++number) {
    EXPECT_EQ(drop_reason_from_wire(static_cast<std::uint16_t>(number)), static_cast<DropReason>(number));
  }
  EXPECT_EQ(drop_reason_from_wire(kDropReasonCount), DropReason::kNone);
  EXPECT_EQ(drop_reason_from_wire(256), DropReason::kNone);
  EXPECT_EQ(drop_reason_from_wire(0xFFFF), DropReason::kNone);
}

TEST(drop_reasons, documentation__lists_all_of_them) {
  std::ifstream file(RAIN_PROTOCOL_DOCUMENT);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(text.empty()) << RAIN_PROTOCOL_DOCUMENT;
  for (unsigned number = 0; number < kDropReasonCount; ++number) {
    const auto reason = static_cast<DropReason>(number);
    const std::string row = "| " + std::to_string(number) + " | `" + drop_reason_name(reason) + "` | " +
                            drop_reason_help(reason) + " |\n";
    EXPECT_THAT(text, testing::HasSubstr(row));
  }
}

}  // namespace
}  // namespace rain
