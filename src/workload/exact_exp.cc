#include "workload/exact_exp.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace rain::workload {
namespace {

// ln 2 in two parts: products of the high part (its last 21 bits are 0) with an exponent are exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
constexpr int kMantissaBits = 52;
constexpr std::uint64_t kExponentBias = 1023;

// 2 to the power of `exponent`, a normal number.
double power_of_two(std::int64_t exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + static_cast<std::int64_t>(kExponentBias))
                               << kMantissaBits);
}

}  // namespace

double exact_exp(double x) {
  x = std::clamp(x, -700.0, 700.0);
  const auto exponent = static_cast<std::int64_t>(x * kInverseLn2 + (x < 0 ? -0.5 : 0.5));
  const auto e = static_cast<double>(exponent);
  const double rest = (x - e * kLn2High) - e * kLn2Low;  // |rest| <= 0.35: the 15th term is below 1e-18
  double series = 1;
  for (int term = 15; term >= 1; --term) series = 1 + series * rest / term;
  return series * power_of_two(exponent);
}

}  // namespace rain::workload
