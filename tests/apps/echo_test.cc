// The reply is the request; requests are as large as their class says.
#include "apps/echo.h"

#include <gtest/gtest.h>

#include <array>

#include "apps/serve.h"

namespace rain::apps {
namespace {

TEST(echo, handler__replies_the_request) {
  const auto app = make_echo();
  ASSERT_TRUE(app->prepare({}));
  const Handler handler = app->make_handler();
  EXPECT_EQ(as_text(serve(handler, as_payload("ping"))), "ping");
  EXPECT_TRUE(serve(handler, {}).empty());
  const std::vector<std::byte> largest(kMaxMessageBytes, std::byte{7});
  EXPECT_EQ(serve(handler, largest), largest);
}

TEST(echo, builder__makes_payloads_of_the_demanded_size) {
  const auto app = make_echo();
  RequestBuilder builder = app->make_builder({}, 1);
  std::array<std::byte, kMaxMessageBytes> out;
  for (const std::int64_t size : {1, 8, 100, 1400}) {
    EXPECT_EQ(builder({.demand = size}, out).size(), static_cast<std::size_t>(size));
  }
  EXPECT_EQ(builder({.demand = 1'000'000}, out).size(), kMaxMessageBytes) << "cut, not overflowing";
}

TEST(echo, builder__same_seed_same_payloads) {
  const auto app = make_echo();
  RequestBuilder one = app->make_builder({}, 1);
  RequestBuilder two = app->make_builder({}, 1);
  std::array<std::byte, kMaxMessageBytes> first;
  std::array<std::byte, kMaxMessageBytes> second;
  for (int i = 0; i < 100; ++i) {
    const Payload a = one({.demand = 20}, first);
    const Payload b = two({.demand = 20}, second);
    ASSERT_EQ(as_text(a), as_text(b));
  }
}

TEST(echo, adopt_classes__keeps_given_types) {
  const auto app = make_echo();
  auto classes = *workload::parse_classes("a:0.5:const:8,b@7:0.5:const:64", app->quantity());
  ASSERT_TRUE(app->adopt_classes(classes));
  EXPECT_EQ(classes[0].type, TaskType{0});
  EXPECT_EQ(classes[1].type, TaskType{7});
}

}  // namespace
}  // namespace rain::apps
