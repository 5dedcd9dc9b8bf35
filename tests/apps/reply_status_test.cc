// What a load generator makes of replies, good and bad.
#include "apps/reply_status.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace rain::apps {
namespace {

TEST(reply_status, status_error__empty_for_good_replies) {
  const std::array<std::byte, 3> good{};
  EXPECT_EQ(status_error(good, 3), "");
}

TEST(reply_status, status_error__says_what_is_wrong) {
  const std::array<std::byte, 3> good{};
  EXPECT_EQ(status_error({}, 3), "empty reply");
  EXPECT_EQ(status_error(good, 4), "reply of wrong size");
  const std::array<std::byte, 1> unknown{std::byte{9}};
  EXPECT_EQ(status_error(unknown, 1), "reply of unknown status");
}

TEST(reply_status, refuse__replaces_what_was_written) {
  const auto reply = std::make_unique<ReplyBuffer>();
  append_status(*reply, ReplyStatus::kOk);
  refuse(*reply, ReplyStatus::kFailed, "disk on fire");
  EXPECT_EQ(status_error(reply->bytes(), 1), "disk on fire");
  refuse(*reply, ReplyStatus::kBadRequest, "");
  EXPECT_EQ(status_error(reply->bytes(), 1), "refused without a reason");
}

TEST(reply_status, refuse__cuts_a_text_that_does_not_fit) {
  const auto reply = std::make_unique<ReplyBuffer>();
  refuse(*reply, ReplyStatus::kFailed, std::string(5'000, 'x'));
  EXPECT_FALSE(reply->overflowed());
  EXPECT_EQ(status_error(reply->bytes(), 1), std::string(kMaxMessageBytes - 1, 'x'));
}

}  // namespace
}  // namespace rain::apps
