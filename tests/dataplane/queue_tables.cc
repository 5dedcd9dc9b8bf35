// Packet tables of the programs that queue: tasks and idle tokens meet in order, nothing is changed on the
// way, and what does not fit is refused. All tokens here are of level 0 and no task waits for longer than the
// rules common to `rain` and `rain-paper` say.
#include "dataplane/packet_table.h"

namespace rain::packet_table {

using dataplane::ProgramId;

namespace {

constexpr std::size_t kLargest = wire::kMaxPayloadBytes;

PacketTable tasks_in_order(ProgramId program) {
  PacketTable table(table_name(program, "tasks_wait_in_order"), program, small_rack(3));
  table.send(task().request(1), buffered().queue_length(1))
      .send(task().request(2), buffered().queue_length(2))
      .send(task().request(3), buffered().queue_length(3))
      .counts(0, {.balance = -3})
      .send(token(2).generation(5), dispatched(2, 1).level(0).generation(5).queue_length(2))
      .send(token(0), dispatched(0, 2).level(0).generation(1).queue_length(1))
      .send(task().request(4), buffered().queue_length(2))
      .send(token(1), dispatched(1, 3).queue_length(1))
      .send(token(1).generation(2), dispatched(1, 4).generation(2).queue_length(0))
      .counts(0, {.balance = 0});
  return table;
}

PacketTable tokens_in_order(ProgramId program) {
  PacketTable table(table_name(program, "tokens_wait_in_order"), program, small_rack(3));
  table.send(token(2).generation(8), consumed().queue_length(0))
      .send(token(0), consumed())
      .send(token(1), consumed())
      .counts(0, {.balance = 3})
      .send(task().request(1), forwarded(2).level(0).generation(8).queue_length(0))
      .send(task().request(2), forwarded(0).generation(1))
      .send(token(2).generation(9), consumed())
      .send(task().request(3), forwarded(1).generation(1))
      .send(task().request(4), forwarded(2).generation(9))
      .counts(0, {.balance = 0});
  return table;
}

PacketTable fields_survive(ProgramId program) {
  Rack rack = small_rack(1, {.capacity = 8});
  rack.type(0xBEEF, 0).holds(2);
  PacketTable table(table_name(program, "a_waiting_task_keeps_all_its_fields"), program, rack);
  const Packet odd = task().request(0xFFFE).client(77).type(0xBEEF).deadline_us(UINT32_MAX).payload(3);
  const Packet reference = task().request(2).client(78).layout(wire::Layout::kReference).deadline_us(1);
  const Packet held = task().request(3).client(79).type(0xBEEF).payload(kLargest);
  const Packet bare = task().request(4).bare().payload(0);
  const Packet first = task().request(5).first_of(3);
  for (const Packet& packet : {odd, reference, held, bare, first}) table.send(packet, buffered());
  table.send(token(0).generation(1), dispatched(0, 0xFFFE))
      .send(token(0).generation(2), dispatched(0, 2))
      .send(token(0).generation(3), dispatched(0, 3))
      .send(token(0).generation(4), dispatched(0, 4))
      .send(token(0).generation(5), dispatched(0, 5));
  std::uint32_t generation = 6;
  for (const Packet& packet : {odd, reference, held, bare, first}) {
    table.send(token(0).generation(generation), consumed()).send(packet, forwarded(0).generation(generation));
    ++generation;
  }
  return table;
}

PacketTable every_small_payload(ProgramId program) {
  PacketTable table(table_name(program, "a_payload_of_0_to_8_bytes_waits_in_its_entry"), program,
                    small_rack(1, {.capacity = 16}));
  constexpr unsigned kSizes = dataplane::kInlinePayloadBytes + 1;
  for (unsigned bytes = 0; bytes < kSizes; ++bytes) {
    table.send(task().request(bytes).payload(bytes), buffered());
  }
  for (unsigned bytes = 0; bytes < kSizes; ++bytes) {
    table.send(token(0).generation(bytes + 1), dispatched(0, bytes));
  }
  return table;
}

PacketTable capacity(ProgramId program, unsigned capacity) {
  PacketTable table(table_name(program, "capacity_" + std::to_string(capacity) + "_is_kept_exactly"), program,
                    small_rack(1, {.capacity = capacity}));
  std::uint32_t generation = 0;
  for (unsigned round = 0; round < 3; ++round) {  // the ring wraps meanwhile
    for (unsigned i = 1; i <= capacity; ++i) table.send(task().request(i), buffered().queue_length(i));
    table.send(task().request(99), dropped(DropReason::kQueueFull).queue_length(capacity))
        .send(task().request(98), dropped(DropReason::kQueueFull).queue_length(capacity))
        .counts(0, {.balance = -static_cast<std::int64_t>(capacity)})
        .send(token(0).generation(++generation), dispatched(0, 1).queue_length(capacity - 1))
        .send(task().request(capacity + 1), buffered().queue_length(capacity))
        .send(task().request(97), dropped(DropReason::kQueueFull));
    for (unsigned i = 2; i <= capacity + 1; ++i) {
      table.send(token(0).generation(++generation), dispatched(0, i).queue_length(capacity + 1 - i));
    }
    table.counts(0, {.balance = 0});
  }
  return table;
}

PacketTable no_hold(ProgramId program) {
  PacketTable table(table_name(program, "without_holds_large_payloads_cannot_wait"), program, small_rack(1));
  table.send(task().request(1).payload(9), dropped(DropReason::kPayloadStoreFull).queue_length(0))
      .send(task().request(2).payload(kLargest), dropped(DropReason::kPayloadStoreFull))
      .counts(0, {.balance = 0})
      .send(task().request(3).payload(0), buffered().queue_length(1))
      .send(task().request(4).payload(8), buffered().queue_length(2))
      .send(task().request(5).payload(9), dropped(DropReason::kPayloadStoreFull).queue_length(2))
      .send(token(0).generation(1), dispatched(0, 3).queue_length(1))
      .send(token(0).generation(2), dispatched(0, 4).queue_length(0));
  std::uint32_t generation = 3;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{9}, kLargest}) {
    table.send(token(0).generation(generation), consumed())
        .send(task().request(generation).payload(bytes), forwarded(0).generation(generation));
    ++generation;
  }
  return table;
}

PacketTable one_hold(ProgramId program) {
  Rack rack = small_rack(1, {.capacity = 3});
  PacketTable table(table_name(program, "a_hold_is_taken_once_and_given_back"), program, rack.holds(1));
  std::uint32_t generation = 0;
  const auto fresh = [&] { return token(0).generation(++generation); };
  for (unsigned round = 0; round < 3; ++round) {
    table.send(task().request(1).payload(kLargest), buffered().queue_length(1))
        .send(task().request(2).payload(9), dropped(DropReason::kPayloadStoreFull).queue_length(1))
        .send(task().request(3).payload(8), buffered().queue_length(2))
        .send(task().request(4).payload(0), buffered().queue_length(3))
        .send(task().request(5).payload(8), dropped(DropReason::kQueueFull))
        .send(fresh(), dispatched(0, 1))
        .send(task().request(6).payload(9), buffered().queue_length(3))
        .send(fresh(), dispatched(0, 3))
        .send(fresh(), dispatched(0, 4))
        .send(fresh(), dispatched(0, 6).queue_length(0))
        .send(fresh(), consumed())
        .send(task().request(7).payload(kLargest), forwarded(0));  // takes no hold
  }
  return table;
}

/// A task that is refused because the queue is full must not keep a hold.
PacketTable full_queue_takes_no_hold(ProgramId program) {
  Rack rack = small_rack(1, {.capacity = 1});
  PacketTable table(table_name(program, "a_full_queue_takes_no_hold"), program, rack.holds(1));
  table.send(task().request(1), buffered())
      .repeat(3, task().request(10).payload(9), dropped(DropReason::kQueueFull).queue_length(1))
      .send(token(0).generation(1), dispatched(0, 1))
      .send(task().request(2).payload(9), buffered())
      .repeat(3, task().request(20).payload(9), dropped(DropReason::kPayloadStoreFull).queue_length(1))
      .send(task().request(30), dropped(DropReason::kQueueFull))
      .send(token(0).generation(2), dispatched(0, 2));
  return table;
}

PacketTable delays(ProgramId program) {
  PacketTable table(table_name(program, "the_delay_in_the_switch_is_told"), program, small_rack(1));
  const Nanos widest{UINT32_MAX};
  std::uint32_t generation = 0;
  const auto waits = [&](Nanos start, Nanos end) {  // the run itself compares the delay
    const unsigned request = ++generation;
    table.at(start).send(task().request(request), buffered()).at(end);
    table.send(token(0).generation(generation), dispatched(0, request));
  };
  waits(Nanos{0}, Nanos{0});
  waits(Nanos{5}, Nanos{6});
  waits(seconds(1), seconds(1) + widest);
  waits(seconds(1), seconds(1) + widest + Nanos{1});
  waits(seconds(1), seconds(3600));
  waits(Nanos{-7}, Nanos{7});
  table.at(seconds(5)).send(token(0).generation(100), consumed());
  table.at(seconds(50)).send(task(), forwarded(0));  // the token waited, not the task
  return table;
}

PacketTable queue_length_saturates(ProgramId program) {
  PacketTable table(table_name(program, "queue_length_saturates"), program,
                    small_rack(1, {.capacity = 70'000}));
  table.repeat(65'534, task(), buffered())
      .send(task().request(65'534), buffered().queue_length(65'535))
      .repeat(2, task().request(65'535), buffered().queue_length(65'535))
      .counts(0, {.balance = -65'537})
      .send(token(0).generation(1), dispatched(0, 0).queue_length(65'535))
      .send(token(0).generation(2), dispatched(0, 1).queue_length(65'535))
      .send(token(0).generation(3), dispatched(0, 2).queue_length(65'534));
  return table;
}

PacketTable slices_apart(ProgramId program) {
  Rack rack;
  rack.slice({.capacity = 1}).slice({.capacity = 2}).type(0, 0).type(1, 1).type(2, 1).worker(1).worker(0);
  PacketTable table(table_name(program, "slices_do_not_influence_each_other"), program, rack.holds(1));
  table.send(token(0), consumed())
      .send(task().request(1), buffered().queue_length(1))  // slice 1's token is not slice 0's
      .counts(0, {.balance = -1})
      .counts(1, {.balance = 1})
      .send(task().request(2), dropped(DropReason::kQueueFull))  // and neither is its room
      .send(task().type(1).request(3), forwarded(0).queue_length(0))
      .send(task().type(2).request(4), buffered().queue_length(1))
      .send(task().type(1).request(5).payload(9), buffered().queue_length(2))
      .send(task().type(1).request(6), dropped(DropReason::kQueueFull).queue_length(2))
      .send(token(1), dispatched(1, 1).queue_length(0))
      .send(task().request(7).payload(9), dropped(DropReason::kPayloadStoreFull))  // holds are shared
      .send(token(0).generation(2), dispatched(0, 4).queue_length(1))
      .send(token(1).generation(2), consumed())
      .counts(0, {.balance = 1})
      .counts(1, {.balance = -1})
      .send(token(0).generation(3), dispatched(0, 5).queue_length(0))
      .send(task().request(8), forwarded(1).generation(2));
  return table;
}

/// A task whose client has given it up is not served: its client hears so, and the token serves the next.
PacketTable expired_tasks(ProgramId program) {
  Rack rack = small_rack(1, {.capacity = 8});
  PacketTable table(table_name(program, "an_expired_task_is_passed_over"), program, rack.holds(1));
  table.send(task().request(1).deadline_us(10), buffered())
      .send(task().request(2).deadline_us(5).client(3).layout(wire::Layout::kReference).payload(kLargest),
            buffered())
      .send(task().request(3).deadline_us(4), buffered())
      .send(task().request(4), buffered().queue_length(4))
      .at(microseconds(6) + Nanos{1})
      .send(token(0), dispatched(0, 1).queue_length(3))
      .send(token(0).generation(2), dispatched(0, 4).generation(2).after_expired({2, 3}).queue_length(0))
      .counts(0, {.balance = 0})
      .send(task().request(5).payload(kLargest).deadline_us(8), buffered())  // the hold is free again
      .at(microseconds(14) + Nanos{1})
      .send(token(0).generation(3), dispatched(0, 5))  // to the very end of its time
      .send(task().request(6).deadline_us(1), buffered())
      .at(microseconds(20))
      .send(token(0).generation(4), consumed().after_expired({6}).queue_length(0))
      .counts(0, {.balance = 1})
      .send(token(0).generation(4), ignored(DropReason::kDuplicateToken))
      .send(sync(0), synced(4, 3))
      .send(task().request(7).deadline_us(1), forwarded(0).generation(4));
  return table;
}

/// One packet discards only so many. The worker refuses the one that it then gets.
PacketTable expired_without_end(ProgramId program) {
  PacketTable table(table_name(program, "expired_tasks_are_bounded"), program,
                    small_rack(1, {.capacity = 64}));
  std::vector<unsigned> passed_over;
  for (unsigned request = 1; request <= dataplane::kMaxExpired; ++request) passed_over.push_back(request);
  const unsigned last = dataplane::kMaxExpired + 1;
  table.repeat(last + 1, task().request(1).deadline_us(1), buffered())
      .at(microseconds(9))
      .send(token(0), dispatched(0, last).after_expired(passed_over).queue_length(1))
      .counts(0, {.balance = -1})
      .send(token(0).generation(2), consumed().after_expired({last + 1}));
  return table;
}

}  // namespace

std::vector<PacketTable> queue_tables(ProgramId program) {
  return {tasks_in_order(program),
          tokens_in_order(program),
          fields_survive(program),
          every_small_payload(program),
          capacity(program, 1),
          capacity(program, 3),  // a ring with room to spare
          capacity(program, 4),  // a ring without
          no_hold(program),
          one_hold(program),
          full_queue_takes_no_hold(program),
          delays(program),
          expired_tasks(program),
          expired_without_end(program),
          queue_length_saturates(program),
          slices_apart(program)};
}

}  // namespace rain::packet_table
