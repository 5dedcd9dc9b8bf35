// Samples against closed forms, texts against their errors, and golden values that pin the bits.
//
// Tolerances are statistical: with n samples the mean is off by sigma / sqrt(n) and the share below a
// quantile by sqrt(p (1 - p) / n), each one standard error. Seeds are fixed, so a case that passes passes
// always; 4 standard errors are what a right implementation exceeds for one seed in 16,000.
#include "workload/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "workload/temporary_file.h"

namespace rain::workload {
namespace {

constexpr std::size_t kSamples = 400'000;
constexpr double kStandardErrors = 4;

Distribution parsed(std::string_view text, Quantity quantity = Quantity::kTime) {
  auto made = Distribution::parse(text, quantity);
  EXPECT_TRUE(made) << made.error();
  return *made;
}

std::vector<std::int64_t> sorted_samples(const Distribution& distribution, std::uint64_t seed) {
  Prng random(seed);
  std::vector<std::int64_t> samples(kSamples);
  for (std::int64_t& sample : samples) sample = distribution.sample(random);
  std::sort(samples.begin(), samples.end());
  return samples;
}

double mean_of(const std::vector<std::int64_t>& samples) {
  double sum = 0;
  for (const std::int64_t sample : samples) sum += static_cast<double>(sample);
  return sum / static_cast<double>(samples.size());
}

double share_up_to(const std::vector<std::int64_t>& sorted, double value) {
  const auto end = std::upper_bound(sorted.begin(), sorted.end(), value, [](double v, std::int64_t sample) {
    return v < static_cast<double>(sample);
  });
  return static_cast<double>(end - sorted.begin()) / static_cast<double>(sorted.size());
}

void expect_mean(const std::vector<std::int64_t>& samples, double mean, double sigma) {
  const double error = sigma / std::sqrt(static_cast<double>(samples.size()));
  EXPECT_NEAR(mean_of(samples), mean, kStandardErrors * error);
}

void expect_share(const std::vector<std::int64_t>& sorted, double value, double share) {
  const double error = std::sqrt(share * (1 - share) / static_cast<double>(sorted.size()));
  EXPECT_NEAR(share_up_to(sorted, value), share, kStandardErrors * error) << "up to " << value;
}

TEST(distribution, sample__const_is_always_the_same) {
  const Distribution distribution = parsed("const:10us");
  EXPECT_EQ(distribution.mean(), 10'000);
  Prng random(1);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(distribution.sample(random), 10'000);
}

TEST(distribution, sample__const_may_be_zero) {
  const Distribution distribution = parsed("const:0ns");
  Prng random(1);
  EXPECT_EQ(distribution.mean(), 0);
  EXPECT_EQ(distribution.sample(random), 0);
}

TEST(distribution, sample__exp_follows_its_closed_form) {
  const Distribution distribution = parsed("exp:10us");
  EXPECT_EQ(distribution.mean(), 10'000);
  const auto samples = sorted_samples(distribution, 2);
  expect_mean(samples, 10'000, 10'000);
  for (const double share : {0.01, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    expect_share(samples, -10'000 * std::log(1 - share), share);
  }
}

TEST(distribution, sample__bimodal_mixes_two_values) {
  const Distribution distribution = parsed("bimodal:0.25:10us:100us");
  EXPECT_DOUBLE_EQ(distribution.mean(), 0.25 * 10'000 + 0.75 * 100'000);
  const auto samples = sorted_samples(distribution, 3);
  expect_share(samples, 10'000, 0.25);
  EXPECT_EQ(share_up_to(samples, 9'999), 0);
  EXPECT_EQ(share_up_to(samples, 99'999), share_up_to(samples, 10'000));
  EXPECT_EQ(samples.back(), 100'000);
}

TEST(distribution, sample__bimodal_with_certain_outcomes) {
  Prng random(4);
  const Distribution first = parsed("bimodal:1:1us:2us");
  const Distribution second = parsed("bimodal:0:1us:2us");
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(first.sample(random), 1'000);
    ASSERT_EQ(second.sample(random), 2'000);
  }
}

TEST(distribution, sample__trimodal_mixes_three_values) {
  const Distribution distribution = parsed("trimodal:0.6:5us:0.3:50us:500us");
  EXPECT_DOUBLE_EQ(distribution.mean(), 0.6 * 5'000 + 0.3 * 50'000 + 0.1 * 500'000);
  const auto samples = sorted_samples(distribution, 5);
  expect_share(samples, 5'000, 0.6);
  expect_share(samples, 50'000, 0.9);
  EXPECT_EQ(share_up_to(samples, 4'999), 0);
  EXPECT_EQ(share_up_to(samples, 49'999), share_up_to(samples, 5'000));
  EXPECT_EQ(share_up_to(samples, 499'999), share_up_to(samples, 50'000));
  EXPECT_EQ(samples.back(), 500'000);
}

TEST(distribution, sample__lognormal_follows_its_closed_form) {
  const double mean = 10'000;
  const double sigma = 0.8;
  const Distribution distribution = parsed("lognormal:10us:0.8");
  EXPECT_EQ(distribution.mean(), mean);
  const auto samples = sorted_samples(distribution, 6);
  expect_mean(samples, mean, mean * std::sqrt(std::exp(sigma * sigma) - 1));
  const double mu = std::log(mean) - sigma * sigma / 2;
  // Quantiles of the standard normal distribution.
  for (const auto& [z, share] :
       {std::pair{-2.326347874, 0.01}, std::pair{-1.281551566, 0.1}, std::pair{0.0, 0.5},
        std::pair{1.281551566, 0.9}, std::pair{2.326347874, 0.99}, std::pair{3.090232306, 0.999}}) {
    expect_share(samples, std::exp(mu + sigma * z), share);
  }
}

TEST(distribution, sample__pareto_follows_its_closed_form) {
  const double mean = 10'000;
  const double shape = 3.5;
  const double smallest = mean * (shape - 1) / shape;
  const Distribution distribution = parsed("pareto:10us:3.5");
  EXPECT_EQ(distribution.mean(), mean);
  const auto samples = sorted_samples(distribution, 7);
  expect_mean(samples, mean, smallest / (shape - 1) * std::sqrt(shape / (shape - 2)));
  EXPECT_GE(static_cast<double>(samples.front()), std::floor(smallest));
  // Samples are rounded to the nearest nanosecond and the density is high near the smallest one, so the
  // closed form is evaluated half a nanosecond above the whole number that is compared with.
  for (const double share : {0.1, 0.5, 0.9, 0.99, 0.999}) {
    const double whole = std::floor(smallest * std::pow(1 - share, -1 / shape));
    expect_share(samples, whole, 1 - std::pow(smallest / (whole + 0.5), shape));
  }
}

TEST(distribution, sample__empirical_draws_each_value_as_often_as_the_others) {
  const TemporaryFile file("service_us\n1\n2.5\n1\n10\n");
  const Distribution distribution = parsed("empirical:" + file.path());
  EXPECT_DOUBLE_EQ(distribution.mean(), 3'625);
  const auto samples = sorted_samples(distribution, 1);
  expect_share(samples, 1'000, 0.5);
  expect_share(samples, 2'500, 0.75);
  EXPECT_EQ(samples.front(), 1'000);
  EXPECT_EQ(samples.back(), 10'000);
}

TEST(distribution, sample__empirical_draws_by_weight) {
  const TemporaryFile file("count,weight\n3,1\n7,0\n10,9\n");
  const Distribution distribution = parsed("empirical:" + file.path(), Quantity::kCount);
  EXPECT_DOUBLE_EQ(distribution.mean(), 9.3);
  const auto samples = sorted_samples(distribution, 1);
  expect_share(samples, 9, 0.1);
  EXPECT_EQ(std::count(samples.begin(), samples.end(), 7), 0);
}

TEST(distribution, parse__empirical_errors) {
  const TemporaryFile empty("service_us\n");
  const TemporaryFile wrong("service_us,weight\n1,1\n2,-1\n");
  const TemporaryFile counts("count\n1\n");
  for (const auto& [path, error] : {
           std::pair<std::string, std::string>{empty.path(), ": no values (allowed: at least one)"},
           {wrong.path(), ":3: column 2: weight \"-1\" is out of range (allowed: 0 to 1000000000000)"},
           {counts.path(), ":1: header \"count\" (allowed: \"service_us\" or \"service_us,weight\")"},
           {"/nowhere", ": cannot be read: No such file or directory"},
       }) {
    const auto made = Distribution::parse("empirical:" + path);
    ASSERT_FALSE(made) << path;
    EXPECT_EQ(made.error(), "distribution \"empirical:" + path + "\": " + path + error);
  }
}

TEST(distribution, sample__heavy_tail_is_cut) {
  const Distribution distribution = parsed("pareto:100s:1.001");
  Prng random(8);
  std::int64_t largest = 0;
  for (int i = 0; i < 100'000; ++i) largest = std::max(largest, distribution.sample(random));
  EXPECT_EQ(largest, Distribution::kMaxSampleNs);
}

TEST(distribution, sample__counts_are_whole_and_at_least_one) {
  const double mean = 10;
  const Distribution distribution = parsed("exp:10", Quantity::kCount);
  EXPECT_EQ(distribution.mean(), mean);
  const auto samples = sorted_samples(distribution, 9);
  EXPECT_EQ(samples.front(), 1);
  // Up to k: everything that rounds to k or below.
  for (const int k : {1, 2, 5, 10, 30}) expect_share(samples, k, 1 - std::exp(-(k + 0.5) / mean));
}

TEST(distribution, sample__golden) {
  // These values may only change together with a note in CHANGELOG.md: they change every figure's samples.
  struct Case {
    const char* text;
    std::vector<std::int64_t> expected;
  };
  for (const Case& c : {
           Case{"exp:10us", {24786, 9703, 3856, 783, 82, 2617}},
           Case{"bimodal:0.5:10us:100us", {10000, 10000, 100000, 100000, 100000, 100000}},
           Case{"trimodal:0.6:5us:0.3:50us:500us", {5000, 5000, 50000, 500000, 500000, 50000}},
           Case{"lognormal:10us:1.5", {916, 6304, 11323, 893, 6666, 9500}},
           Case{"pareto:10us:1.5", {17398, 6365, 4310, 3512, 3352, 3969}},
       }) {
    const Distribution distribution = parsed(c.text);
    Prng random(42);
    std::vector<std::int64_t> samples;
    for (int i = 0; i < 6; ++i) samples.push_back(distribution.sample(random));
    EXPECT_EQ(samples, c.expected) << c.text;
  }
}

TEST(distribution, text__as_written) {
  EXPECT_EQ(parsed("exp:10us").text(), "exp:10us");
  EXPECT_EQ(Distribution::constant(microseconds(3)).text(), "const:3000ns");
  EXPECT_EQ(parsed(Distribution::constant(microseconds(3)).text()).mean(), 3'000);
}

TEST(distribution, parse__errors) {
  const std::string unit = "; expected a number and a unit (ns, us, ms, s, min), for example 1.5ms";
  const char* kinds = "(allowed: const, exp, bimodal, trimodal, lognormal, pareto, empirical)";
  for (const auto& [text, error] : {
           std::pair<std::string, std::string>{"", std::string("unknown kind \"\" ") + kinds},
           {"gauss:10us:2us", std::string("unknown kind \"gauss\" ") + kinds},
           {"Exp:10us", std::string("unknown kind \"Exp\" ") + kinds},
           {"exp", "has 0 parameters (allowed: 1, as exp:MEAN)"},
           {"exp:10us:20us", "has 2 parameters (allowed: 1, as exp:MEAN)"},
           {"bimodal:10us", "has 1 parameter (allowed: 3, as bimodal:P:A:B)"},
           {"trimodal:0.5:1us:0.5:2us", "has 4 parameters (allowed: 5, as trimodal:P1:A:P2:B:C)"},
           {"exp:10", "\"10\" has no unit" + unit},
           {"exp:", "\"\" is no duration" + unit},
           {"exp:0us", "time \"0us\" is out of range (allowed: 1ns to 100s)"},
           {"const:101s", "time \"101s\" is out of range (allowed: 0ns to 100s)"},
           {"bimodal:1.5:10us:100us", "probability \"1.5\" is out of range (allowed: 0 to 1)"},
           {"bimodal:half:10us:100us", "probability \"half\" is not a number (allowed: 0 to 1)"},
           {"bimodal:0.5:10us:100", "\"100\" has no unit" + unit},
           {"trimodal:0.6:1us:0.6:2us:3us",
            "probabilities \"0.6\" and \"0.6\" add up to more than 1 (allowed: P1 + P2 from 0 to 1)"},
           {"lognormal:10us:0", "sigma \"0\" is out of range (allowed: 0.001 to 5)"},
           {"lognormal:10us:9", "sigma \"9\" is out of range (allowed: 0.001 to 5)"},
           {"pareto:10us:1", "shape \"1\" is out of range (allowed: 1.001 to 100)"},
           {"pareto:10us:x", "shape \"x\" is not a number (allowed: 1.001 to 100)"},
       }) {
    const auto made = Distribution::parse(text);
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error(), "distribution \"" + text + "\": " + error);
  }
}

TEST(distribution, parse__counts_have_no_unit) {
  EXPECT_EQ(Distribution::parse("const:10us", Quantity::kCount).error(),
            "distribution \"const:10us\": count \"10us\" is not a number (allowed: 1 to 1000000)");
  EXPECT_EQ(Distribution::parse("const:0", Quantity::kCount).error(),
            "distribution \"const:0\": count \"0\" is out of range (allowed: 1 to 1000000)");
}

}  // namespace
}  // namespace rain::workload
