// Every refusal says the key, the value and what is allowed.
#include "rpc/option_check.h"

#include <gtest/gtest.h>

namespace rain::rpc {
namespace {

TEST(OptionCheck, range__is_a_bad_option_outside) {
  EXPECT_TRUE(check_range("quota", 8, 1, 8));
  EXPECT_TRUE(check_range("timeout", seconds(1), seconds(1), seconds(1)));
  const auto low = check_range("quota", 0, 1, 8);
  ASSERT_FALSE(low);
  EXPECT_EQ(low.error().message(), "bad option: quota is 0; allowed: 1..8");
  EXPECT_FALSE(check_range("timeout", Nanos{-1}, Nanos{}, seconds(1)));
}

TEST(OptionCheck, address__is_parsed) {
  EXPECT_EQ(check_address("bind", "127.0.0.1:9", 1), Endpoint::v4(127, 0, 0, 1, 9));
  EXPECT_EQ(check_address("bind", "127.0.0.1:0", 0), Endpoint::v4(127, 0, 0, 1, 0));
}

TEST(OptionCheck, address__names_key_and_text) {
  const auto port = check_address("switch_address", "127.0.0.1:0", 1);
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().message(),
            "bad option: switch_address \"127.0.0.1:0\" has port 0; allowed: 1..65535");
  const auto text = check_address("switch_address", "rack-7", 1);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::kBadOption);
  EXPECT_NE(text.error().detail.find("switch_address"), std::string::npos);
  EXPECT_NE(text.error().detail.find("rack-7"), std::string::npos);
}

}  // namespace
}  // namespace rain::rpc
