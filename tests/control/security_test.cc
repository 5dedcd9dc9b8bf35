#include "control/rpc/security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "control/certificates.h"

namespace rain::control {
namespace {

using testing::Authority;
using ::testing::HasSubstr;

std::string problem(const TlsFiles& files) {
  return security_problem({Endpoint::v4(10, 0, 0, 1, 9700), files}, wall_clock_now().value / 1'000'000'000);
}

TEST(Security, security_problem__plain_only_on_this_machine) {
  EXPECT_EQ(security_problem({Endpoint::v4(127, 0, 0, 1, 9700), {}}, 0), "");
  EXPECT_EQ(security_problem({Endpoint::v4(127, 9, 9, 9, 9700), {}}, 0), "");
  Endpoint one;
  one.address[15] = 1;
  EXPECT_EQ(security_problem({one, {}}, 0), "");
  EXPECT_THAT(problem({}), HasSubstr("10.0.0.1:9700 is not this machine alone: without TLS"));
  EXPECT_THAT(problem({}), HasSubstr("only 127.0.0.0/8 and [::1] are allowed"));
  EXPECT_NE(security_problem({Endpoint{}, {}}, 0), "");
}

TEST(Security, security_problem__good_files) {
  Authority authority("rack");
  EXPECT_EQ(problem(authority.issue("switch")), "");
}

TEST(Security, security_problem__dates) {
  Authority authority("rack");
  EXPECT_THAT(problem(authority.issue("old", -7200, -60)), HasSubstr("old.pem: the certificate has expired"));
  EXPECT_THAT(problem(authority.issue("new", 60, 7200)),
              HasSubstr("new.pem: the certificate is not valid yet"));
}

TEST(Security, security_problem__bad_files) {
  Authority authority("rack");
  const TlsFiles good = authority.issue("a");
  const TlsFiles other = authority.issue("b");
  TlsFiles files = good;
  files.key = "";
  EXPECT_THAT(problem(files), HasSubstr("TLS needs all of"));
  files = good;
  files.certificate = "/nowhere/x.pem";
  EXPECT_EQ(problem(files), "/nowhere/x.pem: cannot be read");
  files = good;
  files.key = other.key;
  EXPECT_THAT(problem(files), HasSubstr("b.key: does not belong to the certificate"));
  files = good;
  files.certificate = authority.folder().write("text.pem", "hello");
  EXPECT_THAT(problem(files), HasSubstr("text.pem: is no certificate in PEM"));
  files = good;
  files.key = authority.folder().write("text.key", "hello");
  EXPECT_THAT(problem(files), HasSubstr("text.key: is no private key in PEM"));
  files = good;
  files.authority = authority.folder().file("text.pem");
  EXPECT_THAT(problem(files), HasSubstr("text.pem: is no certificate in PEM"));
}

}  // namespace
}  // namespace rain::control
