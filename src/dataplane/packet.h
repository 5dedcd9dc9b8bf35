// What goes into a data-plane program and what comes out. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/drop_reasons.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"
#include "wire/message.h"

namespace rain::dataplane {

/// Where a packet looks that may pass from a host to its master slice, or the other way.
enum class Lending : std::uint8_t {
  kHome,    ///< in its own slice
  kAway,    ///< in the other one: a task asks for a token, a token for a task
  kReturn,  ///< in its own slice again: there was none
};

/// What a recirculated packet takes along to its next pass: bridged metadata on a switch. Each program uses
/// what it needs.
struct Carried {
  std::uint32_t passes = 0;  ///< passes made so far
  std::uint16_t group = 0;   ///< r2p2: the group of workers to check now
  std::uint16_t start = 0;   ///< r2p2: the group at which the round began
  std::uint8_t depth = 0;    ///< r2p2: the queue depth looked for
  WorkerId worker{};         ///< racksched: the worker chosen in the first pass
  Lending lending = Lending::kHome;
  bool drains = false;  ///< rain: the token serves the head whatever the spill threshold
  bool swept = false;   ///< rain, rain-paper: the token's FIFO was full, and its dead tokens were forgotten
};

/// A parsed packet at the head of the pipeline. The program reads it and never changes it; the rim hands the
/// `carried` of a kRecirculate verdict back with the packet's next pass.
struct PacketView {
  wire::Message message;
  Endpoint source;
  Carried carried{};
};

/// Tells a held payload apart from all others; issued by Memory::hold().
using HoldHandle = std::uint32_t;
inline constexpr HoldHandle kNoHold = UINT32_MAX;

/// Payloads up to this size are stored in the task entry itself (section 4 of the Rain paper).
inline constexpr std::size_t kInlinePayloadBytes = 8;

/// A task that waits in the switch: one cache line, so that a dequeue costs one miss.
struct alignas(64) TaskEntry {
  Nanos arrival;    ///< when the switch buffered it
  Endpoint client;  ///< whom the worker answers
  RequestId request_id;
  TaskType task_type;
  std::uint16_t payload_bytes;
  std::uint32_t deadline_us;
  HoldHandle hold;  ///< kNoHold: the payload is in `inline_payload`
  std::uint16_t packet_count;
  wire::Layout layout;
  wire::Policy policy;
  bool last;
  std::uint8_t inline_payload[kInlinePayloadBytes];
};
static_assert(sizeof(TaskEntry) == 64);

enum class Action : std::uint8_t {
  kForward,      ///< send the packet to `worker`
  kBuffered,     ///< the task waits in the switch; nothing to send
  kDispatch,     ///< send the buffered task `*task` to `worker`
  kRecirculate,  ///< pass the same packet once more, with `carried`; for reason kTokenQueueFull after
                 ///< forget_dead_tokens(slice)
  kExpired,  ///< answer the client of `*task`, which waited too long, with DROP(deadline_passed); pass the same
             ///< packet once more, with `carried`
  kReplyDrop,  ///< answer the sender with DROP(reason)
  kReplySync,  ///< answer the sender with SYNC_ACK(sync)
  kConsume,    ///< the packet did its work; nothing to send
  kIgnore,     ///< drop without an answer, count `reason`
};

/// What the rim must do with the packet. Fields beyond `action` are meaningful where the comments say so.
struct Verdict {
  Action action = Action::kIgnore;
  DropReason reason =
      DropReason::kNone;    ///< kReplyDrop, kIgnore, kRecirculate; kReplySync: why its recall was refused
  SliceId slice{};          ///< all but kIgnore, kReplySync
  WorkerId worker{};        ///< kForward, kDispatch
  Level level = kNoLevel;   ///< kForward, kDispatch: the consumed token; kNoLevel: none
  Generation generation{};  ///< kForward, kDispatch
  std::uint16_t queue_length = 0;  ///< tasks waiting in the slice after this pass, saturating
  Nanos queue_delay{};             ///< kDispatch: how long the task waited
  const TaskEntry* task =
      nullptr;        ///< kDispatch, kExpired: valid until the next pass; its hold is the rim's to release
  Carried carried{};  ///< kRecirculate, kExpired
  wire::SyncAckFields sync{};  ///< kReplySync, boot id left to the rim
};

}  // namespace rain::dataplane
