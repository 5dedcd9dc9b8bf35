// The client's half of an RPC without I/O: requests in, packets and outcomes out, virtual time.
//
// Every accepted request gets exactly one Outcome: the first reply or drop that names its id, or a timeout.
// Whatever comes for an id that is not open (late, foreign, repeated) is counted as unknown_request and
// changes nothing. A request that times out with retries left is sent again under the same id, so an answer
// to any of its copies ends it. A drop is final: the rack said why, and the application knows better than we
// whether to ask again.
//
// How many requests may be open is the business of rpc/admission.h, which hears of every beginning and end.
//
// Nothing is allocated after construction. Outcomes are handed to a callable of the caller, who may submit()
// from inside it: the request is closed before.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <tl/expected.hpp>
#include <vector>

#include "base/drop_counters.h"
#include "base/timer_wheel.h"
#include "rain/rpc.h"
#include "rpc/admission.h"
#include "rpc/request_ids.h"
#include "rpc/sink.h"
#include "wire/message.h"

namespace rain::rpc {

struct ClientCoreOptions {
  Endpoint switch_address{};
  wire::Layout layout = wire::Layout::kPlain;
  std::uint32_t max_outstanding = 4096;       ///< open requests at once, 1..kMaxOutstanding
  std::uint32_t id_count = RequestIds::kAll;  ///< max_outstanding + 1 .. 65536; fewer: for tests
  Nanos timeout = seconds(1);  ///< for calls that name none; a 1024th of it is the timers' tick
  unsigned max_retries = 0;    ///< > 0: payloads are kept, max_outstanding x max_payload_bytes
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  bool back_off = false;  ///< overload drops narrow the admission windows
};

/// For how long anybody waits for a request that names no deadline: its timeouts together, less what an answer needs to
/// come back. With no margin, a rack whose queue is as long as the patience of its clients would begin every task in the
/// last moment and answer it too late.
constexpr Nanos patience(Nanos timeout, unsigned retries) {
  return timeout * (std::int64_t{retries} + 1) - timeout / 16;
}

/// One request.
struct CallSpec {
  TaskType type{};
  Nanos waited{};        ///< for admission until now: counts into latency and deadline
  Nanos deadline{};      ///< from when the caller asked; 0: none
  Nanos timeout{};       ///< of each attempt; 0: the client's
  unsigned retries = 0;  ///< at most max_retries
  wire::Policy policy = wire::Policy::kUnrestricted;
  std::uint64_t cookie = 0;  ///< handed back with the outcome
};

enum class Ending : std::uint8_t { kReply, kDropped, kTimedOut };

/// How an accepted request ended. `payload` lies in the received packet.
struct Outcome {
  Ending ending = Ending::kTimedOut;
  DropReason reason = DropReason::kNone;  ///< kDropped
  RequestId id{};
  TaskType type{};
  std::uint64_t cookie = 0;
  unsigned attempts = 0;  ///< how often it was sent
  Nanos latency{};        ///< from when the caller asked
  LatencyParts parts{};   ///< kReply
  Payload payload{};      ///< kReply
};

class ClientCore {
 public:
  static constexpr std::uint32_t kMaxOutstanding = 32768;

  explicit ClientCore(const ClientCoreOptions& options, Nanos now = {});

  /// Errors, with which nothing is sent and no outcome follows: kBackpressure (admission().last_refusal() says which
  /// limit), kTooLarge, kBadOption (more retries than max_retries).
  template <Sink S>
  tl::expected<RequestId, ErrorKind> submit(Payload payload, const CallSpec& call, Nanos now, S& sink);

  /// Whether submit() would find room for a request of this type.
  bool has_room(TaskType type, Nanos now) {
    return admission_.limit(type) == Limit::kNone && ids_.any_free(now);
  }
  /// True once after kBackpressure, when there is room for a request that was refused.
  bool room_again(Nanos now) {
    return admission_.room_wanted() && ids_.any_free(now) && admission_.room_again();
  }
  void set_share(std::uint32_t share) { admission_.set_share(share); }
  const AdmissionControl& admission() const { return admission_; }

  /// A decoded packet. `on_outcome(const Outcome&)` is called at most once.
  template <typename OnOutcome>
  void on_message(const wire::Message& message, Nanos arrival, OnOutcome&& on_outcome);

  /// A packet that did not decode.
  void on_malformed(DropReason reason) { drops_.add(reason); }

  /// Sends again or gives up what has waited too long. Returns how many timers fired.
  template <Sink S, typename OnOutcome>
  std::size_t poll(Nanos now, S& sink, OnOutcome&& on_outcome);

  /// When poll() has something to do next, at the earliest; Nanos::max() if nothing is open.
  Nanos next_due() const { return timers_.next_wakeup(); }

  /// Ends all open requests with kTimedOut.
  template <typename OnOutcome>
  void abandon_all(Nanos now, OnOutcome&& on_outcome);

  std::uint32_t outstanding() const { return admission_.open(); }
  const ClientCoreOptions& options() const { return options_; }
  const DropCounters& drops() const { return drops_; }
  std::uint64_t resent() const { return resent_; }

 private:
  using Slot = RequestIds::Slot;

  struct Request {
    Nanos submitted{};
    Nanos deadline{};
    Nanos timeout{};
    std::uint64_t cookie = 0;
    RequestId id{};
    TaskType type{};
    std::uint16_t payload_bytes = 0;
    wire::Policy policy = wire::Policy::kUnrestricted;
    std::uint8_t retries_left = 0;
    std::uint8_t attempts = 0;  // 0: the slot is free
    AdmissionControl::Round round = 0;
  };

  std::span<std::byte> stored_payload(Slot slot) {
    return {payloads_.get() + slot * options_.max_payload_bytes, options_.max_payload_bytes};
  }
  template <Sink S>
  void send(const Request& request, Payload payload, Nanos now, S& sink) const;
  template <Sink S>
  bool send_again(Slot slot, Nanos now, S& sink);
  tl::unexpected<ErrorKind> refuse(TaskType type, Limit limit) {
    admission_.refused(type, limit);
    return tl::unexpected(ErrorKind::kBackpressure);
  }
  Outcome close(Slot slot, Nanos now, bool answered, WindowEnd end);

  ClientCoreOptions options_;
  RequestIds ids_;
  std::vector<Request> requests_;
  std::vector<Slot> free_slots_;  // a stack: the slot used last is warm
  std::unique_ptr<std::byte[]> payloads_;
  AdmissionControl admission_;
  TimerWheel timers_;  // a timer per slot
  DropCounters drops_;
  std::uint64_t resent_ = 0;
};

namespace detail {

inline TimerWheelOptions timeout_wheel(const ClientCoreOptions& options) {
  const Nanos tick = std::clamp(options.timeout / 1024, microseconds(1), milliseconds(1));
  return {.capacity = options.max_outstanding, .granularity = tick, .horizon = tick * 2047};
}

/// A deadline as the wire carries it: rounded up, so that what is left of it is never taken for "none".
inline std::uint32_t deadline_us(Nanos left) {
  const std::int64_t us = (left.value + 999) / 1000;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(us, 1, UINT32_MAX));
}

}  // namespace detail

inline ClientCore::ClientCore(const ClientCoreOptions& options, Nanos now)
    : options_(options),
      ids_(options.id_count),
      requests_(options.max_outstanding),
      admission_(options.max_outstanding, options.back_off),
      timers_(detail::timeout_wheel(options), now) {
  RAIN_ASSERT(options.max_outstanding >= 1 && options.max_outstanding <= kMaxOutstanding);
  RAIN_ASSERT(options.id_count > options.max_outstanding);
  RAIN_ASSERT(options.timeout > Nanos{} && options.max_retries < UINT8_MAX);
  RAIN_ASSERT(options.max_payload_bytes <= wire::kMaxPayloadBytes);
  free_slots_.reserve(options.max_outstanding);
  for (std::uint32_t slot = options.max_outstanding; slot > 0; --slot) {
    free_slots_.push_back(static_cast<Slot>(slot - 1));
  }
  if (options.max_retries > 0) {
    payloads_ =
        std::make_unique_for_overwrite<std::byte[]>(options.max_outstanding * options.max_payload_bytes);
  }
}

template <Sink S>
tl::expected<RequestId, ErrorKind> ClientCore::submit(Payload payload, const CallSpec& call, Nanos now,
                                                      S& sink) {
  if (payload.size() > options_.max_payload_bytes) return tl::unexpected(ErrorKind::kTooLarge);
  if (call.retries > options_.max_retries) return tl::unexpected(ErrorKind::kBadOption);
  if (const Limit limit = admission_.limit(call.type); limit != Limit::kNone) return refuse(call.type, limit);
  const Slot slot = free_slots_.back();
  const std::optional<RequestId> id = ids_.take(slot, now);
  if (!id) return refuse(call.type, Limit::kMaxOutstanding);
  free_slots_.pop_back();

  Request& request = requests_[slot];
  request = {.submitted = now - call.waited,
             .deadline = call.deadline,
             .timeout = call.timeout > Nanos{} ? call.timeout : options_.timeout,
             .cookie = call.cookie,
             .id = *id,
             .type = call.type,
             .payload_bytes = static_cast<std::uint16_t>(payload.size()),
             .policy = call.policy,
             .retries_left = static_cast<std::uint8_t>(call.retries),
             .attempts = 1,
             .round = admission_.opened(call.type)};
  if (call.retries > 0 && !payload.empty()) {
    std::memcpy(stored_payload(slot).data(), payload.data(), payload.size());
  }
  timers_.schedule(slot, now + request.timeout);
  send(request, payload, now, sink);
  return *id;
}

template <Sink S>
void ClientCore::send(const Request& request, Payload payload, Nanos now, S& sink) const {
  wire::Message message;
  message.layout = options_.layout;
  message.type = wire::MessageType::kRequest;
  message.policy = request.policy;
  message.first = message.last = true;
  message.request_id = request.id;
  message.packet = 1;
  message.has_extension = true;
  message.request.task_type = request.type;
  if (request.deadline > Nanos{}) {
    message.request.deadline_us = detail::deadline_us(request.submitted + request.deadline - now);
  }
  message.payload = payload;
  sink.send(message, options_.switch_address);
}

template <typename OnOutcome>
void ClientCore::on_message(const wire::Message& message, Nanos arrival, OnOutcome&& on_outcome) {
  const bool reply = message.type == wire::MessageType::kReply;
  if (!reply && message.type != wire::MessageType::kDrop) return drops_.add(DropReason::kUnexpectedMessage);
  const Slot slot = ids_.find(message.request_id);
  if (slot == RequestIds::kNoSlot) {
    ids_.answered_late(message.request_id);
    return drops_.add(DropReason::kUnknownRequest);
  }
  Outcome outcome =
      close(slot, arrival, true, reply ? WindowEnd::kServed : window_end_of(message.drop.reason));
  if (reply && message.first && message.packet == 1) {
    outcome.ending = Ending::kReply;
    outcome.payload = message.payload;
    outcome.parts = {.in_switch = {message.reply.switch_delay_ns},
                     .in_worker = {message.reply.worker_delay_ns},
                     .service = {message.reply.service_ns},
                     .worker = message.reply.worker,
                     .queue_length = message.reply.queue_length};
  } else {
    outcome.ending = Ending::kDropped;
    outcome.reason = reply ? DropReason::kMultiPacketUnsupported : message.drop.reason;
    drops_.add(outcome.reason);
  }
  on_outcome(static_cast<const Outcome&>(outcome));
}

template <Sink S, typename OnOutcome>
std::size_t ClientCore::poll(Nanos now, S& sink, OnOutcome&& on_outcome) {
  return timers_.advance(now, [&](TimerWheel::Id timer) {
    const Slot slot = static_cast<Slot>(timer);
    if (send_again(slot, now, sink)) return;
    const Outcome outcome = close(slot, now, false, WindowEnd::kOther);
    on_outcome(outcome);
  });
}

template <Sink S>
bool ClientCore::send_again(Slot slot, Nanos now, S& sink) {
  Request& request = requests_[slot];
  if (request.retries_left == 0) return false;
  if (request.deadline > Nanos{} && now - request.submitted >= request.deadline)
    return false;  // nobody would start it
  --request.retries_left;
  ++request.attempts;
  ++resent_;
  timers_.schedule(slot, now + request.timeout);
  send(request, stored_payload(slot).first(request.payload_bytes), now, sink);
  return true;
}

/// Frees the slot and lets the id rest if an answer to one of its copies may still come.
inline Outcome ClientCore::close(Slot slot, Nanos now, bool answered, WindowEnd end) {
  Request& request = requests_[slot];
  RAIN_ASSERT(request.attempts > 0);
  timers_.cancel(slot);
  const unsigned answers_due = request.attempts - (answered ? 1u : 0u);
  if (answers_due == 0) {
    ids_.release(request.id);
  } else {
    ids_.release_after(request.id, answers_due, now + request.timeout * 2);
  }
  const Outcome outcome{.id = request.id,
                        .type = request.type,
                        .cookie = request.cookie,
                        .attempts = request.attempts,
                        .latency = std::max(now - request.submitted, Nanos{})};
  request.attempts = 0;
  admission_.ended(request.type, request.round, end);
  free_slots_.push_back(slot);
  return outcome;
}

template <typename OnOutcome>
void ClientCore::abandon_all(Nanos now, OnOutcome&& on_outcome) {
  for (std::uint32_t slot = 0; slot < requests_.size(); ++slot) {
    if (requests_[slot].attempts == 0) continue;
    const Outcome outcome = close(static_cast<Slot>(slot), now, false, WindowEnd::kOther);
    on_outcome(outcome);
  }
}

}  // namespace rain::rpc
