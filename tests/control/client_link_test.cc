// A client's link to a live controller.
#include "control/rpc/client_link.h"

#include "control/rpc_fixture.h"

namespace rain::control::testing {
namespace {

TEST_F(Rpc, client_link__hears_its_share) {
  start();
  const auto workers = server_link(server("s", {worker(0)}));
  ASSERT_TRUE(workers->wait_for_orders(kPatience));
  Watched<std::uint32_t> share;
  const auto client = [&](const std::string& name, Watched<std::uint32_t>& told, std::uint32_t wanted) {
    return *ClientLink::open({.controller = address_, .name = name},
                             {.usage =
                                  [wanted] {
                                    return ClientUsage{0, wanted};
                                  },
                              .share = [&told](std::uint32_t n) { told.set(n); }});
  };
  const auto first = client("c", share, 10000);
  ASSERT_TRUE(share.wait_until([](std::uint32_t n) { return n == 2004; }));
  {
    Watched<std::uint32_t> other;
    const auto second = client("d", other, 10000);
    EXPECT_TRUE(other.wait_until([](std::uint32_t n) { return n == 1002; }));
    EXPECT_TRUE(share.wait_until([](std::uint32_t n) { return n == 1002; }));
    order(WeightOrder{"d", 3});
    EXPECT_TRUE(other.wait_until([](std::uint32_t n) { return n >= 1500; }));
  }
  EXPECT_TRUE(share.wait_until([](std::uint32_t n) { return n == 2004; })) << "what the other had comes back";
}

TEST_F(Rpc, client_link__stopped__is_lent_its_share_until_it_is_gone) {
  start();
  Watched<std::uint32_t> share;
  auto client = *ClientLink::open(
      {.controller = address_, .name = "c"},
      {.usage = [] { return ClientUsage{}; }, .share = [&](std::uint32_t n) { share.set(n); }});
  ASSERT_TRUE(share.wait_until([](std::uint32_t n) { return n == 2000; }));
  client->stop();
  ASSERT_EQ(status().clients.size(), 1u);
  EXPECT_EQ(status().clients[0].row.share, 2000u);
  client.reset();
  EXPECT_TRUE(status().clients.empty());
}

TEST_F(Rpc, client_link__controller_restarts__goes_on) {
  start();
  Watched<std::uint32_t> share;
  const auto client = *ClientLink::open({.controller = address_, .name = "c"},
                                        {.usage = [] { return ClientUsage{}; },
                                         .share = [&](std::uint32_t n) { share.set(n); },
                                         .note = [this](const std::string& text) { notes_.set(text); }});
  ASSERT_TRUE(share.wait_until([](std::uint32_t n) { return n == 2000; }));
  stop();
  ASSERT_TRUE(
      notes_.wait_until([](const std::string& text) { return text.find("trying again") != text.npos; }));
  EXPECT_EQ(share.get(), 2000u);
  start({}, address_.endpoint.port);
  order(AddSliceOrder{slice("c")});
  EXPECT_TRUE(share.wait_until([](std::uint32_t n) { return n == 3000; }));
}

}  // namespace
}  // namespace rain::control::testing
