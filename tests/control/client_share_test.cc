// Public clients that have their share from a live controller: divided by weight, lent, called back, kept while it is away.
#include "rain/client_share.h"

#include <algorithm>
#include <thread>
#include <type_traits>

#include "base/endpoint_text.h"
#include "control/controller_fixture.h"
#include "transport/udp.h"

namespace rain {
namespace {

using control::testing::ControllerFixture;

constexpr std::size_t kRoom = 2000;  // of the controller's two slices
constexpr Nanos kPatience = seconds(120);

/// Its requests are answered by nobody: each is open for its timeout.
class UnansweredClient {
 public:
  UnansweredClient(const std::string& switch_address, const ClientShareOptions& options)
      : client_(Client::open({.switch_address = switch_address, .timeout = milliseconds(20)}).value()) {
    client_.set_share(0);  // until the controller has spoken
    auto share = ClientShare::open(client_, options);
    EXPECT_TRUE(share) << share.error().message();
    if (share) share_.emplace(std::move(*share));
  }

  /// Opens as many requests as it may, if it wants to.
  void step() {
    client_.wait(milliseconds(1));  // the links need the processor too
    while (hungry && client_.submit({}, {}, nullptr)) {
    }
  }
  std::size_t share() const { return client_.share(); }
  std::size_t open() const { return client_.outstanding(); }
  void leave() { share_.reset(); }

  bool hungry = true;

 private:
  Client client_;
  std::optional<ClientShare> share_;
};

class ClientShareTest : public ControllerFixture {
 protected:
  std::unique_ptr<UnansweredClient> client(unsigned weight) {
    return std::make_unique<UnansweredClient>(
        format_endpoint(mute_.local()),
        ClientShareOptions{.controller_address = format_endpoint(address_.endpoint), .weight = weight});
  }
  template <typename Done>
  bool step_until(UnansweredClient& a, UnansweredClient& b, Done done) {
    for (const Nanos limit = monotonic_now() + kPatience; !done();) {
      if (monotonic_now() > limit) return false;
      a.step();
      b.step();
      most_open_ = std::max(most_open_, a.open() + b.open());
    }
    return true;
  }

  /// A request may leave while its client is told of a lower share.
  void expect_never_too_much() const { EXPECT_LE(most_open_, kRoom + 2); }

  std::size_t most_open_ = 0;
  transport::UdpTransport mute_ =
      transport::UdpTransport::open({.listen = Endpoint::v4(127, 0, 0, 1, 0)}).value();
};

TEST_F(ClientShareTest, open__two_that_want_all_share_by_weight) {
  start();
  const auto heavy = client(3);
  const auto light = client(1);
  EXPECT_TRUE(step_until(*heavy, *light, [&] { return heavy->share() == 1500 && light->share() == 500; }))
      << heavy->share() << ' ' << light->share();
  EXPECT_TRUE(step_until(*heavy, *light, [&] { return heavy->open() == 1500 && light->open() == 500; }));
  expect_never_too_much();
}

TEST_F(ClientShareTest, open__what_is_not_used_is_lent_and_called_back) {
  start();
  const auto heavy = client(3);
  const auto light = client(1);
  heavy->hungry = false;
  EXPECT_TRUE(step_until(*heavy, *light, [&] { return light->open() > 1500; })) << "lent";
  heavy->hungry = true;
  EXPECT_TRUE(step_until(*heavy, *light, [&] { return heavy->open() == 1500 && light->open() <= 500; }))
      << "called back";
  light->hungry = false;
  EXPECT_TRUE(step_until(*heavy, *light, [&] { return heavy->open() > 1800; })) << "and the other way round";
  expect_never_too_much();
}

TEST_F(ClientShareTest, destructor__gives_the_share_back) {
  start();
  const auto stays = client(1);
  const auto goes = client(1);
  ASSERT_TRUE(step_until(*stays, *goes, [&] { return stays->share() == 1000 && goes->share() == 1000; }));
  goes->hungry = false;
  ASSERT_TRUE(step_until(*stays, *goes, [&] { return goes->open() == 0; }));
  goes->leave();
  EXPECT_EQ(goes->share(), 0u) << "it has none any more";
  EXPECT_TRUE(step_until(*stays, *goes, [&] { return stays->share() == kRoom; }));
  expect_never_too_much();
}

TEST_F(ClientShareTest, destructor__has_none_before_others_can_be_lent_it) {
  start();
  const auto one = client(1);
  ASSERT_TRUE(step_until(*one, *one, [&] { return one->share() == kRoom; }));
  bool gone = false;
  std::size_t share_then = kRoom;
  std::thread watcher([&] {
    for (const Nanos limit = monotonic_now() + kPatience; !gone && monotonic_now() < limit;) {
      gone = controller_->read([](const auto&, const control::ClientShares& clients, const auto&) {
        return clients.rows().empty();
      });
      share_then = one->share();
    }
  });
  one->leave();
  watcher.join();
  EXPECT_TRUE(gone);
  EXPECT_EQ(share_then, 0u) << "the controller could lend it to others";
}

/// One that took another's place would lose the client's share with the old one.
static_assert(std::is_move_constructible_v<ClientShare> && !std::is_move_assignable_v<ClientShare>);

TEST_F(ClientShareTest, open__while_the_controller_is_away_the_share_stays) {
  start();
  const auto one = client(1);
  ASSERT_TRUE(step_until(*one, *one, [&] { return one->share() == kRoom; }));
  stop();
  const auto late = client(1);
  EXPECT_EQ(late->share(), 0u) << "what set_share() said";
  EXPECT_EQ(one->share(), kRoom);
  start({}, address_.endpoint.port);
  // It has forgotten who had what, so for a moment it promises too much.
  EXPECT_TRUE(step_until(*one, *late, [&] { return one->share() == 1000 && late->share() == 1000; }))
      << one->share() << ' ' << late->share();
}

TEST_F(ClientShareTest, open__bad_options_are_named) {
  Client client = Client::open({.switch_address = format_endpoint(mute_.local())}).value();
  const auto problem = [&](const ClientShareOptions& options) {
    const auto share = ClientShare::open(client, options);
    EXPECT_FALSE(share);
    return share ? std::string() : share.error().message();
  };
  EXPECT_THAT(problem({.controller_address = "nowhere"}), ::testing::HasSubstr("controller_address"));
  EXPECT_THAT(problem({.name = "a\xFF"}), ::testing::HasSubstr("client \"a?\": a name of 1 to 64 bytes"));
  EXPECT_THAT(problem({.weight = 0}), ::testing::HasSubstr("weight is 0; allowed: 1..1000"));
  EXPECT_THAT(problem({.controller_address = "10.0.0.1:9700"}), ::testing::HasSubstr("without TLS"));
}

}  // namespace
}  // namespace rain
