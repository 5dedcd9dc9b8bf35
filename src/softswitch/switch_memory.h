// What a switch takes of the machine's memory. All of it is taken and touched before the first packet, so that a switch
// that is too large is better refused than started.
#pragma once

#include <cstdint>
#include <string>

#include "softswitch/switch_options.h"

namespace rain::softswitch {

/// Of all threads: registers, tables, tasks, held payloads, histograms. Not of the kernel's socket buffers. Of validated
/// options.
std::uint64_t memory_bytes(const SwitchOptions& options);

/// "" or one line: the switch would take more than the machine has.
std::string memory_problem(const SwitchOptions& options, std::uint64_t machine_bytes);

/// What the machine has, whoever uses it.
std::uint64_t machine_memory_bytes();

/// "61 MiB", "3.4 GiB".
std::string memory_text(std::uint64_t bytes);

}  // namespace rain::softswitch
