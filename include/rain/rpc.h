// What clients and workers of Rain share: payloads, results, errors and the parts of a request's latency.
#pragma once

#if __cplusplus < 202002L
#error "Rain's headers are C++20: compile with -std=c++20"
#endif

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/drop_reasons.h"
#include "base/ids.h"
#include "base/time.h"

namespace rain {

/// A request's or reply's bytes. Not owned; how long they stay valid is said where one is handed out.
using Payload = std::span<const std::byte>;

/// Largest request or reply, in bytes: one packet of a 1500-byte MTU. A larger request ends with
/// ErrorKind::kTooLarge, a larger reply with a drop (DropReason::kHandlerFailed).
inline constexpr std::size_t kMaxMessageBytes = 1400;

/// The bytes of a text, which must outlive their use.
inline Payload as_payload(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
/// A payload's text, without its terminating zero; valid as long as the payload.
inline std::string_view as_text(Payload payload) {
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

/// Where a completed request's time went, as switch and worker measured it, each with its own clock;
/// durations only, so no clocks need to agree. The rest of the latency is the wire.
struct LatencyParts {
  Nanos in_switch{};             ///< waited in the switch's queue
  Nanos in_worker{};             ///< waited in the worker's FIFO
  Nanos service{};               ///< the handler ran
  WorkerId worker{};             ///< who served it
  std::uint16_t queue_length{};  ///< tasks that waited in the slice's queue when this one left it
};

/// A completed request.
struct Reply {
  Payload payload;  ///< callback, co_await: valid until the callback or the coroutine's step ends; call():
                    ///< until the client is used again
  LatencyParts parts{};
  Nanos latency{};  ///< from the call of submit() or call() to the reply's arrival at this host, by its clock
};

enum class ErrorKind : std::uint8_t {
  /// See `reason`. kHandlerFailed: it was executed, without a usable reply. kMultiPacketUnsupported: it was executed,
  /// and its reply was of more than one packet. All others: switch or worker refused this sending; with retries, an
  /// earlier one may have been executed.
  kDropped,
  kTimedOut,      ///< no outcome within the timeout; it may have been executed
  kBackpressure,  ///< the client admits no more now (rain/client.h, Admission); nothing was sent
  kTooLarge,      ///< payload above kMaxMessageBytes; nothing was sent
  kNetwork,       ///< socket error or closed client: see `detail`
  kBadOption,     ///< an option out of range: see `detail`
};

/// Why a request did not complete, or a client or worker could not start.
struct Error {
  ErrorKind kind = ErrorKind::kNetwork;
  DropReason reason = DropReason::kNone;  ///< kDropped only
  std::string detail{};                   ///< kNetwork, kBadOption, kTooLarge: what, where, what is allowed

  /// One line for people.
  std::string message() const;
};

template <typename T>
using Expected = tl::expected<T, Error>;

}  // namespace rain
