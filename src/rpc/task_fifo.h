// The tasks that a worker holds, first in, first out, with their payloads; all storage is allocated once.
//
// Payload slots are reused last out, first in: a worker that holds two tasks touches two slots, however deep
// the FIFO may grow, and memory that was never needed is never touched.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"
#include "rain/rpc.h"
#include "wire/message.h"

namespace rain::rpc {

/// A task as its dispatch described it.
struct HeldTask {
  Nanos arrival;  ///< at this host
  Endpoint client;
  RequestId request_id;
  TaskType type;
  std::uint32_t deadline_us;
  std::uint32_t switch_delay_ns;
  std::uint16_t queue_length;
  std::uint16_t payload_bytes;
  wire::Layout layout;
  bool pushed;  ///< no token paid for it
};

class TaskFifo {
 public:
  static constexpr unsigned kMaxCapacity = 65535;

  TaskFifo(unsigned capacity, std::size_t max_payload_bytes)
      : max_payload_bytes_(max_payload_bytes),
        tasks_(std::make_unique_for_overwrite<HeldTask[]>(capacity)),
        payloads_(std::make_unique_for_overwrite<std::byte[]>(capacity * max_payload_bytes)),
        order_(capacity) {
    RAIN_ASSERT(capacity >= 1 && capacity <= kMaxCapacity);
    free_.reserve(capacity);
    for (unsigned slot = capacity; slot > 0; --slot) free_.push_back(static_cast<std::uint16_t>(slot - 1));
  }

  unsigned size() const { return static_cast<unsigned>(order_.size() - free_.size()); }
  bool empty() const { return free_.size() == order_.size(); }
  bool full() const { return free_.empty(); }
  std::size_t max_payload_bytes() const { return max_payload_bytes_; }

  /// Copies task and payload behind the last one. The caller has checked full() and the payload's size.
  void push(const HeldTask& task, Payload payload) {
    RAIN_ASSERT(!full() && payload.size() <= max_payload_bytes_);
    const unsigned tail = wrap(head_ + size());
    const std::uint16_t slot = free_.back();
    free_.pop_back();
    order_[tail] = slot;
    tasks_[slot] = task;
    tasks_[slot].payload_bytes = static_cast<std::uint16_t>(payload.size());
    if (!payload.empty()) std::memcpy(payload_at(slot), payload.data(), payload.size());
  }

  const HeldTask& front() const { return tasks_[order_[head_]]; }
  Payload front_payload() const { return {payload_at(order_[head_]), front().payload_bytes}; }

  void pop() {
    RAIN_ASSERT(!empty());
    free_.push_back(order_[head_]);
    head_ = wrap(head_ + 1);
  }

 private:
  unsigned wrap(unsigned index) const {
    const unsigned capacity = static_cast<unsigned>(order_.size());
    return index < capacity ? index : index - capacity;
  }
  std::byte* payload_at(std::uint16_t slot) const { return payloads_.get() + slot * max_payload_bytes_; }

  std::size_t max_payload_bytes_;
  std::unique_ptr<HeldTask[]> tasks_;
  std::unique_ptr<std::byte[]> payloads_;
  std::vector<std::uint16_t> order_;  // slots, a ring from head_
  std::vector<std::uint16_t> free_;   // a stack
  unsigned head_ = 0;
};

}  // namespace rain::rpc
