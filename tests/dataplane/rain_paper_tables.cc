// Packet tables of program `rain-paper`: one FIFO of tokens, whatever their worker is doing.
#include "dataplane/packet_table.h"

namespace rain::packet_table {

using dataplane::ProgramId;

namespace {

PacketTable paper(const char* test, Rack rack) {
  return {table_name(ProgramId::kRainPaper, test), ProgramId::kRainPaper, std::move(rack)};
}

PacketTable oldest_token_first() {
  PacketTable table = paper("the_oldest_token_is_taken_at_any_level", small_rack(3));
  table.send(token(0).level(1), consumed())
      .send(token(1).level(7), consumed())
      .send(token(2).level(0), consumed())
      .send(token(1).level(0), consumed())
      .counts(0, {.balance = 4})
      .send(task(), forwarded(0).level(1))
      .send(task(), forwarded(1).level(7))
      .send(task(), forwarded(2).level(0))
      .send(task(), forwarded(1).level(0))
      .counts(0, {.balance = 0});
  return table;
}

PacketTable any_token_serves() {
  Rack rack = small_rack(2, {.capacity = 4, .spill = 4, .drain = 0});
  PacketTable table = paper("a_waiting_task_takes_the_next_token_at_any_level", rack);
  table.repeat(3, task().request(1), buffered())
      .counts(0, {.balance = -3})
      .send(token(0).level(5), dispatched(0, 1).level(5).queue_length(2))  // spill is nothing to it
      .send(token(1).level(1), dispatched(1, 2).level(1).queue_length(1))
      .send(token(1).level(0), dispatched(1, 3).level(0).queue_length(0));
  return table;
}

PacketTable dead_tokens_of_all_levels() {
  PacketTable table = paper("dead_tokens_of_all_levels_are_forgotten", small_rack(2));
  for (const unsigned level : {3u, 0u, 7u}) {
    for (const unsigned worker : {0u, 1u}) table.send(token(worker).level(level), consumed());
  }
  table.move_worker(0, 0, 2).forget_dead_tokens(0).counts(0, {.balance = 3});
  for (const unsigned level : {3u, 0u, 7u}) {
    table.send(sync(0).level(level), synced(1, 1)).send(task(), forwarded(1).level(level));
  }
  table.send(task(), buffered());
  return table;
}

}  // namespace

std::vector<PacketTable> rain_paper_tables() {
  return {oldest_token_first(), any_token_serves(), dead_tokens_of_all_levels()};
}

}  // namespace rain::packet_table
