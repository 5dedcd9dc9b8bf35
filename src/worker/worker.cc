// The public worker: a WorkerAgent on a UDP socket, its options checked, its handler wrapped.
#include "rain/worker.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/clock.h"
#include "rpc/option_check.h"
#include "transport/udp.h"
#include "worker/attach.h"
#include "worker/leave_limit.h"
#include "worker/worker_agent.h"

namespace rain {

namespace {

/// A pushing scheduler may fill the whole FIFO at once. The kernel grants what the system's limit allows.
constexpr std::size_t kReceiveBufferBytes = std::size_t{4} << 20;
/// stop() only sets a flag, which is all that a signal handler may do; this is how long a sleep can hide it.
constexpr Nanos kLongestSleep = milliseconds(20);

Expected<void> check(const WorkerOptions& options, const Handler& handler) {
  auto checked = rpc::check_range("quota", options.quota, 0, kMaxQuota);
  if (checked)
    checked = rpc::check_range("sync_interval", options.sync_interval, milliseconds(1), seconds(60));
  if (checked) {
    checked = rpc::check_range("control_block_workers", options.control_block_workers, 1,
                               agent::kMaxControlledWorkers);
  }
  if (checked) {
    checked = rpc::check_range("control_block_place", options.control_block_place, 0,
                               options.control_block_workers - 1);
  }
  if (checked && !handler) {
    return tl::unexpected(
        Error{.kind = ErrorKind::kBadOption, .detail = "handler is empty; allowed: a function"});
  }
  return checked;
}

}  // namespace

struct Worker::Impl {
  Impl(transport::UdpTransport socket, const WorkerOptions& worker_options, const Endpoint& switch_address,
       Handler worker_handler)
      : options(worker_options),
        handler(std::move(worker_handler)),
        agent(std::move(socket),
              {.id = worker_options.id,
               .switch_address = switch_address,
               .quota = worker_options.quota,
               .token_key = worker_options.token_key,
               .sync_interval = worker_options.sync_interval,
               .push_limit = worker_options.quota > 0 ? 0 : rpc::kPushLimit},
              monotonic_now()) {}

  std::size_t poll() {
    const std::size_t work =
        agent.poll(monotonic_now, [this](const rpc::TaskView& task) { return serve(task); });
    if (work == 0 && options.on_note) note_silent_levels();
    return work;
  }

  void note_silent_levels() {
    const unsigned silent = agent.core().silent_levels();
    if (silent == 0) return;
    options.on_note(rpc::silent_levels_text(options.id, agent.core().quota(), silent));
    options.on_note = nullptr;
  }

  tl::expected<Payload, DropReason> serve(const rpc::TaskView& view) {
    reply.clear();
    try {
      handler({.payload = view.payload,
               .type = view.type,
               .client = view.client,
               .in_switch = view.in_switch,
               .in_worker = view.in_worker},
              reply);
    } catch (...) {
      return tl::unexpected(DropReason::kHandlerFailed);
    }
    if (reply.overflowed()) return tl::unexpected(DropReason::kHandlerFailed);
    return Payload(reply.bytes());
  }

  void run() {
    while (!stopping.load(std::memory_order_relaxed)) {
      if (poll() == 0 && !options.busy_poll) sleep();
    }
    leave();
    agent.core().retire();
    while (agent.core().held() > 0) poll();
  }

  /// Takes its tokens back, so that no task is on its way here when the socket closes.
  void leave() {
    if (agent.core().ledger() == nullptr) return;
    const Nanos start = monotonic_now();
    const Nanos end = start + worker::leave_limit(options.sync_interval);
    agent.leave(start);
    while (!agent.core().drained() && monotonic_now() < end) {
      if (poll() == 0 && !options.busy_poll) sleep();
    }
  }

  void sleep() {
    const Nanos now = monotonic_now();
    const Nanos due = agent.next_due();
    if (due > now) agent.transport().wait(std::min(due - now, kLongestSleep));
  }

  WorkerOptions options;
  Handler handler;
  ReplyBuffer reply;
  std::optional<agent::ControlBlock> block;
  worker::WorkerAgent<transport::UdpTransport> agent;
  std::atomic<bool> stopping{false};
  static_assert(std::atomic<bool>::is_always_lock_free);  // stop() may run in a signal handler
};

Expected<Worker> Worker::open(const WorkerOptions& options, Handler handler) {
  if (const auto checked = check(options, handler); !checked) return tl::unexpected(checked.error());
  const auto switch_address = rpc::check_address("switch_address", options.switch_address, 1);
  if (!switch_address) return tl::unexpected(switch_address.error());
  const auto local = rpc::check_address("listen_address", options.listen_address, 0);
  if (!local) return tl::unexpected(local.error());
  auto socket = transport::UdpTransport::open({.listen = *local,
                                               .busy_poll = options.busy_poll,
                                               .receive_buffer_bytes = kReceiveBufferBytes,
                                               .kernel_time_stamps = true});
  if (!socket) return tl::unexpected(Error{.kind = ErrorKind::kNetwork, .detail = std::move(socket.error())});
  auto impl = std::make_unique<Impl>(*std::move(socket), options, *switch_address, std::move(handler));
  if (!options.control_block.empty()) {
    auto block = agent::ControlBlock::open(options.control_block, options.control_block_workers);
    if (!block)
      return tl::unexpected(Error{.kind = ErrorKind::kBadOption, .detail = std::move(block.error())});
    if (auto claimed = block->claim_worker(options.control_block_place); !claimed)
      return tl::unexpected(Error{.kind = ErrorKind::kBadOption, .detail = std::move(claimed.error())});
    impl->block.emplace(std::move(*block));
    impl->agent.attach(impl->block->worker_port(options.control_block_place));
  }
  return Worker(std::move(impl));
}

void worker::Attach::to(Worker& worker, const agent::WorkerPort& port) { worker.impl_->agent.attach(port); }

Worker::Worker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() = default;

void Worker::run() { impl_->run(); }
std::size_t Worker::poll() { return impl_->poll(); }
void Worker::stop() noexcept { impl_->stopping.store(true, std::memory_order_relaxed); }
std::uint16_t Worker::local_port() const { return impl_->agent.transport().local().port; }

Worker::Stats Worker::stats() const {
  const rpc::WorkerCore& core = impl_->agent.core();
  Stats stats{.served = core.served(), .idleness = core.idleness(monotonic_now())};
  for (unsigned i = 0; i < kDropReasonCount; ++i) {
    const auto reason = static_cast<DropReason>(i);
    stats.drops[i] = core.drops().get(reason) + impl_->agent.malformed().get(reason);
  }
  const transport::UdpTransport& socket = impl_->agent.transport();
  stats.drops[static_cast<std::size_t>(DropReason::kSendFailed)] += socket.send_failures();
  stats.cut_packets = socket.cut_packets();
  return stats;
}

}  // namespace rain
