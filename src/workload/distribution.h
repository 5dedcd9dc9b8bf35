// How much work a request brings: service times or counts (keys of a database), as distributions written as
// text.
//
//   const:10us                          always 10 us
//   exp:10us                            exponential, mean 10 us
//   bimodal:0.5:10us:100us              bimodal:P:A:B        A with probability P, else B
//   trimodal:0.6:5us:0.3:50us:500us     trimodal:P1:A:P2:B:C A with probability P1, B with P2, else C
//   lognormal:10us:1.5                  lognormal:MEAN:SIGMA MEAN of the times, SIGMA of their logarithm
//   pareto:10us:1.5                     pareto:MEAN:SHAPE    classic Pareto; SHAPE above 1, else there is no
//                                                            mean
//   empirical:times.csv                 empirical:FILE       values from a file, see below
//
// Counts are written as plain numbers (const:10, exp:500). Samples are whole: nanoseconds or counts, rounded
// to the nearest; a count is at least 1, and no sample exceeds kMaxSample (only heavy tails get there).
//
// An empirical distribution's file has the header service_us (counts: count), one value a row, each as likely as
// the others; or service_us,weight (count,weight), each as likely as its weight says.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/prng.h"
#include "base/time.h"
#include "workload/parse.h"

namespace rain::workload {

/// What a distribution is of.
enum class Quantity : std::uint8_t {
  kTime,   ///< nanoseconds; written with a unit
  kCount,  ///< things, such as keys; written as a plain number
};

class Distribution {
 public:
  static constexpr Nanos kMaxTime = seconds(100);                  ///< longest time that can be written
  static constexpr std::int64_t kMaxSampleNs = 1'000'000'000'000;  ///< 1000 s
  static constexpr std::int64_t kMaxSampleCount = 1'000'000;

  static Parsed<Distribution> parse(std::string_view text, Quantity quantity = Quantity::kTime);
  /// Always `time`.
  static Distribution constant(Nanos time);

  /// Mean before rounding and before the cut at kMaxSample, in nanoseconds or counts.
  double mean() const;
  /// One sample, in nanoseconds or counts. The same sequence for the same generator state on any machine.
  std::int64_t sample(Prng& random) const;

  Quantity quantity() const { return quantity_; }
  /// As it was written.
  const std::string& text() const { return text_; }

 private:
  enum class Kind : std::uint8_t { kConst, kExp, kBimodal, kTrimodal, kLognormal, kPareto, kEmpirical };
  struct Form;
  static const std::array<Form, 6> kForms;
  /// Values and, for each, the probability of it and all before it.
  struct Empirical;

  Distribution() = default;
  static Parsed<std::shared_ptr<const Empirical>> read_empirical(const std::string& path, Quantity quantity);
  double sample_real(Prng& random) const;

  Kind kind_ = Kind::kConst;
  Quantity quantity_ = Quantity::kTime;
  std::array<double, 3> values_{};              // the times or counts, in the order of the text
  std::array<double, 2> parameters_{};          // probabilities; or sigma, shape
  std::shared_ptr<const Empirical> empirical_;  // of its kind only
  std::string text_;
};

}  // namespace rain::workload
