// What every caller of the controller has: a channel that notices a dead peer, and a thread that attaches, listens and,
// when the stream ends, attaches again. Private to this folder.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/time.h"
#include "control/rpc/security.h"

namespace rain::control {

/// Connects when first used. `address` must have no security_problem().
std::shared_ptr<grpc::Channel> open_channel(const ControllerAddress& address);

/// The call fails when it takes longer.
void set_time_limit(grpc::ClientContext& context, Nanos limit);

/// "the controller at 127.0.0.1:9700 cannot be reached: ...", or what it said: one line.
std::string problem_text(const ControllerAddress& address, const grpc::Status& status);

/// Nobody answered, or no longer: not what a controller says.
inline bool is_unreachable(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::CANCELLED ||
         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

/// Calls `attempt` until stopped, with growing pauses between (100 ms to 1 s, back to 100 ms after one that got as far as
/// to be told something). The attempt gets a context to call with; stop() cancels it.
class LinkThread {
 public:
  /// Returns true when it was told something.
  using Attempt = std::function<bool(grpc::ClientContext& context, const std::atomic<bool>& stopping)>;

  explicit LinkThread(Attempt attempt);
  LinkThread(const LinkThread&) = delete;
  LinkThread& operator=(const LinkThread&) = delete;
  ~LinkThread() { stop(); }

  /// Cancels what uses the context that `attempt` was given, and waits for the thread. `attempt` is called no more.
  void stop();

 private:
  void run();

  Attempt attempt_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> stopping_{false};
  grpc::ClientContext* context_ = nullptr;
  std::thread thread_;
};

}  // namespace rain::control
