// The agent of one server as a thread: in `rain worker`, or alone in `rain agent`. Around it the control block that it
// shares with the workers, and, in a rack with a controller, the link by which it asks for moves, reports, and hears what
// operators want.
#pragma once

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/agent_runtime.h"
#include "agent/control_block.h"
#include "control/rpc/server_link.h"
#include "tools/pending_moves.h"
#include "tools/rack_file.h"
#include "transport/wake_event.h"

namespace rain::tools {

class ServerAgent final : private agent::AgentSink {
 public:
  enum class Process { kWorker, kAgent };  ///< `rain worker`, `rain agent`

  /// Opens the control block, and claims what the process writes of it. Throws InputError when that is not possible.
  ServerAgent(const RackFile& rack, const ServerSection& server, Process process);
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
  // agent::AgentSink, on the thread
  void move(WorkerId worker, std::uint16_t slice) override;
  void spill(std::uint16_t slice, unsigned threshold) override;
  void report(const std::vector<agent::AgentReport>& workers) override;
  void say(const std::string& line) override;
  void trace(const std::string& lines) override;

  void run();
  void take_orders(Nanos now);
  void obey(const control::WorkerRow& row, const control::WorkerRow* before);
  SliceId slice_of(WorkerId worker) const;  ///< as ordered, or as configured
  bool is_master(WorkerId worker) const;

  const ServerSection& server_;
  unsigned quota_;
  agent::AgentRuntimeOptions options_;
  agent::ControlBlock block_;
  std::optional<agent::AgentRuntime> runtime_;  // of the thread
  control::ServerLink* link_ = nullptr;
  std::vector<std::string> slice_names_;  // by id
  std::map<WorkerId, control::WorkerRow> rows_;
  std::map<SliceId, WorkerId> masters_;
  PendingMoves pending_;
  std::vector<control::WorkerReport> reports_;
  bool said_spill_ = false;
  std::ofstream decisions_;

  std::mutex mutex_;  // of the next two, which the link's thread writes
  std::optional<control::ServerOrders> orders_;
  std::set<WorkerId> refused_;  // moves
  transport::WakeEvent wake_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// An agent's thread for as long as this lives, however the scope is left: it may not outlive the link that it speaks
/// through. Without an agent it does nothing.
class AgentRun {
 public:
  AgentRun(ServerAgent* agent, control::ServerLink* link) : agent_(agent) {
    if (agent_ != nullptr) agent_->start(link);
  }
  AgentRun(const AgentRun&) = delete;
  AgentRun& operator=(const AgentRun&) = delete;
  ~AgentRun() {
    if (agent_ != nullptr) agent_->stop();
  }

 private:
  ServerAgent* agent_;
};

}  // namespace rain::tools
