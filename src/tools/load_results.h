// What a load generator counts while it runs, and how that becomes a report. One per thread, merged at the end; nothing
// is allocated between construction and merging.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/drop_reasons.h"
#include "base/histogram.h"
#include "base/time.h"
#include "rain/rpc.h"
#include "rpc/admission.h"
#include "tools/report.h"

namespace rain::tools {

/// Outcomes as counters, by reason.
struct OutcomeCounts {
  std::uint64_t sent = 0;
  std::uint64_t completed = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t given_up = 0;    ///< never left: the generator was far behind its schedule
  std::uint64_t waited_out = 0;  ///< never left: there was no room within its timeout
  std::array<std::uint64_t, rpc::kLimitCount> not_admitted{};  ///< never left, by the limit that it met
  std::array<std::uint64_t, kDropReasonCount> dropped{};

  void merge(const OutcomeCounts& other);
  std::uint64_t failed() const;  ///< ended otherwise than completed
  Outcomes to_outcomes() const;
};

/// Requests of one class whose intended send time lay in the measured window.
struct ClassResults {
  Histogram latency;   ///< from the intended send time
  Histogram slowdown;  ///< in thousandths
  Histogram service;
};

struct LoadResults {
  explicit LoadResults(std::size_t class_count) : classes(class_count) {}

  std::vector<ClassResults> classes;
  Histogram in_switch, in_worker, wire;
  Histogram queue_length;  ///< of the slice, in tasks, when the request left the switch
  Histogram send_lag;      ///< how late the generator was: actual minus intended send time, less the next
  Histogram admission;     ///< how long requests that were sent had waited for room
  OutcomeCounts measured, warmup;
  std::uint64_t queued = 0;               ///< waited in the switch
  std::uint64_t completed_in_window = 0;  ///< replies, of any request, that arrived in the measured window
  SocketCounts sockets;
  std::uint64_t application_errors = 0;  ///< replies in which the application refused
  std::string first_application_error{};
  std::uint64_t back_offs = 0;           ///< of the clients, when the load ended
  std::vector<std::uint64_t> windows{};  ///< of each class, summed over the connections; likewise

  /// A completed request of the measured window. `lag`: how late it was sent, for whatever reason; `latency`: since it was sent.
  void record(std::size_t class_index, Nanos lag, Nanos latency, const LatencyParts& parts);
  void merge(const LoadResults& other);
};

/// Everything of the report that follows from the results. `measured`: length of the window.
Report make_report(const LoadResults& results, Nanos measured);

/// Slowdown as the agent of the paper defines it, in thousandths: (L_w + L_sw + T_w) / T_w.
Nanos slowdown_thousandths(const LatencyParts& parts);

/// False when the generator's own lag is so large that latencies would rather measure it than the rack: when its 99th
/// percentile exceeds both 100 us and a tenth of the latency's.
bool keeps_schedule(const Histogram& send_lag, const Histogram& latency);

}  // namespace rain::tools
