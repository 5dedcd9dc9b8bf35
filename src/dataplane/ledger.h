// The switch's half of the token ledger: which tokens it has seen, which it has spent. Freestanding.
//
// The paper's token is lost for ever when a packet is. Ours is numbered per (worker, level): a repeated one
// is recognised, a lost one can be asked after (SYNC) and issued again, and so no fault costs capacity.
// `seen` sits in the first stage, before anything is changed; `consumed` in a late one, where it is known
// whose token was spent. A token that can serve no task any more (its worker began another life, its FIFO was
// full) reads as consumed too: a worker that took it for filed would wait for ever.
//
// A recall is a SYNC that counts a generation as seen and consumed: if it lies filed it is dead from now on, if it
// is under way it will be taken for a repeat. Whether `consumed` was older tells the worker that no task was
// bound to it. The dead token stays filed until a task meets it, because no pipeline can search a FIFO.
#pragma once

#include <cstdint>

#include "dataplane/memory.h"
#include "dataplane/packet.h"
#include "dataplane/pass.h"
#include "dataplane/token_fifo.h"

namespace rain::dataplane {

/// A filed token is alive while its worker is in the same slice and in the same epoch.
template <typename M>
bool token_alive(M& memory, SliceId slice, const TokenCell& token) {
  const WorkerEntry* worker = memory.worker(token.worker);
  return worker != nullptr && worker->slice == slice && worker->epoch == token.epoch;
}

template <std::uint8_t kId, std::uint8_t kSeenStage, std::uint8_t kConsumedStage>
struct Ledger {
  struct SeenSpec {
    static constexpr RegisterSpec value{"token_seen",          kId, kSeenStage, 1,
                                        Extent::kWorkerLevels, 32,  4,          false};
  };
  struct ConsumedSpec {
    static constexpr RegisterSpec value{
        "token_consumed", kId + 1, kConsumedStage, 1, Extent::kWorkerLevels, 32, 4, false};
  };
  using Seen = Register<Generation, SeenSpec>;
  using Consumed = Register<Generation, ConsumedSpec>;

  /// Remembers the token, or says why not: it, or a newer one of its worker and level, was seen before; it is too far
  /// ahead of that.
  template <typename M>
  static DropReason see(Pass& pass, M& memory, const wire::TokenFields& token) {
    Generation& seen = Seen::at(pass, memory, index(token.worker, token.level));
    if (!token.generation.follows(seen)) {
      return token.generation.newer_than(seen) ? DropReason::kGenerationLeap : DropReason::kDuplicateToken;
    }
    seen = token.generation;
    return DropReason::kNone;
  }

  /// Spends the token; false when it was recalled, or a newer one was spent.
  template <typename M>
  static bool consume(Pass& pass, M& memory, const TokenCell& token) {
    return keep_newest(Consumed::at(pass, memory, index(token.worker, token.level)), token.generation);
  }

  /// Control plane, between packets: whether the token is dead; if so, it reads as consumed from now on.
  template <typename M>
  static bool consume_if_dead(M& memory, SliceId slice, const TokenCell& token) {
    Generation& consumed =
        *memory.template cell<Generation>(ConsumedSpec::value.id, index(token.worker, token.level));
    if (token.generation.newer_than(consumed) && token_alive(memory, slice, token)) return false;
    keep_newest(consumed, token.generation);
    return true;
  }

  /// The answer to SYNC, and what a recall does. A recall too far ahead does nothing, and the verdict's reason says so;
  /// it is answered all the same, so that a worker learns what was seen.
  template <typename M>
  static Verdict report(Pass& pass, M& memory, const wire::TokenFields& asked, const WorkerEntry& worker) {
    const std::uint32_t at = index(asked.worker, asked.level);
    Generation& seen = Seen::at(pass, memory, at);
    const bool leaps = asked.recall && asked.generation.leaps_from(seen);
    const bool recalls = asked.recall && !leaps;
    if (recalls) keep_newest(seen, asked.generation);
    Generation& consumed = Consumed::at(pass, memory, at);
    const bool recalled = recalls && keep_newest(consumed, asked.generation);
    return {.action = Action::kReplySync,
            .reason = leaps ? DropReason::kGenerationLeap : DropReason::kNone,
            .sync = {.worker = asked.worker,
                     .epoch = worker.epoch,
                     .seen = seen,
                     .consumed = consumed,
                     .level = asked.level,
                     .recalled = recalled}};
  }

 private:
  static std::uint32_t index(WorkerId worker, Level level) {
    return std::uint32_t{worker.value} * kMaxQuota + level.value;
  }
  /// A dead token may be met after a newer one of its worker was spent: then false.
  static bool keep_newest(Generation& newest, Generation generation) {
    const bool newer = generation.newer_than(newest);
    if (newer) newest = generation;
    return newer;
  }
};

/// Checks that need no register: is this FEEDBACK or SYNC from the worker it names, in its present life?
template <typename M>
DropReason check_sender(M& memory, const PacketView& packet, const WorkerEntry*& worker) {
  const wire::TokenFields& token = packet.message.token;
  worker = memory.worker(token.worker);
  if (worker == nullptr) return DropReason::kUnknownWorker;
  if (packet.source != worker->address) return DropReason::kAddressMismatch;
  if (token.token_key != worker->token_key) return DropReason::kBadTokenKey;
  return DropReason::kNone;
}

}  // namespace rain::dataplane
