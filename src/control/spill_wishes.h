// One spill threshold of what several servers' agents wish for a slice that they share. Each agent knows its own workers
// alone, and the threshold that suits a load grows with the workers that serve it (agent/spill_rule.h): so the wishes are
// compared per worker, and the slice gets their mean, weighted by workers, for all that serve it. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

namespace rain::control {

struct SpillWish {
  std::uint32_t threshold = 0;
  unsigned asked_for = 1;  ///< workers of the server that served the slice when it asked
  unsigned workers = 0;    ///< that do now: its weight
};

/// At most `capacity`; nothing when nobody who has workers there wishes anything. `serving`: workers of all servers.
inline std::optional<std::uint32_t> agreed_spill(std::span<const SpillWish> wishes, unsigned serving,
                                                 std::uint32_t capacity) {
  double sum = 0;
  unsigned weight = 0;
  for (const SpillWish& wish : wishes) {
    sum += static_cast<double>(wish.threshold) / std::max(wish.asked_for, 1u) * wish.workers;
    weight += wish.workers;
  }
  if (weight == 0) return std::nullopt;
  const double agreed = std::round(sum / weight * serving);
  return agreed < capacity ? static_cast<std::uint32_t>(agreed) : capacity;
}

}  // namespace rain::control
