// Packet tables of slices with a master: STICKY tasks go to it alone. In the programs that queue it also takes part in
// the rest: its tokens serve other tasks while no sticky one waits.
#include "dataplane/packet_table.h"

namespace rain::packet_table {

using dataplane::ProgramId;

namespace {

constexpr unsigned kMaster = 1;

Packet sticky(unsigned request) { return task().request(request).policy(wire::Policy::kSticky); }

/// One worker beside the master, unless `rack` says otherwise.
PacketTable table_of(ProgramId program, const char* test, const Rack& rack = rack_with_master(1)) {
  return {table_name(program, test), program, rack};
}

PacketTable pushed_to_the_master(ProgramId program) {
  PacketTable table = table_of(program, "sticky_tasks_are_pushed_to_the_master");
  for (unsigned i = 0; i < 3; ++i) {
    table.send(sticky(i), forwarded(kMaster)).send(report(kMaster), consumed());
    table.send(task().request(100 + i), forwarded(0)).send(report(0), consumed());
  }
  return table;
}

PacketTable one_slot_each(ProgramId program) {
  PacketTable table = table_of(program, "sticky_tasks_take_the_slots_of_the_master");
  table.send(sticky(1), forwarded(kMaster))
      .send(task().request(2), forwarded(0))
      .send(sticky(3), circulating())
      .send(token(0), consumed())
      .send(sticky(4), circulating())
      .send(token(kMaster), consumed())
      .send(sticky(5), forwarded(kMaster));
  return table;
}

PacketTable pulled_by_the_master(ProgramId program) {
  PacketTable table = table_of(program, "sticky_tasks_are_pulled_by_the_master");
  table.send(sticky(1), buffered())
      .send(task().request(2), buffered())
      .send(pull(0), dispatched(0, 2))
      .send(pull(0), dropped(DropReason::kNoTask))
      .send(pull(kMaster), dispatched(kMaster, 1))
      .send(pull(kMaster), dropped(DropReason::kNoTask));
  return table;
}

PacketTable waits_for_the_master(ProgramId program) {
  PacketTable table = table_of(program, "a_sticky_task_waits_for_the_master");
  table.send(token(0), consumed())
      .send(sticky(1), buffered().queue_length(1))
      .send(sticky(2), buffered().queue_length(2))
      .counts(0, {.balance = 1})
      .counts(1, {.balance = -2})
      .send(token(kMaster), dispatched(kMaster, 1).queue_length(1))
      .send(token(kMaster), ignored(DropReason::kDuplicateToken))
      .send(token(kMaster).generation(2), dispatched(kMaster, 2).generation(2).queue_length(0))
      .send(token(kMaster).generation(3), consumed().after_recirculations(2))
      .send(sticky(3), forwarded(kMaster).generation(3))
      .send(task().request(4), forwarded(0));
  return table;
}

PacketTable last_of_all(ProgramId program) {
  PacketTable table = table_of(program, "the_masters_token_serves_when_no_other_is_left");
  table.send(token(kMaster), consumed().after_recirculations(2))
      .send(token(0), consumed())
      .send(task().request(1), forwarded(0).queue_length(0))
      .send(task().request(2), forwarded(kMaster).queue_length(0).after_recirculations(1))
      .counts(0, {})
      .counts(1, {})
      .send(task().request(3), buffered().queue_length(1).after_recirculations(2))
      .send(task().request(4), buffered().queue_length(2))  // others wait: nothing can be filed there
      .send(sync(kMaster), synced(1, 1));
  return table;
}

PacketTable looks_for_work(ProgramId program) {
  PacketTable table = table_of(program, "the_masters_token_finds_a_task_that_waits");
  table.send(task().request(1), buffered().after_recirculations(2))
      .send(task().request(2), buffered())
      .send(token(kMaster), dispatched(kMaster, 1).queue_length(1).after_recirculations(1))
      .send(sync(kMaster), synced(1, 1))
      .send(token(0), dispatched(0, 2).queue_length(0))
      .counts(0, {})
      .counts(1, {});
  return table;
}

PacketTable sticky_first(ProgramId program) {
  PacketTable table = table_of(program, "a_sticky_task_comes_before_older_ones");
  table.send(task().request(1), buffered().after_recirculations(2))
      .send(sticky(2), buffered())
      .send(token(kMaster), dispatched(kMaster, 2))
      .send(token(kMaster).generation(2), dispatched(kMaster, 1).after_recirculations(1));
  return table;
}

PacketTable expired_beside(ProgramId program) {
  PacketTable table = table_of(program, "the_masters_token_passes_over_expired_tasks");
  table.send(task().request(1).deadline_us(1), buffered().after_recirculations(2))
      .send(task().request(2).deadline_us(1), buffered())
      .send(task().request(3), buffered())
      .at(milliseconds(1))
      .send(token(kMaster), dispatched(kMaster, 3).after_recirculations(1).after_expired({1, 2}))
      .send(task().request(4).deadline_us(1), buffered().after_recirculations(2))
      .at(milliseconds(2))
      .send(token(kMaster).generation(2), consumed().after_recirculations(2).after_expired({4}))
      .counts(0, {})
      .counts(1, {.balance = 1})
      .send(sticky(5), forwarded(kMaster).generation(2));
  return table;
}

PacketTable another_master(ProgramId program) {
  PacketTable table = table_of(program, "another_worker_becomes_master");
  table.send(token(kMaster), consumed().after_recirculations(2))
      .send(token(0), consumed())
      .move_worker(kMaster, 0, 2)
      .move_worker(0, 1, 2)
      // The dead tokens are met: one in its own slice, one away.
      .send(task().request(1), buffered().after_recirculations(5))
      .send(sticky(2), buffered())
      .send(token(kMaster).epoch(2).generation(2), dispatched(kMaster, 1))
      .send(token(0).epoch(2).generation(2), dispatched(0, 2));
  return table;
}

PacketTable full_slices(ProgramId program) {
  PacketTable table =
      table_of(program, "both_slices_have_their_own_capacity", rack_with_master(1, {.capacity = 1}));
  table.send(task().request(1), buffered().after_recirculations(2))
      .send(task().request(2), dropped(DropReason::kQueueFull))
      .send(sticky(3), buffered())
      .send(sticky(4), dropped(DropReason::kQueueFull))
      .send(token(kMaster), dispatched(kMaster, 3));
  return table;
}

PacketTable too_large_to_wait(ProgramId program) {
  PacketTable table = table_of(program, "a_task_that_cannot_wait_asks_the_master_too");
  const Packet large = task().payload(dataplane::kInlinePayloadBytes + 1);
  table.send(token(kMaster), consumed().after_recirculations(2))
      .send(large, forwarded(kMaster).after_recirculations(1))
      .send(large, dropped(DropReason::kPayloadStoreFull).after_recirculations(2));
  return table;
}

PacketTable absent_partner(ProgramId program, unsigned absent) {
  const std::string name = "without_slice_" + std::to_string(absent) + "_the_other_serves_on";
  PacketTable table = table_of(program, name.c_str());
  table.remove_slice(absent);
  if (absent == 0) {
    return table.send(token(kMaster), consumed().after_recirculations(2)).counts(1, {.balance = 1});
  }
  table.send(sticky(1), dropped(DropReason::kPolicyUnsupported))
      .send(task().request(2), buffered().after_recirculations(2))
      .send(token(0), dispatched(0, 2));
  return table;
}

/// Program `rain`: spare tokens of the master follow the spill threshold of the slice that they look into.
PacketTable spare_tokens() {
  PacketTable table = table_of(ProgramId::kRain, "spare_tokens_of_the_master_are_lent",
                               rack_with_master(1, {.capacity = 8, .spill = 1}));
  table.send(token(kMaster).level(2), consumed().after_recirculations(2))
      .counts(1, {.balance = 0, .spare = 1})
      .send(task().request(1),
            buffered().after_recirculations(2))  // only an idle worker's token is asked for
      .send(token(kMaster).level(1), consumed().after_recirculations(2))
      .send(task().request(2), buffered())
      .send(token(kMaster).level(3), dispatched(kMaster, 1).level(3).queue_length(1).after_recirculations(1))
      .send(sticky(3), buffered())
      .send(sticky(4), forwarded(kMaster).level(1).generation(1).queue_length(1))
      .send(token(kMaster), dispatched(kMaster, 3).level(0));
  return table;
}

}  // namespace

std::vector<PacketTable> sticky_tables(ProgramId program) {
  if (program == ProgramId::kR2p2) return {one_slot_each(program)};
  if (program == ProgramId::kDraconis) return {pulled_by_the_master(program)};
  if (pushes(program)) return {pushed_to_the_master(program)};
  std::vector<PacketTable> tables{waits_for_the_master(program), last_of_all(program),
                                  looks_for_work(program),       sticky_first(program),
                                  expired_beside(program),       another_master(program),
                                  full_slices(program),          too_large_to_wait(program),
                                  absent_partner(program, 0),    absent_partner(program, 1)};
  if (program == ProgramId::kRain) tables.push_back(spare_tokens());
  return tables;
}

}  // namespace rain::packet_table
