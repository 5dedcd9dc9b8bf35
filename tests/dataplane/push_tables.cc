// Packet tables of the programs that push: a task goes to a worker at once, no token exists.
#include "dataplane/packet_table.h"

namespace rain::packet_table {

using dataplane::ProgramId;

namespace {

/// Of any size, and no token is named.
PacketTable at_once(ProgramId program) {
  PacketTable table(table_name(program, "a_task_leaves_at_once"), program, small_rack(1, {.capacity = 1}));
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{9}, wire::kMaxPayloadBytes}) {
    table.send(task().payload(bytes), forwarded(0).level(kNoLevel.value).generation(0).queue_length(0))
        .send(report(0), consumed());
  }
  table.send(task().layout(wire::Layout::kReference).deadline_us(9).client(4), forwarded(0));
  return table;
}

/// Workers' queues are unbounded: the switch says no to nobody.
PacketTable unbounded(ProgramId program) {
  PacketTable table(table_name(program, "a_worker_takes_any_number"), program, small_rack(1));
  table.repeat(1'000, task(), forwarded(0));
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
    table.send(task(), forwarded(1)).send(task().type(1), forwarded(0));
    for (const unsigned worker : {0u, 1u}) table.send(report(worker), consumed());
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

PacketTable weighted_rotation() {
  Rack rack = small_rack(1);
  rack.worker(0, 3).worker(0, 2).slice({}).type(1, 1).worker(1, 8);
  PacketTable table("pallas__gives_each_worker_as_many_turns_as_its_weight", ProgramId::kPallas, rack);
  for (unsigned round = 0; round < 2; ++round) {
    for (const unsigned worker : {0u, 1u, 2u, 1u, 2u, 1u}) {  // a heavy worker's turns lie apart
      table.send(task(), forwarded(worker)).send(task().type(1), forwarded(3));
    }
    table.send(report(1), consumed());  // reports turn nothing
  }
  table.send(task(), forwarded(0))
      .remove_worker(1)  // the turn is the round's second
      .send(task(), forwarded(2))
      .send(task(), forwarded(2))
      .send(task(), forwarded(0));
  return table;
}

/// Two workers: both are always looked at.
PacketTable reported_lengths() {
  PacketTable table("racksched__takes_the_shorter_of_two_reported_queues", ProgramId::kRacksched,
                    small_rack(2));
  table.send(report(0).queue_length(5), consumed())
      .send(report(1).queue_length(4), consumed())
      .repeat(20, task(), forwarded(1))  // what was sent since is not counted
      .send(report(1).queue_length(6), consumed())
      .repeat(20, task(), forwarded(0))
      .send(report(0).queue_length(0xFFFF), consumed())
      .repeat(20, task(), forwarded(1));
  return table;
}

PacketTable counted_lengths() {
  Rack rack = small_rack(2, {.recirculate = true});
  rack.absent_slice().worker(1);
  PacketTable table("racksched__counts_by_a_second_pass", ProgramId::kRacksched, rack);
  const auto goes_to = [](unsigned worker) { return forwarded(worker).after_recirculations(1); };
  const Expected goes = Expected(dataplane::Action::kForward).after_recirculations(1);
  table
      .send(report(0).queue_length(9), consumed())  // never below none; and what it says is not taken
      .repeat(2, task(), goes)                      // whichever comes first, then the other: 1 1
      .send(report(0), consumed())
      .send(task(), goes_to(0))
      .send(report(1), consumed())
      .send(task(), goes_to(1))
      .send(report(0), consumed())
      .repeat(1, task(), goes_to(0))
      .send(report(2), ignored(DropReason::kUnknownWorker));  // of a slice that is not
  return table;
}

PacketTable search_by_groups() {
  PacketTable table("r2p2__looks_for_room_group_by_group", ProgramId::kR2p2, small_rack(10, {.depth = 2}));
  for (unsigned worker = 0; worker < 8; ++worker) table.send(task(), forwarded(worker));
  table
      .send(task(), forwarded(8).after_recirculations(1))  // the second group
      .send(task(), forwarded(9))                          // where the last one was looked for
      .send(task(), forwarded(8).after_recirculations(2))  // a full round, then depth 2
      .send(report(3), consumed())
      .send(task(), forwarded(3).after_recirculations(1))   // depth 1 is looked for everywhere first
      .send(task(), forwarded(0).after_recirculations(2));  // a round from the first group, depth 2
  for (const unsigned worker : {1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
    table.send(task(), forwarded(worker).after_recirculations(2));
  }
  table.send(task(), forwarded(9).after_recirculations(3))
      .send(task(), circulating())
      .send(report(5), consumed())
      .send(report(5), consumed())
      .send(task(), Expected(dataplane::Action::kForward).worker(5).after_recirculations(1));
  return table;
}

PacketTable depth_one() {
  Rack rack = small_rack(2, {.depth = 1});
  rack.slice({.depth = 3}).type(1, 1).worker(1);
  PacketTable table("r2p2__never_goes_beyond_its_depth", ProgramId::kR2p2, rack);
  table.send(task(), forwarded(0))
      .send(task(), forwarded(1))
      .send(task(), circulating())
      .send(report(1), consumed())
      .send(report(1), consumed())  // one more than it had: never below none
      .send(task(), forwarded(1))
      .send(task(), circulating())
      .send(task().type(1), forwarded(2))
      .send(task().type(1), forwarded(2).after_recirculations(1))  // the round is one group
      .send(task().type(1), forwarded(2).after_recirculations(2))
      .send(task().type(1), circulating());
  return table;
}

}  // namespace

bool pushes(ProgramId program) {
  return !dataplane::kPrograms[static_cast<unsigned>(program)].uses_tokens && program != ProgramId::kDraconis;
}

std::vector<PacketTable> push_tables(ProgramId program) {
  std::vector<PacketTable> tables{at_once(program), no_workers(program), reports(program),
                                  slices_apart(program)};
  if (program != ProgramId::kR2p2) tables.push_back(unbounded(program));
  if (program == ProgramId::kRoundRobin) tables.push_back(rotation());
  if (program == ProgramId::kJsq) tables.push_back(fewest());
  if (program == ProgramId::kPallas) tables.push_back(weighted_rotation());
  if (program == ProgramId::kRacksched) {
    tables.push_back(reported_lengths());
    tables.push_back(counted_lengths());
  }
  if (program == ProgramId::kR2p2) {
    tables.push_back(search_by_groups());
    tables.push_back(depth_one());
  }
  return tables;
}

}  // namespace rain::packet_table
