// What the client's and the worker's state machines cost per call, without any I/O: the share of the library in a
// request's latency that no network can take away.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>

#include "rpc/client_core.h"
#include "rpc/worker_core.h"

namespace rain::rpc {
namespace {

/// Encodes like an agent, and keeps the last message.
struct EncodingSink {
  void send(const wire::Message& message, const Endpoint&) {
    benchmark::DoNotOptimize(wire::encode(message, buffer).data());
    last = message.request_id;
    level = message.token.level;
    generation = message.token.generation;
  }
  std::array<std::byte, wire::kMaxPacketBytes> buffer;
  RequestId last{};
  Level level{};
  Generation generation{};
};

constexpr Endpoint kSwitch = Endpoint::v4(10, 0, 0, 1, 9000);

/// Submit, and the reply to the oldest of `open` requests.
void client_call(benchmark::State& state) {
  const auto open = static_cast<std::uint32_t>(state.range(0));
  ClientCore core({.switch_address = kSwitch, .max_outstanding = open + 1});
  EncodingSink sink;
  std::array<std::byte, 8> payload{};
  std::vector<RequestId> ids(open + 1);
  std::size_t next = 0;
  Nanos now{};
  const auto submit = [&] { ids[next++ % ids.size()] = *core.submit(payload, {}, now, sink); };
  for (std::uint32_t i = 0; i < open; ++i) submit();
  wire::Message reply;
  reply.type = wire::MessageType::kReply;
  reply.first = reply.last = reply.has_extension = true;
  reply.packet = 1;
  std::uint64_t replies = 0;
  for (auto _ : state) {
    now += Nanos{1000};
    submit();
    reply.request_id = ids[next % ids.size()];
    core.on_message(reply, now, [&](const Outcome& outcome) { replies += outcome.ending == Ending::kReply; });
    core.poll(now, sink, [](const Outcome&) {});
  }
  if (replies != static_cast<std::uint64_t>(state.iterations()))
    state.SkipWithError("a request got no reply");
}
BENCHMARK(client_call)->Arg(0)->Arg(64)->Arg(4096);

/// Dispatch, begin, finish: decode, one copy of the payload, reply and token encoded.
void worker_task(benchmark::State& state) {
  WorkerCore core({.id = {1}, .switch_address = kSwitch, .quota = 1});
  EncodingSink sink;
  Nanos now{};
  core.poll(now, sink);
  wire::Message ack;
  ack.type = wire::MessageType::kSyncAck;
  ack.request_id = sink.last;
  ack.has_extension = true;
  ack.sync_ack = {.worker = {1}, .epoch = {1}, .boot_id = {1}, .level = {0}};
  core.on_message(ack, kSwitch, now, now, sink);

  std::array<std::byte, 1024> payload{};
  wire::Message dispatch;
  dispatch.type = wire::MessageType::kRequest;
  dispatch.first = dispatch.last = dispatch.has_extension = dispatch.has_dispatch = true;
  dispatch.packet = 1;
  dispatch.payload = std::span(payload).first(static_cast<std::size_t>(state.range(0)));
  dispatch.dispatch.client = Endpoint::v4(10, 0, 0, 2, 5000);
  dispatch.dispatch.worker = {1};
  std::array<std::byte, wire::kMaxPacketBytes> packet;
  wire::Message received;
  for (auto _ : state) {
    now += Nanos{1000};
    dispatch.dispatch.level = sink.level;
    dispatch.dispatch.generation = sink.generation;
    const auto bytes = wire::encode(dispatch, packet);  // the switch's share, about 5 ns of it all
    if (wire::decode(bytes, received) != DropReason::kNone) state.SkipWithError("does not decode");
    core.on_message(received, kSwitch, now, now, sink);
    const TaskView* task = core.begin(now, sink);
    core.finish(task->payload.first(8), now, sink);
  }
  if (core.served() != static_cast<std::uint64_t>(state.iterations()))
    state.SkipWithError("a task was not served");
}
BENCHMARK(worker_task)->Arg(8)->Arg(1024);

}  // namespace
}  // namespace rain::rpc

BENCHMARK_MAIN();
