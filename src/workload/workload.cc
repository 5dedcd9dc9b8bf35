#include "workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/duration_text.h"
#include "workload/presets.h"

namespace rain::workload {
namespace {

// Shares are decimal text, so their sum is only nearly 1.
constexpr double kShareTolerance = 1e-6;

constexpr std::uint64_t kArrivalStream = 1;
constexpr std::uint64_t kClassStream = 2;
constexpr std::uint64_t kDemandStream = 3;

Parsed<void> check_shares(double sum, std::string_view where) {
  if (std::abs(sum - 1) <= kShareTolerance) return {};
  return tl::unexpected(fmt::format("shares of {} add up to {:.9g} (allowed: 1)", where, sum));
}

Parsed<void> check_classes(const std::vector<ClassSpec>& classes) {
  if (classes.empty() || classes.size() > kMaxClasses) {
    return tl::unexpected(fmt::format("{} classes (allowed: 1 to {})", classes.size(), kMaxClasses));
  }
  double sum = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const ClassSpec& one = classes[i];
    if (!(one.share >= 0 && one.share <= 1)) {
      return tl::unexpected(fmt::format("share {} of class {} is out of range (allowed: 0 to 1)", one.share,
                                        in_quotes(one.name)));
    }
    sum += one.share;
    for (std::size_t j = 0; j < i; ++j) {
      if (classes[j].name == one.name) {
        return tl::unexpected(
            fmt::format("class {} is given twice (allowed: different names)", in_quotes(one.name)));
      }
    }
  }
  return check_shares(sum, "the classes");
}

Parsed<void> check_phases(const std::vector<PhaseSpec>& phases, std::size_t class_count) {
  if (phases.empty() || phases.size() > kMaxPhases) {
    return tl::unexpected(fmt::format("{} phases (allowed: 1 to {})", phases.size(), kMaxPhases));
  }
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const PhaseSpec& one = phases[i];
    const std::string where = fmt::format("phase {}", i + 1);
    if (i == 0 && one.start.value != 0) {
      return tl::unexpected(
          fmt::format("{} starts at {} (allowed: the first starts at 0)", where, format_duration(one.start)));
    }
    if (i > 0 && one.start <= phases[i - 1].start) {
      return tl::unexpected(fmt::format("{} starts at {}, not after the one before it (allowed: above {})",
                                        where, format_duration(one.start),
                                        format_duration(phases[i - 1].start)));
    }
    if (one.start > kMaxPhaseStart) {
      return tl::unexpected(fmt::format("{} starts at {} (allowed: at most {})", where,
                                        format_duration(one.start), format_duration(kMaxPhaseStart)));
    }
    if (one.rate != 0 && !(one.rate >= kMinRate && one.rate <= kMaxRate)) {
      return tl::unexpected(
          fmt::format("rate {} of {} is out of range (allowed: 0, or {} to {:.0f} requests a second)",
                      one.rate, where, kMinRate, kMaxRate));
    }
    if (one.rate == 0 && i + 1 == phases.size()) {
      return tl::unexpected(
          fmt::format("rate 0 of {}, the last (allowed: above 0, it lasts for ever)", where));
    }
    if (one.shares.empty()) continue;
    if (one.shares.size() != class_count) {
      return tl::unexpected(fmt::format("{} has {} shares (allowed: none, or one for each of the {} classes)",
                                        where, one.shares.size(), class_count));
    }
    double sum = 0;
    for (const double share : one.shares) {
      if (!(share >= 0 && share <= 1)) {
        return tl::unexpected(fmt::format("share {} of {} is out of range (allowed: 0 to 1)", share, where));
      }
      sum += share;
    }
    if (auto good = check_shares(sum, where); !good) return good;
  }
  return {};
}

bool is_class_name(std::string_view name) {
  constexpr std::size_t kMaxName = 32;
  return !name.empty() && name.size() <= kMaxName && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

// NAME[@TYPE]:SHARE:DISTRIBUTION
Parsed<ClassSpec> parse_class(std::string_view text, Quantity quantity) {
  const auto fail = [&](std::string_view why) {
    return tl::unexpected(fmt::format("class {}: {}", in_quotes(text), why));
  };
  const std::size_t name_end = text.find(':');
  const std::size_t share_end = name_end == std::string_view::npos ? name_end : text.find(':', name_end + 1);
  if (share_end == std::string_view::npos)
    return fail("parts are missing (allowed: NAME[@TYPE]:SHARE:DISTRIBUTION)");

  ClassSpec made;
  std::string_view name = text.substr(0, name_end);
  if (const std::size_t at = name.find('@'); at != std::string_view::npos) {
    const std::string_view type = name.substr(at + 1);
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(type.data(), type.data() + type.size(), number);
    if (error != std::errc{} || end != type.data() + type.size()) {
      return fail(fmt::format("task type {} (allowed: 0 to 65535)", in_quotes(type)));
    }
    made.type = TaskType{number};
    name = name.substr(0, at);
  }
  if (!is_class_name(name)) {
    return fail(fmt::format("name {} (allowed: 1 to 32 letters, digits, '_', '-', '.')", in_quotes(name)));
  }
  made.name = std::string(name);
  const auto share = parse_number(text.substr(name_end + 1, share_end - name_end - 1), "share", 0, 1);
  if (!share) return fail(share.error());
  made.share = *share;
  auto demand = Distribution::parse(text.substr(share_end + 1), quantity);
  if (!demand) return fail(demand.error());
  made.demand = std::move(*demand);
  return made;
}

// START=RATE[@SHARE/SHARE/..]
Parsed<PhaseSpec> parse_phase(std::string_view text) {
  const auto fail = [&](std::string_view why) {
    return tl::unexpected(fmt::format("phase {}: {}", in_quotes(text), why));
  };
  const std::size_t start_end = text.find('=');
  if (start_end == std::string_view::npos) return fail("no '=' (allowed: START=RATE[@SHARE/SHARE/..])");
  PhaseSpec made;
  const auto start = parse_duration(text.substr(0, start_end));
  if (!start) return fail(start.error());
  made.start = *start;
  std::string_view rate_text = text.substr(start_end + 1);
  if (const std::size_t at = rate_text.find('@'); at != std::string_view::npos) {
    for (const std::string_view share_text : split(rate_text.substr(at + 1), '/')) {
      const auto share = parse_number(share_text, "share", 0, 1);
      if (!share) return fail(share.error());
      made.shares.push_back(*share);
    }
    rate_text = rate_text.substr(0, at);
  }
  const auto rate = parse_rate(rate_text);
  if (!rate) return fail(rate.error());
  made.rate = *rate;
  return made;
}

}  // namespace

Parsed<Arrival> parse_arrival(std::string_view text) {
  for (const Arrival arrival : {Arrival::kPoisson, Arrival::kUniform, Arrival::kConstant}) {
    if (text == to_text(arrival)) return arrival;
  }
  return tl::unexpected(fmt::format("arrivals {} (allowed: poisson, uniform, constant)", in_quotes(text)));
}

std::string_view to_text(Arrival arrival) {
  switch (arrival) {
    case Arrival::kPoisson:
      return "poisson";
    case Arrival::kUniform:
      return "uniform";
    case Arrival::kConstant:
      return "constant";
  }
  RAIN_ASSERT(false);
}

Parsed<std::vector<ClassSpec>> parse_classes(std::string_view text, Quantity quantity) {
  if (text.find(':') == std::string_view::npos) {
    const Preset* preset = find_preset(text, quantity);
    if (preset == nullptr) {
      return tl::unexpected(
          fmt::format("classes {} (allowed: NAME[@TYPE]:SHARE:DISTRIBUTION,.. or one of {})", in_quotes(text),
                      preset_names(quantity)));
    }
    text = preset->classes;
  }
  std::vector<ClassSpec> classes;
  for (const std::string_view one : split(text, ',')) {
    auto made = parse_class(one, quantity);
    if (!made) return tl::unexpected(made.error());
    classes.push_back(std::move(*made));
  }
  if (auto good = check_classes(classes); !good)
    return tl::unexpected(fmt::format("classes {}: {}", in_quotes(text), good.error()));
  return classes;
}

Parsed<std::vector<PhaseSpec>> parse_phases(std::string_view text) {
  std::vector<PhaseSpec> phases;
  for (const std::string_view one : split(text, ',')) {
    auto made = parse_phase(one);
    if (!made) return tl::unexpected(made.error());
    phases.push_back(std::move(*made));
  }
  return phases;
}

WorkloadSpec WorkloadSpec::steady(double rate, std::vector<ClassSpec> classes, Arrival arrival) {
  return {.arrival = arrival, .classes = std::move(classes), .phases = {{.start = {}, .rate = rate}}};
}

WorkloadSpec WorkloadSpec::replay(std::shared_ptr<const Trace> trace) {
  struct Sum {
    double count = 0;
    double service_ns = 0;
  };
  std::vector<Sum> sums(trace->types.size());
  for (const TraceRow& row : trace->rows) {
    sums[row.class_index].count += 1;
    sums[row.class_index].service_ns += static_cast<double>(row.service.value);
  }
  const auto count = static_cast<double>(trace->rows.size());
  std::vector<ClassSpec> classes;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Nanos mean{static_cast<std::int64_t>(sums[i].service_ns / sums[i].count + 0.5)};
    classes.push_back({.name = fmt::format("type-{}", trace->types[i].value),
                       .share = sums[i].count / count,
                       .type = trace->types[i],
                       .demand = Distribution::constant(mean)});
  }
  WorkloadSpec made = steady(count * 1e9 / static_cast<double>(trace->period.value), std::move(classes));
  made.trace = std::move(trace);
  return made;
}

Parsed<void> WorkloadSpec::validate() const {
  if (auto good = check_classes(classes); !good) return good;
  return check_phases(phases, classes.size());
}

double WorkloadSpec::mean_demand() const {
  double mean = 0;
  for (const ClassSpec& one : classes) mean += one.share * one.demand.mean();
  return mean;
}

Parsed<Workload> Workload::make(WorkloadSpec spec, std::uint64_t seed) {
  if (auto good = spec.validate(); !good) return tl::unexpected(good.error());
  return Workload(std::move(spec), seed);
}

Workload::Workload(WorkloadSpec spec, std::uint64_t seed)
    : spec_(std::move(spec)),
      arrivals_(seed, kArrivalStream),
      classes_(seed, kClassStream),
      demands_(seed, kDemandStream) {
  for (std::size_t i = 0; i < spec_.phases.size(); ++i) {
    const PhaseSpec& from = spec_.phases[i];
    Phase& phase = phases_.emplace_back();
    phase.start_ns = static_cast<double>(from.start.value);
    phase.end_ns = i + 1 < spec_.phases.size() ? static_cast<double>(spec_.phases[i + 1].start.value)
                                               : std::numeric_limits<double>::infinity();
    phase.rate_per_ns = from.rate / 1e9;
    double sum = 0;
    std::size_t last_used = 0;
    for (std::size_t c = 0; c < spec_.classes.size(); ++c) {
      const double share = from.shares.empty() ? spec_.classes[c].share : from.shares[c];
      sum += share;
      phase.share_sums[c] = sum;
      if (share > 0) last_used = c;
    }
    // Rounding may leave the sum a little below 1: the last class that has a share takes what is left over.
    for (std::size_t c = last_used; c < spec_.classes.size(); ++c) phase.share_sums[c] = 1;
  }
}

// The next gap in units of the mean gap, so that a phase's end can cut it: what is left of it is served at
// the next phase's rate. For Poisson arrivals this is exact (time change of a Poisson process).
double Workload::draw_gap() {
  switch (spec_.arrival) {
    case Arrival::kPoisson:
      return arrivals_.exponential();
    case Arrival::kUniform:
      return 2 * arrivals_.unit();
    case Arrival::kConstant:
      return 1;
  }
  RAIN_ASSERT(false);
}

void Workload::advance(double gap) {
  for (;;) {
    const Phase& phase = phases_[phase_];
    const double room =
        phase.rate_per_ns * (phase.end_ns - now_ns_);  // 0 in a pause, infinite in the last phase
    if (phase.rate_per_ns > 0 && gap < room) {
      now_ns_ += gap / phase.rate_per_ns;
      return;
    }
    gap -= room;
    now_ns_ = phase.end_ns;
    ++phase_;
  }
}

Request Workload::next_of_trace() {
  const TraceRow& row = spec_.trace->rows[row_];
  Request request;
  request.at = trace_began_ + row.at;
  request.gap = request.at - last_;
  request.class_index = row.class_index;
  request.demand = row.service.value;
  request.size_bytes = row.size_bytes;
  last_ = request.at;
  if (++row_ == spec_.trace->rows.size()) {
    row_ = 0;
    trace_began_ += spec_.trace->period;
  }
  return request;
}

Request Workload::next() {
  if (spec_.trace) return next_of_trace();
  advance(draw_gap());
  Request request;
  request.at = Nanos{static_cast<std::int64_t>(now_ns_)};
  request.gap = request.at - last_;
  last_ = request.at;
  const Phase& phase = phases_[phase_];
  const double u = classes_.unit();
  while (u >= phase.share_sums[request.class_index]) ++request.class_index;
  request.demand = spec_.classes[request.class_index].demand.sample(demands_);
  return request;
}

}  // namespace rain::workload
