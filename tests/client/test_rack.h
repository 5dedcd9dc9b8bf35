// A whole rack on loopback inside the test: a minimal switch and one public Worker that echoes, polled by the test or by
// a thread of their own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/endpoint_text.h"
#include "rain/worker.h"
#include "rpc/minimal_switch.h"
#include "transport/udp.h"

namespace rain {

class TestRack {
 public:
  TestRack() {
    const auto echo = [this](const Task& task, ReplyBuffer& reply) {
      if (handler) return handler(task, reply);
      reply.append(task.payload);
    };
    worker_ = std::make_unique<Worker>(
        Worker::open({.listen_address = "127.0.0.1:0", .switch_address = switch_address(), .quota = 2}, echo)
            .value());
  }
  ~TestRack() { stop(); }

  std::string switch_address() const { return format_endpoint(switch_.local()); }
  Worker& worker() { return *worker_; }
  rpc::MinimalSwitch<transport::UdpTransport>& the_switch() { return switch_; }

  std::size_t poll() { return switch_.poll(monotonic_now()) + worker_->poll(); }

  /// Polls on a thread until stop().
  void start() {
    running_ = true;
    thread_ = std::thread([this] {
      while (running_) {
        if (poll() == 0) std::this_thread::yield();
      }
    });
  }
  void stop() {
    running_ = false;
    if (thread_.joinable()) thread_.join();
  }

  std::function<void(const Task&, ReplyBuffer&)> handler;  ///< instead of the echo

 private:
  static transport::UdpTransport open() {
    return transport::UdpTransport::open({.listen = Endpoint::v4(127, 0, 0, 1, 0)}).value();
  }

  rpc::MinimalSwitch<transport::UdpTransport> switch_{open()};
  std::unique_ptr<Worker> worker_;
  std::atomic<bool> running_{false};
  std::thread thread_;
};

/// Steps until `done()`, at most ten seconds: false when it never was.
template <typename Step, typename Done>
bool step_until(Step step, Done done) {
  const Nanos limit = monotonic_now() + seconds(10);
  while (!done()) {
    if (monotonic_now() > limit) return false;
    step();
  }
  return true;
}

}  // namespace rain
