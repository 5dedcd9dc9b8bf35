// Why the controller refuses something: one list for the registry, its counters, the RPCs and `rain ctl`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace rain::control {

enum class Reason : std::uint8_t {
  kUnknown,     ///< names what there is not
  kDuplicate,   ///< an id, a name, a type or an address that another has
  kStale,       ///< a version, a session or an incarnation that is no longer the newest
  kOutOfRange,  ///< a number or a name outside of what is allowed
  kLastWorker,  ///< would leave a slice without a worker
  kInUse,       ///< a slice that still has workers
  kWrongState,  ///< a worker that is draining or gone
  kClock,       ///< the controller's clock went backwards
  kNonsense,    ///< a report that cannot be true
  kNoRoom,      ///< more workers, slices or clients than there can be
};
inline constexpr std::size_t kReasonCount = 10;

/// As counters and JSON call it.
constexpr const char* reason_name(Reason reason) {
  constexpr std::array<const char*, kReasonCount> kNames = {
      "unknown", "duplicate",   "stale", "out_of_range", "last_worker",
      "in_use",  "wrong_state", "clock", "nonsense",     "no_room"};
  return kNames[static_cast<std::size_t>(reason)];
}

struct Refusal {
  Reason reason{};
  std::string text{};  ///< one line: what, and what is allowed
};

template <typename T>
using Result = tl::expected<T, Refusal>;

}  // namespace rain::control
