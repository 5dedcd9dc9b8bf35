// Round trips over loopback: client, switch and worker libraries beside bare sockets that make the same hops. Prints
// median and spread of the rounds' p50 and p99. With RAIN_BENCH_SMOKE=1 it only shows that it runs.
//
//   busy poll  two threads: the client spins on one core, switch and worker take turns on the other
//   blocking   three threads that sleep in the kernel: client, switch, worker
//   bare       the same threads and hops, each a recvmsg and a sendmsg: what the kernel takes
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/endpoint_text.h"
#include "base/page_buffer.h"
#include "dataplane/rain.h"
#include "rain/client.h"
#include "rain/worker.h"
#include "softswitch/switch_agent.h"
#include "softswitch/switch_process.h"
#include "softswitch/switch_tables.h"
#include "transport/udp.h"

namespace rain {
namespace {

using transport::UdpTransport;

struct Sizes {
  unsigned rounds = 5;
  unsigned calls = 20'000;
};

struct Percentiles {
  double p50_us, p99_us;
};

/// `call()` makes one round trip and gives its time.
Percentiles measure(unsigned calls, const std::function<Nanos()>& call) {
  for (unsigned i = 0; i < calls / 10; ++i) call();
  std::vector<std::int64_t> times(calls);
  for (std::int64_t& time : times) time = call().value;
  std::sort(times.begin(), times.end());
  return {1e-3 * static_cast<double>(times[calls / 2]), 1e-3 * static_cast<double>(times[calls / 100 * 99])};
}

void report(const char* name, const Sizes& sizes, const std::function<Nanos()>& call) {
  std::vector<double> p50, p99;
  for (unsigned round = 0; round < sizes.rounds; ++round) {
    const Percentiles found = measure(sizes.calls, call);
    p50.push_back(found.p50_us);
    p99.push_back(found.p99_us);
  }
  std::sort(p50.begin(), p50.end());
  std::sort(p99.begin(), p99.end());
  const std::size_t middle = p50.size() / 2;
  std::printf("%-24s p50 %7.1f us (%.1f..%.1f)   p99 %7.1f us (%.1f..%.1f)\n", name, p50[middle], p50.front(),
              p50.back(), p99[middle], p99.front(), p99.back());
}

UdpTransport open_socket(bool busy_poll) {
  return UdpTransport::open({.listen = Endpoint::v4(127, 0, 0, 1, 0), .busy_poll = busy_poll}).value();
}

/// Runs `step` on a thread until destroyed.
class Looper {
 public:
  explicit Looper(std::function<void()> step)
      : thread_([this, step = std::move(step)] {
          while (!stop_.load(std::memory_order_relaxed)) step();
        }) {}
  ~Looper() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Passes one packet on to `to`, if there is one.
void relay(UdpTransport& socket, const Endpoint& to, bool busy_poll) {
  if (!busy_poll) socket.wait(milliseconds(20));
  for (const transport::RxPacket& packet : socket.receive({})) socket.send({}, packet.bytes, to);
  socket.flush({});
}

/// client -> relay -> echo -> client: the hops of a request.
void bare(const Sizes& sizes, bool busy_poll) {
  UdpTransport client = open_socket(busy_poll), middle = open_socket(busy_poll), end = open_socket(busy_poll);
  const auto middle_step = [&] { relay(middle, end.local(), busy_poll); };
  const auto end_step = [&] { relay(end, client.local(), busy_poll); };
  const auto call = [&] {
    std::array<std::byte, 24> packet{};
    const Nanos start = monotonic_now();
    client.send({}, packet, middle.local());
    client.flush({});
    while (client.receive({}).empty()) client.wait(seconds(1));
    return monotonic_now() - start;
  };
  if (busy_poll) {
    Looper both([&] { middle_step(), end_step(); });
    report("bare, busy poll", sizes, call);
  } else {
    Looper first(middle_step), second(end_step);
    report("bare, blocking", sizes, call);
  }
}

Nanos call_once(Client& client) {
  const Nanos start = monotonic_now();
  if (!client.call(as_payload("12345678"))) {
    std::fprintf(stderr, "a request failed\n");
    std::exit(1);
  }
  return monotonic_now() - start;
}

Worker open_worker(const Endpoint& switch_address, bool busy_poll) {
  return Worker::open({.listen_address = "127.0.0.1:0",
                       .switch_address = format_endpoint(switch_address),
                       .busy_poll = busy_poll},
                      [](const Task& task, ReplyBuffer& reply) { reply.append(task.payload); })
      .value();
}

softswitch::SwitchOptions switch_options(const Endpoint& listen, const Worker& worker) {
  softswitch::SwitchOptions options{.listen = listen};
  options.slices = {{}};
  options.workers = {{.address = Endpoint::v4(127, 0, 0, 1, worker.local_port())}};
  return options;
}

Client open_client(const Endpoint& switch_address, bool busy_poll) {
  return Client::open({.switch_address = format_endpoint(switch_address), .busy_poll = busy_poll}).value();
}

void rain_busy_poll(const Sizes& sizes) {
  using Program = dataplane::RainProgram<dataplane::SoftMemory, 4>;
  UdpTransport socket = open_socket(true);
  Worker worker = open_worker(socket.local(), true);
  const softswitch::SwitchOptions options = switch_options(socket.local(), worker);
  const dataplane::MemoryShape shape = softswitch::memory_shape(options, 0);
  PageBuffer storage(dataplane::SoftMemory::storage_bytes(Program::kRegisters, shape));
  dataplane::SoftMemory memory(Program::kRegisters, shape, storage.bytes());
  softswitch::fill_tables(options, 0, memory);
  Program program(memory);
  softswitch::SwitchCounters counters(1);
  softswitch::SwitchAgent agent(program, memory, socket, counters, BootId{1});
  Client client = open_client(socket.local(), true);
  Looper both([&] { agent.poll(monotonic_now()), worker.poll(); });
  report("rain, busy poll", sizes, [&] { return call_once(client); });
}

void rain_blocking(const Sizes& sizes) {
  const Endpoint address = open_socket(false).local();  // free again
  Worker worker = open_worker(address, false);
  const auto process = softswitch::SwitchProcess::start(switch_options(address, worker)).value();
  Client client = open_client(address, false);
  std::thread thread([&] { worker.run(); });
  report("rain, blocking", sizes, [&] { return call_once(client); });
  worker.stop();
  thread.join();
}

}  // namespace
}  // namespace rain

int main() {
  const bool smoke = std::getenv("RAIN_BENCH_SMOKE") != nullptr;
  const rain::Sizes sizes = smoke ? rain::Sizes{.rounds = 1, .calls = 200} : rain::Sizes{};
  rain::bare(sizes, true);
  rain::rain_busy_poll(sizes);
  rain::bare(sizes, false);
  rain::rain_blocking(sizes);
}
