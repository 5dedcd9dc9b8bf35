// The controller's port: taken, or with TLS on both sides.
#include "control/rpc/controller_server.h"

#include "control/certificates.h"
#include "control/rpc_fixture.h"

namespace rain::control::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(Rpc, start__the_port_is_taken) {
  start();
  const auto second = ControllerServer::start(*controller_, address_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr("cannot listen on 127.0.0.1:"));
}

TEST_F(Rpc, tls__both_sides_have_certificates) {
  Authority authority("rack");
  start(authority.issue("controller"));
  address_.tls = authority.issue("operator");
  EXPECT_EQ(status().slices.size(), 2u);
}

TEST_F(Rpc, tls__a_certificate_of_another_authority__is_refused) {
  Authority authority("rack");
  Authority other("elsewhere");
  start(authority.issue("controller"));
  address_.tls = other.issue("operator");
  const auto problem = [this] {
    const auto status = admin()->status(seconds(10));
    return status ? "" : status.error().text;
  };
  EXPECT_THAT(problem(), HasSubstr("its certificate is not of the authority " + address_.tls.authority));
  // Trusts the controller, but is none of its own.
  address_.tls.authority = authority.issue("x").authority;
  EXPECT_THAT(problem(), HasSubstr("it ended the connection while certificates were checked: " +
                                   address_.tls.certificate + " must be of its authority"));
  address_.tls = {};
  EXPECT_THAT(problem(), HasSubstr("it ended the connection at once: it may want TLS"));
}

}  // namespace
}  // namespace rain::control::testing
