// See server_link.h. The link's thread reads; a second one, for as long as a stream lives, writes reports and requests.
#include "control/rpc/server_link.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "control/rpc/channel.h"
#include "control/rpc/credentials.h"
#include "control/rpc/link_notes.h"
#include "control/rpc/messages.h"
#include "control/table_mirror.h"
#include "rain/v1/control.grpc.pb.h"

namespace rain::control {
namespace {

constexpr std::size_t kMostRequestsWaiting = 256;
constexpr std::uint32_t kHeartbeatsInALease = 6;
constexpr std::uint32_t kShortestHeartbeatMs = 10;

std::chrono::nanoseconds to_chrono(Nanos time) { return std::chrono::nanoseconds(time.value); }

/// A report that changes what the controller does, not only what it shows.
bool is_urgent(const std::vector<WorkerReport>& before, const std::vector<WorkerReport>& now) {
  return !std::equal(before.begin(), before.end(), now.begin(), now.end(),
                     [](const WorkerReport& a, const WorkerReport& b) {
                       return a.id == b.id && a.alive == b.alive && a.drained == b.drained;
                     });
}

class Link final : public ServerLink {
 public:
  Link(const ServerLinkOptions& options, ServerLinkHooks hooks)
      : options_(options),
        hooks_(std::move(hooks)),
        notes_(hooks_.note),
        thread_([this](auto& context, auto& stopping) { return attach(context, stopping); }) {}

  std::optional<ServerOrders> wait_for_orders(Nanos timeout) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, to_chrono(timeout), [this] { return orders_.has_value(); });
    return orders_;
  }

  void report(std::vector<WorkerReport> reports) override {
    {
      const std::lock_guard lock(mutex_);
      const bool urgent = is_urgent(reports_, reports);
      reports_ = std::move(reports);
      if (!urgent) return;
      report_now_ = true;
    }
    changed_.notify_all();
  }

  void request_move(WorkerId worker, const std::string& slice) override {
    {
      const std::lock_guard lock(mutex_);
      if (!attached_ || requests_.size() >= kMostRequestsWaiting) return;
      v1::ServerMessage& message = requests_.emplace_back();
      message.mutable_move()->set_worker(worker.value);
      message.mutable_move()->set_slice(slice);
    }
    changed_.notify_all();
  }

  void request_spill(const std::string& slice, std::uint32_t spill) override {
    const std::lock_guard lock(mutex_);
    if (spills_.size() < kMostRequestsWaiting || spills_.contains(slice)) spills_[slice] = {spill, false};
  }

  bool leave(Nanos timeout) override {
    bool left = false;
    {
      std::unique_lock lock(mutex_);
      if (attached_) {
        leaving_ = true;
        changed_.notify_all();
        left = changed_.wait_for(lock, to_chrono(timeout), [this] { return !attached_; }) && left_;
      }
    }
    thread_.stop();
    return left;
  }

 private:
  struct Spill {
    std::uint32_t threshold = 0;
    bool said = false;  // in this session
  };
  using Stream = grpc::ClientReaderWriter<v1::ServerMessage, v1::ServerOrders>;

  bool attach(grpc::ClientContext& context, const std::atomic<bool>& stopping) {
    // A channel for each attempt: one that has failed would make its own pauses beside ours.
    stub_ = v1::Servers::NewStub(open_channel(options_.controller));
    const auto stream = stub_->Attach(&context);
    v1::ServerMessage message;
    *message.mutable_hello() = to_message(claim());
    bool told = false;
    if (stream->Write(message)) {
      std::thread writer;
      v1::ServerOrders orders;
      while (stream->Read(&orders)) {
        if (!told) {
          notes_.attached();
          begin_session(orders.lease_ms());
          writer = std::thread([this, &stream] { write(*stream); });
        }
        told = true;
        take(orders);
      }
      end_session();
      if (writer.joinable()) writer.join();
    }
    const grpc::Status status = stream->Finish();
    const std::lock_guard lock(mutex_);
    left_ = leaving_ && status.ok();
    attached_ = false;
    changed_.notify_all();
    if (!stopping.load() && !leaving_)
      notes_.lost(problem_text(options_.controller, status), is_unreachable(status));
    return told;
  }

  /// What it is: as at the start, or as the controller last said, for one that has forgotten.
  ServerClaim claim() const {
    ServerClaim claim = options_.server;
    for (WorkerClaim& worker : claim.workers) {
      for (const WorkerRow& row : mirror_.workers()) {
        if (row.id != worker.id) continue;
        worker.has_state = true;
        worker.epoch = row.epoch;
        worker.token_key = row.token_key;
        for (const SliceRow& slice : mirror_.slices()) {
          if (slice.id == row.slice) worker.slice = slice.name;
        }
      }
    }
    return claim;
  }

  void begin_session(std::uint32_t lease_ms) {
    const std::lock_guard lock(mutex_);
    heartbeat_ = milliseconds(std::max(lease_ms / kHeartbeatsInALease, kShortestHeartbeatMs));
    attached_ = true;
    writing_ = true;
    report_now_ = true;
    requests_.clear();
    for (auto& [slice, spill] : spills_) spill.said = false;
  }
  void end_session() {
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
    }
    changed_.notify_all();
  }

  void take(const v1::ServerOrders& message) {
    if (!message.refusal().empty() && hooks_.refused) {
      std::optional<WorkerId> move;
      if (message.has_refused_move()) {
        if (const auto id = worker_id(message.refused_move())) move = *id;
      }
      hooks_.refused(message.refusal(), move);
    }
    if (!message.has_tables()) return;
    const auto changes = from_message(message.tables());
    if (!changes) {
      if (hooks_.refused) hooks_.refused("the controller's tables: " + changes.error().text, std::nullopt);
      return;
    }
    mirror_.take(*changes);
    ServerOrders orders{mirror_.slices(), mirror_.types(), mirror_.workers()};
    {
      const std::lock_guard lock(mutex_);
      orders_ = orders;
    }
    changed_.notify_all();
    if (hooks_.orders) hooks_.orders(orders);
  }

  void write(Stream& stream) {
    std::unique_lock lock(mutex_);
    while (writing_) {
      std::deque<v1::ServerMessage> messages;
      std::swap(messages, requests_);
      for (auto& [slice, spill] : spills_) {
        if (std::exchange(spill.said, true)) continue;
        v1::SpillRequest& request = *messages.emplace_back().mutable_spill();
        request.set_slice(slice);
        request.set_spill(spill.threshold);
      }
      v1::ServerReport& report = *messages.emplace_back().mutable_report();
      for (const WorkerReport& one : reports_) *report.add_workers() = to_message(one);
      report_now_ = false;
      const bool last = leaving_;
      if (last) messages.emplace_back().mutable_leave();
      lock.unlock();
      const bool written = std::all_of(messages.begin(), messages.end(),
                                       [&stream](const v1::ServerMessage& one) { return stream.Write(one); });
      if (last && written) stream.WritesDone();
      lock.lock();
      if (!written || last) return;
      changed_.wait_for(lock, to_chrono(heartbeat_),
                        [this] { return !writing_ || report_now_ || leaving_ || !requests_.empty(); });
    }
  }

  ServerLinkOptions options_;
  ServerLinkHooks hooks_;
  LinkNotes notes_;
  std::unique_ptr<v1::Servers::Stub> stub_;
  TableMirror mirror_;  // the link's thread's

  std::mutex mutex_;
  std::condition_variable changed_;
  Nanos heartbeat_ = milliseconds(500);
  bool attached_ = false;    // the controller has spoken, and the stream has not ended
  bool writing_ = false;     // the writer shall go on
  bool report_now_ = false;  // the next report does not wait for its time
  bool leaving_ = false;
  bool left_ = false;
  std::vector<WorkerReport> reports_;
  std::deque<v1::ServerMessage> requests_;
  std::map<std::string, Spill> spills_;
  std::optional<ServerOrders> orders_;

  LinkThread thread_;  // last: ends first
};

}  // namespace

tl::expected<std::unique_ptr<ServerLink>, std::string> ServerLink::open(const ServerLinkOptions& options,
                                                                        ServerLinkHooks hooks) {
  if (auto problem = security_problem(options.controller, unix_seconds_now()); !problem.empty())
    return tl::unexpected(problem);
  return std::make_unique<Link>(options, std::move(hooks));
}

}  // namespace rain::control
