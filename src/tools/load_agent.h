// The open-loop load generator as an agent on a transport: one connection's share of a load.
//
// Open loop: when a request is sent depends on the schedule alone, never on replies. A request that leaves late, because
// this machine was busy, keeps its intended send time, and its latency counts from there; how late it left is recorded
// too (send lag), so that nobody takes the generator's slowness for the rack's. Requests of the warm-up are sent alike
// and counted apart.
//
// A request for which the client has no room ends at once, under the name of the limit that it met, or waits for room if
// the agent was told so: then those behind it wait too, as they would behind a thread that is blocked, and what each
// waited is part of its latency. A request that finds no room within its timeout ends unsent. The schedule goes on in
// either case: the load stays open loop.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "apps/app.h"
#include "base/prng.h"
#include "client/client_agent.h"
#include "tools/load_results.h"
#include "workload/workload.h"

namespace rain::tools {

/// When a load starts and which part of it is measured.
struct LoadWindow {
  Nanos start{};  ///< of the schedule
  Nanos warmup{};
  Nanos duration{};

  Nanos measured_from() const { return start + warmup; }
  Nanos end() const { return start + warmup + duration; }
};

/// Requests sent by one step at most, so that replies are not kept waiting by a backlog.
inline constexpr unsigned kSendsPerStep = 64;
/// A generator that is later than this after the end of its schedule, or after the last request that waited for room,
/// gives up on the rest: it could go on for hours.
inline constexpr Nanos kOverloadGrace = seconds(1);
/// Requests given up by one step at most.
inline constexpr unsigned kGivenUpPerStep = 4096;

template <transport::Transport T>
class LoadAgent {
 public:
  /// `app` must outlive the agent.
  LoadAgent(T transport, const rpc::ClientCoreOptions& options, const LoadWindow& window,
            workload::Workload load, const apps::App& app, apps::RequestBuilder builder, Nanos now)
      : client_(std::move(transport), options, now),
        window_(window),
        timeout_(options.timeout),
        load_(std::move(load)),
        app_(app),
        build_(std::move(builder)),
        results_(load_.spec().classes.size()) {
    pending_.resize(options.max_outstanding);
    free_.reserve(options.max_outstanding);
    for (std::uint32_t i = options.max_outstanding; i > 0; --i) free_.push_back(i - 1);
    next_ = load_.next();
  }
  LoadAgent(const LoadAgent&) = delete;
  LoadAgent& operator=(const LoadAgent&) = delete;

  /// Moves the window, before the first poll().
  void start_at(Nanos start) { window_.start = start; }

  /// How long the next request has been due while the share alone kept it back; 0: it is not so.
  Nanos held_back_by_share(Nanos now) const {
    if (!blocked_ || client_.core().admission().limit(next_type()) != rpc::Limit::kShare) return {};
    return std::max(now - next_send(), Nanos{1});
  }

  /// Requests wait for room instead of ending without. Before the first poll(), as start_at().
  void wait_for_room() { wait_for_room_ = true; }
  /// This part of the requests is marked STICKY; `seed` draws which. Before the first poll(), as start_at().
  void send_sticky(double part, std::uint64_t seed) {
    sticky_ = part;
    sticky_draws_ = Prng(seed, kStickyStream);
    next_is_sticky_ = sticky_draws_.chance(part);
  }
  void set_share(std::uint32_t share) { client_.core().set_share(share); }

  /// One step: sends what is due, takes what has come. Returns the work done.
  std::size_t poll(Nanos now) {
    const bool too_late = now > std::max(window_.end(), room_since_) + kOverloadGrace;
    std::size_t work = too_late && !blocked_ ? give_up() : 0;
    while (work < kSendsPerStep && next_send() <= now && next_send() < window_.end()) {
      if (!take_turn(now)) break;
      advance();
      ++work;
    }
    return work + client_.poll(now, [this](const rpc::Outcome& outcome) { take(outcome); });
  }

  /// When poll() has something to do without a packet.
  Nanos next_due() const {
    const Nanos next = blocked_ ? next_send() + timeout_ : next_send();
    return std::min(sending() ? next : Nanos::max(), client_.next_due());
  }

  /// Sends nothing more that is due after `now`; the window ends here.
  void stop(Nanos now) {
    const Nanos length = std::max(now - window_.start, Nanos{});
    window_.warmup = std::min(window_.warmup, length);
    window_.duration = std::min(window_.duration, length - window_.warmup);
  }

  /// All is sent and every request has its outcome.
  bool finished() const { return !sending() && client_.core().outstanding() == 0; }
  const LoadWindow& window() const { return window_; }
  const LoadResults& results() const { return results_; }
  std::uint32_t outstanding() const { return client_.core().outstanding(); }
  const rpc::AdmissionControl& admission() const { return client_.core().admission(); }
  T& transport() { return client_.transport(); }

 private:
  // Of the seed; the streams of the workload and of calibration are below
  static constexpr std::uint64_t kStickyStream = 64;

  struct Pending {
    Nanos intended{};
    Nanos lag{};  // and what it waited for admission
    std::uint16_t class_index = 0;
    bool measured = false;
  };

  Nanos next_send() const { return window_.start + next_.at; }
  bool sending() const { return next_send() < window_.end(); }

  void advance() {
    next_ = load_.next();
    next_is_sticky_ = sticky_ > 0 && sticky_draws_.chance(sticky_);
  }
  bool next_is_measured() const { return next_send() >= window_.measured_from(); }
  OutcomeCounts& counts_of(bool measured) { return measured ? results_.measured : results_.warmup; }

  std::size_t give_up() {
    std::size_t given_up = 0;
    for (; sending() && given_up < kGivenUpPerStep; ++given_up) {
      OutcomeCounts& counts = counts_of(next_is_measured());
      ++counts.sent;
      ++counts.given_up;
      advance();
    }
    return given_up;
  }

  TaskType next_type() const { return *load_.spec().classes[next_.class_index].type; }

  /// The next request's turn: it is sent or ends. False: it waits for room.
  bool take_turn(Nanos now) {
    OutcomeCounts& counts = counts_of(next_is_measured());
    if (!blocked_) {
      ++counts.sent;
      // While others waited for room it could not be sent: that is not the generator's lag.
      lag_ = now - std::max(next_send(), room_since_);
      if (next_is_measured()) results_.send_lag.record(lag_);
    }
    if (wait_for_room_ && !client_.core().has_room(next_type(), now)) {
      blocked_ = now - next_send() < timeout_;
      if (blocked_) return false;
      ++counts.waited_out;
      room_since_ = now;
      return true;
    }
    if (blocked_) room_since_ = now;
    blocked_ = false;
    send(now, counts);
    return true;
  }

  void send(Nanos now, OutcomeCounts& counts) {
    const TaskType type = next_type();
    if (const rpc::Limit limit = client_.core().admission().limit(type); limit != rpc::Limit::kNone) {
      ++counts.not_admitted[static_cast<std::size_t>(limit)];
      return;
    }
    const std::uint32_t slot = free_.back();
    const Payload payload = build_(next_, buffer_);
    // Nobody waits longer than the timeout, so no worker shall begin the task later.
    const rpc::CallSpec call{.type = type,
                             .deadline = rpc::patience(timeout_, 0),
                             .policy = next_is_sticky_ ? wire::Policy::kSticky : wire::Policy::kUnrestricted,
                             .cookie = slot};
    if (!client_.submit(payload, call, now)) {
      // No free request id: too many of those that timed out rest.
      ++counts.not_admitted[static_cast<std::size_t>(rpc::Limit::kMaxOutstanding)];
      return;
    }
    free_.pop_back();
    const Nanos late = now - next_send();
    const bool measured = next_is_measured();
    if (measured && wait_for_room_) results_.admission.record(late - lag_);
    pending_[slot] = {
        .intended = next_send(), .lag = late, .class_index = next_.class_index, .measured = measured};
  }

  void take(const rpc::Outcome& outcome) {
    const Pending& pending = pending_[outcome.cookie];
    free_.push_back(static_cast<std::uint32_t>(outcome.cookie));
    OutcomeCounts& counts = counts_of(pending.measured);
    if (outcome.ending == rpc::Ending::kTimedOut) {
      ++counts.timed_out;
      return;
    }
    if (outcome.ending == rpc::Ending::kDropped) {
      ++counts.dropped[static_cast<std::size_t>(outcome.reason)];
      return;
    }
    ++counts.completed;
    const Nanos arrival = pending.intended + pending.lag + outcome.latency;
    if (arrival >= window_.measured_from() && arrival < window_.end()) ++results_.completed_in_window;
    if (std::string error = app_.reply_error(outcome.payload); !error.empty()) {
      if (results_.application_errors++ == 0) results_.first_application_error = std::move(error);
    }
    if (pending.measured) {
      results_.record(pending.class_index, pending.lag, outcome.latency, outcome.parts);
    }
  }

  client::ClientAgent<T> client_;
  LoadWindow window_;
  Nanos timeout_;
  workload::Workload load_;
  const apps::App& app_;
  apps::RequestBuilder build_;
  LoadResults results_;
  workload::Request next_;
  double sticky_ = 0;
  Prng sticky_draws_{0};
  bool next_is_sticky_ = false;
  bool wait_for_room_ = false;
  bool blocked_ = false;  // the next request has had its turn and waits for room
  Nanos lag_{};           // how late the generator was for the next request's turn
  Nanos room_since_{};    // when the last request that waited for room stopped to
  std::vector<Pending> pending_;
  std::vector<std::uint32_t> free_;
  std::array<std::byte, kMaxMessageBytes> buffer_{};
};

}  // namespace rain::tools
