// How the rack's room is divided among its clients (Rain paper, section 4: Q_max = queue capacity + sum of quotas): by
// weight, and what one does not use is lent to those who can. A pure function; client_shares.h keeps the books.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rain::control {

struct ShareClaim {
  std::uint32_t weight = 1;  ///< 1..kMaxShareWeight
  std::uint32_t wanted = 0;  ///< requests that it has in flight or waiting
};

inline constexpr std::uint32_t kMaxShareWeight = 1000;
/// Of its entitlement an idle client keeps this part, so that it can begin without asking.
inline constexpr std::uint32_t kKeptPart = 8;

/// One share for each claim, their sum at most `total`. Each gets at least 1; `total` must be at least that. No client
/// gets less than it wants while another has more than its part by weight. What nobody wants is divided by weight too, so
/// that all have room to grow.
std::vector<std::uint32_t> divide_shares(std::uint32_t total, std::span<const ShareClaim> claims);

}  // namespace rain::control
