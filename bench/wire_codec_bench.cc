// What the codec costs per packet: the run loops of switch, client and worker pay it for each one. The last two
// benchmarks mix types at random, so that their branches cannot be predicted.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/prng.h"
#include "wire/message.h"

namespace rain::wire {
namespace {

struct Packet {
  std::array<std::byte, 64> bytes;
  std::size_t size;
};

constexpr std::byte kPayload[8] = {};

Message message_of(MessageType type, bool has_dispatch, Layout layout) {
  Message message;
  message.layout = layout;
  message.type = type;
  message.first = message.last = message.has_extension = true;
  message.has_dispatch = has_dispatch;
  message.packet = 1;
  message.dispatch.client = Endpoint::v4(10, 0, 0, 1, 9000);
  if (type == MessageType::kRequest) message.payload = kPayload;
  return message;
}

Packet packet_of(const Message& message) {
  Packet packet{};
  packet.size = encode(message, packet.bytes).size();
  return packet;
}

void decode_one(benchmark::State& state, MessageType type, bool has_dispatch, Layout layout) {
  Packet packet = packet_of(message_of(type, has_dispatch, layout));
  Message message;
  for (auto _ : state) {
    benchmark::DoNotOptimize(packet);
    DropReason reason = decode({packet.bytes.data(), packet.size}, message);
    benchmark::DoNotOptimize(reason);
    benchmark::DoNotOptimize(message);
  }
}

void encode_one(benchmark::State& state, MessageType type, bool has_dispatch, Layout layout) {
  Message message = message_of(type, has_dispatch, layout);
  std::array<std::byte, 2 * kMaxHeaderBytes> buffer{};
  for (auto _ : state) {
    benchmark::DoNotOptimize(message);
    const std::byte* start = encode_header_before(message, buffer.data() + buffer.size());
    benchmark::DoNotOptimize(start);
    benchmark::ClobberMemory();
  }
}

void decode_mix(benchmark::State& state, Layout layout) {
  const std::array choice = {packet_of(message_of(MessageType::kFeedback, false, layout)),
                             packet_of(message_of(MessageType::kRequest, false, layout))};
  Prng prng(1);
  std::vector<Packet> packets(4096);
  for (Packet& packet : packets) packet = choice[prng.below(choice.size())];
  Message message;
  std::size_t next = 0;
  for (auto _ : state) {
    const Packet& packet = packets[next++ % packets.size()];
    DropReason reason = decode({packet.bytes.data(), packet.size}, message);
    benchmark::DoNotOptimize(reason);
    benchmark::DoNotOptimize(message);
  }
}

/// Five repetitions, of which median and spread are printed; the test suite asks for one.
void repeated(benchmark::internal::Benchmark* bench) { bench->Repetitions(5)->ReportAggregatesOnly(true); }

BENCHMARK_CAPTURE(decode_one, token, MessageType::kFeedback, false, Layout::kPlain)->Apply(repeated);
BENCHMARK_CAPTURE(decode_one, request, MessageType::kRequest, false, Layout::kPlain)->Apply(repeated);
BENCHMARK_CAPTURE(decode_one, dispatch, MessageType::kRequest, true, Layout::kPlain)->Apply(repeated);
BENCHMARK_CAPTURE(decode_one, reply, MessageType::kReply, false, Layout::kPlain)->Apply(repeated);
BENCHMARK_CAPTURE(decode_one, request_reference, MessageType::kRequest, false, Layout::kReference)
    ->Apply(repeated);
BENCHMARK_CAPTURE(encode_one, token, MessageType::kFeedback, false, Layout::kPlain)->Apply(repeated);
BENCHMARK_CAPTURE(encode_one, dispatch, MessageType::kRequest, true, Layout::kPlain)->Apply(repeated);
BENCHMARK_CAPTURE(encode_one, reply, MessageType::kReply, false, Layout::kPlain)->Apply(repeated);
BENCHMARK_CAPTURE(encode_one, dispatch_reference, MessageType::kRequest, true, Layout::kReference)
    ->Apply(repeated);
BENCHMARK_CAPTURE(decode_mix, tokens_and_requests, Layout::kPlain)->Apply(repeated);
BENCHMARK_CAPTURE(decode_mix, tokens_and_requests_reference, Layout::kReference)->Apply(repeated);

}  // namespace
}  // namespace rain::wire

BENCHMARK_MAIN();
