#include "control/rpc/client_link.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>

#include "control/names.h"
#include "control/rpc/channel.h"
#include "control/rpc/credentials.h"
#include "control/rpc/incarnation.h"
#include "control/rpc/link_notes.h"
#include "rain/v1/control.grpc.pb.h"

namespace rain::control {
namespace {

constexpr Nanos kCallLimit = seconds(1);
constexpr std::uint32_t kHeartbeatsInALease = 6;
constexpr std::uint32_t kLongestHeartbeatMs = 500;
/// While it wants all that it has, or more: what others give back is asked for soon.
constexpr std::uint32_t kHungryHeartbeatMs = 50;

/// Of this host and process, and where that holds several clients of the number of this one.
std::string made_name(const std::string& kind) {
  static std::atomic<unsigned> made{0};
  std::array<char, kLongestName> host{};
  gethostname(host.data(), host.size() - 1);
  const unsigned number = ++made;
  const std::string end = fmt::format("-{}{}", getpid(), number > 1 ? fmt::format("-{}", number) : "");
  const std::string begin = fmt::format("{}-{}", kind, host.data());
  return begin.substr(0, kLongestName - end.size()) + end;
}

class Link final : public ClientLink {
 public:
  Link(const ClientLinkOptions& options, ClientLinkHooks hooks)
      : options_(options),
        name_(options.name.empty() ? made_name(options.kind) : options.name),
        incarnation_(make_incarnation()),
        hooks_(std::move(hooks)),
        notes_(hooks_.note),
        thread_([this](auto& context, auto& stopping) { return attach(context, stopping); }) {}

  ~Link() override {
    Link::stop();
    if (id_ == 0) return;
    grpc::ClientContext context;
    set_time_limit(context, kCallLimit);
    v1::ClientLeave leave;
    leave.set_id(id_);
    leave.set_incarnation(incarnation_);
    v1::ClientLeft left;
    stub_->Leave(&context, leave, &left);  // if it is not heard, the lease ends by itself
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.stop();
  }

 private:
  bool attach(grpc::ClientContext& context, const std::atomic<bool>& stopping) {
    // A channel for each attempt: one that has failed would make its own pauses beside ours.
    stub_ = v1::Clients::NewStub(open_channel(options_.controller));
    set_time_limit(context, kCallLimit);
    v1::ClientHello hello;
    hello.set_name(name_);
    hello.set_incarnation(incarnation_);
    hello.set_weight(options_.weight);
    hello.set_in_use(hooks_.usage().in_use);
    wanted_ = UINT32_MAX;  // not said yet: soon
    v1::ClientShare share;
    grpc::Status status = stub_->Register(&context, hello, &share);
    const bool told = status.ok();
    if (told) notes_.attached();
    while (status.ok()) {
      id_ = share.id();
      take(share.share());
      if (!pause(share)) return told;
      status = heartbeat(share);
    }
    id_ = 0;
    if (!stopping.load()) notes_.lost(problem_text(options_.controller, status), is_unreachable(status));
    return told;
  }

  grpc::Status heartbeat(v1::ClientShare& share) {
    grpc::ClientContext context;
    set_time_limit(context, kCallLimit);
    const ClientUsage usage = hooks_.usage();
    wanted_ = usage.wanted;
    v1::ClientHeartbeat beat;
    beat.set_id(share.id());
    beat.set_incarnation(incarnation_);
    beat.set_in_use(usage.in_use);
    beat.set_wanted(usage.wanted);
    return stub_->Heartbeat(&context, beat, &share);
  }

  void take(std::uint32_t share) {
    if (share_ == share) return;
    share_ = share;
    hooks_.share(share);
  }

  /// Until the next heartbeat; false: it is over.
  bool pause(const v1::ClientShare& share) {
    std::uint32_t pause_ms = std::min(share.lease_ms() / kHeartbeatsInALease, kLongestHeartbeatMs);
    if (wanted_ >= share.share()) pause_ms = std::min(pause_ms, kHungryHeartbeatMs);
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, std::chrono::milliseconds(pause_ms), [this] { return stopping_; });
  }

  ClientLinkOptions options_;
  std::string name_;
  std::uint64_t incarnation_;
  ClientLinkHooks hooks_;
  LinkNotes notes_;
  std::unique_ptr<v1::Clients::Stub> stub_;
  std::optional<std::uint32_t> share_;
  std::uint32_t id_ = 0;      // 0: not registered
  std::uint32_t wanted_ = 0;  // as the controller was told last
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  LinkThread thread_;  // last: begins when all else is there
};

}  // namespace

tl::expected<std::unique_ptr<ClientLink>, std::string> ClientLink::open(const ClientLinkOptions& options,
                                                                        ClientLinkHooks hooks) {
  if (!options.name.empty() && !is_name(options.name))
    return tl::unexpected(fmt::format("client {}: {}", shown_name(options.name), kNameAllowed));
  if (auto problem = security_problem(options.controller, unix_seconds_now()); !problem.empty())
    return tl::unexpected(problem);
  return std::make_unique<Link>(options, std::move(hooks));
}

}  // namespace rain::control
