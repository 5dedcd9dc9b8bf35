// The one source of randomness: xoshiro256** (Blackman and Vigna), seeded by splitmix64. The caller passes
// the seed.
//
// Everything that is drawn here is the same on every machine and compiler, because the figures and the fault
// simulations must replay from a seed. That rules out <random> (its distributions are unspecified) and libm
// (its last bits differ, and compilers contract a * b + c where the target can), so the logarithm is integer
// arithmetic.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/assert.h"
#include "base/time.h"

namespace rain {

namespace detail {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

inline constexpr std::uint64_t kLn2Q64 = 0xB172'17F7'D1CF'79AB;  // ln 2 * 2^64

/// a * b for fixed-point numbers with 63 fraction bits.
constexpr std::int64_t multiply_q63(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>((Int128{a} * b) >> 63);
}

/// ln(m / 2^63) with 63 fraction bits, for 2^63 <= m < 2^64; digit by digit, exact to about 2^-62. Slow: for
/// tables.
constexpr std::uint64_t slow_ln_q63(std::uint64_t m) {
  std::uint64_t log2 = 0;
  for (int digit = 0; digit < 63; ++digit) {
    const Uint128 square = (Uint128{m} * m) >> 63;
    const bool two_or_more = (square >> 64) != 0;
    log2 = (log2 << 1) | (two_or_more ? 1U : 0U);
    m = static_cast<std::uint64_t>(two_or_more ? square >> 1 : square);
  }
  return static_cast<std::uint64_t>((Uint128{log2} * kLn2Q64) >> 64);
}

struct LnTable {
  static constexpr unsigned kIntervals = 128;
  std::array<std::uint64_t, kIntervals> reciprocal{};  // of the interval's middle, 63 fraction bits
  std::array<std::uint64_t, kIntervals> ln{};          // -ln(reciprocal), 63 fraction bits
};

constexpr LnTable make_ln_table() {
  LnTable table;
  for (unsigned i = 0; i < LnTable::kIntervals; ++i) {
    // The middle of interval i is (2 * 128 + 2 i + 1) / 256; its reciprocal lies in (1/2, 1).
    const std::uint64_t numerator = std::uint64_t{1} << 63;
    const unsigned middle = 2 * LnTable::kIntervals + 2 * i + 1;
    table.reciprocal[i] = static_cast<std::uint64_t>((Uint128{numerator} * 256) / middle);
    // ln(1 / r) = ln 2 - ln(2 r), and 2 r lies in (1, 2).
    table.ln[i] = (kLn2Q64 >> 1) - slow_ln_q63(table.reciprocal[i] << 1);
  }
  return table;
}

inline constexpr LnTable kLnTable = make_ln_table();

/// -ln(x / 2^64) with 57 fraction bits, for x > 0; off by at most 2^-54.
constexpr std::uint64_t negative_ln_q57(std::uint64_t x) {
  constexpr std::int64_t kOne = INT64_MAX;  // 1 - 2^-63: the nearest that 63 fraction bits have
  const int shift = std::countl_zero(x);
  const std::uint64_t m = x << shift;
  const unsigned interval = static_cast<unsigned>(m >> 56) & (LnTable::kIntervals - 1);
  // m / 2^63 = middle * (1 + r), |r| < 2^-8: ln of the middle from the table, ln(1 + r) by its series.
  const Uint128 ratio = (Uint128{m} * kLnTable.reciprocal[interval]) >> 63;
  const std::int64_t r =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(ratio) - (std::uint64_t{1} << 63));
  std::int64_t series = kOne / 5 - r / 6;
  series = kOne / 4 - multiply_q63(r, series);
  series = kOne / 3 - multiply_q63(r, series);
  series = kOne / 2 - multiply_q63(r, series);
  const std::int64_t ln_1_plus_r = r - multiply_q63(r, multiply_q63(r, series));
  const Int128 ln_m = Int128{kLnTable.ln[interval]} + ln_1_plus_r;
  // x / 2^64 = (m / 2^63) * 2^-(shift + 1)
  const Int128 result = ((Int128{shift + 1} * kLn2Q64) >> 1) - ln_m;
  return result < 0 ? 0 : static_cast<std::uint64_t>(result >> 6);
}

}  // namespace detail

/// splitmix64: turns any seed, also 0 and small ones, into well-mixed words.
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// One stream of random numbers. Cheap to copy; a copy repeats the original's future. Not thread-safe.
class Prng {
 public:
  /// Streams of one seed are independent of each other: give every part of a run its own, so that a draw more
  /// in one part leaves the others as they were.
  explicit constexpr Prng(std::uint64_t seed, std::uint64_t stream = 0) {
    SplitMix64 stream_mix(stream);
    SplitMix64 mix(stream == 0 ? seed : seed ^ stream_mix.next());
    for (std::uint64_t& word : state_) word = mix.next();
  }
  /// For test vectors. Not all zero.
  static constexpr Prng from_state(const std::array<std::uint64_t, 4>& state) {
    RAIN_ASSERT((state[0] | state[1] | state[2] | state[3]) != 0);
    Prng prng(0);
    prng.state_ = state;
    return prng;
  }

  /// 64 uniform bits.
  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound), without modulo bias. `bound` > 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    RAIN_ASSERT(bound > 0);
    // Lemire's method: the high word of next() * bound, refused in the few cases that would favour some
    // results.
    detail::Uint128 product = detail::Uint128{next()} * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t refused = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < refused) product = detail::Uint128{next()} * bound;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// True with the given probability; <= 0 never, >= 1 always.
  constexpr bool chance(double probability) { return unit() < probability; }

  /// Exponential with mean 1, in [0, 44.4]. Uses one draw.
  constexpr double exponential() { return static_cast<double>(exponential_q57()) * 0x1p-57; }

  /// Exponential with the given mean, rounded down. `mean` in [0, 2^57) ns, 4.5 years.
  constexpr Nanos exponential(Nanos mean) {
    RAIN_ASSERT(mean.value >= 0 && mean.value < (std::int64_t{1} << 57));
    const auto scaled = (detail::Uint128{exponential_q57()} * static_cast<std::uint64_t>(mean.value)) >> 57;
    return {static_cast<std::int64_t>(scaled)};
  }

 private:
  constexpr std::uint64_t exponential_q57() {
    const std::uint64_t x = next();
    return detail::negative_ln_q57(x == 0 ? 1 : x);
  }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace rain
