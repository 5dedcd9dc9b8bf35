// The agent of one server as a thread: in `rain worker`, or alone in `rain agent`. Around it the control block that it
// shares with the workers, and, in a rack with a controller, the link by which it asks for moves, reports, and hears what
// operators want.
#pragma once

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/agent_runtime.h"
#include "agent/control_block.h"
#include "control/rpc/server_link.h"
#include "tools/rack_file.h"
#include "transport/wake_event.h"

namespace rain::tools {

class ServerAgent final : private agent::AgentSink {
 public:
  /// Opens the control block. Throws InputError when that is not possible.
  ServerAgent(const RackFile& rack, const ServerSection& server);
  ServerAgent(const ServerAgent&) = delete;
  ServerAgent& operator=(const ServerAgent&) = delete;
  ~ServerAgent() override { stop(); }

  /// Whether this process shall run the thread; if not, the block is for one that does.
  static bool runs_in_worker(const RackFile& rack);

  const agent::ControlBlock& block() const { return block_; }
  /// For the link that start() will be given. They may be called before.
  control::ServerLinkHooks hooks();
  /// `link`: null without a controller; else valid until stop().
  void start(control::ServerLink* link);
  /// Quotas stay as they are. To be called before the workers leave, so that nothing gives them tokens again.
  void stop();

 private:
  struct PendingMove {
    SliceId slice;
    Nanos give_up;
  };

  // agent::AgentSink, on the thread
  void move(WorkerId worker, std::uint16_t slice) override;
  void spill(std::uint16_t slice, unsigned threshold) override;
  void report(const std::vector<agent::AgentReport>& workers) override;
  void say(const std::string& line) override;
  void trace(const std::string& lines) override;

  void run();
  void take_orders(Nanos now);
  void obey(const control::WorkerRow& row, const control::WorkerRow* before);
  void give_up_moves(Nanos now, bool all);
  SliceId slice_of(WorkerId worker) const;  ///< as ordered, or as configured

  const ServerSection& server_;
  unsigned quota_;
  agent::AgentRuntimeOptions options_;
  agent::ControlBlock block_;
  std::optional<agent::AgentRuntime> runtime_;  // of the thread
  control::ServerLink* link_ = nullptr;
  std::vector<std::string> slice_names_;  // by id
  std::map<WorkerId, control::WorkerRow> rows_;
  std::map<WorkerId, PendingMove> pending_;
  std::vector<control::WorkerReport> reports_;
  bool said_spill_ = false;
  std::ofstream decisions_;

  std::mutex mutex_;  // of the next two, which the link's thread writes
  std::optional<control::ServerOrders> orders_;
  bool refused_ = false;
  transport::WakeEvent wake_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace rain::tools
