#include "workload/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/assert.h"
#include "base/duration_text.h"
#include "workload/csv.h"
#include "workload/exact_exp.h"

namespace rain::workload {
namespace {

// A standard normal number: a direction drawn in the unit disc, a length from the exponential. Only sqrt,
// which is the same everywhere. The second number that the method yields is thrown away: keeping it would be
// state, and a distribution has none.
double sample_normal(Prng& random) {
  for (;;) {
    const double u = 2 * random.unit() - 1;
    const double v = 2 * random.unit() - 1;
    const double square = u * u + v * v;
    if (square > 0 && square < 1) return u * std::sqrt(2 * random.exponential() / square);
  }
}

Parsed<double> parse_value(std::string_view text, Quantity quantity, bool is_mean) {
  if (quantity == Quantity::kCount) {
    return parse_number(text, "count", 1, static_cast<double>(Distribution::kMaxSampleCount));
  }
  const auto time = parse_duration(text);
  if (!time) return tl::unexpected(time.error());
  const Nanos low{is_mean ? 1 : 0};
  if (*time < low || *time > Distribution::kMaxTime) {
    return tl::unexpected(fmt::format("time {} is out of range (allowed: {}ns to {})", in_quotes(text),
                                      low.value, format_duration(Distribution::kMaxTime)));
  }
  return static_cast<double>(time->value);
}

}  // namespace

// How a kind is written: its name, its parameters for people, and for each parameter what it is:
// v a value, m a mean (a value above 0), p a probability, s a sigma, a a shape.
struct Distribution::Form {
  Kind kind;
  std::string_view name;
  std::string_view usage;
  std::string_view parameters;
};

const std::array<Distribution::Form, 6> Distribution::kForms = {{
    {Kind::kConst, "const", "const:A", "v"},
    {Kind::kExp, "exp", "exp:MEAN", "m"},
    {Kind::kBimodal, "bimodal", "bimodal:P:A:B", "pvv"},
    {Kind::kTrimodal, "trimodal", "trimodal:P1:A:P2:B:C", "pvpvv"},
    {Kind::kLognormal, "lognormal", "lognormal:MEAN:SIGMA", "ms"},
    {Kind::kPareto, "pareto", "pareto:MEAN:SHAPE", "ma"},
}};

struct Distribution::Empirical {
  struct Value {
    double value;
    double up_to;  // probability of this one and those before it
  };
  std::vector<Value> values;
  double mean = 0;
};

Parsed<std::shared_ptr<const Distribution::Empirical>> Distribution::read_empirical(const std::string& path,
                                                                                    Quantity quantity) {
  constexpr std::array<std::string_view, 2> kTimeHeaders = {"service_us", "service_us,weight"};
  constexpr std::array<std::string_view, 2> kCountHeaders = {"count", "count,weight"};
  constexpr double kMaxWeight = 1e12;
  const bool is_time = quantity == Quantity::kTime;
  const double unit = is_time ? 1000 : 1;
  const double low = is_time ? 0 : 1;
  const double high =
      is_time ? static_cast<double>(kMaxTime.value) / unit : static_cast<double>(kMaxSampleCount);
  auto file = NumberFile::open(path, is_time ? kTimeHeaders : kCountHeaders);
  if (!file) return tl::unexpected(file.error());
  auto made = std::make_shared<Empirical>();
  double sum = 0;
  double weighted = 0;
  for (;;) {
    const auto more = file->next_row();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    const auto value = file->number(0, low, high);
    if (!value) return tl::unexpected(value.error());
    const auto weight = file->columns() == 2 ? file->number(1, 0, kMaxWeight) : Parsed<double>(1);
    if (!weight) return tl::unexpected(weight.error());
    if (*weight == 0) continue;
    sum += *weight;
    weighted += *weight * *value * unit;
    made->values.push_back({*value * unit, sum});
  }
  if (made->values.empty()) return tl::unexpected(fmt::format("{}: no values (allowed: at least one)", path));
  for (Empirical::Value& one : made->values) one.up_to /= sum;
  made->mean = weighted / sum;
  return made;
}

Parsed<Distribution> Distribution::parse(std::string_view text, Quantity quantity) {
  const auto fail = [&](std::string_view why) {
    return tl::unexpected(fmt::format("distribution {}: {}", in_quotes(text), why));
  };
  if (constexpr std::string_view kEmpiricalPrefix = "empirical:"; text.starts_with(kEmpiricalPrefix)) {
    auto values = read_empirical(std::string(text.substr(kEmpiricalPrefix.size())), quantity);
    if (!values) return fail(values.error());
    Distribution made;
    made.kind_ = Kind::kEmpirical;
    made.quantity_ = quantity;
    made.empirical_ = std::move(*values);
    made.text_ = std::string(text);
    return made;
  }
  const std::vector<std::string_view> fields = split(text, ':');
  const auto form =
      std::find_if(kForms.begin(), kForms.end(), [&](const Form& f) { return f.name == fields[0]; });
  if (form == kForms.end()) {
    return fail(
        fmt::format("unknown kind {} (allowed: const, exp, bimodal, trimodal, lognormal, pareto, empirical)",
                    in_quotes(fields[0])));
  }
  if (fields.size() - 1 != form->parameters.size()) {
    return fail(fmt::format("has {} parameter{} (allowed: {}, as {})", fields.size() - 1,
                            fields.size() == 2 ? "" : "s", form->parameters.size(), form->usage));
  }

  Distribution made;
  made.kind_ = form->kind;
  made.quantity_ = quantity;
  made.text_ = std::string(text);
  std::size_t value_count = 0;
  std::size_t parameter_count = 0;
  for (std::size_t i = 0; i < form->parameters.size(); ++i) {
    const std::string_view field = fields[i + 1];
    const char what = form->parameters[i];
    const bool is_value = what == 'v' || what == 'm';
    const auto number = is_value      ? parse_value(field, quantity, what == 'm')
                        : what == 'p' ? parse_number(field, "probability", 0, 1)
                        : what == 's' ? parse_number(field, "sigma", 0.001, 5)
                                      : parse_number(field, "shape", 1.001, 100);
    if (!number) return fail(number.error());
    if (is_value) {
      made.values_[value_count++] = *number;
    } else {
      made.parameters_[parameter_count++] = *number;
    }
  }
  if (form->kind == Kind::kTrimodal && made.parameters_[0] + made.parameters_[1] > 1 + 1e-9) {
    return fail(fmt::format("probabilities {} and {} add up to more than 1 (allowed: P1 + P2 from 0 to 1)",
                            in_quotes(fields[1]), in_quotes(fields[3])));
  }
  return made;
}

Distribution Distribution::constant(Nanos time) {
  RAIN_ASSERT(time.value >= 0 && time <= kMaxTime);
  Distribution made;
  made.values_[0] = static_cast<double>(time.value);
  made.text_ = fmt::format("const:{}ns", time.value);
  return made;
}

double Distribution::mean() const {
  const auto& [a, b, c] = values_;
  const auto& [p, q] = parameters_;
  switch (kind_) {
    case Kind::kBimodal:
      return p * a + (1 - p) * b;
    case Kind::kTrimodal:
      return p * a + q * b + (1 - p - q) * c;
    case Kind::kEmpirical:
      return empirical_->mean;
    case Kind::kConst:
    case Kind::kExp:
    case Kind::kLognormal:
    case Kind::kPareto:
      return a;
  }
  RAIN_ASSERT(false);
}

double Distribution::sample_real(Prng& random) const {
  const auto& [a, b, c] = values_;
  const auto& [p, q] = parameters_;
  switch (kind_) {
    case Kind::kConst:
      return a;
    case Kind::kExp:
      return random.exponential() * a;
    case Kind::kBimodal:
      return random.chance(p) ? a : b;
    case Kind::kTrimodal: {
      const double u = random.unit();
      return u < p ? a : u < p + q ? b : c;
    }
    case Kind::kLognormal:
      return a * exact_exp(p * sample_normal(random) - p * p / 2);
    case Kind::kPareto:
      return a * (p - 1) / p * exact_exp(random.exponential() / p);
    case Kind::kEmpirical: {
      const std::vector<Empirical::Value>& values = empirical_->values;
      const auto at = std::upper_bound(values.begin(), values.end(), random.unit(),
                                       [](double u, const Empirical::Value& one) { return u < one.up_to; });
      // Rounding may leave the last sum a little below 1.
      return (at == values.end() ? values.back() : *at).value;
    }
  }
  RAIN_ASSERT(false);
}

std::int64_t Distribution::sample(Prng& random) const {
  const bool time = quantity_ == Quantity::kTime;
  const double low = time ? 0 : 1;
  const double high = static_cast<double>(time ? kMaxSampleNs : kMaxSampleCount);
  return static_cast<std::int64_t>(std::clamp(sample_real(random), low, high) + 0.5);
}

}  // namespace rain::workload
