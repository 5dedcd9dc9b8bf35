// Connects a public Worker with an agent that runs in the same program.
#pragma once

#include "agent/control_block.h"
#include "rain/worker.h"

namespace rain::worker {

struct Attach {
  /// Before run(). The block of the port outlives the worker.
  static void to(Worker& worker, const agent::WorkerPort& port);
};

}  // namespace rain::worker
