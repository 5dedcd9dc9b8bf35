// What the push programs share: a task leaves at once, workers' queues are
// unbounded, no token exists. Freestanding. They are what users run today, and the simplest examples of a
// program.
#pragma once

#include "dataplane/program.h"

namespace rain::dataplane {

/// The packet goes to `worker`, no token consumed.
inline Verdict push_to(SliceId slice, WorkerId worker) {
  return {.action = Action::kForward, .slice = slice, .worker = worker};
}

/// Match tables for a task that is pushed: as match_task(), and the slice must have a worker.
template <typename M>
DropReason match_pushed_task(M& memory, const wire::Message& message, SliceId& id, const SliceEntry*& slice) {
  const DropReason reason = match_task(memory, message, id, slice);
  if (reason == DropReason::kNone && slice->member_count == 0) return DropReason::kNoWorkers;
  return reason;
}

/// Match tables for FEEDBACK: a worker's report of a finished task. Tokens are accepted as such reports, so
/// that a worker need not know what the switch runs.
template <typename M>
DropReason match_report(M& memory, const PacketView& packet, const WorkerEntry*& worker) {
  return packet.message.has_extension ? check_sender(memory, packet, worker)
                                      : DropReason::kTruncatedExtension;
}

/// FEEDBACK for a program that does not count.
template <typename M>
Verdict consume_report(M& memory, const PacketView& packet) {
  const WorkerEntry* worker = nullptr;
  const DropReason reason = match_report(memory, packet, worker);
  if (reason != DropReason::kNone) return ignore(reason);
  return consumed(worker->slice);
}

}  // namespace rain::dataplane
