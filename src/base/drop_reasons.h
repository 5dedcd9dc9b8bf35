// Every reason for which anything in Rain drops a packet or a task: one list for the data plane, the wire,
// the tools and the control plane. The numbers travel in DROP packets, so they only ever grow. Freestanding.
#pragma once

#include <cstdint>

namespace rain {

// X(number, identifier, name, help)
#define RAIN_DROP_REASONS(X)                                                                             \
  X(0, kNone, "none", "not dropped")                                                                     \
  X(1, kTruncatedHeader, "truncated_header", "packet shorter than the 8-byte R2P2 header")               \
  X(2, kBadMagic, "bad_magic", "first byte is neither 0x52 nor 0xCC")                                    \
  X(3, kBadHeaderSize, "bad_header_size", "header size below 8 or beyond the packet")                    \
  X(4, kUnknownType, "unknown_type", "message type not in the protocol")                                 \
  X(5, kUnknownPolicy, "unknown_policy", "policy not in the protocol")                                   \
  X(6, kBadPacketCount, "bad_packet_count", "a first packet that announces 0 packets")                   \
  X(7, kTruncatedExtension, "truncated_extension", "header size ends inside an extension")               \
  X(8, kOversizedPayload, "oversized_payload", "payload above the single-packet limit")                  \
  X(9, kUnexpectedMessage, "unexpected_message", "message type that this role never receives")           \
  X(10, kUnknownTaskType, "unknown_task_type", "task type that no slice serves")                         \
  X(11, kUnknownWorker, "unknown_worker", "worker id not in the worker table")                           \
  X(12, kAddressMismatch, "address_mismatch", "sender's address differs from the worker table's")        \
  X(13, kBadTokenKey, "bad_token_key", "token key differs from the worker table's")                      \
  X(14, kStaleEpoch, "stale_epoch", "token of an earlier life of its worker")                            \
  X(15, kBadLevel, "bad_level", "token level at or above the number of levels")                          \
  X(16, kDuplicateToken, "duplicate_token", "token whose generation was already seen")                   \
  X(17, kTokenQueueFull, "token_queue_full", "token FIFO of the level is full")                          \
  X(18, kStaleToken, "stale_token", "filed token found dead when it was to be consumed")                 \
  X(19, kQueueFull, "queue_full", "the slice's task queue is full")                                      \
  X(20, kPayloadStoreFull, "payload_store_full", "no room to hold a large waiting payload")              \
  X(21, kNoWorkers, "no_workers", "the slice has no worker")                                             \
  X(22, kPolicyUnsupported, "policy_unsupported", "STICKY for a slice without a master")                 \
  X(23, kMultiPacketUnsupported, "multi_packet_unsupported", "request or reply of more than one packet") \
  X(24, kWorkerQueueFull, "worker_queue_full", "pushed task beyond what the worker may hold")            \
  X(25, kStaleDispatch, "stale_dispatch", "dispatch whose token the worker no longer has out")           \
  X(26, kDeadlinePassed, "deadline_passed", "deadline over before the task could start")                 \
  X(27, kUnknownRequest, "unknown_request", "reply to a request that is not (or no longer) open")        \
  X(28, kShuttingDown, "shutting_down", "receiver is draining")                                          \
  X(29, kSendFailed, "send_failed", "the network layer refused the packet")                              \
  X(30, kRecirculationLimit, "recirculation_limit", "packet passed more often than the bound allows")    \
  X(31, kHandlerFailed, "handler_failed", "the application's handler threw or gave no usable reply")     \
  X(32, kNoTask, "no_task", "pull that found no waiting task")                                           \
  X(33, kSliceRemoved, "slice_removed", "the task waited in a slice that was taken out of the switch")   \
  X(34, kGenerationLeap, "generation_leap", "token or recall too far ahead of the last one seen")

enum class DropReason : std::uint8_t {
#define RAIN_X(number, identifier, name, help) identifier = number,
  RAIN_DROP_REASONS(RAIN_X)
#undef RAIN_X
};

inline constexpr unsigned kDropReasonCount = 0
#define RAIN_X(number, identifier, name, help) +1
    RAIN_DROP_REASONS(RAIN_X)
#undef RAIN_X
    ;

/// The reason's name as reports, counters and messages spell it; "unknown" outside the list.
constexpr const char* drop_reason_name(DropReason reason) {
  switch (reason) {
#define RAIN_X(number, identifier, name, help) \
  case DropReason::identifier:                 \
    return name;
    RAIN_DROP_REASONS(RAIN_X)
#undef RAIN_X
  }
  return "unknown";
}

/// One line of help for the reason; "" outside the list.
constexpr const char* drop_reason_help(DropReason reason) {
  switch (reason) {
#define RAIN_X(number, identifier, name, help) \
  case DropReason::identifier:                 \
    return help;
    RAIN_DROP_REASONS(RAIN_X)
#undef RAIN_X
  }
  return "";
}

/// The reason for a number from the wire; out of range gives kNone.
constexpr DropReason drop_reason_from_wire(std::uint16_t number) {
  return number < kDropReasonCount ? static_cast<DropReason>(number) : DropReason::kNone;
}

}  // namespace rain
