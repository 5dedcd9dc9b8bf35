// Packet tables of the token ledger: repeats, dead tokens, and what the switch answers to SYNC at each stage
// of a token's life.
#include "dataplane/packet_table.h"

namespace rain::packet_table {

using dataplane::ProgramId;

namespace {

PacketTable repeats(ProgramId program) {
  PacketTable table(table_name(program, "a_generation_is_accepted_once"), program, small_rack(2));
  const Expected repeat = ignored(DropReason::kDuplicateToken);
  table
      .send(token(0).generation(0), repeat)  // none was ever issued
      .send(token(0).generation(2), consumed())
      .send(token(0).generation(2), repeat)  // filed
      .send(token(0).generation(1), repeat)  // older, late
      .counts(0, {.balance = 1})
      .send(token(1).generation(1), consumed())  // each worker counts for itself
      .send(task(), forwarded(0).generation(2))
      .send(token(0).generation(2), repeat)      // spent
      .send(token(0).generation(9), consumed())  // after a gap
      .send(token(0).generation(8), repeat)
      .counts(0, {.balance = 2})
      .send(task(), forwarded(1).generation(1))
      .send(task(), forwarded(0).generation(9))
      .send(task().request(1), buffered())
      .send(token(0).generation(9), repeat)  // a waiting task does not change it
      .send(token(0).generation(10), dispatched(0, 1).generation(10))
      .send(token(0).generation(10), repeat)
      .counts(0, {.balance = 0});
  return table;
}

PacketTable wrap_around(ProgramId program) {
  PacketTable table(table_name(program, "generations_wrap_around"), program, small_rack(1));
  const Expected repeat = ignored(DropReason::kDuplicateToken);
  table
      .send(token(0).generation(0x8000'0000), repeat)  // half the circle away from none: not newer
      .send(token(0).generation(0xFFFF'FFFF), repeat);
  std::vector<std::uint32_t> steps{kMaxFirstGeneration};
  while (steps.back() < 0xFFFF'FFFF - kMaxGenerationLeap) steps.push_back(steps.back() + kMaxGenerationLeap);
  for (const std::uint32_t last : {0xFFFF'FFFEu, 0xFFFF'FFFFu, 0u, 1u}) steps.push_back(last);
  for (const std::uint32_t step : steps) {
    table.send(token(0).generation(step), consumed())
        .send(token(0).generation(step), repeat)
        .send(token(0).generation(step - 1), repeat)
        .send(task(), forwarded(0).generation(step))
        .send(sync(0), synced(step, step));
  }
  table.send(token(0).generation(0xFFFF'FFFF), repeat).counts(0, {.balance = 0});
  return table;
}

/// A forged number must not carry the ledger to where no honest one is newer any more.
PacketTable leaps(ProgramId program) {
  PacketTable table(table_name(program, "a_generation_too_far_ahead_is_refused"), program, small_rack(2));
  constexpr std::uint32_t kFirst = 1'000'000'000;
  const Expected refused = ignored(DropReason::kGenerationLeap);
  const auto recall = [](std::uint32_t generation) { return sync(0).generation(generation).recall(); };
  table
      .send(token(0).generation(kFirst), consumed())  // the first one: whatever it is
      .send(token(0).generation(kFirst + 1 + kMaxGenerationLeap), refused)
      .send(token(0).generation(kFirst + 0x7FFF'FFFF), refused)
      .send(token(0).generation(kFirst + 0x8000'0000), ignored(DropReason::kDuplicateToken))
      .send(sync(0), synced(kFirst, 0))
      .send(recall(kFirst + 1 + kMaxGenerationLeap), synced(kFirst, 0).reason(DropReason::kGenerationLeap))
      .send(recall(kFirst + 0x7FFF'FFFF), synced(kFirst, 0).reason(DropReason::kGenerationLeap))
      .send(sync(0).generation(kFirst + 0x7FFF'FFFF), synced(kFirst, 0))  // asks, no more
      .send(token(1).level(1).generation(5), consumed())
      .send(token(1).level(0).generation(kMaxFirstGeneration + 1), refused)  // of each level alone
      .send(token(1).level(0).generation(kMaxFirstGeneration), consumed())
      .send(task(), forwarded(0).generation(kFirst))
      .send(sync(0), synced(kFirst, kFirst))
      .send(token(0).generation(kFirst + kMaxGenerationLeap), consumed())
      .send(recall(kFirst + 2 * kMaxGenerationLeap),
            synced(kFirst + 2 * kMaxGenerationLeap, kFirst + 2 * kMaxGenerationLeap).recalled());
  return table;
}

/// A recall may be the first that a switch hears of a level: the token was issued before the switch booted.
PacketTable first_recall(ProgramId program) {
  PacketTable table(table_name(program, "the_first_recall_may_come_late_in_a_worker_s_life"), program,
                    small_rack(1));
  constexpr std::uint32_t kFirst = kMaxFirstGeneration;
  table.send(sync(0).generation(kFirst + 1).recall(), synced(0, 0).reason(DropReason::kGenerationLeap))
      .send(sync(0).generation(kFirst).recall(), synced(kFirst, kFirst).recalled())
      .send(token(0).generation(kFirst + 1), consumed())
      .send(task(), forwarded(0).generation(kFirst + 1));
  return table;
}

PacketTable levels_apart(ProgramId program) {
  PacketTable table(table_name(program, "each_level_has_its_own_ledger"), program, small_rack(2));
  for (const unsigned level : {0u, 1u, 2u, 3u}) {
    table.send(token(1).level(level).generation(7 + level), consumed())
        .send(token(1).level(level).generation(7 + level), ignored(DropReason::kDuplicateToken));
  }
  for (const unsigned level : {0u, 1u, 2u, 3u}) {
    table.send(sync(1).level(level), synced(7 + level, 0))
        .send(task(), forwarded(1).level(level).generation(7 + level))
        .send(sync(1).level(level), synced(7 + level, 7 + level))
        .send(sync(0).level(level), synced(0, 0));
  }
  return table;
}

PacketTable life_of_a_token(ProgramId program) {
  PacketTable table(table_name(program, "sync_tells_each_stage_of_a_token"), program, small_rack(1));
  table.send(sync(0), synced(0, 0).epoch(kFirstEpoch))
      .send(token(0).epoch(kFirstEpoch + 1), ignored(DropReason::kStaleEpoch))
      .send(sync(0).generation(77), synced(0, 0))  // a question teaches nothing
      .send(token(0).generation(1), consumed())
      .send(sync(0), synced(1, 0))  // filed
      .send(task(), forwarded(0))
      .send(sync(0), synced(1, 1))  // spent on a task that came
      .send(token(0).generation(2), consumed())
      .send(sync(0), synced(2, 1))
      .send(token(0).generation(2), ignored(DropReason::kDuplicateToken))
      .send(sync(0), synced(2, 1))
      .send(task(), forwarded(0))
      .send(task().request(5), buffered())
      .send(sync(0), synced(2, 2))
      .send(token(0).generation(3), dispatched(0, 5))
      .send(sync(0), synced(3, 3))  // spent on arrival
      .move_worker(0, 0, kFirstEpoch + 4)
      .send(sync(0), synced(3, 3).epoch(kFirstEpoch + 4))
      .counts(0, {.balance = 0});
  return table;
}

/// Worker 0 and 2 get a new epoch while their tokens are filed; worker 1 lives on.
PacketTable dead_tokens_met(ProgramId program) {
  PacketTable table(table_name(program, "a_dead_token_costs_one_more_pass"), program, small_rack(3));
  table.send(token(0), consumed())
      .send(token(1), consumed())
      .send(token(2), consumed())
      .move_worker(0, 0, 2)
      .move_worker(2, 0, 2)
      .counts(0, {.balance = 3})
      .send(task().request(1), forwarded(1).after_recirculations(1))
      .counts(0, {.balance = 1})
      .send(task().request(2), buffered().after_recirculations(1).queue_length(1))
      .counts(0, {.balance = -1})
      .send(token(0).generation(2), ignored(DropReason::kStaleEpoch))
      .send(token(0).generation(2).epoch(2), dispatched(0, 2).generation(2).queue_length(0))
      .counts(0, {.balance = 0});
  return table;
}

PacketTable gone_worker(ProgramId program) {
  Rack rack = small_rack(3);
  rack.slice({}).type(1, 1);
  PacketTable table(table_name(program, "tokens_die_when_their_worker_leaves"), program, rack);
  table.send(token(0), consumed())
      .send(token(1), consumed())
      .send(token(2), consumed())
      .move_worker(0, 1, kFirstEpoch)  // the slice alone tells
      .remove_worker(1)
      .send(token(1).generation(2), ignored(DropReason::kUnknownWorker))
      .send(token(0).generation(2), consumed())
      .counts(1, {.balance = 1})
      .send(task(), forwarded(2).after_recirculations(2))
      .send(task().type(1), forwarded(0).generation(2));
  return table;
}

PacketTable dead_tokens_forgotten(ProgramId program) {
  PacketTable table(table_name(program, "forgetting_dead_tokens_keeps_order_and_counts"), program,
                    small_rack(5));
  for (const unsigned worker : {3u, 0u, 4u, 1u, 2u}) table.send(token(worker), consumed());
  table.forget_dead_tokens(0)
      .counts(0, {.balance = 5})
      .move_worker(0, 0, 2)
      .move_worker(1, 0, 2)
      .forget_dead_tokens(0)
      .counts(0, {.balance = 3})
      .forget_dead_tokens(0)
      .counts(0, {.balance = 3})
      .send(token(1).generation(2).epoch(2), consumed())
      .send(task(), forwarded(3))
      .send(task(), forwarded(4))
      .send(task(), forwarded(2))
      .send(task(), forwarded(1).generation(2))
      .send(task().request(1), buffered())
      .send(task().request(2), buffered())
      .move_worker(2, 0, 2)
      .forget_dead_tokens(0)  // waiting tasks are none of its business
      .counts(0, {.balance = -2})
      .send(token(4).generation(2), dispatched(4, 1))
      .send(token(4).generation(3), dispatched(4, 2));
  return table;
}

/// The FIFO's ring is compacted across its wrap-around.
PacketTable forgotten_across_the_wrap(ProgramId program) {
  Rack rack = small_rack(4);
  PacketTable table(table_name(program, "forgetting_works_across_the_ring_s_end"), program, rack.tokens(4));
  table.repeat(3, token(0).generation(1), consumed()).repeat(3, task(), forwarded(0));
  for (const unsigned worker : {0u, 1u, 2u, 3u}) table.send(token(worker).generation(4), consumed());
  table.move_worker(1, 0, 2)
      .forget_dead_tokens(0)
      .counts(0, {.balance = 3})
      .send(token(1).generation(5).epoch(2), consumed())
      .send(task(), forwarded(0))
      .send(task(), forwarded(2))
      .send(task(), forwarded(3))
      .send(task(), forwarded(1).generation(5));
  return table;
}

/// A token that can serve no task any more must read as consumed, or its worker would wait for ever for it.
PacketTable dead_tokens_are_spent(ProgramId program) {
  PacketTable table(table_name(program, "a_dead_token_reads_as_consumed"), program, small_rack(3));
  table.send(token(0).generation(4), consumed())
      .send(token(1).generation(6), consumed())
      .send(token(2).generation(8), consumed())
      .move_worker(0, 0, 2)
      .move_worker(1, 0, 2)
      .send(task(), forwarded(2).after_recirculations(2))
      .send(sync(0), synced(4, 4).epoch(2))
      .send(sync(1), synced(6, 6).epoch(2))
      .send(token(0).epoch(2).generation(5), consumed())
      .send(token(1).epoch(2).generation(7), consumed())
      .move_worker(0, 0, 3)
      .forget_dead_tokens(0)
      .send(sync(0), synced(5, 5).epoch(3))
      .send(sync(1), synced(7, 6).epoch(2));
  return table;
}

/// Worker 0 moves to slice 1, spends a newer token there, and only then its old one is found dead in slice 0.
PacketTable ledger_never_goes_back(ProgramId program) {
  Rack rack = small_rack(1);
  rack.slice({}).type(1, 1);
  PacketTable table(table_name(program, "the_ledger_never_goes_back"), program, rack);
  table.send(token(0).generation(1), consumed())
      .move_worker(0, 1, 2)
      .send(token(0).generation(2).epoch(2), consumed())
      .send(task().type(1), forwarded(0).generation(2))
      .send(sync(0), synced(2, 2))
      .send(task().request(3), buffered().after_recirculations(1))
      .send(sync(0), synced(2, 2))
      .move_worker(0, 0, 3)
      .send(token(0).generation(3).epoch(3), dispatched(0, 3))
      .send(token(0).generation(4).epoch(3), consumed())
      .move_worker(0, 1, 4)
      .send(token(0).generation(5).epoch(4), consumed())
      .send(task().type(1), forwarded(0).generation(5))
      .forget_dead_tokens(0)
      .send(sync(0), synced(5, 5))
      .counts(0, {.balance = 0});
  return table;
}

/// Only workers that break the rules fill a token FIFO; the count heals and the ledger does not lie.
PacketTable token_fifo_full(ProgramId program) {
  Rack rack = small_rack(3);
  PacketTable table(table_name(program, "a_token_beyond_the_fifo_is_given_up"), program, rack.tokens(2));
  table.send(token(0), consumed())
      .send(token(1), consumed())
      .send(token(2).generation(6), ignored(DropReason::kTokenQueueFull).after_recirculations(1))
      .send(sync(2), synced(6, 6))
      .send(task().request(1), forwarded(0))
      .send(task().request(2), forwarded(1))
      .send(task().request(3), buffered().after_recirculations(1))
      .counts(0, {.balance = -1})
      .send(token(2).generation(7), dispatched(2, 3))
      .counts(0, {.balance = 0});
  return table;
}

/// A recall of each stage of a token's life. What it finds filed is dead from then on.
PacketTable recalls(ProgramId program) {
  PacketTable table(table_name(program, "a_recalled_token_serves_no_task"), program, small_rack(2));
  const auto recall = [](unsigned worker, std::uint32_t generation) {
    return sync(worker).generation(generation).recall();
  };
  table.send(token(0).generation(3), consumed())
      .send(token(1).generation(5), consumed())
      .send(sync(0).generation(3), synced(3, 0))
      .send(recall(0, 3), synced(3, 3).recalled())  // filed
      .send(recall(0, 3), synced(3, 3))             // a repeat of the question
      .counts(0, {.balance = 2})                    // the gate does not know yet
      .send(task().request(1), forwarded(1).generation(5).after_recirculations(1))
      .counts(0, {.balance = 0})
      .send(recall(1, 5), synced(5, 5))             // too late: its task is under way
      .send(recall(1, 6), synced(6, 6).recalled())  // on its way to the switch
      .send(token(1).generation(6), ignored(DropReason::kDuplicateToken))
      .send(recall(1, 4), synced(6, 6))  // a late copy of an old question
      .send(task().request(2), buffered())
      .send(recall(0, 4), synced(4, 4).recalled())
      .send(token(0).generation(4), ignored(DropReason::kDuplicateToken))
      .counts(0, {.balance = -1})
      .send(token(0).generation(5), dispatched(0, 2).generation(5))
      .send(token(0).generation(6), consumed())
      .send(recall(0, 5), synced(6, 5))  // hurts no newer token
      .send(task().request(3), forwarded(0).generation(6))
      .counts(0, {.balance = 0});
  return table;
}

/// A token that is issued after a recall is filed beside the dead one and survives it.
PacketTable recalled_and_issued_again(ProgramId program) {
  PacketTable table(table_name(program, "a_token_after_a_recall_is_alive"), program, small_rack(1));
  table.send(token(0).generation(1), consumed())
      .send(sync(0).generation(1).recall(), synced(1, 1).recalled())
      .send(token(0).generation(2), consumed())
      .counts(0, {.balance = 2})
      .send(task().request(1), forwarded(0).generation(2).after_recirculations(1))
      .send(task().request(2), buffered())
      .counts(0, {.balance = -1});
  return table;
}

PacketTable recalled_forgotten(ProgramId program) {
  PacketTable table(table_name(program, "forgetting_dead_tokens_takes_recalled_ones"), program,
                    small_rack(3));
  for (const unsigned worker : {0u, 1u, 2u}) table.send(token(worker), consumed());
  table.send(sync(1).generation(1).recall(), synced(1, 1).recalled())
      .forget_dead_tokens(0)
      .counts(0, {.balance = 2})
      .send(task().request(1), forwarded(0))
      .send(task().request(2), forwarded(2))
      .send(task().request(3), buffered());
  return table;
}

/// No fault costs capacity: dead tokens make way for living ones.
PacketTable full_of_dead_tokens(ProgramId program) {
  Rack rack = small_rack(2);
  PacketTable table(table_name(program, "a_fifo_full_of_dead_tokens_takes_one_more"), program,
                    rack.tokens(4));
  table.send(token(1), consumed());
  for (const std::uint32_t generation : {1u, 2u, 3u}) {
    table.send(token(0).generation(generation), consumed())
        .send(sync(0).generation(generation).recall(), synced(generation, generation).recalled());
  }
  table.counts(0, {.balance = 4})
      .send(token(0).generation(4), consumed().after_recirculations(1))
      .counts(0, {.balance = 2})
      .send(token(0).generation(4), ignored(DropReason::kDuplicateToken))
      .send(task().request(1), forwarded(1))
      .send(task().request(2), forwarded(0).generation(4))
      .send(task().request(3), buffered());
  return table;
}

/// Tasks without a token do what a pipeline cannot: the gate counts a token too many, and the control plane sets it
/// right.
PacketTable forgetting_mends_the_count(ProgramId program) {
  Rack rack = small_rack(3);
  PacketTable table(table_name(program, "forgetting_dead_tokens_mends_the_count"), program, rack.tokens(2));
  table.send(token(0), consumed())
      .send(token(1), consumed())
      .send(token(2), ignored(DropReason::kTokenQueueFull).after_recirculations(1))
      .counts(0, {.balance = 3})
      .forget_dead_tokens(0)
      .counts(0, {.balance = 2});
  return table;
}

}  // namespace

std::vector<PacketTable> ledger_tables(ProgramId program) {
  return {repeats(program),
          wrap_around(program),
          leaps(program),
          first_recall(program),
          levels_apart(program),
          life_of_a_token(program),
          dead_tokens_met(program),
          gone_worker(program),
          dead_tokens_forgotten(program),
          forgotten_across_the_wrap(program),
          dead_tokens_are_spent(program),
          ledger_never_goes_back(program),
          token_fifo_full(program),
          recalls(program),
          recalled_and_issued_again(program),
          recalled_forgotten(program),
          full_of_dead_tokens(program),
          forgetting_mends_the_count(program)};
}

}  // namespace rain::packet_table
