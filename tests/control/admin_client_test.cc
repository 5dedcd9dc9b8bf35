// What an operator asks and orders of a live controller.
#include "control/rpc/admin_client.h"

#include "control/rpc_fixture.h"

namespace rain::control::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(Rpc, admin__status_and_refusals) {
  start();
  const auto link = server_link(server("s", {worker(0)}));
  ASSERT_TRUE(link->wait_for_orders(kPatience));
  const RackStatus now = status();
  EXPECT_EQ(now.slices.size(), 2u);
  EXPECT_EQ(now.workers.at(0).row.token_key, 0u) << "a secret";
  EXPECT_EQ(now.servers.at(0).name, "s");
  EXPECT_TRUE(now.servers.at(0).attached);
  EXPECT_THAT(now.warnings, ::testing::ElementsAre(HasSubstr("slice \"b\" has no worker")));
  auto done = admin()->order(MoveOrder{{9}, "b"}, 0, kPatience);
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().bad_input);
  EXPECT_EQ(done.error().text, "worker 9 is unknown; there are: 0");
  done = admin()->order(DrainOrder{{0}}, 0, kPatience);
  ASSERT_FALSE(done);
  EXPECT_FALSE(done.error().bad_input);
  EXPECT_THAT(done.error().text, HasSubstr("the last one that serves"));
  done = admin()->order(AddTypeOrder{{5}, "a"}, now.version + 1, kPatience);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("is not the present one"));
  EXPECT_TRUE(admin()->order(AddTypeOrder{{5}, "a"}, now.version, kPatience));
}

TEST_F(Rpc, admin__nobody_listens) {
  start();
  const auto client = admin();
  stop();
  const auto done = client->status(seconds(2));
  ASSERT_FALSE(done);
  EXPECT_FALSE(done.error().bad_input);
  EXPECT_THAT(done.error().text, HasSubstr("the controller at 127.0.0.1:"));
}

}  // namespace
}  // namespace rain::control::testing
