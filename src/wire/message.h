// One R2P2 packet, as numbers: the base header and the extension its type carries. Freestanding.
//
// docs/protocol.md documents every field with the reason for its width and place. The byte layouts in
// layout.h are private to codec.h, which defines the functions declared here; everything outside this folder
// sees only these structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/drop_reasons.h"
#include "base/endpoint.h"
#include "base/ids.h"

namespace rain::wire {

/// The two layouts of the 8-byte base header, named by their magic byte. Replies use the layout of the
/// request.
enum class Layout : std::uint8_t {
  kPlain = 0x52,  ///< byte 2 is the type alone; policy, F and L in byte 3
  kReference =
      0xCC,  ///< as in the public reference implementation: type and policy in byte 2, F and L in byte 3
};

enum class MessageType : std::uint8_t {
  kRequest = 0,       ///< REQ0 with F (through the switch), REQn without (straight to the worker)
  kReply = 1,         ///< worker -> client
  kFeedback = 2,      ///< worker -> switch; with our extension a token, bare an R2P2 server's "one finished"
  kRequestReady = 3,  ///< worker -> client: send the rest of a multi-packet request
  kDrop = 4,          ///< switch or worker -> client: refused, with a reason
  kSack = 8,          ///< either direction: which packets are missing
  kSync = 9,          ///< worker -> switch: "this is my view of my token of one level"
  kSyncAck = 10,      ///< switch -> worker: "and this is mine"
  kPull = 11,         ///< worker -> switch: "give me a task" (Draconis)
  kFetch = 12,        ///< worker -> client: send the payload that did not fit the switch (Draconis)
  kFetched = 13,      ///< client -> worker
};

enum class Policy : std::uint8_t {
  kUnrestricted = 0,  ///< any worker of the slice
  kSticky = 1,        ///< the master of the slice
};

/// REQ0: what the client says of the task.
struct RequestFields {
  TaskType task_type{};
  std::uint32_t deadline_us = 0;  ///< time the client still gives the task when it sends it; 0: no deadline
};

/// REQ0 from the switch to a worker: who asked, which token paid for it, and in-band telemetry.
struct DispatchFields {
  Endpoint client{};
  WorkerId worker{};
  Level level = kNoLevel;             ///< of the consumed token; kNoLevel: none was (push policies)
  Generation generation{};            ///< of the consumed token
  std::uint32_t switch_delay_ns = 0;  ///< time the task waited in the switch, saturating
  std::uint16_t queue_length = 0;     ///< tasks waiting in the slice when this one left, saturating
};

/// FEEDBACK, SYNC and PULL: one token, the question after one, or who pulls.
struct TokenFields {
  WorkerId worker{};
  Epoch epoch{};
  std::uint32_t token_key = 0;  ///< shared secret of switch and worker
  Generation generation{};
  Level level = kNoLevel;          ///< kNoLevel in FEEDBACK: a plain report of a finished task, no token
  std::uint16_t queue_length = 0;  ///< unfinished tasks the worker holds, saturating
  bool recall = false;             ///< SYNC: the worker takes this generation back, filed or under way
};

/// SYNC_ACK: the switch's half of the token ledger for one (worker, level).
struct SyncAckFields {
  WorkerId worker{};
  Epoch epoch{};          ///< the worker's current epoch
  BootId boot_id{};       ///< changes when the switch restarts: its ledger is empty again
  Generation seen{};      ///< newest generation that arrived (0: none since boot)
  Generation consumed{};  ///< newest generation that was spent, or can serve no task any more (0: none)
  Level level{};
  bool recalled = false;  ///< the recall came before any task was bound to the token: it is nobody's now
};

/// REPLY: where the time went, so that clients can report slowdown and the parts of the latency.
struct ReplyFields {
  WorkerId worker{};
  std::uint32_t switch_delay_ns = 0;  ///< waited in the switch
  std::uint32_t worker_delay_ns = 0;  ///< waited in the worker's FIFO
  std::uint32_t service_ns = 0;       ///< ran
  std::uint16_t queue_length = 0;     ///< slice queue length from the dispatch
};

struct DropFields {
  DropReason reason = DropReason::kNone;
};

inline constexpr std::size_t kBaseHeaderBytes = 8;
inline constexpr std::size_t kMaxHeaderBytes = 64;  ///< largest header we write; the wire allows 255
inline constexpr std::size_t kMaxPayloadBytes =
    1400;  ///< single packet: fits a 1500-byte MTU behind IPv6 and UDP
inline constexpr std::size_t kMaxPacketBytes = kMaxHeaderBytes + kMaxPayloadBytes;

/// A decoded packet. Which of the field groups is meaningful follows from `type` and the has_* flags. The
/// group of the type's own extension holds its defaults when has_extension is false; all other groups are
/// unspecified after decode(), which leaves them alone. `payload` points into the decoded bytes.
struct Message {
  Layout layout = Layout::kPlain;
  MessageType type = MessageType::kRequest;
  Policy policy = Policy::kUnrestricted;
  bool first = false;
  bool last = false;
  RequestId request_id{};
  std::uint16_t packet = 0;    ///< packet count in the first packet, else packet index
  bool has_dispatch = false;   ///< REQUEST: `dispatch` was on the wire
  bool has_extension = false;  ///< the type's own extension was on the wire

  RequestFields request{};    ///< kRequest
  DispatchFields dispatch{};  ///< kRequest with has_dispatch
  TokenFields token{};        ///< kFeedback, kSync, kPull
  SyncAckFields sync_ack{};   ///< kSyncAck
  ReplyFields reply{};        ///< kReply
  DropFields drop{};          ///< kDrop
  std::span<const std::byte> payload{};
};

/// Decodes and validates one packet. Never reads outside `packet`; any bytes are safe.
/// Returns kNone and fills `out`, or returns the first reason that applies, in the order of drop_reasons.h,
/// and leaves `out` unspecified. Reserved bits and unknown bytes at the end of a header are skipped, so that
/// later versions can extend it. SYNC, SYNC_ACK and PULL have an extension always; the other types' may be absent.
inline DropReason decode(std::span<const std::byte> packet, Message& out);

/// Size of the header that encode_header_before() writes for this message (8..kMaxHeaderBytes). has_dispatch
/// implies the request extension; SYNC, SYNC_ACK and PULL always get theirs.
inline std::size_t header_size(const Message& message);

/// Writes the header of `message` so that it ends at `header_end` and returns its first byte. The caller owns
/// at least kMaxHeaderBytes before `header_end`; a payload that already lies there is not moved or copied.
inline std::byte* encode_header_before(const Message& message, std::byte* header_end);

/// Writes header and payload into `out` (header_size() + payload.size() bytes at least); returns the packet.
/// The payload may overlap `out` only at the very place where it goes.
inline std::span<std::byte> encode(const Message& message, std::span<std::byte> out);

}  // namespace rain::wire

#include "wire/codec.h"  // IWYU pragma: export
