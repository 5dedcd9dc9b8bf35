// The rack against queueing theory: with a network that costs nothing every scheduler is a textbook queue.
//
// Seeds are fixed, so these tests give one result; the numbers of samples are such that the standard error of each
// figure is a third of the 2 % that it may differ, or less.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "queueing.h"
#include "sim/simulate.h"
#include "specs.h"

namespace rain::sim {
namespace {

constexpr double kTolerance = 0.02;
constexpr double kMeanServiceNs = 10'000;
constexpr int kWorkers = 32;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif
// A sanitizer looks for other faults than statistics do, at a tenth of the speed: a tenth of the samples, three times
// the error.
constexpr double kSampleShare = kSanitized ? 0.1 : 1;
constexpr double kErrorFactor = kSanitized ? 3.2 : 1;

/// `samples` requests at `rho` of the capacity, mean service 10 us, no network.
Result run_ideal_network(const std::string& scheduler, double rho, const std::string& service_text,
                         double samples, unsigned depth = 0) {
  const double rate = rho * kWorkers * 1e9 / kMeanServiceNs;
  RackSpec spec = rack_spec(scheduler, rate, service_text,
                            Nanos{static_cast<std::int64_t>(samples * kSampleShare / rate * 1e9)});
  spec.calibration = Calibration::ideal_network();
  spec.large_share = 0;
  if (depth != 0) spec.depth = depth;
  if (scheduler == "racksched") spec.refresh_by_recirculation = true;
  auto result = simulate(spec);
  EXPECT_TRUE(result) << (result ? "" : result.error());
  EXPECT_FALSE(result->growth.overloaded);
  return std::move(*result);
}

void expect_close(double ours, double theory, const std::string& what) {
  EXPECT_NEAR(ours / theory, 1, kTolerance * kErrorFactor) << what << ": " << ours << ", theory " << theory;
}

double in_services(Nanos time) { return static_cast<double>(time.value) / kMeanServiceNs; }

TEST(ClosedForms, ideal__waits_as_mmk_does) {
  const double rho = 0.85;
  const Result result = run_ideal_network("ideal", rho, "exp:10us", 16e6);
  expect_close(result.in_switch.mean_ns() / kMeanServiceNs, queueing::mmk_mean_wait(kWorkers, rho * kWorkers),
               "mean wait");
  expect_close(in_services(result.in_switch.quantile(0.99)),
               queueing::mmk_wait_quantile(kWorkers, rho * kWorkers, 0.99), "p99 of the wait");
  expect_close(static_cast<double>(result.queued) / static_cast<double>(result.measured.completed),
               queueing::erlang_c(kWorkers, rho * kWorkers), "share that waits");
}

TEST(ClosedForms, depth_1__is_mmk_request_by_request) {
  const Result ideal = run_ideal_network("ideal", 0.9, "exp:10us", 2e5);
  for (const std::string scheduler : {"rain", "rain-paper"}) {
    const Result result = run_ideal_network(scheduler, 0.9, "exp:10us", 2e5, 1);
    EXPECT_EQ(result.in_worker.max(), Nanos{0}) << scheduler;
    EXPECT_EQ(result.in_switch.count(), ideal.in_switch.count());
    EXPECT_EQ(result.in_switch.mean_ns(), ideal.in_switch.mean_ns()) << scheduler;
    EXPECT_EQ(result.latency().mean_ns(), ideal.latency().mean_ns()) << scheduler;
    EXPECT_EQ(result.latency().max(), ideal.latency().max()) << scheduler;
    EXPECT_EQ(result.latency().quantile(0.99), ideal.latency().quantile(0.99)) << scheduler;
  }
}

TEST(ClosedForms, random__is_mm1_on_each_worker) {
  const double rho = 0.7;
  const Result result = run_ideal_network("random", rho, "exp:10us", 6e6);
  expect_close(result.in_worker.mean_ns() / kMeanServiceNs, queueing::mmk_mean_wait(1, rho), "mean wait");
  expect_close(in_services(result.in_worker.quantile(0.99)), queueing::mmk_wait_quantile(1, rho, 0.99),
               "p99 of the wait");
}

TEST(ClosedForms, random__is_md1_on_each_worker_when_service_is_constant) {
  const double rho = 0.7;
  const Result result = run_ideal_network("random", rho, "const:10us", 3e6);
  expect_close(result.in_worker.mean_ns() / kMeanServiceNs, queueing::mg1_mean_wait(rho, 1), "mean wait");
  expect_close(in_services(result.in_worker.quantile(0.99)), queueing::md1_wait_quantile(rho, 0.99),
               "p99 of the wait");
}

TEST(ClosedForms, random__is_mg1_on_each_worker_when_service_is_bimodal) {
  const double rho = 0.6;
  const Result result = run_ideal_network("random", rho, "bimodal:0.5:4us:16us", 3e6);
  expect_close(result.in_worker.mean_ns() / kMeanServiceNs,
               queueing::mg1_mean_wait(rho, (0.4 * 0.4 + 1.6 * 1.6) / 2), "mean wait");
}

TEST(ClosedForms, simulate__orders_schedulers_as_theory_does) {
  const double rho = 0.9;
  const auto mean_sojourn = [&](const std::string& scheduler) {
    return run_ideal_network(scheduler, rho, "exp:10us", 1e6).latency().mean_ns() / kMeanServiceNs;
  };
  const double ideal = mean_sojourn("ideal");
  const double jsq = mean_sojourn("jsq");
  const double two_choices = mean_sojourn("racksched");
  const double round_robin = mean_sojourn("round-robin");
  const double random = mean_sojourn("random");
  EXPECT_LT(ideal, jsq);
  EXPECT_LT(jsq, two_choices);
  EXPECT_LT(two_choices, round_robin);
  EXPECT_LT(round_robin, random);
  // Two choices among 32, against the limit of many workers: a little more. A choice counts only after its second
  // pass, another little.
  const double limit = queueing::power_of_choices_mean_sojourn(rho, 2);
  EXPECT_GT(two_choices, limit);
  EXPECT_LT(two_choices, limit * 1.15);
  EXPECT_NEAR(random, 1 / (1 - rho), 0.1 / (1 - rho));
}

TEST(ClosedForms, queueing__formulas_agree_where_they_overlap) {
  EXPECT_NEAR(queueing::erlang_c(1, 0.7), 0.7, 1e-12);
  EXPECT_NEAR(queueing::erlang_c(2, 1.0), 1.0 / 3, 1e-12);
  EXPECT_NEAR(queueing::mmk_mean_wait(1, 0.7), queueing::mg1_mean_wait(0.7, 2), 1e-12);
  EXPECT_NEAR(queueing::md1_wait_cdf(0.7, 0), 0.3, 1e-12);
  double mean = 0;  // the integral of 1 - CDF
  for (double t = 0.0005; t < 25; t += 0.001) mean += 0.001 * (1 - queueing::md1_wait_cdf(0.7, t));
  EXPECT_NEAR(mean, queueing::mg1_mean_wait(0.7, 1), 1e-4);
}

}  // namespace
}  // namespace rain::sim
