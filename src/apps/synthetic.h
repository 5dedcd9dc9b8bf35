// The application `synthetic`: a request names its service time, the worker's core is busy for that long.
//
// Request: the service time in ns, 64 bits, big-endian, 8 bytes in all: it fits the switch's task entry. More bytes may
// follow and are ignored (for requests that do not fit). Reply: status, then the service time asked for, 64 bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "apps/app.h"
#include "apps/reply_status.h"
#include "wire/big_endian.h"

namespace rain::apps {

inline constexpr std::size_t kSyntheticRequestBytes = 8;
inline constexpr std::size_t kSyntheticReplyBytes = 9;

/// The service time that a request asks for.
struct SyntheticTask {
  bool good = false;  ///< false: too short, or above the limit
  Nanos service{};
};

inline SyntheticTask parse_synthetic(Payload request, Nanos limit) {
  if (request.size() < kSyntheticRequestBytes) return {};
  wire::Be64 field;
  std::memcpy(&field, request.data(), sizeof(field));
  if (field.get() > static_cast<std::uint64_t>(limit.value)) return {};
  return {.good = true, .service = {static_cast<std::int64_t>(field.get())}};
}

/// Writes the request for that service time.
inline Payload write_synthetic(Nanos service, std::span<std::byte> out) {
  const wire::Be64 field(static_cast<std::uint64_t>(service.value));
  std::memcpy(out.data(), &field, sizeof(field));
  return out.first(sizeof(field));
}

/// The reply to a task that was served, or the refusal of one that is not good.
void reply_synthetic(const SyntheticTask& task, Nanos limit, ReplyBuffer& reply);

/// Spins for the time that the request names. `read_time` reads the clock: this is a rim.
template <typename Time>
void serve_synthetic(Payload request, Nanos limit, Time&& read_time, ReplyBuffer& reply) {
  const Nanos start = read_time();
  const SyntheticTask task = parse_synthetic(request, limit);
  if (task.good) {
    while (read_time() - start < task.service) {
    }
  }
  reply_synthetic(task, limit, reply);
}

/// Classes are of service times. Longer ones than `limit` are cut by the load and refused by the worker.
std::unique_ptr<App> make_synthetic(Nanos limit);

}  // namespace rain::apps
