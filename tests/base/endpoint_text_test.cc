// Endpoints in text: what is accepted, what is refused with which words, and that both directions agree.
#include "base/endpoint_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rain {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;

TEST(endpoint_text, parse__ipv4) {
  EXPECT_EQ(parse_endpoint("10.0.0.7:9000").value(), Endpoint::v4(10, 0, 0, 7, 9000));
  EXPECT_EQ(parse_endpoint("0.0.0.0:0").value(), Endpoint::v4(0, 0, 0, 0, 0));
  EXPECT_EQ(parse_endpoint("255.255.255.255:65535").value(), Endpoint::v4(255, 255, 255, 255, 65535));
}

TEST(endpoint_text, parse__ipv6) {
  const Endpoint loopback = parse_endpoint("[::1]:80").value();
  EXPECT_EQ(loopback.address[15], 1);
  EXPECT_EQ(loopback.port, 80);
  EXPECT_FALSE(loopback.is_v4());
  EXPECT_EQ(parse_endpoint("[FD00::A]:1").value(), parse_endpoint("[fd00:0:0:0:0:0:0:a]:1").value());
  EXPECT_EQ(parse_endpoint("[::ffff:10.0.0.7]:9000").value(), Endpoint::v4(10, 0, 0, 7, 9000));
}

TEST(endpoint_text, parse__refuses) {
  struct Row {
    std::string_view text;
    const char* message;
  };
  const Row rows[] = {
      {"", "has no port"},
      {"10.0.0.7", "has no port"},
      {"localhost", "has no port"},
      {"localhost:9000", "has no valid address"},
      {":9000", "has no valid address"},
      {"10.0.0:9000", "has no valid address"},
      {"10.0.0.7.8:9000", "has no valid address"},
      {"10.0.0.:9000", "has no valid address"},
      {"10..0.7:9000", "has no valid address"},
      {"10.0.0.256:9000", "has no valid address"},
      {"010.0.0.7:9000", "has no valid address"},
      {"+1.0.0.7:9000", "has no valid address"},
      {" 10.0.0.7:9000", "has no valid address"},
      {"10.0.0.7 :9000", "has no valid address"},
      {"99999999999.0.0.7:9000", "has no valid address"},
      {"::1:9000", "has no valid address"},
      {"[]:9000", "has no valid IPv6 address"},
      {"[10.0.0.7]:9000", "has no valid IPv6 address"},
      {"[fe80::1%eth0]:9000", "has no valid IPv6 address"},
      {"[::1\0]:9000"sv, "has no valid IPv6 address"},
      {"[1:2:3:4:5:6:7:8:9]:9000", "has no valid IPv6 address"},
      {"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:1", "has no valid IPv6 address"},
      {"[::1]", "has no valid address"},
      {"[::1:9000", "has no valid address"},
      {"[:9000", "has no valid address"},
      {"10.0.0.7:", "has no valid port"},
      {"10.0.0.7:65536", "has no valid port"},
      {"10.0.0.7:-1", "has no valid port"},
      {"10.0.0.7:09000", "has no valid port"},
      {"10.0.0.7:9000 ", "has no valid port"},
      {"10.0.0.7:http", "has no valid port"},
      {"10.0.0.7:4294967297", "has no valid port"},
      {"[::1]:", "has no valid port"},
  };
  for (const Row& row : rows) {
    const auto parsed = parse_endpoint(row.text);
    ASSERT_FALSE(parsed) << row.text;
    EXPECT_THAT(parsed.error(), HasSubstr(row.message)) << row.text;
    EXPECT_THAT(parsed.error(), HasSubstr("a.b.c.d:port or [IPv6]:port")) << row.text;
  }
}

TEST(endpoint_text, parse__message_is_one_printable_line) {
  const auto parsed = parse_endpoint("a\nb\x1b\xff" + std::string(1000, 'x') + ":1");
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().size(), 200U);
  for (const char c : parsed.error()) EXPECT_TRUE(c >= ' ' && c <= '~');
}

TEST(endpoint_text, format__reads_back) {
  for (const char* text : {"10.0.0.7:9000", "0.0.0.0:0", "[::]:0", "[::1]:65535", "[fd00::a]:1",
                           "[1:2:3:4:5:6:7:8]:9", "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"}) {
    const Endpoint endpoint = parse_endpoint(text).value();
    EXPECT_EQ(format_endpoint(endpoint), text);
    EXPECT_LE(std::string(text).size(), kMaxEndpointText);
  }
  EXPECT_EQ(format_endpoint(parse_endpoint("[::ffff:1.2.3.4]:5").value()), "1.2.3.4:5");
}

}  // namespace
}  // namespace rain
