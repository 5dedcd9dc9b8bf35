// How an update of the tables crosses to the thread that owns them: a ring of one, an event that ends the thread's wait,
// and a count that the sender waits for. Looking into the empty box costs the thread a load each cycle.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/spsc_ring.h"
#include "softswitch/table_plan.h"
#include "transport/wake_event.h"

namespace rain::softswitch {

class UpdateBox {
 public:
  /// Sender, one at a time: waits until the thread is done with `update`. False: the thread has ended, or ends without
  /// having looked.
  bool deliver(const GroupUpdate& update) {
    const std::uint64_t ticket = ++sent_;
    if (done_.load(std::memory_order_acquire) == kClosed || !ring_.try_push(&update)) return false;
    wake_.signal();
    for (;;) {
      const std::uint64_t done = done_.load(std::memory_order_acquire);
      if (done == kClosed) return false;
      if (done >= ticket) break;
      done_.wait(done, std::memory_order_acquire);
    }
    // The thread may have taken it before we signalled: left set, the event would let it sleep no more.
    wake_.clear();
    return true;
  }

  /// Thread: what there is to do, or nullptr; done() must follow.
  const GroupUpdate* take() {
    const GroupUpdate** const update = ring_.front();
    if (update == nullptr) return nullptr;
    wake_.clear();
    return *update;
  }
  void done() {
    ring_.pop();
    done_.fetch_add(1, std::memory_order_release);
    done_.notify_all();
  }
  /// Thread, at its end.
  void close() {
    done_.store(kClosed, std::memory_order_release);
    done_.notify_all();
  }

  const transport::WakeEvent& wake() const { return wake_; }

 private:
  static constexpr std::uint64_t kClosed = UINT64_MAX;

  SpscRing<const GroupUpdate*> ring_{1};
  transport::WakeEvent wake_;
  std::uint64_t sent_ = 0;
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace rain::softswitch
