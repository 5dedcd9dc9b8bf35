// Arrivals, classes and phases against closed forms; texts against their errors; golden values.
// On tolerances see distribution_test.cc.
#include "workload/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace rain::workload {
namespace {

using namespace rain::literals;

constexpr double kStandardErrors = 4;

std::vector<ClassSpec> classes(std::string_view text, Quantity quantity = Quantity::kTime) {
  auto made = parse_classes(text, quantity);
  EXPECT_TRUE(made) << made.error();
  return *made;
}

std::vector<PhaseSpec> phases(std::string_view text) {
  auto made = parse_phases(text);
  EXPECT_TRUE(made) << made.error();
  return *made;
}

Workload workload(WorkloadSpec spec, std::uint64_t seed) {
  auto made = Workload::make(std::move(spec), seed);
  EXPECT_TRUE(made) << made.error();
  return std::move(*made);
}

std::vector<Request> take(Workload& from, std::size_t count) {
  std::vector<Request> requests(count);
  for (Request& request : requests) request = from.next();
  return requests;
}

// Requests that arrive in [begin, end).
double count_between(const std::vector<Request>& requests, Nanos begin, Nanos end) {
  return static_cast<double>(std::count_if(requests.begin(), requests.end(), [&](const Request& request) {
    return request.at >= begin && request.at < end;
  }));
}

TEST(workload, next__gaps_add_up_to_the_times) {
  Workload source = workload(WorkloadSpec::steady(1e6, classes("all:1:exp:10us")), 1);
  Nanos at{};
  for (int i = 0; i < 10'000; ++i) {
    const Request request = source.next();
    ASSERT_GE(request.gap.value, 0);
    at += request.gap;
    ASSERT_EQ(at, request.at);
  }
}

TEST(workload, next__poisson_gaps_are_exponential) {
  constexpr std::size_t kCount = 400'000;
  Workload source = workload(WorkloadSpec::steady(100'000, classes("all:1:const:10us")), 2);
  const auto requests = take(source, kCount);
  const double n = static_cast<double>(kCount);
  EXPECT_NEAR(static_cast<double>(requests.back().at.value) / n, 10'000,
              kStandardErrors * 10'000 / std::sqrt(n));
  for (const double share : {0.1, 0.5, 0.9, 0.99}) {
    const double quantile_ns = -10'000 * std::log(1 - share);
    const auto below = std::count_if(requests.begin(), requests.end(), [&](const Request& request) {
      return static_cast<double>(request.gap.value) <= quantile_ns;
    });
    EXPECT_NEAR(static_cast<double>(below) / n, share, kStandardErrors * std::sqrt(share * (1 - share) / n))
        << share;
  }
}

TEST(workload, next__constant_gaps_do_not_drift) {
  // A gap of 333.3 ns: the times stay within one nanosecond of the ideal ones after a million requests.
  Workload source = workload(WorkloadSpec::steady(3e6, classes("all:1:const:10us"), Arrival::kConstant), 3);
  for (int i = 1; i <= 1'000'000; ++i) {
    const Request request = source.next();
    ASSERT_NEAR(static_cast<double>(request.at.value), i / 3e6 * 1e9, 1.01);
  }
}

TEST(workload, next__uniform_gaps_lie_between_zero_and_twice_the_mean) {
  constexpr std::size_t kCount = 400'000;
  Workload source =
      workload(WorkloadSpec::steady(100'000, classes("all:1:const:10us"), Arrival::kUniform), 4);
  const auto requests = take(source, kCount);
  const double n = static_cast<double>(kCount);
  // Standard deviation of a uniform gap: width / sqrt(12).
  EXPECT_NEAR(static_cast<double>(requests.back().at.value) / n, 10'000,
              kStandardErrors * 20'000 / std::sqrt(12) / std::sqrt(n));
  const auto [shortest, longest] = std::minmax_element(
      requests.begin(), requests.end(), [](const Request& a, const Request& b) { return a.gap < b.gap; });
  EXPECT_LT(shortest->gap, 10_ns);
  EXPECT_GT(longest->gap, Nanos{19'990});
  EXPECT_LE(longest->gap, Nanos{20'001});
}

TEST(workload, next__classes_by_their_shares) {
  constexpr std::size_t kCount = 400'000;
  Workload source =
      workload(WorkloadSpec::steady(1e6, classes("a:0.9:const:1us,b:0:const:2us,c:0.1:const:3us")), 5);
  std::vector<double> counts(3);
  for (const Request& request : take(source, kCount)) {
    counts.at(request.class_index) += 1;
    ASSERT_EQ(request.service(), microseconds(request.class_index + 1));
  }
  const double error = std::sqrt(0.9 * 0.1 * kCount);
  EXPECT_NEAR(counts[0], 0.9 * kCount, kStandardErrors * error);
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2], 0.1 * kCount, kStandardErrors * error);
}

TEST(workload, next__class_of_rounded_shares_is_always_in_range) {
  // Ten times 0.1 is a little less than 1 in binary.
  std::string text;
  for (char name = 'a'; name < 'k'; ++name)
    text += std::string(name == 'a' ? "" : ",") + name + ":0.1:const:1us";
  Workload source = workload(WorkloadSpec::steady(1e6, classes(text)), 6);
  std::vector<int> counts(10);
  for (const Request& request : take(source, 100'000)) ++counts.at(request.class_index);
  EXPECT_THAT(counts, ::testing::Each(::testing::Gt(9'500)));
}

TEST(workload, next__phases_change_the_rate) {
  for (const Arrival arrival : {Arrival::kPoisson, Arrival::kUniform, Arrival::kConstant}) {
    Workload source = workload({.arrival = arrival,
                                .classes = classes("all:1:exp:10us"),
                                .phases = phases("0s=100k,1s=0,2s=400k,3s=50k")},
                               7);
    const auto requests = take(source, 600'000);
    ASSERT_GE(requests.back().at, 4_s) << to_text(arrival);
    // The Poisson case has the largest standard error: the root of the count.
    EXPECT_NEAR(count_between(requests, 0_s, 1_s), 100'000, kStandardErrors * std::sqrt(100'000))
        << to_text(arrival);
    EXPECT_EQ(count_between(requests, 1_s, 2_s), 0) << to_text(arrival);
    EXPECT_NEAR(count_between(requests, 2_s, 3_s), 400'000, kStandardErrors * std::sqrt(400'000))
        << to_text(arrival);
    EXPECT_NEAR(count_between(requests, 3_s, 4_s), 50'000, kStandardErrors * std::sqrt(50'000))
        << to_text(arrival);
  }
}

TEST(workload, next__a_gap_cut_by_a_phase_goes_on_at_the_new_rate) {
  // Constant gaps of 1 s until 2.5 s, then of 0.1 s: half a gap is left over, so the next request comes
  // at 2.55 s.
  Workload source = workload({.arrival = Arrival::kConstant,
                              .classes = classes("all:1:const:1us"),
                              .phases = phases("0s=1,2.5s=10")},
                             8);
  std::vector<std::int64_t> times_ms;
  for (const Request& request : take(source, 5)) times_ms.push_back((request.at.value + 500'000) / 1'000'000);
  EXPECT_THAT(times_ms, ::testing::ElementsAre(1000, 2000, 2550, 2650, 2750));
}

TEST(workload, next__phases_change_the_shares) {
  Workload source = workload({.classes = classes("a:1:exp:10us,b:0:bimodal:0.5:10us:100us"),
                              .phases = phases("0s=100k,1s=100k@0/1,2s=100k")},
                             9);
  for (const Request& request : take(source, 250'000)) {
    const bool middle = request.at >= 1_s && request.at < 2_s;
    ASSERT_EQ(request.class_index, middle ? 1 : 0) << request.at.value;
  }
}

TEST(workload, next__same_seed_same_requests) {
  const WorkloadSpec spec = WorkloadSpec::steady(1e6, classes("a:0.5:exp:10us,b:0.5:lognormal:10us:1"));
  Workload one = workload(spec, 10);
  Workload two = workload(spec, 10);
  Workload other = workload(spec, 11);
  bool differs = false;
  for (int i = 0; i < 10'000; ++i) {
    const Request a = one.next();
    const Request b = two.next();
    const Request c = other.next();
    ASSERT_TRUE(a.at == b.at && a.class_index == b.class_index && a.demand == b.demand);
    differs = differs || a.at != c.at || a.class_index != c.class_index || a.demand != c.demand;
  }
  EXPECT_TRUE(differs);
}

TEST(workload, next__service_times_do_not_disturb_arrivals) {
  // Lognormal draws a varying number of random words per sample.
  Workload one = workload(WorkloadSpec::steady(1e6, classes("a:1:const:10us")), 12);
  Workload two = workload(WorkloadSpec::steady(1e6, classes("a:1:lognormal:10us:1")), 12);
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(one.next().at, two.next().at);
}

TEST(workload, next__golden) {
  // These values may only change together with a note in CHANGELOG.md: they change every figure's workload.
  Workload source = workload({.classes = classes("short:0.75:exp:10us,long:0.25:bimodal:0.5:10us:100us"),
                              .phases = phases("0s=1M,5us=2M")},
                             42);
  struct Golden {
    std::int64_t at_ns;
    std::uint16_t class_index;
    std::int64_t demand_ns;
    bool operator==(const Golden&) const = default;
  };
  std::vector<Golden> drawn;
  for (const Request& request : take(source, 8)) {
    drawn.push_back({request.at.value, request.class_index, request.demand});
  }
  const std::vector<Golden> expected = {{1064, 0, 13158}, {3011, 0, 4130},  {3344, 0, 11556},
                                        {4836, 1, 10000}, {6263, 0, 23376}, {6536, 1, 10000},
                                        {6713, 0, 2025},  {7245, 0, 5372}};
  ASSERT_EQ(drawn.size(), expected.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_TRUE(drawn[i] == expected[i])
        << i << ": " << drawn[i].at_ns << ", " << drawn[i].class_index << ", " << drawn[i].demand_ns;
  }
}

TEST(workload, parse_classes__all_parts) {
  const auto parsed = classes("get@1:0.9:const:10us,scan:0.1:bimodal:0.5:10us:100us");
  ASSERT_EQ(parsed.size(), 2u);
  EXPECT_EQ(parsed[0].name, "get");
  EXPECT_EQ(parsed[0].type, TaskType{1});
  EXPECT_EQ(parsed[0].share, 0.9);
  EXPECT_EQ(parsed[0].demand.text(), "const:10us");
  EXPECT_EQ(parsed[1].name, "scan");
  EXPECT_EQ(parsed[1].type, std::nullopt);
  EXPECT_EQ(parsed[1].demand.text(), "bimodal:0.5:10us:100us");
}

TEST(workload, parse_classes__counts) {
  const auto parsed = classes("get:0.9:const:10,scan:0.1:exp:500", Quantity::kCount);
  EXPECT_EQ(parsed[1].demand.quantity(), Quantity::kCount);
  EXPECT_EQ(parsed[1].demand.mean(), 500);
}

TEST(workload, parse_classes__errors) {
  using Case = std::pair<const char*, const char*>;
  for (const auto& [text, error] : {
           Case{"a:1", "class \"a:1\": parts are missing (allowed: NAME[@TYPE]:SHARE:DISTRIBUTION)"},
           Case{"a:1:exp:10us,", "class \"\": parts are missing (allowed: NAME[@TYPE]:SHARE:DISTRIBUTION)"},
           Case{":1:exp:10us",
                "class \":1:exp:10us\": name \"\" (allowed: 1 to 32 letters, digits, '_', '-', '.')"},
           Case{"a b:1:exp:10us",
                "class \"a b:1:exp:10us\": name \"a b\" (allowed: 1 to 32 letters, digits, '_', '-', '.')"},
           Case{"a@x:1:exp:10us", "class \"a@x:1:exp:10us\": task type \"x\" (allowed: 0 to 65535)"},
           Case{"a@65536:1:exp:10us",
                "class \"a@65536:1:exp:10us\": task type \"65536\" (allowed: 0 to 65535)"},
           Case{"a:2:exp:10us", "class \"a:2:exp:10us\": share \"2\" is out of range (allowed: 0 to 1)"},
           Case{"a:1:exp:10",
                "class \"a:1:exp:10\": distribution \"exp:10\": \"10\" has no unit; expected a number and a "
                "unit (ns, us, ms, s, min), for example 1.5ms"},
           Case{"a:0.5:exp:10us,a:0.5:exp:10us",
                "classes \"a:0.5:exp:10us,a:0.5:exp:10us\": class \"a\" is given twice (allowed: different "
                "names)"},
           Case{
               "a:0.5:exp:10us,b:0.4:exp:10us",
               "classes \"a:0.5:exp:10us,b:0.4:exp:10us\": shares of the classes add up to 0.9 (allowed: 1)"},
       }) {
    const auto parsed = parse_classes(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error(), error);
  }
}

TEST(workload, parse_phases__all_parts) {
  const auto parsed = phases("0s=160k,1s=1.6M@0.5/0.5");
  ASSERT_EQ(parsed.size(), 2u);
  EXPECT_EQ(parsed[0].start, 0_s);
  EXPECT_DOUBLE_EQ(parsed[0].rate, 160'000);
  EXPECT_TRUE(parsed[0].shares.empty());
  EXPECT_EQ(parsed[1].start, 1_s);
  EXPECT_DOUBLE_EQ(parsed[1].rate, 1.6e6);
  EXPECT_THAT(parsed[1].shares, ::testing::ElementsAre(0.5, 0.5));
}

TEST(workload, parse_phases__errors) {
  using Case = std::pair<const char*, const char*>;
  for (const auto& [text, error] : {
           Case{"160k", "phase \"160k\": no '=' (allowed: START=RATE[@SHARE/SHARE/..])"},
           Case{"1=160k",
                "phase \"1=160k\": \"1\" has no unit; expected a number and a unit (ns, us, ms, s, min), for "
                "example 1.5ms"},
           Case{"0s=fast",
                "phase \"0s=fast\": rate \"fast\" is not a number of requests a second (allowed: such as "
                "1500, 450k, 2.2M)"},
           Case{"0s=1k@1/x", "phase \"0s=1k@1/x\": share \"x\" is not a number (allowed: 0 to 1)"},
           Case{"0s=1k,", "phase \"\": no '=' (allowed: START=RATE[@SHARE/SHARE/..])"},
       }) {
    const auto parsed = parse_phases(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error(), error);
  }
}

TEST(workload, validate__names_the_first_thing_wrong) {
  using Case = std::pair<const char*, const char*>;
  for (const auto& [text, error] : {
           Case{"1s=1k", "phase 1 starts at 1s (allowed: the first starts at 0)"},
           Case{"0s=1k,2s=1k,2s=3k", "phase 3 starts at 2s, not after the one before it (allowed: above 2s)"},
           Case{"0s=1k,9000min=1k", "phase 2 starts at 540000s (allowed: at most 86400s)"},
           Case{"0s=1k,1s=0", "rate 0 of phase 2, the last (allowed: above 0, it lasts for ever)"},
           Case{"0s=1k@1/0", "phase 1 has 2 shares (allowed: none, or one for each of the 1 classes)"},
           Case{"0s=1k@0.5", "shares of phase 1 add up to 0.5 (allowed: 1)"},
       }) {
    const WorkloadSpec spec{.classes = classes("all:1:const:1us"), .phases = phases(text)};
    const auto made = Workload::make(spec, 1);
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error(), error);
  }
}

TEST(workload, validate__values_that_no_text_can_give) {
  WorkloadSpec spec = WorkloadSpec::steady(1000, {});
  EXPECT_EQ(spec.validate().error(), "0 classes (allowed: 1 to 64)");
  spec.classes.resize(kMaxClasses + 1);
  EXPECT_EQ(spec.validate().error(), "65 classes (allowed: 1 to 64)");
  spec.classes = {{.name = "a", .share = -1}};
  EXPECT_EQ(spec.validate().error(), "share -1 of class \"a\" is out of range (allowed: 0 to 1)");
  spec.classes = {{.name = "a", .share = std::nan("")}};
  EXPECT_EQ(spec.validate().error(), "share nan of class \"a\" is out of range (allowed: 0 to 1)");
  spec.classes = {{.name = "a"}};
  EXPECT_TRUE(spec.validate());
  spec.phases[0].rate = 2e9;
  EXPECT_EQ(
      spec.validate().error(),
      "rate 2000000000 of phase 1 is out of range (allowed: 0, or 0.001 to 1000000000 requests a second)");
  spec.phases.clear();
  EXPECT_EQ(spec.validate().error(), "0 phases (allowed: 1 to 1024)");
}

TEST(workload, mean_demand__weighs_by_share) {
  const WorkloadSpec spec =
      WorkloadSpec::steady(1000, classes("a:0.9:const:10us,b:0.1:bimodal:0.5:10us:100us"));
  EXPECT_DOUBLE_EQ(spec.mean_demand(), 0.9 * 10'000 + 0.1 * 55'000);
}

TEST(workload, parse_arrival__names) {
  for (const Arrival arrival : {Arrival::kPoisson, Arrival::kUniform, Arrival::kConstant}) {
    EXPECT_EQ(parse_arrival(to_text(arrival)).value(), arrival);
  }
  EXPECT_EQ(parse_arrival("bursty").error(), "arrivals \"bursty\" (allowed: poisson, uniform, constant)");
}

}  // namespace
}  // namespace rain::workload
