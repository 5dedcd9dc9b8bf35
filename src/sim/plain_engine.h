// The obvious engine: one std::priority_queue. engine.h is tested and measured against it; nothing else uses it.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "base/assert.h"
#include "base/time.h"

namespace rain::sim {

/// As Engine, lanes ignored.
template <typename Event>
class PlainEngine {
 public:
  void schedule(unsigned, Nanos at, const Event& event) { schedule(at, event); }
  void schedule(Nanos at, const Event& event) {
    RAIN_ASSERT(at >= now_);
    queue_.push({at, sequence_++, event});
  }
  bool pop(Event& event) {
    if (queue_.empty()) return false;
    now_ = queue_.top().at;
    event = queue_.top().event;
    queue_.pop();
    ++processed_;
    return true;
  }
  Nanos now() const { return now_; }
  std::uint64_t processed() const { return processed_; }
  std::uint64_t pending() const { return queue_.size(); }

 private:
  struct Entry {
    Nanos at;
    std::uint64_t sequence;
    Event event;
    bool operator<(const Entry& other) const {  // the queue's top is its largest
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };

  std::priority_queue<Entry, std::vector<Entry>> queue_;
  Nanos now_{};
  std::uint64_t sequence_ = 0;
  std::uint64_t processed_ = 0;
};

}  // namespace rain::sim
