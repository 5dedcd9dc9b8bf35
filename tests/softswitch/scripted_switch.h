// A switch whose program does what the test says, so that each verdict is seen by itself.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

#include "softswitch/recording_transport.h"
#include "softswitch/switch_fixture.h"

namespace rain::softswitch {

/// Gives the verdict of a function.
class ScriptedProgram {
 public:
  static constexpr std::array<dataplane::RegisterSpec, 0> kRegisters{};
  explicit ScriptedProgram(dataplane::SoftMemory&) {}
  dataplane::Verdict pass(const dataplane::PacketView& packet, Nanos now) { return script(packet, now); }

  void forget_dead_tokens(SliceId slice) { forgotten.push_back(slice); }

  std::vector<SliceId> forgotten;
  std::function<dataplane::Verdict(const dataplane::PacketView&, Nanos)> script =
      [](const dataplane::PacketView&, Nanos) {
        ADD_FAILURE() << "the program was not to be asked";
        return dataplane::Verdict{};
      };
};

struct ScriptedSwitch : SwitchUnderTest<ScriptedProgram, RecordingTransport> {
  explicit ScriptedSwitch(unsigned workers = 2) : SwitchUnderTest(one_slice(workers), RecordingTransport{}) {}

  void verdict(const dataplane::Verdict& verdict) {
    program.script = [verdict](const dataplane::PacketView&, Nanos) { return verdict; };
  }
  void put(const packet_table::Packet& packet) { transport.put(bytes_of(packet), packet.view().source); }
  std::vector<RecordingTransport::Sent> poll(Nanos now = Nanos{1000}) {
    agent.poll(now);
    return transport.take_sent();
  }
  std::vector<RecordingTransport::Sent> poll(const packet_table::Packet& packet, Nanos now = Nanos{1000}) {
    put(packet);
    return poll(now);
  }
};

}  // namespace rain::softswitch
