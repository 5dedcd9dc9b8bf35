// See shares.h. Weighted max-min fairness: every round gives each client that still wants something its part of what is
// left; whoever wants less than that is done, and the rest goes round again.
#include "control/shares.h"

#include <algorithm>

#include "base/assert.h"

namespace rain::control {
namespace {

/// Gives `left` to the clients by weight, none more than `limits` says. Returns what nobody took.
std::uint64_t fill(std::uint64_t left, std::span<const ShareClaim> claims,
                   const std::vector<std::uint64_t>& limits, std::vector<std::uint64_t>& shares) {
  const auto open = [&](std::size_t i) { return shares[i] < limits[i]; };
  while (left > 0) {
    std::uint64_t weights = 0;
    for (std::size_t i = 0; i < claims.size(); ++i) weights += open(i) ? claims[i].weight : 0;
    if (weights == 0) return left;
    const std::uint64_t round = left;
    for (std::size_t i = 0; i < claims.size() && left > 0; ++i) {
      if (!open(i)) continue;
      // At least 1, so that a remainder smaller than the number of clients ends too: the first have it.
      const std::uint64_t part = std::max<std::uint64_t>(round * claims[i].weight / weights, 1);
      const std::uint64_t given = std::min({part, limits[i] - shares[i], left});
      shares[i] += given;
      left -= given;
    }
  }
  return 0;
}

}  // namespace

std::vector<std::uint32_t> divide_shares(std::uint32_t total, std::span<const ShareClaim> claims) {
  RAIN_ASSERT(total >= claims.size());
  std::uint64_t weights = 0;
  for (const ShareClaim& claim : claims) weights += claim.weight;
  std::vector<std::uint64_t> shares(claims.size(), 1);
  std::vector<std::uint64_t> limits(claims.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::uint64_t entitled = std::uint64_t{total} * claims[i].weight / weights;
    // A quarter more than it wants now: demand is measured now and then, and grows in between.
    limits[i] =
        std::max<std::uint64_t>(claims[i].wanted + std::uint64_t{claims[i].wanted} / 4, entitled / kKeptPart);
  }
  const std::uint64_t left = fill(total - claims.size(), claims, limits, shares);
  std::fill(limits.begin(), limits.end(), UINT32_MAX);
  fill(left, claims, limits, shares);
  return {shares.begin(), shares.end()};
}

}  // namespace rain::control
