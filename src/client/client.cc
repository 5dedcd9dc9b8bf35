// The public client: a ClientAgent on a UDP socket, its options checked, its outcomes handed to callbacks.
#include "rain/client.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "client/client_agent.h"
#include "rpc/option_check.h"
#include "transport/udp.h"

namespace rain {

namespace {

constexpr unsigned kMaxRetries = 16;
constexpr Nanos kMaxTimeout = seconds(3600);
/// Replies to all open requests may come at once. The kernel grants what the system's limit allows.
constexpr std::size_t kReceiveBufferBytes = std::size_t{4} << 20;
/// How long a sleep may hide a new share from who waits for room.
constexpr Nanos kShareInterval = milliseconds(20);

tl::unexpected<Error> fail(ErrorKind kind, std::string detail = {}) {
  return tl::unexpected(Error{.kind = kind, .detail = std::move(detail)});
}

tl::unexpected<Error> closed() { return fail(ErrorKind::kNetwork, "the client is closed"); }

Expected<void> check(const ClientOptions& options) {
  auto checked =
      rpc::check_range("max_outstanding", options.max_outstanding, 1, rpc::ClientCore::kMaxOutstanding);
  if (checked) checked = rpc::check_range("timeout", options.timeout, microseconds(1), kMaxTimeout);
  if (checked) checked = rpc::check_range("retries", options.retries, 0, kMaxRetries);
  if (checked && options.on_room && options.admission != Admission::kCallback) {
    return fail(ErrorKind::kBadOption, "on_room is set; allowed: only with admission kCallback");
  }
  if (checked && !options.on_room && options.admission == Admission::kCallback) {
    return fail(ErrorKind::kBadOption, "on_room is empty; allowed with admission kCallback: a function");
  }
  return checked;
}

/// Any port of any address of the switch's family.
Endpoint any_address(const Endpoint& switch_address) {
  return switch_address.is_v4() ? Endpoint::v4(0, 0, 0, 0, 0) : Endpoint{};
}

Client::Result to_result(const rpc::Outcome& outcome) {
  switch (outcome.ending) {
    case rpc::Ending::kReply:
      return Reply{.payload = outcome.payload, .parts = outcome.parts, .latency = outcome.latency};
    case rpc::Ending::kDropped:
      return tl::unexpected(Error{.kind = ErrorKind::kDropped, .reason = outcome.reason});
    case rpc::Ending::kTimedOut:
      break;
  }
  return fail(ErrorKind::kTimedOut);
}

}  // namespace

struct Client::Impl {
  Impl(transport::UdpTransport socket, const ClientOptions& client_options, const Endpoint& switch_address)
      : options(client_options),
        agent(std::in_place, std::move(socket), core_options(client_options, switch_address),
              monotonic_now()),
        callbacks(client_options.max_outstanding) {
    free_callbacks.reserve(callbacks.size());
    for (std::size_t i = callbacks.size(); i > 0; --i)
      free_callbacks.push_back(static_cast<std::uint32_t>(i - 1));
  }

  static rpc::ClientCoreOptions core_options(const ClientOptions& options, const Endpoint& switch_address) {
    return {.switch_address = switch_address,
            .max_outstanding = static_cast<std::uint32_t>(options.max_outstanding),
            .timeout = options.timeout,
            .max_retries = kMaxRetries,
            .back_off = options.back_off};
  }

  /// For usage(), which other threads ask.
  void show_usage() {
    const rpc::AdmissionControl& counts = agent->core().admission();
    shown_open.store(counts.open(), std::memory_order_relaxed);
    shown_refused.store(counts.refusals(rpc::Limit::kShare), std::memory_order_relaxed);
  }

  void take_share() {
    const std::size_t wanted = share.load(std::memory_order_relaxed);
    agent->core().set_share(static_cast<std::uint32_t>(std::min<std::size_t>(wanted, UINT32_MAX)));
  }

  Expected<void> submit(Payload payload, const CallOptions& call, Callback&& callback) {
    if (!agent || closing) return closed();
    if (payload.size() > kMaxMessageBytes) {
      return fail(ErrorKind::kTooLarge, "payload of " + std::to_string(payload.size()) +
                                            " bytes; allowed: 0.." + std::to_string(kMaxMessageBytes));
    }
    rpc::CallSpec spec{.type = call.type,
                       .deadline = call.deadline,
                       .timeout = call.timeout == Nanos{} ? options.timeout : call.timeout,
                       .retries = call.retries.value_or(options.retries),
                       .policy = call.sticky ? wire::Policy::kSticky : wire::Policy::kUnrestricted};
    auto checked = rpc::check_range("timeout", spec.timeout, microseconds(1), kMaxTimeout);
    if (checked) checked = rpc::check_range("deadline", spec.deadline, Nanos{}, kMaxTimeout);
    if (checked) checked = rpc::check_range("retries", spec.retries, 0, kMaxRetries);
    if (!checked) return checked;
    if (spec.deadline == Nanos{}) {  // nobody waits for it any longer
      spec.deadline = std::min(rpc::patience(spec.timeout, spec.retries), kMaxTimeout);
    }
    Nanos now = monotonic_now();
    if (try_submit(payload, spec, now, callback)) return {};
    if (options.admission != Admission::kWait || hearing) return fail(ErrorKind::kBackpressure);

    const Nanos asked = now;
    const bool named = call.deadline != Nanos{};
    const Nanos limit = asked + (named ? std::min(call.deadline, spec.timeout) : spec.timeout);
    while (!agent->core().has_room(spec.type, now)) {
      if (now >= limit) return fail(ErrorKind::kBackpressure);
      if (poll() == 0 && !options.busy_poll) sleep(limit, true);
      now = monotonic_now();
    }
    spec.waited = now - asked;
    if (!named) spec.deadline = std::min(spec.deadline + spec.waited, kMaxTimeout);
    if (!try_submit(payload, spec, now, callback)) return fail(ErrorKind::kBackpressure);
    return {};
  }

  /// False: there is no room.
  bool try_submit(Payload payload, rpc::CallSpec& spec, Nanos now, Callback& callback) {
    take_share();
    const bool accepted = enter_request(payload, spec, now, callback);
    show_usage();
    return accepted;
  }

  bool enter_request(Payload payload, rpc::CallSpec& spec, Nanos now, Callback& callback) {
    // There is a callback's place for each request that the core admits.
    spec.cookie = free_callbacks.empty() ? 0 : free_callbacks.back();
    const auto accepted = agent->submit(payload, spec, now);
    if (!accepted) {
      RAIN_ASSERT(accepted.error() == ErrorKind::kBackpressure);  // all else was checked
      return false;
    }
    callbacks[spec.cookie] = std::move(callback);
    free_callbacks.pop_back();
    return true;
  }

  /// Callbacks must not throw: what is left of the batch would be lost.
  void hear(const rpc::Outcome& outcome) noexcept {
    const auto slot = static_cast<std::uint32_t>(outcome.cookie);
    const Callback callback = std::move(callbacks[slot]);
    callbacks[slot] = nullptr;
    free_callbacks.push_back(slot);
    if (callback) callback(to_result(outcome));
  }

  std::size_t poll() {
    if (!agent) return 0;
    enter();
    take_share();
    const Nanos now = monotonic_now();
    const std::size_t work = agent->poll(now, [this](const rpc::Outcome& outcome) { hear(outcome); });
    const bool room = options.on_room && agent->core().room_again(now);
    if (room) {
      options.on_room();
      agent->flush(now);
    }
    hearing = false;
    show_usage();
    return work + (room ? 1 : 0);
  }

  /// Sleeps at most until `until`, a timer is due or a packet arrives; who waits for room also looks for a new share.
  void sleep(Nanos until, bool for_room) {
    const Nanos now = monotonic_now();
    until = std::min(until, agent->next_due());
    if (for_room) until = std::min(until, now + kShareInterval);
    if (until > now) agent->transport().wait(until - now);
  }

  std::size_t wait(Nanos at_most) {
    const Nanos now = monotonic_now();
    const Nanos until = at_most < Nanos::max() - now ? now + at_most : Nanos::max();
    std::size_t work = poll();
    if (work > 0 || !agent) return work;
    if (!options.busy_poll) {
      sleep(until, options.on_room && agent->core().admission().room_wanted());
      return poll();
    }
    while (work == 0 && monotonic_now() < until) work = poll();
    return work;
  }

  Result call(Payload payload, const CallOptions& call_options) {
    RAIN_ASSERT(!hearing);  // call() from inside a callback
    std::optional<Result> result;
    const auto accepted = submit(payload, call_options, [this, &result](const Result& outcome) {
      result = outcome;
      if (!outcome) return;
      // The packet that it lies in may make room for others before we return.
      std::copy(outcome->payload.begin(), outcome->payload.end(), call_reply.begin());
      (*result)->payload = {call_reply.data(), outcome->payload.size()};
    });
    if (!accepted) return tl::unexpected(accepted.error());
    while (!result) {
      if (poll() == 0 && !options.busy_poll) sleep(Nanos::max(), false);
    }
    return *std::move(result);
  }

  void close() {
    if (!agent) return;
    enter();
    closing = true;  // callbacks may submit no more
    agent->core().abandon_all(monotonic_now(), [this](const rpc::Outcome& outcome) { hear(outcome); });
    for (unsigned i = 0; i < kDropReasonCount; ++i) final_drops[i] = drops(static_cast<DropReason>(i));
    final_resent = agent->core().resent();
    final_admission = admission();
    show_usage();
    agent.reset();
    hearing = false;
  }

  std::uint64_t drops(DropReason reason) const {
    if (!agent) return final_drops[static_cast<std::size_t>(reason)];
    const std::uint64_t refused = reason == DropReason::kSendFailed ? agent->transport().send_failures() : 0;
    return agent->core().drops().get(reason) + refused;
  }

  AdmissionStats admission() const {
    if (!agent) return final_admission;
    const rpc::AdmissionControl& counts = agent->core().admission();
    return {.refused_by_max_outstanding = counts.refusals(rpc::Limit::kMaxOutstanding),
            .refused_by_share = counts.refusals(rpc::Limit::kShare),
            .refused_by_window = counts.refusals(rpc::Limit::kWindow),
            .back_offs = counts.back_offs()};
  }

  void enter() {
    RAIN_ASSERT(!hearing);  // poll(), wait(), call() or close() from inside a callback
    hearing = true;
  }

  ClientOptions options;
  std::optional<client::ClientAgent<transport::UdpTransport>> agent;  // empty: closed
  std::vector<Callback> callbacks;                                    // by cookie
  std::vector<std::uint32_t> free_callbacks;
  std::array<std::byte, kMaxMessageBytes> call_reply{};
  bool hearing = false;  // callbacks run
  bool closing = false;
  std::array<std::uint64_t, kDropReasonCount> final_drops{};  // when closed
  std::uint64_t final_resent = 0;
  AdmissionStats final_admission{};
  std::atomic<std::size_t> share{kNoShare};  // written by any thread, taken over by ours
  std::atomic<std::size_t> shown_open{0};    // and these the other way round
  std::atomic<std::uint64_t> shown_refused{0};
};

Expected<Client> Client::open(const ClientOptions& options) {
  if (const auto checked = check(options); !checked) return tl::unexpected(checked.error());
  const auto switch_address = rpc::check_address("switch_address", options.switch_address, 1);
  if (!switch_address) return tl::unexpected(switch_address.error());
  Expected<Endpoint> local = any_address(*switch_address);
  if (!options.bind_address.empty()) local = rpc::check_address("bind_address", options.bind_address, 0);
  if (!local) return tl::unexpected(local.error());
  auto socket = transport::UdpTransport::open({.listen = *local,
                                               .busy_poll = options.busy_poll,
                                               .receive_buffer_bytes = kReceiveBufferBytes,
                                               .kernel_time_stamps = true});
  if (!socket) return fail(ErrorKind::kNetwork, std::move(socket.error()));
  return Client(std::make_unique<Impl>(*std::move(socket), options, *switch_address));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&& other) noexcept {
  if (this != &other) {
    if (impl_) impl_->close();
    impl_ = std::move(other.impl_);
  }
  return *this;
}
Client::~Client() {
  if (impl_) impl_->close();
}

Client::Result Client::call(Payload payload, const CallOptions& options) {
  return impl_->call(payload, options);
}
Expected<void> Client::submit(Payload payload, const CallOptions& options, Callback callback) {
  return impl_->submit(payload, options, std::move(callback));
}
void Client::flush() {
  if (impl_->agent) impl_->agent->flush(monotonic_now());
}
std::size_t Client::poll() { return impl_->poll(); }
std::size_t Client::wait(Nanos at_most) { return impl_->wait(at_most); }
void Client::close() { impl_->close(); }

std::size_t Client::outstanding() const { return impl_->agent ? impl_->agent->core().outstanding() : 0; }
std::uint16_t Client::local_port() const { return impl_->agent ? impl_->agent->transport().local().port : 0; }
std::uint64_t Client::retries_sent() const {
  return impl_->agent ? impl_->agent->core().resent() : impl_->final_resent;
}
void Client::set_share(std::size_t requests) { impl_->share.store(requests, std::memory_order_relaxed); }
std::size_t Client::share() const { return impl_->share.load(std::memory_order_relaxed); }
Client::Usage Client::usage() const {
  return {.outstanding = impl_->shown_open.load(std::memory_order_relaxed),
          .refused_by_share = impl_->shown_refused.load(std::memory_order_relaxed)};
}
std::size_t Client::window(TaskType type) const {
  return impl_->agent ? impl_->agent->core().admission().window(type) : impl_->options.max_outstanding;
}
AdmissionStats Client::admission() const { return impl_->admission(); }
std::uint64_t Client::drops(DropReason reason) const { return impl_->drops(reason); }

}  // namespace rain
