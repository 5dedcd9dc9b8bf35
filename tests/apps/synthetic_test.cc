// The worker is busy for the time that the request names, by a clock that the test moves.
#include "apps/synthetic.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <memory>

#include "apps/serve.h"

namespace rain::apps {
namespace {

using namespace rain::literals;

constexpr Nanos kLimit = milliseconds(10);
constexpr const char* kRefusal = "synthetic: a request is 8 bytes, a service time in ns, at most 10000000";

std::vector<std::byte> request(std::uint64_t service_ns) {
  std::vector<std::byte> bytes(kSyntheticRequestBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(service_ns >> (8 * (7 - i)));
  return bytes;
}

// Serves with a clock that goes on by 100 ns each time it is read; returns the time that passed.
struct Served {
  Nanos busy;
  std::string error;
};
Served serve_virtually(Payload payload) {
  Nanos now = 5_s;
  const auto reply = std::make_unique<ReplyBuffer>();
  serve_synthetic(
      payload, kLimit, [&] { return now += 100_ns; }, *reply);
  return {now - 5_s, make_synthetic(kLimit)->reply_error(reply->bytes())};
}

TEST(synthetic, serve__is_busy_for_the_named_time) {
  for (const Nanos service : {0_ns, 1_ns, 100_ns, 10_us, kLimit}) {
    const Served served = serve_virtually(request(static_cast<std::uint64_t>(service.value)));
    EXPECT_EQ(served.error, "");
    EXPECT_GE(served.busy, service);
    EXPECT_LE(served.busy, service + 300_ns) << "two readings besides the time itself";
  }
}

TEST(synthetic, serve__refuses_bad_requests_at_once) {
  for (const std::vector<std::byte>& bad :
       {std::vector<std::byte>{}, std::vector<std::byte>(7), request(10'000'001),
        request(std::numeric_limits<std::uint64_t>::max()), request(std::uint64_t{1} << 63)}) {
    const Served served = serve_virtually(bad);
    EXPECT_EQ(served.error, kRefusal);
    EXPECT_LE(served.busy, 100_ns);
  }
}

TEST(synthetic, serve__ignores_bytes_after_the_time) {
  std::vector<std::byte> padded = request(1'000);
  padded.resize(kMaxMessageBytes, std::byte{0xFF});
  const Served served = serve_virtually(padded);
  EXPECT_EQ(served.error, "");
  EXPECT_GE(served.busy, 1_us);
}

TEST(synthetic, handler__replies_the_time_asked_for) {
  const auto app = make_synthetic(kLimit);
  ASSERT_TRUE(app->prepare({}));
  const auto reply = serve(app->make_handler(), request(1'000));
  ASSERT_EQ(reply.size(), kSyntheticReplyBytes);
  EXPECT_EQ(reply[0], std::byte{0});
  EXPECT_EQ(std::vector<std::byte>(reply.begin() + 1, reply.end()), request(1'000));
}

TEST(synthetic, builder__writes_what_the_handler_reads) {
  RequestBuilder builder = make_synthetic(kLimit)->make_builder({}, 1);
  std::array<std::byte, kMaxMessageBytes> out;
  const Payload made = builder({.demand = 123'456}, out);
  EXPECT_EQ(std::vector<std::byte>(made.begin(), made.end()), request(123'456));
  const SyntheticTask task = parse_synthetic(made, kLimit);
  EXPECT_TRUE(task.good);
  EXPECT_EQ(task.service, Nanos{123'456});
}

TEST(synthetic, builder__cuts_heavy_tails_to_the_limit) {
  RequestBuilder builder = make_synthetic(kLimit)->make_builder({}, 1);
  std::array<std::byte, kMaxMessageBytes> out;
  EXPECT_EQ(parse_synthetic(builder({.demand = 1'000'000'000'000}, out), kLimit).service, kLimit);
}

TEST(synthetic, default_classes__parse) {
  const auto app = make_synthetic(kLimit);
  auto classes = workload::parse_classes(app->default_classes(), app->quantity());
  ASSERT_TRUE(classes) << classes.error();
  EXPECT_TRUE(app->adopt_classes(*classes));
  EXPECT_EQ(classes->front().type, TaskType{0});
}

}  // namespace
}  // namespace rain::apps
