// A worker of a Rain rack: receives tasks from the switch, runs the handler, answers the client directly.
//
//   const auto echo = [](const rain::Task& task, rain::ReplyBuffer& reply) { reply.append(task.payload); };
//   auto worker = rain::Worker::open({.id = rain::WorkerId{0}, .listen_address = "127.0.0.1:9100"}, echo);
//   worker->run();  // until stop()
//
// One worker is one thread: tasks run to completion, first in, first out. A server with more cores runs more
// workers, each with its own id, port and thread. Switch and workers may start in any order, and either may
// be restarted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "base/endpoint.h"
#include "rain/rpc.h"

namespace rain {

struct WorkerOptions {
  WorkerId id{};                                  ///< as in the switch's worker table
  std::string listen_address = "127.0.0.1:9100";  ///< "host:port" as in the switch's worker table
  std::string switch_address = "127.0.0.1:9000";  ///< numeric, where the switch's packets come from
  /// Tasks that tokens may bring at once, 1..8; a task without a token is refused. 0: no tokens, for racks whose
  /// scheduler pushes.
  unsigned quota = 4;
  std::uint32_t token_key = 0;  ///< as in the switch's worker table
  /// A token silent for that long is asked after, 1 ms .. 1 min; while the answers say that all is well, less and less
  /// often, up to 4 times that or 500 ms.
  Nanos sync_interval = milliseconds(100);
  bool busy_poll = false;  ///< spin instead of sleeping while idle: lower latency, one core
  /// File that the workers of a server share with its agent (`rain agent`), which then adapts `quota`; made if it is not
  /// there. "": no agent.
  std::string control_block{};
  unsigned control_block_workers = 1;  ///< places in that file, 1..1024
  unsigned control_block_place = 0;    ///< this worker's, below control_block_workers
  /// Hears, from inside run() or poll(), one line when the switch turns out to lack places for the whole quota; once.
  std::function<void(const std::string&)> on_note{};
};

/// One request, as the handler sees it. Valid until the handler returns.
struct Task {
  Payload payload;
  TaskType type;
  Endpoint client;
  Nanos in_switch;  ///< how long it waited in the switch
  Nanos in_worker;  ///< how long it waited here
};

/// Where the handler writes its reply. Left empty: an empty reply is sent.
class ReplyBuffer {
 public:
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return storage_.size(); }
  std::span<std::byte> bytes() { return {storage_.data(), size_}; }
  /// False, and nothing appended, when it does not fit (the client then hears handler_failed unless
  /// clear()ed).
  bool append(Payload more) {
    if (more.size() > storage_.size() - size_) return overflowed_ = true, false;
    if (!more.empty()) std::memcpy(storage_.data() + size_, more.data(), more.size());
    size_ += more.size();
    return true;
  }
  void clear() { size_ = 0, overflowed_ = false; }
  bool overflowed() const { return overflowed_; }

 private:
  std::array<std::byte, kMaxMessageBytes> storage_;
  std::size_t size_ = 0;
  bool overflowed_ = false;
};

/// Serves one task, on the worker's thread. An exception that leaves it ends the request with
/// DROP(handler_failed); the worker lives on. It must not use the worker, stop() excepted.
using Handler = std::function<void(const Task&, ReplyBuffer&)>;

namespace worker {
struct Attach;  // how a program that runs the agent itself gives the worker its place
}

class Worker {
 public:
  struct Stats {
    std::uint64_t served = 0;
    double idleness = 0;  ///< share of the time since open() without a task, 0..1
    std::array<std::uint64_t, kDropReasonCount> drops{};  ///< packets and tasks refused, by DropReason
    std::uint64_t cut_packets = 0;                        ///< received longer than any packet of the protocol
  };

  /// Binds the socket. Tokens go out in run() or poll(). Errors: kBadOption (also a control block of another version or
  /// for another number of workers), kNetwork (port in use).
  static Expected<Worker> open(const WorkerOptions& options, Handler handler);
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();

  /// Serves until stop(). Then it takes its tokens back from the switch and serves what still comes and what it holds, so
  /// that no request is lost; after 3 sync intervals, at most 1 s, it refuses what comes (DROP(shutting_down)).
  void run();
  /// One step without blocking: receives, runs at most one task, answers. Returns how many packets and tasks
  /// it handled.
  std::size_t poll();
  /// Makes run() begin to return, within 20 ms if it sleeps. From any thread, signal handler or the handler itself.
  void stop() noexcept;

  std::uint16_t local_port() const;
  Stats stats() const;  ///< from the worker's thread, or after run() has returned

 private:
  friend struct worker::Attach;
  struct Impl;
  explicit Worker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rain
