// The runner of packet tables that holds the program itself: a Memory, a program, and of the rim no more than
// it takes to see what would be sent.
#pragma once

#include <memory>

#include "dataplane/packet_table.h"

namespace rain::packet_table {

/// Tables of `rack` installed, nothing filed, nothing waiting.
std::unique_ptr<Runner> make_program_runner(dataplane::ProgramId program, unsigned levels, const Rack& rack);

}  // namespace rain::packet_table
