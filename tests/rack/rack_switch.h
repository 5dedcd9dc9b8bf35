// The switch of a simulated rack: the real agent and program, with a count of the requests that reached it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/page_buffer.h"
#include "dataplane/soft_memory.h"
#include "softswitch/switch_agent.h"
#include "transport/fault.h"
#include "transport/memory.h"

namespace rain::rack {

using Net = transport::FaultTransport<transport::MemoryTransport>;

/// One request of one client, as the test sees it.
struct Record {
  unsigned endings = 0;
  unsigned executions = 0;
  unsigned delivered = 0;  ///< copies that reached the switch
  bool dropped = false;
  DropReason reason = DropReason::kNone;
};

/// A program that counts the tasks it is given, by the number in their payload.
template <typename Inner>
class CountingProgram {
 public:
  static constexpr auto kRegisters = Inner::kRegisters;

  CountingProgram(dataplane::SoftMemory& memory, std::vector<Record>& records)
      : inner_(memory), records_(records) {}

  dataplane::Verdict pass(const dataplane::PacketView& packet, Nanos now) {
    const dataplane::Verdict verdict = inner_.pass(packet, now);
    if (packet.message.type == wire::MessageType::kRequest &&
        verdict.action != dataplane::Action::kRecirculate) {
      std::uint64_t number = 0;
      std::memcpy(&number, packet.message.payload.data(), sizeof(number));
      ++records_.at(number).delivered;
    }
    return verdict;
  }
  void forget_dead_tokens(SliceId slice) { inner_.forget_dead_tokens(slice); }

  /// Tasks that wait in the slice.
  std::uint64_t waiting(SliceId slice) {
    std::int64_t balance = 0;
    if constexpr (requires { inner_.gate(slice); }) {
      balance = inner_.gate(slice).balance;
    } else {
      balance = inner_.balance(slice);
    }
    return balance < 0 ? static_cast<std::uint64_t>(-balance) : 0;
  }

 private:
  Inner inner_;
  std::vector<Record>& records_;
};

/// Id of the program's register with that name.
template <typename Program>
consteval std::uint8_t register_named(std::string_view name) {
  for (const dataplane::RegisterSpec& spec : Program::kRegisters) {
    if (spec.name == name) return spec.id;
  }
  throw "no such register";
}

/// A switch's life; a restart is a new one.
template <typename Program>
struct SwitchLife {
  SwitchLife(const dataplane::MemoryShape& shape, Net net, std::vector<Record>& records, BootId boot)
      : storage(dataplane::SoftMemory::storage_bytes(Program::kRegisters, shape)),
        memory(Program::kRegisters, shape, storage.bytes()),
        program(memory, records),
        transport(std::move(net)),
        counters(shape.slices),
        agent(program, memory, transport, counters, boot) {}

  PageBuffer storage;
  dataplane::SoftMemory memory;
  CountingProgram<Program> program;
  Net transport;
  softswitch::SwitchCounters counters;
  softswitch::SwitchAgent<CountingProgram<Program>, dataplane::SoftMemory, Net> agent;
};

}  // namespace rain::rack
