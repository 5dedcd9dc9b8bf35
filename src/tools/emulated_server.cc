// See emulated_server.h.
#include "tools/emulated_server.h"

#include <sys/prctl.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "apps/synthetic.h"
#include "base/clock.h"
#include "tools/input_error.h"
#include "transport/udp.h"
#include "worker/emulated_workers.h"
#include "worker/leave_limit.h"

namespace rain::tools {
namespace {

using Workers = worker::EmulatedWorkers<transport::UdpTransport>;

/// A pushing scheduler may fill many FIFOs at once. The kernel grants what the system's limit allows.
constexpr std::size_t kReceiveBufferBytes = std::size_t{4} << 20;
/// How long a sleep can hide stop().
constexpr Nanos kLongestSleep = milliseconds(20);
/// How often all workers are looked through for what only people can mend.
constexpr Nanos kLookInterval = seconds(1);

transport::UdpTransport open_socket(const EmulatedServerOptions& options) {
  auto socket = transport::UdpTransport::open({.listen = options.listen,
                                               .busy_poll = options.busy_poll,
                                               .receive_buffer_bytes = kReceiveBufferBytes,
                                               .kernel_time_stamps = true});
  if (!socket) throw InputError(socket.error());
  return std::move(*socket);
}

}  // namespace

struct EmulatedServer::Agents {
  explicit Agents(const EmulatedServerOptions& options)
      : workers(open_socket(options),
                {.worker = {.id = options.first_id,
                            .switch_address = options.switch_address,
                            .quota = options.quota,
                            .sync_interval = options.sync_interval,
                            // A thousand workers of a token scheduler need no room for pushed tasks.
                            .push_limit = options.quota > 0 ? 0 : rpc::kPushLimit},
                 .count = options.count,
                 .token_keys = options.token_keys},
                monotonic_now()),
        replies(options.count) {}

  Workers workers;
  std::vector<ReplyBuffer> replies;  // of the task that each worker runs
};

EmulatedServer::EmulatedServer(const EmulatedServerOptions& options)
    : options_(options), agents_(std::make_unique<Agents>(options)) {
  if (options.control != nullptr) agents_->workers.attach(*options.control, monotonic_now());
}

EmulatedServer::~EmulatedServer() = default;

void EmulatedServer::run() {
  // The default slack would end every task 50 us late.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  Workers& workers = agents_->workers;
  const auto serve = [this](const rpc::TaskView& view, WorkerId worker) -> worker::EmulatedTask {
    ReplyBuffer& reply = agents_->replies[static_cast<std::size_t>(worker.value - options_.first_id.value)];
    reply.clear();
    const apps::SyntheticTask task = apps::parse_synthetic(view.payload, options_.longest_service);
    apps::reply_synthetic(task, options_.longest_service, reply);
    return {.service = task.service, .reply = reply.bytes()};
  };
  // First the tokens come home, then what is held is served.
  std::optional<Nanos> retire_at;
  bool retired = false;
  Nanos next_look{};
  while (!retired || workers.held() > 0) {
    const Nanos now = monotonic_now();
    if (!retire_at && stopping_.load(std::memory_order_relaxed)) {
      workers.drain(now);
      retire_at = now + worker::leave_limit(options_.sync_interval);
    }
    if (retire_at && !retired && (workers.drained() || now >= *retire_at)) {
      workers.retire();
      retired = true;
    }
    if (workers.poll(now, serve) != 0 || options_.busy_poll) continue;
    const Nanos after = monotonic_now();
    if (options_.on_note && after >= next_look) {
      next_look = after + kLookInterval;
      if (const rpc::WorkerCore* core = workers.one_with_silent_levels()) {
        options_.on_note(rpc::silent_levels_text(core->id(), core->quota(), core->silent_levels()));
        options_.on_note = nullptr;
      }
    }
    const Nanos due = workers.next_due();
    if (due > after) workers.transport().wait(std::min(due - after, kLongestSleep));
  }
}

std::uint64_t EmulatedServer::served() const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < options_.count; ++i) sum += agents_->workers.core(i).served();
  return sum;
}

std::array<std::uint64_t, kDropReasonCount> EmulatedServer::drops() const {
  std::array<std::uint64_t, kDropReasonCount> sums{};
  for (std::size_t reason = 1; reason < sums.size(); ++reason) {
    const auto which = static_cast<DropReason>(reason);
    sums[reason] = agents_->workers.drops().get(which);
    for (unsigned i = 0; i < options_.count; ++i) sums[reason] += agents_->workers.core(i).drops().get(which);
  }
  sums[static_cast<std::size_t>(DropReason::kSendFailed)] += agents_->workers.transport().send_failures();
  return sums;
}

std::uint64_t EmulatedServer::cut_packets() const { return agents_->workers.transport().cut_packets(); }

}  // namespace rain::tools
