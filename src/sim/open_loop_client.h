// The client: sends what the workload says at the time it says, whatever happened to the requests before.
#pragma once

#include <utility>

#include "base/prng.h"
#include "dataplane/packet.h"
#include "sim/rack_spec.h"
#include "sim/request_pool.h"
#include "workload/workload.h"

namespace rain::sim {

class OpenLoopClient {
 public:
  OpenLoopClient(const RackSpec& spec, workload::Workload workload)
      : workload_(std::move(workload)),
        sizes_(spec.seed, kSizeStream),
        large_share_(spec.large_share),
        large_bytes_(static_cast<std::uint16_t>(spec.large_bytes)),
        until_(spec.warmup + spec.duration) {}

  /// The next request; false when the run's time is over, for good. Time never goes back from request to request.
  bool next(Request& request) {
    const workload::Request drawn = workload_.next();
    request.at = drawn.at;
    request.service = drawn.service();
    request.carried = {};
    request.class_index = drawn.class_index;
    request.payload_bytes = drawn.size_bytes ? *drawn.size_bytes : draw_size();
    return request.at < until_;
  }

 private:
  static constexpr std::uint64_t kSizeStream = 4;  // the workload has 1 to 3

  std::uint16_t draw_size() {
    return large_share_ > 0 && sizes_.chance(large_share_)
               ? large_bytes_
               : static_cast<std::uint16_t>(dataplane::kInlinePayloadBytes);
  }

  workload::Workload workload_;
  Prng sizes_;
  double large_share_;
  std::uint16_t large_bytes_;
  Nanos until_;
};

}  // namespace rain::sim
