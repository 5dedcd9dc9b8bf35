// The client of a Rain rack: sends requests to the switch, receives replies straight from the workers.
//
//   auto client = rain::Client::open({.switch_address = "127.0.0.1:9000"}).value();
//   auto reply = client.call(rain::as_payload("ping"), {.type = rain::TaskType{1}});
//   if (reply) std::cout << rain::as_text(reply->payload); else std::cerr << reply.error().message();
//
// A client is one agent: it has no thread of its own, all its work is done inside its member functions, and
// one thread at a time may use it. For more threads, open more clients: they share nothing.
//
// Every accepted request ends exactly once: with a reply, a drop that names its reason, or a timeout. With
// retries off (the default) it is executed at most once, as long as the network repeats no packet between
// client and switch and, where the rack's scheduler pushes, between switch and worker: there no token tells
// a worker that it has seen the task before.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "rain/rpc.h"

namespace rain {

struct ClientOptions {
  std::string switch_address = "127.0.0.1:9000";  ///< "host:port" of the switch, numeric IPv4 or [IPv6]
  std::string bind_address{};          ///< local "host:port", port 0: any; empty: any address, any port
  std::size_t max_outstanding = 4096;  ///< requests open at once, 1..32768; more are kBackpressure
  Nanos timeout = seconds(1);          ///< default of CallOptions::timeout, 1 us .. 1 h
  unsigned retries = 0;                ///< default of CallOptions::retries, 0..16
  bool busy_poll = false;              ///< spin instead of sleeping while waiting: lower latency, one core
};

struct CallOptions {
  TaskType type{};   ///< decides the slice; 0 unless the rack's tables say otherwise
  Nanos deadline{};  ///< the task is dropped rather than started later than this, 0..1 h;
                     ///< 0: when the last timeout is over, as nobody waits for it then
  Nanos timeout{};   ///< an attempt without an answer for so long is given up, up to 1 h; 0: the client's
                     ///< default
  /// Attempts after the first, 0..16; empty: the client's default. 0: executed at most once; more: at least
  /// once, so only for idempotent requests.
  std::optional<unsigned> retries{};
  bool sticky = false;  ///< to the slice's master only
};

class Client {
 public:
  using Result = Expected<Reply>;
  /// Called exactly once per accepted request, from inside poll(), wait(), call() or close(). It may submit()
  /// further requests, but not poll, wait, call or close; it must not throw. Up to 16 bytes of captures cost
  /// no allocation.
  using Callback = std::function<void(const Result&)>;

  /// Opens a socket. Errors: kBadOption, kNetwork.
  static Expected<Client> open(const ClientOptions& options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();  ///< like close()

  /// Sends a request and waits for its outcome; other requests' callbacks may run meanwhile.
  Result call(Payload payload, const CallOptions& options = {});

  /// Sends a request; `callback` hears the outcome. An error here (kBackpressure, kTooLarge, kBadOption,
  /// kNetwork) means that nothing was sent and that the callback is never called. `payload` may be reused
  /// when submit() returns. Requests leave in batches: at the latest with the next poll(), wait() or flush(),
  /// or when 64 are queued.
  Expected<void> submit(Payload payload, const CallOptions& options, Callback callback);

  /// Hands queued requests to the network now.
  void flush();

  /// Awaitable for C++20 coroutines: `rain::Client::Result reply = co_await client.async_call(payload,
  /// options);` resumes inside poll(), wait(), call() or close(). `payload` must stay valid until the
  /// coroutine has been suspended; a suspended coroutine must not be destroyed.
  class Awaitable;
  Awaitable async_call(Payload payload, CallOptions options = {});

  /// Sends, receives, completes, expires; never blocks. Returns how many packets and timeouts it handled.
  std::size_t poll();
  /// The same, but when there is nothing to do sleeps until something has arrived or `at_most` has passed.
  std::size_t wait(Nanos at_most);

  std::size_t outstanding() const;     ///< requests open now
  std::uint16_t local_port() const;    ///< 0 when closed
  std::uint64_t retries_sent() const;  ///< since open()

  /// Packets and requests that went wrong since open(), by reason.
  std::uint64_t drops(DropReason reason) const;

  /// Ends all open requests with kTimedOut (their callbacks run) and closes the socket. Later submissions are
  /// refused with kNetwork.
  void close();

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class Client::Awaitable {
 public:
  Awaitable(Client& client, Payload payload, const CallOptions& options)
      : client_(client), payload_(payload), options_(options) {}

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiter) {
    auto accepted = client_.submit(payload_, options_, [this, waiter](const Result& result) {
      result_ = result;
      waiter.resume();
    });
    if (accepted) return true;
    result_ = tl::unexpected(std::move(accepted.error()));
    return false;
  }
  Result await_resume() { return std::move(result_); }

 private:
  Client& client_;
  Payload payload_;
  CallOptions options_;
  Result result_ = tl::unexpected(Error{});
};

inline Client::Awaitable Client::async_call(Payload payload, CallOptions options) {
  return {*this, payload, options};
}

}  // namespace rain
