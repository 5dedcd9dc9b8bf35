// The whole rack in virtual time: client, wires, the switch with a data-plane program, workers.
//
//   client --request--> switch --dispatch--> worker --reply--> client        every leg: host, wire, half a pass
//                          ^---- token, report or PULL ----'
//
// A worker is one core with a FIFO; it runs each task to completion. Its half of the token protocol is
// rpc/token_ledger.h, start-up included (it asks the switch before it issues anything). Nothing is lost in this
// network, so what the protocol promises is asserted here at every packet: no worker ever holds more tasks than its
// quota, no token is refused, no dispatch is stale.
//
// `Program` need not be one of ours: the tests run their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rpc/token_ledger.h"
#include "sim/adaptation.h"
#include "sim/engine.h"
#include "sim/frames.h"
#include "sim/link.h"
#include "sim/measurement.h"
#include "sim/open_loop_client.h"
#include "sim/rack_spec.h"
#include "sim/request_pool.h"
#include "sim/switch_model.h"

namespace rain::sim {

/// How long a run goes on after the last request was sent, to see the others end. Only a run with endless tasks, or a
/// scheduler that starves some, needs it all; what is unfinished then is counted as in flight.
constexpr Nanos drain_time(const RackSpec& spec) { return std::max(spec.duration, seconds(1)); }

/// Requests in flight at most: what fits queues and wires. Each link serialises, so that even an absurd load waits at
/// its sender, not in flight.
std::uint32_t pool_capacity(const RackSpec& spec, WorkerRule rule);

template <typename Program>
class Rack {
 public:
  /// `spec` is valid. `workload` is its workload with its seed.
  Rack(const RackSpec& spec, workload::Workload workload, WorkerRule rule);
  Rack(const Rack&) = delete;
  Rack& operator=(const Rack&) = delete;

  /// Once.
  Result run();

 private:
  enum class Kind : std::uint8_t {
    kRequest,       // a request of the client has reached the switch's registers
    kRecirculated,  // a task is back at the registers
    kFeedback,      // a token or report has reached the registers
    kSync,
    kRecall,  // a SYNC that takes the token back
    kPull,
    kDispatch,  // a task has reached its worker
    kSyncAck,   // as has an answer of the switch
    kNoTask,
    kFetched,     // the worker has the payload of the task at its head
    kServiceEnd,  // the worker's running task is done
    kReply,       // the client has the reply
    kDrop,        // or hears that there will be none
    kControl,     // a control interval is over
    kTables,      // what it changed has reached the switch
    kTimeline,    // an interval of the time line is over
  };
  struct Event {
    Kind kind{};
    std::uint8_t level = 0;  // of a token; kDrop: the reason
    std::uint16_t worker = 0;
    RequestIndex request = kNoRequest;  // of a token or report: its epoch
    Generation generation{};
    std::uint16_t held = 0;      // tasks the worker holds
    std::uint16_t sequence = 0;  // of a SYNC
  };
  static_assert(sizeof(Event) == 16);
  enum Lane : unsigned { kRequests, kReports, kDispatches, kReplies, kRecirculations, kLaneCount };

  struct Worker {
    std::optional<rpc::TokenLedger> ledger;
    RequestIndex first = kNoRequest;  // the running task is the first
    RequestIndex last = kNoRequest;
    unsigned held = 0;
    unsigned limit = 0;  // of what it could come to hold: its quota, or what it was when that fell
    std::uint16_t server = 0;
    std::uint16_t slice = 0;
    Nanos idle_token_sent{};   // of the last token of level 0
    Nanos token_round_trip{};  // of the running task, when it waited for that token
  };
  /// A worker's packets on their way to the switch.
  struct ReportSink {
    Rack& rack;
    void send(const wire::Message& message, const Endpoint&) {
      const Kind question = message.token.recall ? Kind::kRecall : Kind::kSync;
      rack.send_report(message.type == wire::MessageType::kSync ? question : Kind::kFeedback, message.token,
                       message.request_id.value);
    }
  };

  Nanos now() const { return engine_.now(); }
  void start();
  template <unsigned kLane>
  void handle_usual(const Event& event);
  void handle(const Event& event);

  // client
  void send_next_request();
  void reply_at_client(RequestIndex index);
  void drop_at_client(RequestIndex index, DropReason reason);

  // switch
  void request_at_switch(RequestIndex index);
  void task_at_switch(RequestIndex index);
  void report_at_switch(const Event& event);
  void act_on_report(const Event& event, const dataplane::Verdict& verdict);
  void pull_at_switch(const Event& event);
  void send_task(RequestIndex index, const dataplane::Verdict& verdict);
  void recirculate(RequestIndex index, const dataplane::Carried& carried);
  void send_drop(RequestIndex index, DropReason reason);
  void answer_worker(Kind kind, const Event& asked);

  // worker
  void dispatch_at_worker(const Event& event);
  void sync_ack_at_worker(const Event& event);
  void begin_head(WorkerId id);
  void run_head(WorkerId id);
  void service_end(WorkerId id);
  void report_finished(WorkerId id);
  void send_report(Kind kind, const wire::TokenFields& fields, std::uint16_t sequence);
  void send_pull(WorkerId id, Nanos at);

  // agents; rack_agents.h
  void start_agents();
  void control();
  void update_tables();
  void move(WorkerId id, SliceId to);
  void end_timeline_interval();
  void dispatched_to_quota(const Event& event, const Request& request);

  const Calibration wires_;
  const FrameSizes frames_;
  const WorkerRule rule_;
  const unsigned depth_;
  const bool fetches_;  // large payloads stay with the client
  const Nanos drain_time_;
  const Nanos longest_backlog_;  // of the recirculation port
  std::vector<TaskType> types_;  // of the classes

  Engine<Event, kLaneCount> engine_;
  Switch<Program> switch_;
  RequestPool pool_;
  OpenLoopClient client_;
  Measurement measurement_;
  std::vector<Worker> workers_;
  std::optional<Adaptation> adaptation_;
  Nanos timeline_interval_{};
  std::size_t slice_count_ = 1;
  std::vector<wire::SyncAckFields> sync_acks_;  // on their way, by worker and level
  Link from_client_, to_client_, recirculation_;
  std::vector<Link> from_server_, to_server_;
  bool sending_ = true;  // the client has more to send
};

}  // namespace rain::sim

#include "sim/rack_impl.h"  // IWYU pragma: export
// Uses what the former defines.
#include "sim/rack_agents.h"  // IWYU pragma: export
