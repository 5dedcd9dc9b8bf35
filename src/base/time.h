// Time as a strong type. Freestanding: the data plane includes it.
#pragma once

#include <compare>
#include <cstdint>

namespace rain {

/// A point in time or a duration, in nanoseconds. Points count from an arbitrary start that only the one who
/// reads the clock knows (real time: the monotonic clock; simulation: zero), so points of two machines are
/// never compared. Range: +-292 years.
struct Nanos {
  std::int64_t value = 0;

  constexpr auto operator<=>(const Nanos&) const = default;
  constexpr Nanos operator+(Nanos other) const { return {value + other.value}; }
  constexpr Nanos operator-(Nanos other) const { return {value - other.value}; }
  constexpr Nanos operator*(std::int64_t factor) const { return {value * factor}; }
  constexpr Nanos operator/(std::int64_t divisor) const { return {value / divisor}; }
  constexpr Nanos& operator+=(Nanos other) { return value += other.value, *this; }
  constexpr Nanos& operator-=(Nanos other) { return value -= other.value, *this; }

  static constexpr Nanos max() { return {INT64_MAX}; }
};

constexpr Nanos microseconds(std::int64_t count) { return {count * 1'000}; }
constexpr Nanos milliseconds(std::int64_t count) { return {count * 1'000'000}; }
constexpr Nanos seconds(std::int64_t count) { return {count * 1'000'000'000}; }

/// A duration as the 32-bit nanosecond fields of the wire carry it: saturates at 0 and at 4.29 s.
constexpr std::uint32_t saturate_to_u32(Nanos duration) {
  if (duration.value < 0) return 0;
  return duration.value > static_cast<std::int64_t>(UINT32_MAX) ? UINT32_MAX
                                                                : static_cast<std::uint32_t>(duration.value);
}

namespace literals {
constexpr Nanos operator""_ns(unsigned long long count) { return {static_cast<std::int64_t>(count)}; }
constexpr Nanos operator""_us(unsigned long long count) {
  return microseconds(static_cast<std::int64_t>(count));
}
constexpr Nanos operator""_ms(unsigned long long count) {
  return milliseconds(static_cast<std::int64_t>(count));
}
constexpr Nanos operator""_s(unsigned long long count) { return seconds(static_cast<std::int64_t>(count)); }
}  // namespace literals

}  // namespace rain
