// What all programs share: the match tables at the head of the pipeline and the verdicts at its end.
// Freestanding.
//
// A program is a class template over Memory with
//   explicit Program(M& memory);
//   Verdict pass(const PacketView& packet, Nanos now);
//   static constexpr std::array<RegisterSpec, N> kRegisters;
//   void forget_dead_tokens(SliceId slice);   // control plane, between passes: after a worker of the slice got a new
//                                             // epoch, and whenever dead tokens are many
//   void remove_tasks(SliceId, take);         // control plane, before a slice goes; programs in which tasks wait
// The pass rule (pass.h) holds in all of them. A trivial program (round_robin.h) stands beside the real ones.
#pragma once

#include <cstdint>

#include "dataplane/ledger.h"
#include "dataplane/memory.h"
#include "dataplane/packet.h"
#include "dataplane/tables.h"
#include "dataplane/token_fifo.h"

namespace rain::dataplane {

inline Verdict ignore(DropReason reason) { return {.action = Action::kIgnore, .reason = reason}; }

// Verdicts are made where they are returned, and never assigned: a copy of one that was just written field by
// field stalls the processor for longer than the rest of a pass takes.

inline Verdict reply_drop(SliceId slice, DropReason reason, std::uint16_t queue_length = 0) {
  return {.action = Action::kReplyDrop, .reason = reason, .slice = slice, .queue_length = queue_length};
}

inline Verdict buffered(SliceId slice, std::uint16_t queue_length) {
  return {.action = Action::kBuffered, .slice = slice, .queue_length = queue_length};
}

inline Verdict consumed(SliceId slice, std::uint16_t queue_length = 0) {
  return {.action = Action::kConsume, .slice = slice, .queue_length = queue_length};
}

/// The packet itself goes to the worker whose token was consumed.
inline Verdict forward(SliceId slice, const TokenCell& token, std::uint16_t queue_length) {
  return {.action = Action::kForward,
          .slice = slice,
          .worker = token.worker,
          .level = token.level,
          .generation = token.generation,
          .queue_length = queue_length};
}

/// The buffered `task` goes to the worker whose token just arrived.
inline Verdict dispatch(SliceId slice, const TokenCell& token, const TaskEntry& task, Nanos now,
                        std::uint16_t queue_length) {
  return {.action = Action::kDispatch,
          .slice = slice,
          .worker = token.worker,
          .level = token.level,
          .generation = token.generation,
          .queue_length = queue_length,
          .queue_delay = now - task.arrival,
          .task = &task};
}

/// Tasks past their deadline that one token, or one PULL, may find at the head before it serves one all the same:
/// its worker then refuses it. A bound on the passes of one packet.
inline constexpr std::uint32_t kMaxExpired = 32;

/// Whether the client of the task has given it up. On the switch the deadline lies in the first stages of the entry.
inline bool expired(const TaskEntry& task, Nanos now, const Carried& carried) {
  return task.deadline_us != 0 && carried.passes < kMaxExpired &&
         now - task.arrival > microseconds(task.deadline_us);
}

/// The head had expired; what came for a task takes the next one.
inline Verdict expire(SliceId slice, const TaskEntry& task, Carried carried, std::uint16_t queue_length) {
  ++carried.passes;
  return {.action = Action::kExpired,
          .slice = slice,
          .queue_length = queue_length,
          .task = &task,
          .carried = carried};
}

/// The token's FIFO was full: once more, after its dead tokens were forgotten.
inline Verdict sweep_and_pass_again(SliceId slice, Carried carried) {
  ++carried.passes;
  carried.swept = true;
  return {.action = Action::kRecirculate,
          .reason = DropReason::kTokenQueueFull,
          .slice = slice,
          .carried = carried};
}

/// The token that the task took was dead, or missing.
inline Verdict pass_again(SliceId slice) {
  return {.action = Action::kRecirculate, .reason = DropReason::kStaleToken, .slice = slice};
}

constexpr std::uint16_t saturate_to_u16(std::uint32_t count) {
  return count > UINT16_MAX ? UINT16_MAX : static_cast<std::uint16_t>(count);
}

/// The packet passes once more, in the slice that `lending` says.
inline Verdict pass_on(SliceId slice, Carried carried, Lending lending) {
  ++carried.passes;
  carried.lending = lending;
  return {.action = Action::kRecirculate, .slice = slice, .carried = carried};
}

/// Match tables for a task: type -> slice id -> slice, and with STICKY -> its master slice. `slice` is null when the
/// result is not kNone.
template <typename M>
DropReason match_task(M& memory, const wire::Message& message, SliceId& id, const SliceEntry*& slice) {
  slice = nullptr;
  if (!message.first) return DropReason::kUnexpectedMessage;  // REQn goes straight to the worker
  const SliceId* found = memory.slice_of(message.request.task_type);
  if (found == nullptr) return DropReason::kUnknownTaskType;
  id = *found;
  slice = memory.slice(id);
  if (slice == nullptr) return DropReason::kUnknownTaskType;
  if (message.policy == wire::Policy::kUnrestricted) return DropReason::kNone;
  id = slice->master_slice;
  slice = memory.slice(id);
  return slice == nullptr ? DropReason::kPolicyUnsupported : DropReason::kNone;
}

/// A task that no table serves: its sender hears why, unless it is not a task at all.
inline Verdict refuse_task(SliceId slice, DropReason reason) {
  return reason == DropReason::kUnexpectedMessage ? ignore(reason) : reply_drop(slice, reason);
}

/// Match tables for FEEDBACK and SYNC: worker id -> worker; its sender, key and, for tokens, level and epoch.
template <typename M>
DropReason match_token(M& memory, const PacketView& packet, unsigned levels, const WorkerEntry*& worker) {
  if (!packet.message.has_extension) return DropReason::kTruncatedExtension;
  const DropReason reason = check_sender(memory, packet, worker);
  if (reason != DropReason::kNone) return reason;
  const wire::TokenFields& token = packet.message.token;
  if (token.level.value >= levels) return DropReason::kBadLevel;
  if (packet.message.type == wire::MessageType::kFeedback && token.epoch != worker->epoch)
    return DropReason::kStaleEpoch;
  if (memory.slice(worker->slice) == nullptr) return DropReason::kUnknownWorker;
  return DropReason::kNone;
}

}  // namespace rain::dataplane
