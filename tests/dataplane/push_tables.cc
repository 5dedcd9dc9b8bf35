// Packet tables of the programs that push: `random`, `round-robin`, `jsq`.
#include "dataplane/packet_table.h"

namespace rain::packet_table {

using dataplane::ProgramId;

namespace {

/// A worker takes any number of tasks at once, of any size, and no token is named.
PacketTable at_once(ProgramId program) {
  PacketTable table(table_name(program, "a_task_leaves_at_once"), program, small_rack(1, {.capacity = 1}));
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{9}, wire::kMaxPayloadBytes}) {
    table.repeat(3, task().payload(bytes).type(0),
                 forwarded(0).level(kNoLevel.value).generation(0).queue_length(0));
  }
  table.send(task().layout(wire::Layout::kReference).deadline_us(9).client(4), forwarded(0));
  return table;
}

PacketTable no_workers(ProgramId program) {
  Rack rack = small_rack(1);
  rack.slice({}).type(1, 1);
  PacketTable table(table_name(program, "a_slice_without_workers_refuses"), program, rack);
  table.send(task().type(1).request(3), dropped(DropReason::kNoWorkers))
      .send(task(), forwarded(0))
      .remove_worker(0)
      .send(task(), dropped(DropReason::kNoWorkers))
      .send(report(0), ignored(DropReason::kUnknownWorker))
      .move_worker(0, 1, 2)
      .send(task(), dropped(DropReason::kNoWorkers))
      .send(task().type(1), forwarded(0));
  return table;
}

/// Reports and tokens of any kind say that a task is finished; nothing is checked but who sent them.
PacketTable reports(ProgramId program) {
  PacketTable table(table_name(program, "reports_and_tokens_are_taken"), program, small_rack(1));
  table.send(report(0), consumed())
      .send(report(0), consumed())
      .send(task(), forwarded(0))
      .send(token(0).level(0), consumed())
      .send(token(0).level(9).generation(0).epoch(0), consumed())
      .send(task(), forwarded(0));
  return table;
}

PacketTable slices_apart(ProgramId program) {
  Rack rack;
  rack.slice({}).slice({}).type(0, 0).type(1, 1).worker(1).worker(0);
  PacketTable table(table_name(program, "slices_do_not_influence_each_other"), program, rack);
  for (unsigned i = 0; i < 4; ++i) {
    table.send(task(), forwarded(1)).send(task().type(1), forwarded(0)).send(report(0), consumed());
  }
  return table;
}

PacketTable rotation() {
  Rack rack = small_rack(3);
  rack.slice({}).type(1, 1).worker(1).worker(1);
  PacketTable table("round_robin__rotates_strictly", ProgramId::kRoundRobin, rack);
  for (const unsigned worker : {0u, 1u, 2u, 0u}) table.send(task(), forwarded(worker));
  table.send(task().type(1), forwarded(3))
      .send(task(), forwarded(1))
      .send(report(2), consumed())  // reports turn nothing
      .send(task().type(1), forwarded(4))
      .send(task().type(1), forwarded(3))
      .send(task(), forwarded(2))
      .send(task(), forwarded(0))
      .send(task(), forwarded(1))
      .remove_worker(1)  // members are 0 and 2 now, the turn is beyond them
      .send(task(), forwarded(0))
      .send(task(), forwarded(2))
      .send(task(), forwarded(0));
  return table;
}

PacketTable fewest() {
  Rack rack = small_rack(3);
  rack.slice({}).type(1, 1).worker(1);
  PacketTable table("jsq__takes_the_fewest_and_turns_among_equals", ProgramId::kJsq, rack);
  for (const unsigned worker : {0u, 1u, 2u, 0u, 1u, 2u})
    table.send(task(), forwarded(worker));  // loads 2 2 2
  table
      .send(report(1), consumed())  // 2 1 2
      .send(task(), forwarded(1))   // 2 2 2
      .send(report(2), consumed())
      .send(report(2), consumed())      // 2 2 0
      .repeat(2, task(), forwarded(2))  // 2 2 2
      .send(task(), forwarded(0))       // 3 2 2: 0's turn
      .send(task().type(1), forwarded(3))
      .repeat(4, report(3), consumed())  // more reports than tasks: never below none
      .send(report(0), consumed())       // 2 2 2
      .send(task(), forwarded(1))        // 2 3 2: 1's turn
      .remove_worker(0)                  // - 3 2
      .send(task(), forwarded(2))        // - 3 3
      .send(report(1), consumed())
      .send(task(), forwarded(1));
  return table;
}

}  // namespace

std::vector<PacketTable> push_tables(ProgramId program) {
  std::vector<PacketTable> tables{at_once(program), no_workers(program), reports(program),
                                  slices_apart(program)};
  if (program == ProgramId::kRoundRobin) tables.push_back(rotation());
  if (program == ProgramId::kJsq) tables.push_back(fewest());
  return tables;
}

}  // namespace rain::packet_table
