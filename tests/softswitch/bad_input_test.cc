// Anyone can send anything to the switch's port. Whatever it is: it is counted under its reason, answered only if it is
// a well-formed task, and the next good task is served as if nothing had been.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "dataplane/programs.h"
#include "softswitch/recording_transport.h"
#include "softswitch/switch_fixture.h"

namespace rain::softswitch {
namespace {

using packet_table::client_address;
using packet_table::sync;
using packet_table::task;
using packet_table::token;
using packet_table::worker_address;
using packet_table::worker_key;

using Bytes = std::vector<std::byte>;
using RainSwitch = SwitchUnderTest<dataplane::RainProgram<dataplane::SoftMemory, 4>, RecordingTransport>;

// Slice "s" serves type 0 only.
SwitchOptions options() {
  SwitchOptions options = one_slice(2);
  options.slices[0].task_types = {TaskType{0}};
  return options;
}

Bytes with(Bytes bytes, std::size_t at, unsigned value) {
  bytes[at] = static_cast<std::byte>(value);
  return bytes;
}
Bytes cut(Bytes bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}

struct Case {
  const char* name;
  Bytes packet;
  Endpoint source;
  DropReason reason;
  bool answered = false;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

std::vector<Case> cases() {
  const Endpoint client = client_address(0);
  const Bytes request = bytes_of(task());
  const Bytes reference = bytes_of(task().layout(wire::Layout::kReference));
  const Bytes feedback = bytes_of(token(0));
  return {
      {"empty", {}, client, DropReason::kTruncatedHeader},
      {"one_byte", cut(request, 1), client, DropReason::kTruncatedHeader},
      {"truncated_header", cut(request, 7), client, DropReason::kTruncatedHeader},
      {"garbage", Bytes(500, std::byte{0xA5}), client, DropReason::kBadMagic},
      {"wrong_magic", with(request, 0, 0x53), client, DropReason::kBadMagic},
      {"header_size_0", with(request, 1, 0), client, DropReason::kBadHeaderSize},
      {"header_size_7", with(request, 1, 7), client, DropReason::kBadHeaderSize},
      {"header_size_beyond_packet", with(request, 1, 255), client, DropReason::kBadHeaderSize},
      {"header_ends_in_extension", with(request, 1, 11), client, DropReason::kTruncatedExtension},
      {"unknown_type", with(request, 2, 7), client, DropReason::kUnknownType},
      {"unknown_type_reference", with(reference, 2, 0x70), client, DropReason::kUnknownType},
      {"unknown_policy", with(request, 3, 0xF8), client, DropReason::kUnknownPolicy},
      {"packet_count_0", with(request, 7, 0), client, DropReason::kBadPacketCount},
      {"oversized_payload", bytes_of(task().payload(1401)), client, DropReason::kOversizedPayload},
      {"as_long_as_a_buffer", bytes_of(task().payload(1906)), client, DropReason::kOversizedPayload},
      {"further_packet_of_a_request", bytes_of(task().not_first()), client, DropReason::kUnexpectedMessage},
      {"reply", bytes_of({wire::MessageType::kReply, client}), client, DropReason::kUnexpectedMessage},
      {"drop", bytes_of({wire::MessageType::kDrop, client}), client, DropReason::kUnexpectedMessage},
      {"sync_ack", bytes_of({wire::MessageType::kSyncAck, client}), client, DropReason::kUnexpectedMessage},
      {"pull", bytes_of({wire::MessageType::kPull, client}), client, DropReason::kUnexpectedMessage},
      {"bare_feedback", bytes_of(token(0).bare()), worker_address(0), DropReason::kTruncatedExtension},
      {"unknown_worker", bytes_of(token(2)), worker_address(2), DropReason::kUnknownWorker},
      {"unknown_worker_largest", bytes_of(token(65535)), worker_address(0), DropReason::kUnknownWorker},
      {"spoofed_address", feedback, client, DropReason::kAddressMismatch},
      {"another_workers_address", feedback, worker_address(1), DropReason::kAddressMismatch},
      {"wrong_key", bytes_of(token(0).key(1)), worker_address(0), DropReason::kBadTokenKey},
      {"another_epoch", bytes_of(token(0).epoch(9)), worker_address(0), DropReason::kStaleEpoch},
      {"level_beyond", bytes_of(token(0).level(4)), worker_address(0), DropReason::kBadLevel},
      {"no_level", bytes_of(token(0).level(255)), worker_address(0), DropReason::kBadLevel},
      {"generation_0", bytes_of(token(0).generation(0)), worker_address(0), DropReason::kDuplicateToken},
      {"sync_of_unknown_worker", bytes_of(sync(7)), worker_address(7), DropReason::kUnknownWorker},
      {"sync_with_wrong_key", bytes_of(sync(0).key(1)), worker_address(0), DropReason::kBadTokenKey},
      {"sync_from_elsewhere", bytes_of(sync(0)), client, DropReason::kAddressMismatch},
      {"unknown_task_type", bytes_of(task().type(9)), client, DropReason::kUnknownTaskType, true},
      {"sticky", bytes_of(task().policy(wire::Policy::kSticky)), client, DropReason::kPolicyUnsupported,
       true},
  };
}

class BadInput : public testing::TestWithParam<Case> {};

TEST_P(BadInput, poll__counted_and_harmless) {
  const Case& bad = GetParam();
  RainSwitch s(options(), {});
  s.transport.put(bad.packet, bad.source);
  s.agent.poll(Nanos{1});
  const auto answers = s.transport.take_sent();
  EXPECT_EQ(s.drops(bad.reason), 1u) << drop_reason_name(bad.reason);
  EXPECT_EQ(s.counters.drops().total(), 1u) << "one packet, one reason";
  if (bad.answered) {
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].peer, bad.source);
    EXPECT_EQ(answers[0].message.drop.reason, bad.reason);
    EXPECT_EQ(s.count(SwitchCounter::kRefused), 1u);
  } else {
    EXPECT_TRUE(answers.empty());
    EXPECT_EQ(s.count(SwitchCounter::kIgnored), 1u);
  }

  s.transport.put(bytes_of(token(0)), worker_address(0));
  s.transport.put(bytes_of(task().client(1).request(3)), client_address(1));
  s.agent.poll(Nanos{2});
  const auto served = s.transport.take_sent();
  ASSERT_EQ(served.size(), 1u);
  EXPECT_EQ(served[0].peer, worker_address(0));
  EXPECT_EQ(served[0].message.request_id.value, 3);
}

TEST_P(BadInput, poll__in_the_middle_of_a_batch) {
  const Case& bad = GetParam();
  RainSwitch s(options(), {});
  s.transport.put(bytes_of(token(0)), worker_address(0));
  s.transport.put(bad.packet, bad.source);
  s.transport.put(bytes_of(task().client(1).request(3)), client_address(1));
  EXPECT_EQ(s.agent.poll(Nanos{1}), 3u);
  const auto sent = s.transport.take_sent();
  ASSERT_EQ(sent.size(), bad.answered ? 2u : 1u);
  EXPECT_EQ(sent.back().peer, worker_address(0));
}

INSTANTIATE_TEST_SUITE_P(Packets, BadInput, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

TEST(BadInput, poll__random_bytes_never_stop_the_switch) {
  RainSwitch s(options(), {});
  Prng prng(42);
  const std::vector<Bytes> seeds = {bytes_of(task()), bytes_of(token(0)), bytes_of(sync(1)),
                                    bytes_of(task().layout(wire::Layout::kReference).payload(1400))};
  std::uint64_t put = 0;
  for (int round = 0; round < 2000; ++round) {
    Bytes packet = seeds[prng.below(seeds.size())];
    for (std::uint64_t flips = 1 + prng.below(4); flips > 0; --flips) {
      packet[prng.below(std::min<std::size_t>(packet.size(), 40))] = static_cast<std::byte>(prng.next());
    }
    if (prng.chance(0.3)) packet.resize(prng.below(packet.size() + 1));
    const Endpoint source = prng.chance(0.5) ? worker_address(0) : client_address(0);
    s.transport.put(packet, source);
    ++put;
    s.agent.poll(Nanos{round});
  }
  std::uint64_t ended = 0;
  for (const SwitchCounter counter :
       {SwitchCounter::kForwarded, SwitchCounter::kBuffered, SwitchCounter::kDispatched,
        SwitchCounter::kRefused, SwitchCounter::kSyncAcks, SwitchCounter::kConsumed,
        SwitchCounter::kIgnored}) {
    ended += s.count(counter);
  }
  EXPECT_EQ(ended, put) << "every packet has exactly one end";
  EXPECT_GT(s.count(SwitchCounter::kIgnored), 0u);
  EXPECT_EQ(s.count(SwitchCounter::kBuffered) - s.count(SwitchCounter::kDispatched), s.agent.waiting());
}

}  // namespace
}  // namespace rain::softswitch
