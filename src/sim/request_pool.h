// The requests in flight: who asked for how much work when, and where the time went so far.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "base/page_buffer.h"
#include "base/time.h"
#include "dataplane/packet.h"

namespace rain::sim {

/// Names a request in flight. On the wire it is the client's port (upper half) and the request id (lower half).
using RequestIndex = std::uint32_t;
inline constexpr RequestIndex kNoRequest = UINT32_MAX;

struct alignas(64) Request {
  Nanos at{};         ///< intended send time
  Nanos service{};    ///< how long it runs
  Nanos in_switch{};  ///< when the switch first saw it; from its departure on how long it was there
  Nanos in_worker{};  ///< when the worker got it; from its start on how long it waited there
  dataplane::Carried carried{};    ///< while it recirculates
  RequestIndex next = kNoRequest;  ///< behind it in its worker's FIFO, or in the pool's list of free ones
  std::uint16_t class_index = 0;
  std::uint16_t payload_bytes = 0;
  std::uint16_t queue_length = 0;  ///< of the slice when it left the switch
};
static_assert(sizeof(Request) == 64);

/// A fixed number of requests; memory is touched only as far as it was ever needed at once.
class RequestPool {
 public:
  explicit RequestPool(std::uint32_t capacity)
      : capacity_(capacity), storage_(std::size_t{capacity} * sizeof(Request)) {}

  bool full() const { return free_ == kNoRequest && used_ == capacity_; }

  /// The pool must not be full. The fields are left as the last user left them.
  RequestIndex take() {
    RAIN_ASSERT(!full());
    if (free_ == kNoRequest) return used_++;
    const RequestIndex index = free_;
    free_ = (*this)[index].next;
    return index;
  }
  void give_back(RequestIndex index) {
    (*this)[index].next = free_;
    free_ = index;
  }
  Request& operator[](RequestIndex index) {
    return reinterpret_cast<Request*>(storage_.bytes().data())[index];
  }

  /// The most that were ever in flight at once.
  std::uint32_t high_water() const { return used_; }

 private:
  std::uint32_t capacity_;
  PageBuffer storage_;
  RequestIndex free_ = kNoRequest;
  std::uint32_t used_ = 0;
};

}  // namespace rain::sim
