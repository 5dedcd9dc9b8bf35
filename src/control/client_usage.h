// What a client says to the controller of the requests that it has and wants: one rule for all clients.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rain::control {

/// The most that a client reports, and that a controller believes.
inline constexpr std::uint32_t kMostRequests = 1u << 24;

struct ClientUsage {
  std::uint32_t in_use = 0;  ///< requests in flight, 0..kMostRequests
  std::uint32_t wanted = 0;  ///< those and the ones that wait for room, likewise

  bool operator==(const ClientUsage&) const = default;
};

/// What a client knows of its requests.
struct ClientDemand {
  std::uint64_t outstanding = 0;  ///< in flight
  std::uint64_t waiting = 0;      ///< that its share alone keeps waiting
  /// That its share has refused since it was asked last: more will come at that pace.
  std::uint64_t refused = 0;
};

/// A client that was refused wants at least twice what it has: else its share would grow by what happened to be refused
/// between two heartbeats.
inline ClientUsage usage_of(const ClientDemand& demand) {
  const std::uint64_t again = demand.refused > 0 ? std::max(demand.refused, demand.outstanding) : 0;
  const auto cut = [](std::uint64_t count) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, kMostRequests));
  };
  return {.in_use = cut(demand.outstanding), .wanted = cut(demand.outstanding + demand.waiting + again)};
}

}  // namespace rain::control
