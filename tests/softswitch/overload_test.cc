// Twice the load that a rack can serve, in virtual time, with the real switch, workers and clients: the clients' windows
// keep the rack busy, the drops few and the clients even, whatever the length of the queue.
#include <gtest/gtest.h>

#include <cmath>

#include "dataplane/programs.h"
#include "softswitch/virtual_rack.h"

namespace rain::softswitch {
namespace {

using rpc::Ending;
using Rack = VirtualRack<dataplane::RainProgram<dataplane::SoftMemory, 4>>;

constexpr Nanos kWarmup = milliseconds(5);
constexpr Nanos kMeasured = milliseconds(10);

struct ClientShare {
  std::uint64_t served = 0, dropped = 0, timed_out = 0, offered = 0, refused = 0;
};

struct Measured {
  std::vector<ClientShare> clients;
  std::uint64_t served = 0, dropped = 0, timed_out = 0;
  double goodput = 0;  ///< served, as a share of the workers' capacity
};

ClientShare share_of(const VirtualClient& client) {
  return {client.count(Ending::kReply), client.count(Ending::kDropped), client.count(Ending::kTimedOut),
          client.submitted(), client.refused()};
}

RackOptions overloaded(std::uint64_t seed, std::uint32_t queue_capacity) {
  RackOptions options;
  options.seed = seed;
  options.workers = 8;
  options.quota = 4;
  options.requests = 300'000;  // more than there is time for
  options.payload_bytes = 8;
  options.load = 2;
  options.queue_capacity = queue_capacity;
  options.back_off = true;
  return options;
}

Measured measure(Rack& rack, const RackOptions& options) {
  rack.run_for(kWarmup);
  std::vector<ClientShare> before;
  for (const auto& client : rack.clients()) before.push_back(share_of(*client));
  rack.run_for(kMeasured);
  Measured measured;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const ClientShare now = share_of(*rack.clients()[i]);
    const ClientShare& then = before[i];
    measured.clients.push_back({now.served - then.served, now.dropped - then.dropped,
                                now.timed_out - then.timed_out, now.offered - then.offered,
                                now.refused - then.refused});
    measured.served += measured.clients[i].served;
    measured.dropped += measured.clients[i].dropped;
    measured.timed_out += measured.clients[i].timed_out;
  }
  measured.goodput = static_cast<double>(measured.served) * static_cast<double>(options.mean_service.value) /
                     (static_cast<double>(kMeasured.value) * options.workers);
  return measured;
}

double of(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

class OverloadedRack : public testing::TestWithParam<std::uint32_t> {};

TEST_P(OverloadedRack, two_clients__goodput_stays_drops_are_few_and_shares_even) {
  const RackOptions options = overloaded(1, GetParam());
  Rack rack(options);
  const Measured measured = measure(rack, options);
  EXPECT_GE(measured.goodput, 0.95);
  EXPECT_LE(of(measured.dropped, measured.served), 0.04);  // 8 / w^2 where the queue is shortest and w is 18
  EXPECT_EQ(measured.timed_out, 0u);
  EXPECT_GT(measured.clients[0].refused, measured.clients[0].offered / 3) << "it is an overload";
  EXPECT_NEAR(of(measured.clients[0].served, measured.served), 0.5, 0.08);
}

INSTANTIATE_TEST_SUITE_P(QueueCapacity, OverloadedRack, testing::Values(4, 64, 512));

TEST(Overload, two_clients__who_wants_less_than_half_gets_most_of_it) {
  RackOptions options = overloaded(1, 64);
  options.first_client_share = 0.15;  // 30 % of the capacity; the other wants 170 %
  Rack rack(options);
  const Measured measured = measure(rack, options);
  EXPECT_GE(measured.goodput, 0.95);
  const ClientShare& modest = measured.clients[0];
  EXPECT_GE(of(modest.served, modest.offered), 0.9);
}

TEST(Overload, without_back_off__every_second_request_is_dropped) {
  RackOptions options = overloaded(1, 64);
  options.back_off = false;
  Rack rack(options);
  const Measured measured = measure(rack, options);
  EXPECT_GE(of(measured.dropped, measured.served), 0.8) << "else the other cases show nothing";
}

TEST(Overload, burst__one_round_trip_finds_what_fits) {
  RackOptions options = overloaded(1, 16);
  options.requests = 1024;
  options.load = 1e9;  // all at once, when the workers' tokens are filed
  options.first_request = milliseconds(1);
  Rack rack(options);
  rack.run();
  // 32 places at the workers and 16 in the queue, and what was served until the last packet of the burst came.
  EXPECT_GE(rack.count(Ending::kReply), 48u);
  EXPECT_GT(rack.count(Ending::kDropped), 1900u);
  std::uint32_t windows = 0;
  for (const auto& client : rack.clients()) windows += client->core().admission().window({});
  EXPECT_LE(windows, 64u);
  EXPECT_GE(windows, 40u);
}

}  // namespace
}  // namespace rain::softswitch
