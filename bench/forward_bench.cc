// What deciding costs: the switch with the real program on UDP against a bare forwarder, on loopback.
//
// The bare forwarder is recvmmsg, sendmmsg and nothing else, with the same batches and buffers; it does not even ask
// for the senders' addresses. On a small machine a generator would compete with what is measured, so there is none:
// each round fills the socket while nobody reads it, then times one thread that drains it, first one forwarder, then
// the other, in alternating order, so that both see the same minute. Rates are per second of that thread's CPU time (the
// wall clock is printed too): other processes then disturb caches, not the result.
//
// Half of the packets are tokens, which end in the switch, and half are tasks, which leave it. So there are two bare
// forwarders: `equal` sends as many packets as the switch does (it drops the tokens), which leaves the cost of the
// decision alone as the difference, and `all` forwards every packet. With round-robin every packet is a task.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/page_buffer.h"
#include "dataplane/programs.h"
#include "dataplane/soft_memory.h"
#include "softswitch/switch_agent.h"
#include "softswitch/switch_tables.h"
#include "transport/udp.h"
#include "wire/codec.h"

namespace rain {
namespace {

using dataplane::SoftMemory;
using transport::kBatch;
using transport::UdpTransport;

constexpr unsigned kWorkers = 32;
constexpr std::size_t kTasksPerBatch = kBatch / 2;  // the other half are tokens
static_assert(kTasksPerBatch == kWorkers);
constexpr Endpoint kAnyPort = Endpoint::v4(127, 0, 0, 1, 0);

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "forward_bench: {}\n", why);
  std::exit(1);
}

UdpTransport open_socket() {
  auto transport = UdpTransport::open({.listen = kAnyPort, .receive_buffer_bytes = 32 << 20});
  if (!transport) fail(transport.error());
  return std::move(*transport);
}

std::size_t discard(UdpTransport& transport) {
  std::size_t count = 0;
  for (auto batch = transport.receive({}); !batch.empty(); batch = transport.receive({}))
    count += batch.size();
  return count;
}

// --- the packets -----------------------------------------------------------------------------------------------------

/// A client and 32 workers that share a socket: fill the switch's socket, swallow what comes out.
class Traffic {
 public:
  explicit Traffic(std::size_t payload_bytes)
      : client_(open_socket()), workers_(open_socket()), payload_(payload_bytes) {}

  const Endpoint& worker_address() const { return workers_.local(); }

  void send_tasks(const Endpoint& to, std::size_t count = kTasksPerBatch) {
    wire::Message task;
    task.first = task.last = task.has_extension = true;
    task.packet = 1;
    task.payload = payload_;
    for (std::size_t i = 0; i < count; ++i) {
      task.request_id = {next_request_++};
      client_.send({}, wire::encode(task, packets_[i]), to);
    }
    client_.flush({});
  }

  /// One token of this level from each worker.
  void send_tokens(const Endpoint& to, unsigned level) {
    wire::Message token;
    token.type = wire::MessageType::kFeedback;
    token.first = token.last = token.has_extension = true;
    token.packet = 1;
    token.token.level = {static_cast<std::uint8_t>(level)};
    token.token.generation = {++generations_[level]};
    for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
      token.token.worker = {worker};
      workers_.send({}, wire::encode(token, packets_[worker]), to);
    }
    workers_.flush({});
  }

  std::size_t swallow() { return discard(workers_); }
  std::size_t packets_the_sockets_hold() const {
    // What a small packet is charged by the kernel, with a margin; more would be dropped.
    return std::min(client_.receive_buffer_bytes(), workers_.receive_buffer_bytes()) /
           (payload_.size() + 1280);
  }

 private:
  UdpTransport client_;
  UdpTransport workers_;
  std::vector<std::byte> payload_;
  std::uint16_t next_request_ = 0;
  std::array<std::uint32_t, kMaxQuota> generations_{};
  std::array<std::array<std::byte, wire::kMaxPacketBytes>, kBatch> packets_{};
};

// --- the two forwarders ----------------------------------------------------------------------------------------------

template <typename Program>
class Switch {
 public:
  explicit Switch(const softswitch::SwitchOptions& options)
      : storage_(SoftMemory::storage_bytes(Program::kRegisters, memory_shape(options, 0))),
        memory_(Program::kRegisters, memory_shape(options, 0), storage_.bytes()),
        program_(memory_),
        transport_(open_socket()),
        counters_(memory_.shape().slices),
        agent_(program_, memory_, transport_, counters_, BootId{1}) {
    fill_tables(options, 0, memory_);
  }
  const Endpoint& address() const { return transport_.local(); }
  std::size_t step() { return agent_.poll(monotonic_now()); }
  const softswitch::SwitchCounters& counters() const { return counters_; }

 private:
  PageBuffer storage_;
  SoftMemory memory_;
  Program program_;
  UdpTransport transport_;
  softswitch::SwitchCounters counters_;
  softswitch::SwitchAgent<Program, SoftMemory, UdpTransport> agent_;
};

/// Plain system calls on its own socket.
class BareForwarder {
 public:
  enum class Sends { kAll, kTasksOnly };

  BareForwarder(Sends sends, const Endpoint& sink) : sends_(sends) {
    socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int bytes = 32 << 20;
    if (setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0) {
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    }
    sockaddr_in local = to_sockaddr(kAnyPort);
    socklen_t length = sizeof(local);
    if (bind(socket_, reinterpret_cast<sockaddr*>(&local), length) != 0 ||
        getsockname(socket_, reinterpret_cast<sockaddr*>(&local), &length) != 0) {
      fail("cannot bind the bare forwarder");
    }
    address_ = Endpoint::v4(127, 0, 0, 1, ntohs(local.sin_port));
    sink_ = to_sockaddr(sink);
    for (std::size_t i = 0; i < kBatch; ++i) {
      vectors_[i] = {buffers_[i].data(), buffers_[i].size()};
      received_[i].msg_hdr.msg_iov = &vectors_[i];
      received_[i].msg_hdr.msg_iovlen = 1;
      sent_[i].msg_hdr.msg_iov = &sent_vectors_[i];
      sent_[i].msg_hdr.msg_iovlen = 1;
      sent_[i].msg_hdr.msg_name = &sink_;
      sent_[i].msg_hdr.msg_namelen = sizeof(sink_);
    }
  }
  BareForwarder(const BareForwarder&) = delete;
  BareForwarder& operator=(const BareForwarder&) = delete;
  ~BareForwarder() { close(socket_); }

  const Endpoint& address() const { return address_; }

  std::size_t step() {
    const int count = recvmmsg(socket_, received_.data(), kBatch, MSG_DONTWAIT, nullptr);
    if (count <= 0) return 0;
    unsigned queued = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      constexpr std::byte kFeedback{static_cast<std::uint8_t>(wire::MessageType::kFeedback)};
      if (sends_ == Sends::kTasksOnly && buffers_[i][2] == kFeedback) continue;
      sent_vectors_[queued++] = {buffers_[i].data(), received_[i].msg_len};
    }
    for (unsigned next = 0; next < queued;) {
      const int sent = sendmmsg(socket_, sent_.data() + next, queued - next, MSG_DONTWAIT);
      if (sent <= 0) fail("the bare forwarder cannot send");
      next += static_cast<unsigned>(sent);
    }
    return static_cast<std::size_t>(count);
  }

 private:
  static sockaddr_in to_sockaddr(const Endpoint& endpoint) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(endpoint.port);
    __builtin_memcpy(&out.sin_addr, endpoint.address.data() + 12, 4);
    return out;
  }

  Sends sends_;
  int socket_;
  Endpoint address_;
  sockaddr_in sink_{};
  std::array<std::array<std::byte, transport::kBufferBytes>, kBatch> buffers_;
  std::array<iovec, kBatch> vectors_{}, sent_vectors_{};
  std::array<mmsghdr, kBatch> received_{}, sent_{};
};

// --- measuring -------------------------------------------------------------------------------------------------------

struct Rates {
  double cpu;  // packets received per second of the thread's CPU time
  double wall;
};

/// Times `step` until `packets` have come in.
template <typename Step>
Rates drain(std::size_t packets, Step step) {
  const Nanos wall_start = monotonic_now();
  const Nanos cpu_start = thread_cpu_time();
  std::size_t received = 0;
  while (received < packets) {
    const std::size_t count = step();
    if (count == 0) fail(fmt::format("only {} of {} packets are in the socket", received, packets));
    received += count;
  }
  const Nanos cpu = thread_cpu_time() - cpu_start;
  const Nanos wall = monotonic_now() - wall_start;
  const auto rate = [packets](Nanos time) {
    return static_cast<double>(packets) * 1e9 / static_cast<double>(time.value);
  };
  return {rate(cpu), rate(wall)};
}

struct Scenario {
  const char* name;
  std::size_t payload_bytes;
  std::size_t queued;  ///< tasks that wait all the time; 0: a token waits for each task
};

struct Size {
  std::size_t rounds;
  std::size_t batches;
};

class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  double quantile(double q) {
    std::sort(values_.begin(), values_.end());
    return values_[static_cast<std::size_t>(q * static_cast<double>(values_.size() - 1))];
  }
  std::string text() {
    return fmt::format("{:.3f} [{:.3f} .. {:.3f}]", quantile(0.5), quantile(0.1), quantile(0.9));
  }
  std::string millions() { return fmt::format("{:.3f}", quantile(0.5) / 1e6); }

 private:
  std::vector<double> values_;
};

softswitch::SwitchOptions options_for(const Traffic& traffic, const Scenario& scenario) {
  softswitch::SwitchOptions options;
  options.slices = {{}};
  options.hold_slots = scenario.payload_bytes > dataplane::kInlinePayloadBytes
                           ? static_cast<std::uint32_t>(scenario.queued + kBatch)
                           : 0;
  for (std::uint16_t id = 0; id < kWorkers; ++id) {
    options.workers.push_back({.id = {id}, .slice = {}, .address = traffic.worker_address()});
  }
  return options;
}

/// One scenario. `fill_batch(to, index)` puts kBatch packets into a socket, of which `out_per_batch` leave a switch.
template <typename Program>
void compare(const Scenario& scenario, Size size, std::size_t out_per_batch,
             const std::function<void(Traffic&, const Endpoint&, std::size_t)>& fill_batch) {
  Traffic traffic(scenario.payload_bytes);
  Switch<Program> in_switch(options_for(traffic, scenario));
  BareForwarder equal(BareForwarder::Sends::kTasksOnly, traffic.worker_address());
  BareForwarder all(BareForwarder::Sends::kAll, traffic.worker_address());
  size.batches =
      std::max<std::size_t>(1, std::min(size.batches, traffic.packets_the_sockets_hold() / kBatch));
  for (std::size_t queued = 0; queued < scenario.queued; queued += kTasksPerBatch) {
    traffic.send_tasks(in_switch.address());
    in_switch.step();
  }

  const std::size_t packets = size.batches * kBatch;
  std::size_t batch_index = 0;
  const auto measure = [&](const Endpoint& to, std::size_t expected_out, auto step) {
    for (std::size_t i = 0; i < size.batches; ++i) fill_batch(traffic, to, batch_index + i);
    const Rates rates = drain(packets, step);
    const std::size_t out = traffic.swallow();
    if (out != expected_out)
      fail(fmt::format("{}: {} packets came out, not {}", scenario.name, out, expected_out));
    return rates;
  };
  Samples switch_rate, equal_rate, all_rate, equal_ratio, all_ratio, equal_wall_ratio;
  for (std::size_t round = 0; round < size.rounds + 1; ++round) {
    std::array<Rates, 3> rates{};
    for (std::size_t turn = 0; turn < 3; ++turn) {
      const std::size_t which = (round + turn) % 3;
      if (which == 0) {
        rates[0] =
            measure(in_switch.address(), size.batches * out_per_batch, [&] { return in_switch.step(); });
        batch_index += size.batches;  // tokens are numbered: each is for the switch once
      } else if (which == 1) {
        rates[1] = measure(equal.address(), size.batches * out_per_batch, [&] { return equal.step(); });
      } else {
        rates[2] = measure(all.address(), packets, [&] { return all.step(); });
      }
    }
    if (round == 0) continue;  // warms caches, page tables and branch predictors
    switch_rate.add(rates[0].cpu);
    equal_rate.add(rates[1].cpu);
    all_rate.add(rates[2].cpu);
    equal_ratio.add(rates[0].cpu / rates[1].cpu);
    equal_wall_ratio.add(rates[0].wall / rates[1].wall);
    all_ratio.add(rates[0].cpu / rates[2].cpu);
  }
  if (in_switch.counters().drops().total() != 0)
    fail(fmt::format("{}: the switch dropped packets", scenario.name));
  fmt::print("{:<34}{:>8}{:>8}{:>8}   {:<28}{:<28}{:<28}\n", scenario.name, switch_rate.millions(),
             equal_rate.millions(), all_rate.millions(), equal_ratio.text(), equal_wall_ratio.text(),
             all_ratio.text());
}

void run(Size size) {
  using Rain = dataplane::RainProgram<SoftMemory, 4>;
  using RoundRobin = dataplane::RoundRobinProgram<SoftMemory>;
  const auto tokens_first = [](Traffic& traffic, const Endpoint& to, std::size_t) {
    traffic.send_tokens(to, 0);
    traffic.send_tasks(to);
  };
  const auto tasks_first = [](Traffic& traffic, const Endpoint& to, std::size_t index) {
    traffic.send_tasks(to);
    traffic.send_tokens(to, index % 4);
  };
  const auto tasks_only = [](Traffic& traffic, const Endpoint& to, std::size_t) {
    traffic.send_tasks(to, kBatch);
  };

  fmt::print(
      "median [10 % .. 90 %] of {} rounds of {} packets; rates in million packets received per CPU second\n",
      size.rounds, size.batches * kBatch);
  fmt::print("{:<34}{:>8}{:>8}{:>8}   {:<28}{:<28}{:<28}\n", "", "switch", "equal", "all", "switch / equal",
             "switch / equal, wall clock", "switch / all");
  compare<Rain>({"rain, 8 B, queue empty", 8, 0}, size, kTasksPerBatch, tokens_first);
  compare<Rain>({"rain, 8 B, queue half full", 8, 64 * 1024}, size, kTasksPerBatch, tasks_first);
  compare<Rain>({"rain, 1000 B, queue empty", 1000, 0}, size, kTasksPerBatch, tokens_first);
  compare<Rain>({"rain, 1000 B, 1024 tasks held", 1000, 1024}, size, kTasksPerBatch, tasks_first);
  compare<RoundRobin>({"round-robin, 8 B, tasks only", 8, 0}, size, kBatch, tasks_only);
}

}  // namespace
}  // namespace rain

int main() {
  const bool smoke = std::getenv("RAIN_BENCH_SMOKE") != nullptr;
  rain::run(smoke ? rain::Size{.rounds = 2, .batches = 2} : rain::Size{.rounds = 150, .batches = 16});
}
