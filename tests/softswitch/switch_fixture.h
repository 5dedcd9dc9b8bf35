// A switch without a thread: memory, tables, program, counters and agent around any transport.
#pragma once

#include <utility>
#include <vector>

#include "base/page_buffer.h"
#include "dataplane/packet_builder.h"
#include "dataplane/soft_memory.h"
#include "softswitch/switch_agent.h"
#include "softswitch/switch_counters.h"
#include "softswitch/switch_options.h"
#include "softswitch/switch_tables.h"
#include "wire/codec.h"

namespace rain::softswitch {

inline constexpr BootId kBootId{0xB007};

/// One slice "s" with id 0 that takes all types, and `workers` workers whose addresses and keys are those of the packet
/// builder.
inline SwitchOptions one_slice(unsigned workers, std::uint32_t queue_capacity = 64) {
  SwitchOptions options;
  options.slices = {{.name = "s", .queue_capacity = queue_capacity}};
  options.hold_slots = 16;
  for (unsigned id = 0; id < workers; ++id) {
    options.workers.push_back({.id = {static_cast<std::uint16_t>(id)},
                               .address = packet_table::worker_address(id),
                               .token_key = packet_table::worker_key(id),
                               .epoch = {packet_table::kFirstEpoch}});
  }
  return options;
}

template <typename Program, typename Transport>
struct SwitchUnderTest {
  SwitchUnderTest(const SwitchOptions& options, Transport packets, BootId boot_id = kBootId)
      : storage(dataplane::SoftMemory::storage_bytes(Program::kRegisters, memory_shape(options, 0))),
        memory(Program::kRegisters, memory_shape(options, 0), storage.bytes()),
        program(memory),
        transport(std::move(packets)),
        counters(memory.shape().slices),
        agent(program, memory, transport, counters, boot_id) {
    fill_tables(options, 0, memory);
  }

  std::uint64_t count(SwitchCounter counter) const { return counters.get(counter); }
  std::uint64_t drops(DropReason reason) const { return counters.drops().get(reason); }

  PageBuffer storage;
  dataplane::SoftMemory memory;
  Program program;
  Transport transport;
  SwitchCounters counters;
  SwitchAgent<Program, dataplane::SoftMemory, Transport> agent;
};

/// A built packet as bytes.
inline std::vector<std::byte> bytes_of(const packet_table::Packet& packet) {
  const dataplane::PacketView view = packet.view();
  std::vector<std::byte> bytes(wire::header_size(view.message) + view.message.payload.size());
  wire::encode(view.message, bytes);
  return bytes;
}

}  // namespace rain::softswitch
