// Errors read as one line.
#include <gtest/gtest.h>

#include "rain/rpc.h"

namespace rain {
namespace {

TEST(Error, message__names_the_drop_reason) {
  const Error error{.kind = ErrorKind::kDropped, .reason = DropReason::kQueueFull};
  EXPECT_EQ(error.message(), "dropped: queue_full (the slice's task queue is full)");
}

TEST(Error, message__appends_the_detail) {
  const Error error{.kind = ErrorKind::kBadOption, .detail = "quota is 9; allowed: 0..8"};
  EXPECT_EQ(error.message(), "bad option: quota is 9; allowed: 0..8");
}

TEST(Error, message__every_kind_has_words) {
  EXPECT_EQ(Error{.kind = ErrorKind::kTimedOut}.message(), "timed out");
  EXPECT_EQ(Error{.kind = ErrorKind::kBackpressure}.message(), "too many open requests");
  EXPECT_EQ(Error{.kind = ErrorKind::kTooLarge}.message(), "payload too large");
  EXPECT_EQ(Error{.kind = ErrorKind::kNetwork}.message(), "network error");
}

}  // namespace
}  // namespace rain
