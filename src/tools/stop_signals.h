// SIGINT and SIGTERM as something to wait for: the threads of a command end because they are told to, not struck down.
#pragma once

#include "base/time.h"

namespace rain::tools {

/// Keeps both signals pending for whoever waits, in this thread and in those it starts from now on.
void block_stop_signals();
/// Waits until one of them comes; at most `timeout`. True: one came. Only after block_stop_signals().
bool wait_for_stop_signal(Nanos timeout = Nanos::max());
/// True when one is pending; it stays so.
bool stop_signal_pending();

}  // namespace rain::tools
