// Which requests arrive when: the one definition that the load generator plays in real time and the simulator
// in virtual time. Pure: a seed and a specification give the same requests on any machine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "base/time.h"
#include "workload/distribution.h"
#include "workload/parse.h"
#include "workload/trace.h"

namespace rain::workload {

inline constexpr std::size_t kMaxClasses = 64;
inline constexpr std::size_t kMaxPhases = 1024;
inline constexpr Nanos kMaxPhaseStart = seconds(86'400);

/// How the gaps between requests are drawn; the mean gap is 1 / rate in each.
enum class Arrival : std::uint8_t {
  kPoisson,   ///< "poisson": exponential gaps, as many independent clients give
  kUniform,   ///< "uniform": gaps uniform between 0 and twice the mean
  kConstant,  ///< "constant": all gaps alike
};
Parsed<Arrival> parse_arrival(std::string_view text);
std::string_view to_text(Arrival arrival);

/// One kind of request.
struct ClassSpec {
  std::string name;
  double share = 1;                ///< of all requests, 0..1
  std::optional<TaskType> type{};  ///< decides the slice; not given: the application's choice
  Distribution demand = Distribution::constant({});
};

/// Classes as text: NAME[@TYPE]:SHARE:DISTRIBUTION, separated by commas, such as
/// "get:0.9:const:10us,scan:0.1:exp:100us" or "get@1:1:exp:10us". Names are of letters, digits, '_', '-',
/// '.'. Shares must add to 1. What the distributions are of (time or keys) is the application's choice. Or the
/// name of a preset (presets.h).
Parsed<std::vector<ClassSpec>> parse_classes(std::string_view text, Quantity quantity = Quantity::kTime);

/// From `start` on (until the next phase's start), requests arrive at `rate`. The last phase never ends.
struct PhaseSpec {
  Nanos start{};                 ///< since the workload's start
  double rate = 0;               ///< requests a second; 0 pauses (not in the last phase)
  std::vector<double> shares{};  ///< of the classes while it lasts; empty: their own
};

/// Phases as text: START=RATE[@SHARE/SHARE/..], separated by commas, such as "0s=160k,1s=160k@0/1,3s=1.6M".
Parsed<std::vector<PhaseSpec>> parse_phases(std::string_view text);

struct WorkloadSpec {
  Arrival arrival = Arrival::kPoisson;
  std::vector<ClassSpec> classes;
  std::vector<PhaseSpec> phases;  ///< the first starts at 0
  /// Given: its requests are replayed; `arrival` has no meaning, classes and phases describe the trace.
  std::shared_ptr<const Trace> trace{};

  /// One phase, all the time.
  static WorkloadSpec steady(double rate, std::vector<ClassSpec> classes,
                             Arrival arrival = Arrival::kPoisson);
  /// The trace, over and over. Classes are its types, named type-N.
  static WorkloadSpec replay(std::shared_ptr<const Trace> trace);
  /// Nothing, or the first thing that is wrong with it.
  Parsed<void> validate() const;
  /// Mean demand of a request with the classes' own shares, in nanoseconds or counts.
  double mean_demand() const;
};

/// One request of the workload.
struct Request {
  Nanos at{};                                 ///< intended send time, since the workload's start
  Nanos gap{};                                ///< since the request before it (the first: since the start)
  std::uint16_t class_index = 0;              ///< into WorkloadSpec::classes
  std::int64_t demand = 0;                    ///< the class's sample: nanoseconds of service, or a count
  std::optional<std::uint16_t> size_bytes{};  ///< of its payload, where a trace says so
  Nanos service() const { return {demand}; }  ///< where demand is a time
};

class Workload {
 public:
  /// Draws arrivals, classes and demands from three generators of one seed, so that changing one of the three
  /// in the specification leaves the others' draws as they were.
  static Parsed<Workload> make(WorkloadSpec spec, std::uint64_t seed);

  /// The next request; there is always one. No allocation.
  Request next();

  const WorkloadSpec& spec() const { return spec_; }

 private:
  struct Phase {
    double start_ns;
    double end_ns;  // infinite in the last
    double rate_per_ns;
    std::array<double, kMaxClasses> share_sums;  // share_sums[i]: shares of classes 0..i together
  };

  Workload(WorkloadSpec spec, std::uint64_t seed);
  double draw_gap();
  void advance(double gap);
  Request next_of_trace();

  WorkloadSpec spec_;
  std::vector<Phase> phases_;
  std::size_t phase_ = 0;
  double now_ns_ = 0;
  Nanos last_{};
  std::size_t row_ = 0;  // of the trace
  Nanos trace_began_{};  // this time
  Prng arrivals_;
  Prng classes_;
  Prng demands_;
};

}  // namespace rain::workload
