// Closed forms of queueing theory, computed, for the simulator to be held against.
#pragma once

#include <cmath>

namespace rain::sim::queueing {

/// Erlang C: the probability that a request of M/M/k waits; `load` = arrival rate x mean service, below k.
inline double erlang_c(int k, double load) {
  double inverse_b = 1;  // 1 / Erlang B, by its recursion over the number of servers
  for (int n = 1; n <= k; ++n) inverse_b = 1 + inverse_b * n / load;
  const double b = 1 / inverse_b;
  const double rho = load / k;
  return b / (1 - rho + rho * b);
}

/// M/M/k, service mean 1: waiting time.
inline double mmk_mean_wait(int k, double load) { return erlang_c(k, load) / (k - load); }
inline double mmk_wait_quantile(int k, double load, double q) {
  const double waits = erlang_c(k, load);
  return waits <= 1 - q ? 0 : std::log(waits / (1 - q)) / (k - load);
}

/// M/G/1 (Pollaczek and Khinchine), service mean 1 and the given second moment.
inline double mg1_mean_wait(double rho, double second_moment) {
  return rho * second_moment / (2 * (1 - rho));
}

/// M/D/1, service 1: P(wait <= t), Erlang's alternating series. Exact enough up to t of a few dozen.
inline double md1_wait_cdf(double rho, double t) {
  long double sum = 0;
  for (int j = 0; j <= static_cast<int>(t); ++j) {
    const long double x = static_cast<long double>(rho) * (j - static_cast<long double>(t));  // <= 0
    long double term = std::exp(-x);
    for (int i = 1; i <= j; ++i) term *= x / i;
    sum += term;
  }
  return static_cast<double>((1 - rho) * sum);
}
inline double md1_wait_quantile(double rho, double q) {
  double low = 0;
  double high = 1;
  while (md1_wait_cdf(rho, high) < q) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (md1_wait_cdf(rho, middle) < q ? low : high) = middle;
  }
  return high;
}

/// Power of d choices in the limit of many servers, M, service mean 1: mean time in the system (Mitzenmacher).
inline double power_of_choices_mean_sojourn(double rho, int d) {
  double sum = 0;
  double exponent = 0;  // (d^i - d) / (d - 1) for i = 1, 2, ..
  for (int i = 1; i < 40; ++i) {
    sum += std::pow(rho, exponent);
    exponent = exponent * d + d;
  }
  return sum;
}

}  // namespace rain::sim::queueing
