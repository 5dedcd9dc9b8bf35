// The agent of one server: once each control interval it reads what the workers wrote to the control block, lets the
// policy decide, and writes quotas back. What it cannot do itself, it asks of a sink.
//
// Pure but for the block: time is an argument, so that a test replays a day in a second.
//
// Its memory is the block. A restarted agent begins with the quotas that it finds there; while none runs, quotas stay as
// they are. A worker whose step counter stands still for `dead_after` is reported and left out of the decisions until it
// steps again. A worker that is drained (quota 0 by an operator) is left out as well.
//
// A move of a worker to another slice is asked of the sink, and the worker counts with its new slice from then on; the
// answer comes later, by on_moved() or on_move_refused(). Without a controller there is nobody to ask: the policy then
// decides on quotas alone, and the first move that it would have made is said once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/control_block.h"
#include "agent/policy.h"
#include "agent/task_window.h"
#include "base/ids.h"
#include "base/time.h"

namespace rain::agent {

/// A worker as configured: its place in the block is its place in the list.
struct AgentWorker {
  WorkerId id{};
  std::uint16_t slice = 0;  ///< index into the server's slices
  unsigned quota = 1;       ///< until the block says otherwise, 1..max_quota
};

struct AgentRuntimeOptions {
  PolicyOptions policy{};
  unsigned slices = 1;
  Nanos dead_after = seconds(1);  ///< longer than any task; 1 ms to 1 h
  bool adapts = true;             ///< false: it reports and obeys, nothing is decided
  bool can_move = false;          ///< somebody answers move(): a controller
  bool traced = false;            ///< the sink wants trace()

  /// Null if all is in range, else what is not and what is allowed.
  const char* problem() const;
};

/// A worker's last interval, for status and controller.
struct AgentReport {
  WorkerId id{};
  std::uint16_t slice = 0;
  bool alive = true;
  bool drained = false;
  unsigned quota = 0;  ///< in force at the worker
  unsigned wanted = 0;
  unsigned held = 0;
  std::uint64_t served = 0;
  double idleness = 0;      ///< 0..1
  double slowdown_p99 = 0;  ///< 0: not known
  std::uint64_t lost_samples = 0;
};

/// What the runtime asks of those around it. Called from within poll().
class AgentSink {
 public:
  virtual ~AgentSink() = default;
  /// The worker shall serve the slice with this index.
  virtual void move(WorkerId worker, std::uint16_t slice) = 0;
  /// This spill threshold suits our workers of the slice. Only when it changes, of slices that they serve.
  virtual void spill(std::uint16_t slice, unsigned threshold) = 0;
  /// An interval is over.
  virtual void report(const std::vector<AgentReport>& workers) = 0;
  /// One line that an operator should see.
  virtual void say(const std::string& line) = 0;
  /// Lines of the decision trace (decision_trace.h).
  virtual void trace(const std::string& lines) = 0;
};

class AgentRuntime {
 public:
  /// The block must be for as many workers.
  AgentRuntime(const AgentRuntimeOptions& options, ControlBlock& block,
               const std::vector<AgentWorker>& workers, Nanos now);

  /// Does nothing before next_due(). A `now` that is earlier than the last one begins the interval anew.
  void poll(Nanos now, AgentSink& sink);
  Nanos next_due() const { return due_; }

  // By an operator or the controller, between polls.
  void set_quota(WorkerId worker, unsigned quota);  ///< 0..kMaxQuota, until the policy changes it; 0: drain
  void on_moved(WorkerId worker, std::uint16_t slice);
  void on_move_refused(WorkerId worker, std::uint16_t slice_it_is_in);
  /// Whether moves are possible from now on.
  void set_can_move(bool can_move) { can_move_ = can_move; }

  const std::vector<AgentReport>& reports() const { return reports_; }

 private:
  struct Worker {
    AgentPort port;
    Wanted wanted{};
    TaskWindow window{};
    ServiceStatistics service{};
    std::uint64_t steps = 0;
    Nanos stepped{};  // when they were last seen to rise
    Nanos idle{};
  };

  Worker* worker(WorkerId id);
  void read_worker(std::size_t index, Nanos now, AgentSink& sink);
  void decide(Nanos now, AgentSink& sink);
  void want_quota(std::size_t index, unsigned quota);
  void take_over(std::size_t index, const AdaptiveWorker& before, const AdaptiveWorker& after,
                 AgentSink& sink);

  AgentRuntimeOptions options_;
  bool can_move_;
  ControlBlock& block_;
  Policy policy_;
  Nanos begun_;
  Nanos due_;
  bool traced_header_ = false;
  bool said_no_moves_ = false;
  std::vector<Worker> workers_;
  std::vector<AgentReport> reports_;
  std::vector<std::optional<unsigned>> spills_;
  // Of those who take part in the coming decision.
  std::vector<std::size_t> indices_;
  std::vector<AdaptiveWorker> before_;
  std::vector<AdaptiveWorker> after_;
};

}  // namespace rain::agent
