// Packet tables of program `rain`: levels, the spill threshold, the drain counter.
#include "dataplane/packet_table.h"

namespace rain::packet_table {

using dataplane::ProgramId;

namespace {

PacketTable rain(const char* test, Rack rack, unsigned levels = 4) {
  return {table_name(ProgramId::kRain, test), ProgramId::kRain, std::move(rack), levels};
}

PacketTable lowest_level_first() {
  PacketTable table = rain("the_lowest_level_is_taken_first", small_rack(4));
  table.send(token(0).level(3), consumed())
      .send(token(1).level(1), consumed())
      .send(token(2).level(2), consumed())
      .send(token(3).level(1), consumed())
      .send(token(0).level(0), consumed())
      .counts(0, {.balance = 1, .spare = 4})
      .send(task(), forwarded(0).level(0))
      .send(task(), forwarded(1).level(1))  // older than worker 3's
      .send(token(1).level(0), consumed())  // idle: overtakes all that is spare
      .counts(0, {.balance = 1, .spare = 3})
      .send(task(), forwarded(1).level(0))
      .send(task(), forwarded(3).level(1))
      .send(task(), forwarded(2).level(2))
      .send(task(), forwarded(0).level(3))
      .counts(0, {.balance = 0, .spare = 0})
      .send(task().request(1), buffered())
      .send(token(2).level(3), dispatched(2, 1).level(3).queue_length(0));
  return table;
}

PacketTable level_count(unsigned levels) {
  const std::string name = "quota_" + std::to_string(levels) + "_has_that_many_levels";
  PacketTable table = rain(name.c_str(), small_rack(1), levels);
  for (unsigned level = levels; level-- > 0;) table.send(token(0).level(level), consumed());
  table.send(token(0).level(levels).generation(2), ignored(DropReason::kBadLevel))
      .counts(0, {.balance = 1, .spare = levels - 1});
  for (unsigned level = 0; level < levels; ++level) table.send(task(), forwarded(0).level(level));
  table.send(task(), buffered());
  return table;
}

PacketTable spill_zero() {
  PacketTable table = rain("spill_0_never_holds_a_task_back", small_rack(2, {.capacity = 4, .spill = 0}));
  table.send(task().request(1), buffered())
      .send(task().request(2), buffered())
      .send(token(0).level(3), dispatched(0, 1).level(3))
      .send(token(1).level(2), dispatched(1, 2).level(2))
      .send(token(1).level(1), consumed())
      .send(task().request(3), forwarded(1).level(1).queue_length(0))
      .counts(0, {.balance = 0, .spare = 0});
  return table;
}

PacketTable spill_two() {
  PacketTable table = rain("a_busy_worker_takes_a_task_only_while_spill_others_wait",
                           small_rack(4, {.capacity = 4, .spill = 2}));
  table.send(token(0).level(1), consumed())
      .counts(0, {.balance = 0, .spare = 1})
      .send(task().request(1), buffered().queue_length(1))
      .send(task().request(2), buffered().queue_length(2))
      .send(token(1).level(2), consumed().queue_length(2))             // two wait: not more than spill
      .send(task().request(3), forwarded(0).level(1).queue_length(2))  // at least spill wait
      .send(task().request(4), forwarded(1).level(2).queue_length(2))
      .send(task().request(5), buffered().queue_length(3))                 // no token is left
      .send(token(2).level(1), dispatched(2, 1).level(1).queue_length(2))  // three wait: more than spill
      .send(token(3).level(3), consumed())
      .send(token(0).level(0), dispatched(0, 2).level(0).queue_length(1))  // an idle one always serves
      .send(task().request(6), buffered().queue_length(2))
      .counts(0, {.balance = -2, .spare = 1})
      .send(token(1).level(0), dispatched(1, 5))
      .send(token(2).level(0), dispatched(2, 6).queue_length(0))
      .counts(0, {.balance = 0, .spare = 1});
  return table;
}

/// From spill = capacity on, busy workers are given a task only when the queue is full.
PacketTable spill_at_capacity(std::uint32_t spill) {
  const std::string name = "capacity_2_spill_" + std::to_string(spill) + "_prefers_a_busy_worker_to_a_drop";
  PacketTable table = rain(name.c_str(), small_rack(2, {.capacity = 2, .spill = spill}));
  table.send(token(0).level(1), consumed())
      .send(token(1).level(2), consumed())
      .send(task().request(1), buffered())
      .send(task().request(2), buffered())
      .counts(0, {.balance = -2, .spare = 2})
      .send(task().request(3), forwarded(0).level(1).queue_length(2))
      .send(task().request(4), forwarded(1).level(2).queue_length(2))
      .send(task().request(5), dropped(DropReason::kQueueFull).queue_length(2))
      .send(token(0).level(2), consumed())  // no more than spill wait, ever
      .counts(0, {.balance = -2, .spare = 1})
      .send(token(0), dispatched(0, 1))
      .send(token(1), dispatched(1, 2));
  return table;
}

PacketTable drain(std::uint16_t drain, std::vector<unsigned> served) {
  const std::string name = "drain_" + std::to_string(drain) + "_serves_the_head_that_often";
  Rack rack = small_rack(1, {.capacity = 8, .spill = 8, .drain = drain});
  PacketTable table = rain(name.c_str(), rack.tokens(16));
  for (unsigned request = 1; request <= 5; ++request) table.send(task().request(request), buffered());
  unsigned next = 1;
  unsigned filed = 0;
  for (std::uint32_t arrival = 1; arrival <= 12; ++arrival) {
    const Packet spare = token(0).level(1).generation(arrival);
    if (next <= served.size() && served[next - 1] == arrival) {
      table.send(spare, dispatched(0, next++).level(1).generation(arrival));
    } else {
      table.send(spare, consumed());
      ++filed;
    }
    table.send(spare, ignored(DropReason::kDuplicateToken));  // a repeat does not count
  }
  table.counts(0, {.balance = static_cast<std::int64_t>(served.size()) - 5, .spare = filed});
  return table;
}

PacketTable drain_counts_spare_tokens() {
  Rack rack;
  rack.slice({.capacity = 4, .spill = 4, .drain = 3}).slice({.capacity = 4, .spill = 4, .drain = 2});
  rack.type(0, 0).type(1, 1).worker(0).worker(1);
  PacketTable table = rain("drain_counts_the_spare_tokens_of_its_slice", rack);
  table
      .send(token(0).level(1).generation(1), consumed())  // 1: also when nothing waits
      .send(token(1).level(1).generation(1), consumed())  // another slice's
      .send(token(0).level(0).generation(1), consumed())  // an idle one
      .send(task().request(1), forwarded(0).level(0))
      .send(task().request(2), buffered())
      .send(token(0).level(2).generation(1), consumed())                 // 2
      .send(token(0).level(3).generation(1), dispatched(0, 2).level(3))  // 3
      .send(task().type(1).request(3), buffered())
      .send(token(1).level(1).generation(2), dispatched(1, 3))  // the other slice's second
      .send(task().request(4), buffered())
      .send(token(0).level(1).generation(2), consumed())  // 1 again
      .send(token(0).level(1).generation(3), consumed())
      .set_slice(0, {.capacity = 4, .spill = 4, .drain = 1})  // lowered below what is counted: at once
      .send(token(0).level(2).generation(2), dispatched(0, 4))
      .counts(0, {.balance = 0, .spare = 4});
  return table;
}

PacketTable spill_changes() {
  PacketTable table = rain("spill_may_change_while_tasks_wait", small_rack(3, {.capacity = 4, .spill = 4}));
  table.send(token(0).level(1), consumed())
      .repeat(3, task().request(1), buffered())
      .set_slice(0, {.capacity = 4, .spill = 0})
      .send(token(1).level(1), dispatched(1, 1))
      .send(task().request(4), forwarded(0).level(1))
      .set_slice(0, {.capacity = 1, .spill = 1})  // two wait, more than there is room for now
      .send(task().request(5), dropped(DropReason::kQueueFull).queue_length(2))
      .send(token(2).level(1), dispatched(2, 2).queue_length(1))
      .send(task().request(6), dropped(DropReason::kQueueFull).queue_length(1))
      .send(token(2).level(0), dispatched(2, 3).queue_length(0));
  return table;
}

/// A payload that nobody can hold takes the token that any task would take, and one more rule: it takes a
/// spare token rather than be refused, unless it would overtake a task that waits for an idle worker.
PacketTable payload_without_hold() {
  PacketTable table =
      rain("a_large_payload_without_hold_takes_a_spare_token", small_rack(4, {.capacity = 4, .spill = 2}));
  table.send(token(0).level(1), consumed())
      .send(token(1).level(2), consumed())
      .send(token(2).level(3), consumed())
      .send(token(3).level(0), consumed())
      .send(task().request(1).payload(9), forwarded(3).level(0))
      .send(task().request(2).payload(9), forwarded(0).level(1))
      .counts(0, {.balance = 0, .spare = 2})
      .send(task().request(3), buffered().queue_length(1))
      .send(task().request(4).payload(9), dropped(DropReason::kPayloadStoreFull).queue_length(1))
      .send(task().request(5), buffered().queue_length(2))
      .send(task().request(6).payload(9), forwarded(1).level(2).queue_length(2))
      .send(task().request(7), forwarded(2).level(3).queue_length(2))
      .send(task().request(8).payload(9), dropped(DropReason::kPayloadStoreFull).queue_length(2))
      .counts(0, {.balance = -2, .spare = 0});
  return table;
}

PacketTable dead_spare_tokens() {
  PacketTable table =
      rain("dead_spare_tokens_leave_the_gate_right", small_rack(3, {.capacity = 4, .spill = 1}));
  table.send(token(0).level(1), consumed())
      .send(token(1).level(2), consumed())
      .send(token(0).level(3), consumed())
      .send(token(2).level(3), consumed())
      .counts(0, {.balance = 0, .spare = 4})
      .move_worker(0, 0, 2)
      .send(task().request(1), buffered())
      .send(task().request(2), forwarded(1).level(2).after_recirculations(1).queue_length(1))
      .counts(0, {.balance = -1, .spare = 2})
      .send(sync(0).level(1), synced(1, 1))
      .send(sync(0).level(3), synced(1, 0))
      .forget_dead_tokens(0)
      .counts(0, {.balance = -1, .spare = 1})
      .send(sync(0).level(3), synced(1, 1))
      .move_worker(2, 0, 2)
      .send(task().request(3), buffered().after_recirculations(1).queue_length(2))
      .counts(0, {.balance = -2, .spare = 0})
      .send(token(0).level(0).epoch(2), dispatched(0, 1))
      .send(token(2).level(1).epoch(2), consumed())
      .counts(0, {.balance = -1, .spare = 1});
  return table;
}

PacketTable forgotten_levels() {
  PacketTable table = rain("forgetting_covers_all_levels", small_rack(3));
  for (const unsigned level : {0u, 1u, 2u, 3u}) {
    for (const unsigned worker : {0u, 1u, 2u}) table.send(token(worker).level(level), consumed());
  }
  table.counts(0, {.balance = 3, .spare = 9})
      .move_worker(1, 0, 2)
      .forget_dead_tokens(0)
      .counts(0, {.balance = 2, .spare = 6});
  for (const unsigned level : {0u, 1u, 2u, 3u}) {
    table.send(sync(1).level(level), synced(1, 1));
    for (const unsigned worker : {0u, 2u}) table.send(task(), forwarded(worker).level(level));
  }
  table.counts(0, {.balance = 0, .spare = 0});
  return table;
}

PacketTable spare_fifo_full() {
  Rack rack = small_rack(3, {.capacity = 4, .spill = 0});
  PacketTable table = rain("a_spare_token_beyond_its_fifo_is_given_up", rack.tokens(2));
  table.send(token(0).level(1), consumed())
      .send(token(1).level(1), consumed())
      .send(token(2).level(1), ignored(DropReason::kTokenQueueFull).after_recirculations(1))
      .send(sync(2).level(1), synced(1, 1))
      .send(token(2).level(2), consumed())  // each level has its own FIFO
      .counts(0, {.balance = 0, .spare = 4})
      .send(task(), forwarded(0).level(1))
      .send(task(), forwarded(1).level(1))
      .send(task(), forwarded(2).level(2))
      .send(task(), buffered().after_recirculations(1))
      .counts(0, {.balance = -1, .spare = 0});
  return table;
}

/// What a spare token was to do when it came, it does to the end, whatever it finds expired on its way.
PacketTable expired_under_spill() {
  Rack rack = small_rack(1, {.capacity = 8, .spill = 2, .drain = 3});
  PacketTable table = rain("an_expired_task_changes_nothing_for_a_spare_token", rack.tokens(8));
  for (const unsigned request : {1u, 2u, 3u}) table.send(task().request(request).deadline_us(2), buffered());
  for (const unsigned request : {4u, 5u, 6u}) table.send(task().request(request), buffered());
  table
      .at(microseconds(9))
      // Six wait: the first is passed over, then five, four, three; at two it is filed.
      .send(token(0).level(1).generation(1), dispatched(0, 4).after_expired({1, 2, 3}).queue_length(2))
      .send(token(0).level(1).generation(2), consumed().queue_length(2))
      .send(task().request(7).deadline_us(1), forwarded(0).level(1).generation(2).queue_length(2))
      .send(token(0).level(1).generation(3), dispatched(0, 5).queue_length(1))  // the third drains
      .send(task().request(8).deadline_us(1), buffered().queue_length(2))
      .send(task().request(9).deadline_us(1), buffered().queue_length(3))
      .at(microseconds(20))
      .send(token(0).level(1).generation(4), dispatched(0, 6).queue_length(2))
      .send(token(0).level(1).generation(5), consumed().queue_length(2))
      .counts(0, {.balance = -2, .spare = 1})
      .send(token(0).level(2).generation(1), consumed().after_expired({8, 9}).queue_length(0))  // drains
      .counts(0, {.balance = 0, .spare = 2});
  return table;
}

PacketTable recalled_spare_tokens() {
  PacketTable table = rain("a_recalled_level_is_passed_over", small_rack(2));
  table.send(token(0).level(1), consumed())
      .send(token(0).level(2), consumed())
      .send(token(1).level(1), consumed())
      .send(sync(0).level(1).recall(), synced(1, 1).recalled())
      .counts(0, {.balance = 0, .spare = 3})
      .send(task().request(1), forwarded(1).level(1).after_recirculations(1))
      .send(sync(0).level(2).recall(), synced(1, 1).recalled())
      .forget_dead_tokens(0)
      .counts(0, {.balance = 0, .spare = 0})
      .send(task().request(2), buffered());
  return table;
}

}  // namespace

std::vector<PacketTable> rain_tables() {
  return {lowest_level_first(),
          level_count(2),
          level_count(4),
          level_count(8),
          spill_zero(),
          spill_two(),
          spill_at_capacity(2),
          spill_at_capacity(3),
          spill_at_capacity(UINT32_MAX),
          drain(0, {}),
          drain(1, {1, 2, 3, 4, 5}),
          drain(4, {4, 8, 12}),
          drain_counts_spare_tokens(),
          spill_changes(),
          payload_without_hold(),
          dead_spare_tokens(),
          forgotten_levels(),
          spare_fifo_full(),
          expired_under_spill(),
          recalled_spare_tokens()};
}

}  // namespace rain::packet_table
