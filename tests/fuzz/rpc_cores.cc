// Any packets, in any order, from anybody, into a client and a worker: no request ends twice, no worker holds more tasks
// than its quota, nothing is answered that did not come in.
//
// The input is a list of packets, each behind two bytes: whom it reaches and who sent it, and its length; or a new quota
// instead of a packet. SYNC answers and
// dispatches carry numbers that a fuzzer would never guess, so both cores are made ready first, and the seeds hold packets
// that fit.
#include <algorithm>
#include <array>
#include <vector>

#include "base/assert.h"
#include "fuzz/fuzz.h"
#include "rpc/client_core.h"
#include "rpc/worker_core.h"

namespace rain::fuzz {

namespace {

using wire::MessageType;

constexpr Endpoint kSwitch = Endpoint::v4(10, 0, 0, 1, 9000);
constexpr Endpoint kStranger = Endpoint::v4(10, 0, 0, 66, 6666);
constexpr unsigned kQuota = 2;
constexpr unsigned kRequests = 4;

struct CountingSink {
  void send(const wire::Message& message, const Endpoint&) {
    std::array<std::byte, wire::kMaxPacketBytes> packet;
    wire::encode(message, packet);
    ++sent;
    last = message.request_id;
  }
  unsigned sent = 0;
  RequestId last{};
};

wire::Message sync_ack(RequestId sequence, std::uint8_t level) {
  wire::Message ack;
  ack.type = MessageType::kSyncAck;
  ack.first = ack.last = ack.has_extension = true;
  ack.packet = 1;
  ack.request_id = sequence;
  ack.sync_ack = {.worker = {1}, .epoch = {1}, .boot_id = {1}, .level = {level}};
  return ack;
}

/// A worker whose tokens of generation 1 are out.
class WorkerUnderTest {
 public:
  WorkerUnderTest() {
    core_.poll(now_, sink_);  // asks with sequence numbers from 0
    for (std::uint8_t level = 0; level < kQuota; ++level) {
      core_.on_message(sync_ack({level}, level), kSwitch, now_, now_, sink_);
    }
    RAIN_ASSERT(core_.ledger()->outstanding() == kQuota);
    sink_.sent = 0;
  }

  void receive(const wire::Message& message, const Endpoint& source) {
    now_ += microseconds(400);  // so that some questions become due
    core_.on_message(message, source, now_, now_, sink_);
    core_.poll(now_, sink_);
    check();
    if (++received_ % 2 == 0 && core_.begin(now_, sink_) != nullptr) core_.finish({}, now_, sink_);
    // A packet is worth one answer and one token; an answer of the switch one token or question a level; every interval
    // that passes one question a level; a task that ends two packets.
    RAIN_ASSERT(sink_.sent <= received_ * (2 + 2 * kMaxQuota + 2));
  }

  void set_quota(unsigned quota) {
    bound_ = std::max(quota, core_.ledger()->capacity());
    core_.set_quota(quota, now_, sink_);
    ++received_;
    check();
  }

 private:
  /// Tokens and tasks are as many as the quota allows, or as there were when it fell, and ever fewer.
  void check() {
    const rpc::TokenLedger& ledger = *core_.ledger();
    RAIN_ASSERT(ledger.spent() + ledger.outstanding() <= ledger.capacity());
    RAIN_ASSERT(ledger.capacity() <= bound_);
    bound_ = std::max(ledger.quota(), ledger.capacity());
    RAIN_ASSERT(core_.held() <= bound_ + kPushLimit);
  }

  static constexpr unsigned kPushLimit = 3;
  Nanos now_{};
  CountingSink sink_;
  rpc::WorkerCore core_{{.id = {1},
                         .switch_address = kSwitch,
                         .quota = kQuota,
                         .sync_interval = milliseconds(1),
                         .push_limit = kPushLimit}};
  unsigned received_ = 0;
  unsigned bound_ = kQuota;
};

/// A client with requests 0..kRequests-1 open.
class ClientUnderTest {
 public:
  ClientUnderTest() {
    for (unsigned i = 0; i < kRequests; ++i) {
      RAIN_ASSERT(core_.submit({}, {.retries = i % 2, .cookie = i}, now_, sink_).has_value());
    }
  }

  void receive(const wire::Message& message) {
    now_ += microseconds(400);
    const auto hear = [this](const rpc::Outcome& outcome) {
      RAIN_ASSERT(++endings_.at(outcome.cookie) == 1);
    };
    core_.on_message(message, now_, hear);
    core_.poll(now_, sink_, hear);
    RAIN_ASSERT(sink_.sent <= kRequests + kRequests / 2);
  }

 private:
  Nanos now_{};
  CountingSink sink_;
  rpc::ClientCore core_{{.switch_address = kSwitch,
                         .max_outstanding = 8,
                         .id_count = 16,
                         .timeout = milliseconds(2),
                         .max_retries = 1}};
  std::array<unsigned, kRequests> endings_{};
};

void append(Input& input, std::uint8_t route, const wire::Message& message) {
  std::array<std::byte, wire::kMaxPacketBytes> buffer;
  const auto packet = wire::encode(message, buffer);
  input.push_back(std::byte{route});
  input.push_back(static_cast<std::byte>(packet.size()));
  input.insert(input.end(), packet.begin(), packet.end());
}

}  // namespace

void one_input(std::span<const std::byte> input) {
  WorkerUnderTest worker;
  ClientUnderTest client;
  wire::Message message;
  while (input.size() >= 2) {
    const auto route = static_cast<unsigned>(input[0]);
    if ((route & 8) != 0) {
      worker.set_quota(static_cast<unsigned>(input[1]) % (kMaxQuota + 1));
      input = input.subspan(2);
      continue;
    }
    const std::size_t size = std::min(static_cast<std::size_t>(input[1]), input.size() - 2);
    const DropReason reason = wire::decode(input.subspan(2, size), message);
    input = input.subspan(2 + size);
    if (reason != DropReason::kNone) continue;
    if ((route & 1) != 0) client.receive(message);
    if ((route & 2) != 0) worker.receive(message, (route & 4) != 0 ? kStranger : kSwitch);
  }
}

std::vector<Input> seeds() {
  wire::Message dispatch;
  dispatch.type = MessageType::kRequest;
  dispatch.first = dispatch.last = dispatch.has_extension = dispatch.has_dispatch = true;
  dispatch.packet = 1;
  dispatch.dispatch = {.client = kStranger, .worker = {1}, .level = {0}, .generation = {1}};
  const wire::Message ack = sync_ack({kQuota}, 0);
  wire::Message reply;
  reply.type = MessageType::kReply;
  reply.first = reply.last = reply.has_extension = true;
  reply.packet = 1;
  wire::Message drop = reply;
  drop.type = MessageType::kDrop;
  drop.request_id = {1};

  Input all;
  append(all, 2, dispatch);
  append(all, 2, dispatch);
  dispatch.dispatch.level = {1};
  append(all, 2, dispatch);
  dispatch.dispatch.generation = {2};
  append(all, 2, dispatch);
  append(all, 2, ack);
  append(all, 6, ack);
  append(all, 1, reply);
  append(all, 1, reply);
  append(all, 1, drop);
  dispatch.dispatch.level = kNoLevel;
  for (int i = 0; i < 5; ++i) append(all, 2, dispatch);
  Input alone;
  append(alone, 3, reply);

  // The quota falls, one recall is answered, the other's dispatch comes; then it rises.
  const auto set_quota = [](Input& input, unsigned quota) {
    input.push_back(std::byte{8});
    input.push_back(static_cast<std::byte>(quota));
  };
  Input quotas;
  set_quota(quotas, 0);
  wire::Message recalled = sync_ack({kQuota}, 0);
  recalled.sync_ack.seen = recalled.sync_ack.consumed = {1};
  recalled.sync_ack.recalled = true;
  append(quotas, 2, recalled);
  dispatch.dispatch.level = {1};
  dispatch.dispatch.generation = {1};
  append(quotas, 2, dispatch);
  set_quota(quotas, 5);
  append(quotas, 2, dispatch);
  return {all, alone, quotas};
}

}  // namespace rain::fuzz
