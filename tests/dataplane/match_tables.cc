// Packet tables of the head of the pipeline, the same for every program: what the match tables refuse, and
// that a refusal leaves no trace.
#include <utility>

#include "dataplane/packet_table.h"

namespace rain::packet_table {

using dataplane::ProgramId;

namespace {

bool uses_tokens(ProgramId program) {
  return dataplane::kPrograms[static_cast<unsigned>(program)].uses_tokens;
}

/// Shows that nothing was filed, queued or counted: the first task of a worker's first token still meets it.
PacketTable& then_serves(PacketTable& table, ProgramId program) {
  if (pushes(program)) return table.send(task().request(9), forwarded(0).level(kNoLevel.value));
  if (program == ProgramId::kDraconis) {
    return table.send(pull(0), dropped(DropReason::kNoTask).queue_length(0))
        .send(task().request(9), buffered().queue_length(1));
  }
  table.counts(0, {.balance = 0, .spare = 0});
  table.send(token(0), consumed().queue_length(0));
  return table.send(task().request(9), forwarded(0).level(0).generation(1).queue_length(0));
}

PacketTable refused_tasks(ProgramId program) {
  Rack rack = small_rack(1);
  rack.absent_slice().type(2, 1);
  PacketTable table(table_name(program, "tasks_that_no_table_serves_are_refused"), program, rack);
  table.send(task().type(1), dropped(DropReason::kUnknownTaskType))
      .send(task().type(0xFFFF).request(0xFFFF).client(3), dropped(DropReason::kUnknownTaskType))
      .send(task().type(2), dropped(DropReason::kUnknownTaskType))
      .send(task().policy(wire::Policy::kSticky), dropped(DropReason::kPolicyUnsupported))
      .send(task().type(1).layout(wire::Layout::kReference), dropped(DropReason::kUnknownTaskType))
      .send(task().not_first(), ignored(DropReason::kUnexpectedMessage))
      .send(task().not_first().type(1), ignored(DropReason::kUnexpectedMessage));
  return then_serves(table, program);
}

PacketTable unexpected_messages(ProgramId program) {
  PacketTable table(table_name(program, "messages_for_others_are_ignored"), program, small_rack(1));
  using enum wire::MessageType;
  for (const wire::MessageType type :
       {kReply, kRequestReady, kDrop, kSack, kSyncAck, kPull, kFetch, kFetched}) {
    if (type == kPull && program == ProgramId::kDraconis) continue;
    table.send(Packet(type, client_address(0)), ignored(DropReason::kUnexpectedMessage));
    table.send(Packet(type, worker_address(0)), ignored(DropReason::kUnexpectedMessage));
  }
  if (!uses_tokens(program)) table.send(sync(0), ignored(DropReason::kUnexpectedMessage));
  return then_serves(table, program);
}

/// FEEDBACK of strangers, and SYNC or PULL where the program takes them.
PacketTable refused_senders(ProgramId program) {
  Rack rack = small_rack(1);
  rack.absent_worker();
  PacketTable table(table_name(program, "only_a_known_worker_is_believed"), program, rack);
  std::vector<Packet (*)(unsigned)> kinds{token};
  if (uses_tokens(program)) kinds.push_back(sync);
  if (program == ProgramId::kDraconis) kinds.push_back(pull);
  for (const auto packet : kinds) {
    Endpoint other_port = worker_address(0);
    ++other_port.port;
    table.send(packet(1), ignored(DropReason::kUnknownWorker))
        .send(packet(2), ignored(DropReason::kUnknownWorker))
        .send(packet(0xFFFF), ignored(DropReason::kUnknownWorker))
        .send(packet(0).from(client_address(0)), ignored(DropReason::kAddressMismatch))
        .send(packet(0).from(other_port), ignored(DropReason::kAddressMismatch))
        .send(packet(0).key(worker_key(1)), ignored(DropReason::kBadTokenKey))
        .send(packet(0).key(0), ignored(DropReason::kBadTokenKey))
        .send(packet(0).bare(), ignored(DropReason::kTruncatedExtension));
  }
  return then_serves(table, program);
}

PacketTable refused_tokens(ProgramId program, unsigned levels) {
  Rack rack = small_rack(1);
  rack.absent_slice().worker(1);
  PacketTable table(table_name(program, "tokens_of_no_level_epoch_or_slice_are_ignored"), program, rack);
  for (const unsigned level : {levels, levels + 1, 0x7Fu, 0x80u, 0xFFu}) {
    table.send(token(0).level(level), ignored(DropReason::kBadLevel))
        .send(sync(0).level(level), ignored(DropReason::kBadLevel));
  }
  table.send(token(0).epoch(kFirstEpoch - 1), ignored(DropReason::kStaleEpoch))
      .send(token(0).epoch(kFirstEpoch + 1), ignored(DropReason::kStaleEpoch))
      .send(token(0).epoch(0xFFFF), ignored(DropReason::kStaleEpoch))
      .send(token(1), ignored(DropReason::kUnknownWorker))
      .send(sync(1), ignored(DropReason::kUnknownWorker))
      .send(sync(0).epoch(kFirstEpoch + 7), synced(0, 0).epoch(kFirstEpoch));  // it asks for its epoch
  return then_serves(table, program);
}

}  // namespace

std::vector<PacketTable> match_tables(ProgramId program) {
  std::vector<PacketTable> tables{refused_tasks(program), unexpected_messages(program),
                                  refused_senders(program)};
  if (uses_tokens(program)) {
    tables.push_back(refused_tokens(program, program == ProgramId::kRain ? 4 : kMaxQuota));
  }
  return tables;
}

}  // namespace rain::packet_table
