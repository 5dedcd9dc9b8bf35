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
//
// Admission. A rack can hold only so many requests; more are answered with drops. So a client sends a request only
// if that many may be open by each of three limits: max_outstanding, its share of the rack (set_share()), and the
// window of the request's type. The window is the client's back-off: a drop that says "overloaded" (queue_full,
// payload_store_full, worker_queue_full, recirculation_limit, deadline_passed) narrows it by an eighth, or by what was
// dropped if that is more; each window of served requests widens it by one; it begins at max_outstanding and is never
// below 1. What becomes of a request that finds no room is the application's choice: see Admission.
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

/// What submit() and call() do with a request for which there is no room. From inside a callback it is always
/// refused: room comes from replies, and those are handled outside.
enum class Admission : std::uint8_t {
  kFail,  ///< refused at once with kBackpressure
  kWait,  ///< they work (other requests' callbacks may run) until there is room; after the request's timeout
          ///< or deadline without room: kBackpressure
  kCallback,  ///< refused at once, and ClientOptions::on_room is called once when there is room again
};

struct ClientOptions {
  std::string switch_address = "127.0.0.1:9000";  ///< "host:port" of the switch, numeric IPv4 or [IPv6]
  std::string bind_address{};          ///< local "host:port", port 0: any; empty: any address, any port
  std::size_t max_outstanding = 4096;  ///< requests open at once, 1..32768
  Nanos timeout = seconds(1);          ///< default of CallOptions::timeout, 1 us .. 1 h
  unsigned retries = 0;                ///< default of CallOptions::retries, 0..16
  bool busy_poll = false;              ///< spin instead of sleeping while waiting: lower latency, one core
  Admission admission = Admission::kFail;
  bool back_off =
      true;  ///< overload drops narrow the windows; false: only when something else limits the load
  /// kCallback, and only then: called from inside poll(), wait() or call() when a request of a type that was refused
  /// would be admitted again, once for all refusals before. It may do what a Callback may.
  std::function<void()> on_room{};
};

/// What admission did since open().
struct AdmissionStats {
  // Requests that found no room, by the limit that they met; with kWait they waited.
  std::uint64_t refused_by_max_outstanding =
      0;  ///< or by the want of a request id: late answers may still come
  std::uint64_t refused_by_share = 0;
  std::uint64_t refused_by_window = 0;
  std::uint64_t back_offs = 0;  ///< times that a window was narrowed; several drops of one round count once
};

struct CallOptions {
  TaskType type{};   ///< decides the slice; 0 unless the rack's tables say otherwise
  Nanos deadline{};  ///< the task is dropped rather than started later than this, 0..1 h;
                     ///< 0: a sixteenth of a timeout before the last one is over, as nobody waits for it then
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

  /// Sends a request, or with Admission::kWait waits for room first; `callback` hears the outcome. An error here (kBackpressure, kTooLarge, kBadOption,
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

  /// The share of this client: how many requests it may have open besides the limits of its own; 0: none. When it
  /// falls, requests that are open beyond it just end. From any thread; it counts within 20 ms for who sleeps, else
  /// at once.
  void set_share(std::size_t requests);
  std::size_t share() const;  ///< kNoShare until set_share()
  static constexpr std::size_t kNoShare = SIZE_MAX;
  /// What whoever gives it a share needs to know: as of the last call of a member function. From any thread.
  struct Usage {
    std::size_t outstanding = 0;         ///< requests open
    std::uint64_t refused_by_share = 0;  ///< since open(); with kWait they waited
  };
  Usage usage() const;
  /// The back-off window of a type, 1..max_outstanding. Types that are equal modulo 64 share one.
  std::size_t window(TaskType type = {}) const;
  AdmissionStats admission() const;

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
