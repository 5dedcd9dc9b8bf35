// Packet tables of program `draconis`: tasks wait in order until a worker pulls, large payloads stay with the
// client.
#include "dataplane/packet_table.h"

namespace rain::packet_table {

using dataplane::ProgramId;

namespace {

PacketTable draconis(const char* test, Rack rack) {
  return {table_name(ProgramId::kDraconis, test), ProgramId::kDraconis, std::move(rack)};
}

PacketTable pulls() {
  PacketTable table = draconis("tasks_wait_in_order_until_a_worker_pulls", small_rack(2, {.capacity = 3}));
  table.send(pull(0), dropped(DropReason::kNoTask).queue_length(0))
      .send(pull(0), dropped(DropReason::kNoTask))  // it repeats
      .send(task().request(1), buffered().queue_length(1))
      .send(task().request(2).layout(wire::Layout::kReference).deadline_us(8).client(5), buffered())
      .send(task().request(3).payload(0), buffered().queue_length(3))
      .send(task().request(4), dropped(DropReason::kQueueFull).queue_length(3))
      .at(microseconds(9))
      .send(pull(1), dispatched(1, 1).level(kNoLevel.value).generation(0).queue_length(2))
      .send(report(1), consumed())
      .send(pull(1), dispatched(1, 2).queue_length(1))
      .send(task().request(5), buffered().queue_length(2))
      .send(pull(0), dispatched(0, 3))
      .send(pull(0), dispatched(0, 5).queue_length(0))
      .send(pull(0), dropped(DropReason::kNoTask));
  return table;
}

PacketTable fetches() {
  PacketTable table = draconis("a_large_payload_is_left_to_be_fetched", small_rack(1));
  unsigned request = 0;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{9}, wire::kMaxPayloadBytes}) {
    table.send(task().request(++request).payload(bytes), buffered());
    table.send(pull(0), dispatched(0, request).fetches(bytes > 8));
  }
  return table;
}

PacketTable expired() {
  PacketTable table = draconis("an_expired_task_is_passed_over", small_rack(2));
  table.send(task().request(1).deadline_us(3), buffered())
      .send(task().request(2).deadline_us(9), buffered())
      .at(microseconds(5))
      .send(pull(0), dispatched(0, 2).after_expired({1}).queue_length(0))
      .send(task().request(3).deadline_us(1).payload(wire::kMaxPayloadBytes), buffered())
      .at(microseconds(7))
      .send(pull(1), dropped(DropReason::kNoTask).after_expired({3}));
  return table;
}

PacketTable slices_apart() {
  Rack rack;
  rack.slice({.capacity = 1}).slice({.capacity = 1}).type(0, 0).type(1, 1).worker(1).worker(0);
  PacketTable table = draconis("slices_do_not_influence_each_other", rack);
  table.send(task().request(1), buffered())
      .send(pull(0), dropped(DropReason::kNoTask))
      .send(task().type(1).request(2), buffered().queue_length(1))
      .send(task().request(3), dropped(DropReason::kQueueFull))
      .send(pull(1), dispatched(1, 1))
      .send(pull(0), dispatched(0, 2));
  return table;
}

}  // namespace

std::vector<PacketTable> draconis_tables() { return {pulls(), fetches(), expired(), slices_apart()}; }

}  // namespace rain::packet_table
