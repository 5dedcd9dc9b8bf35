// A worker of a Rain rack: receives tasks from the switch, runs the handler, answers the client directly.
//
//   auto worker = rain::Worker::open({.id = rain::WorkerId{0}, .listen_address = "127.0.0.1:9100"},
//                                    [](const rain::Task& task, rain::ReplyBuffer& reply) { reply.append(task.payload); });
//   worker->run();  // until stop()
//
// One worker is one thread: tasks run to completion, first in, first out. A server with more cores runs more workers,
// each with its own id, port and thread.
#pragma once

#include <array>
#include <atomic>
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
  std::string switch_address = "127.0.0.1:9000";
  unsigned quota = 4;           ///< tasks the worker may hold at once, 1..8; 0: unbounded, for push schedulers
  std::uint32_t token_key = 0;  ///< as in the switch's worker table
  Nanos sync_interval = milliseconds(100);  ///< a token silent for that long is asked after, 1 ms .. 1 min
  bool busy_poll = false;       ///< spin instead of sleeping while idle: lower latency, one core
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
  /// False, and nothing appended, when it does not fit (the client then hears handler_failed unless clear()ed).
  bool append(Payload more) {
    if (more.size() > storage_.size() - size_) return overflowed_ = true, false;
    std::memcpy(storage_.data() + size_, more.data(), more.size());
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

/// Serves one task. An exception that leaves it ends the request with DROP(handler_failed); the worker lives on.
using Handler = std::function<void(const Task&, ReplyBuffer&)>;

class Worker {
 public:
  struct Stats {
    std::uint64_t served = 0;
    double idleness = 0;  ///< share of the time since open() without a task, 0..1
    std::array<std::uint64_t, kDropReasonCount> drops{};
  };

  /// Binds the socket. Tokens go out in run() or poll(). Errors: kBadOption, kNetwork (port in use).
  static Expected<Worker> open(WorkerOptions options, Handler handler);
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();

  /// Serves until stop(), then refuses nothing that it holds: the FIFO is served before it returns.
  void run();
  /// One step without blocking: receives, runs at most one task, answers. Returns the work done.
  std::size_t poll();
  /// Makes run() return. From any thread or signal handler.
  void stop();

  Stats stats() const;  ///< from the worker's thread, or after run() has returned

 private:
  struct Impl;
  explicit Worker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rain
