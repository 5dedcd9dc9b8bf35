// One switch thread: memory, program, socket and agent of one group of slices. The program is chosen by name, so this
// is where the type is erased: one virtual call starts the thread, packets never meet one.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/page_buffer.h"
#include "dataplane/programs.h"
#include "dataplane/soft_memory.h"
#include "softswitch/switch_agent.h"
#include "softswitch/switch_counters.h"
#include "softswitch/switch_options.h"
#include "softswitch/switch_tables.h"
#include "softswitch/table_plan.h"
#include "softswitch/update_box.h"
#include "transport/udp.h"

namespace rain::softswitch {

/// What the process asks of its threads; it only ever advances.
enum class Stage : std::uint8_t { kServe, kDrain, kEnd };

class SwitchGroup {
 public:
  virtual ~SwitchGroup() = default;
  /// The thread: serves, drains until the queues are empty or the drain limit has passed, ends.
  virtual void run(const std::atomic<Stage>& stage) = 0;
  /// Set before run() returns.
  virtual bool drained() const = 0;

  const SwitchCounters& counters() const { return counters_; }
  const transport::UdpTransport& transport() const { return transport_; }
  /// What the thread's memory has room for.
  const dataplane::MemoryShape& shape() const { return shape_; }

  /// From one other thread at a time: has the thread make the update between two packets, and waits until it has.
  /// False: the thread has ended.
  bool update(const GroupUpdate& update) { return updates_.deliver(update); }
  /// Lets the thread notice a new stage at once. From any thread or signal handler.
  void wake() const { updates_.wake().signal(); }
  tl::expected<void, std::string> steer(const transport::Steering& steering) {
    return transport_.steer(steering);
  }

 protected:
  SwitchGroup(const dataplane::MemoryShape& shape, transport::UdpTransport transport)
      : shape_(shape), counters_(shape.slices), transport_(std::move(transport)) {}

  dataplane::MemoryShape shape_;
  SwitchCounters counters_;
  transport::UdpTransport transport_;
  UpdateBox updates_;
};

template <typename Program>
class ProgramGroup final : public SwitchGroup {
 public:
  ProgramGroup(const SwitchOptions& options, unsigned group, transport::UdpTransport transport,
               BootId boot_id)
      : SwitchGroup(memory_shape(options, group), std::move(transport)),
        drain_limit_(options.drain_limit),
        storage_(dataplane::SoftMemory::storage_bytes(Program::kRegisters, memory_shape(options, group))),
        memory_(Program::kRegisters, memory_shape(options, group), storage_.bytes()),
        program_(memory_),
        agent_(program_, memory_, transport_, counters_, boot_id) {
    touch_pages();
    fill_tables(options, group, memory_);
    if constexpr (requires { program_.seed(options.seed); }) program_.seed(options.seed + group);
  }

  void run(const std::atomic<Stage>& stage) override {
    while (stage.load(std::memory_order_relaxed) == Stage::kServe) {
      make_updates();
      if (agent_.poll(monotonic_now()) == 0) transport_.wait(kIdleWait, updates_.wake());
    }
    agent_.drain();
    const Nanos end = monotonic_now() + drain_limit_;
    while (agent_.waiting() > 0 && stage.load(std::memory_order_relaxed) == Stage::kDrain) {
      const Nanos now = monotonic_now();
      if (now >= end) break;
      make_updates();
      if (agent_.poll(now) == 0) transport_.wait(kDrainWait);
    }
    answer_received();
    drained_ = agent_.waiting() == 0;
    updates_.close();
  }

  bool drained() const override { return drained_; }

 private:
  static constexpr Nanos kIdleWait = milliseconds(50);  // how late a new stage is noticed at most
  static constexpr Nanos kDrainWait = milliseconds(5);
  static constexpr unsigned kLastBatches = 64;

  /// Serves what lies in the socket; bounded, as others may keep sending.
  void answer_received() {
    for (unsigned i = 0; i < kLastBatches && agent_.poll(monotonic_now()) > 0; ++i) {
    }
  }

  void make_updates() {
    const GroupUpdate* const update = updates_.take();
    if (update == nullptr) return;
    make(*update);
    updates_.done();
  }

  void make(const GroupUpdate& update) {
    if (update.settle) answer_received();
    for (const SliceId slice : update.vacated) agent_.remove_slice(slice, monotonic_now());
    for (const GroupUpdate::Slice& slice : update.slices) {
      if (slice.fresh) counters_.slice(slice.index).clear();
      memory_.set_slice(slice.index, slice.entry);
    }
    for (const GroupUpdate::Worker& worker : update.workers) {
      if (worker.entry.present) {
        memory_.set_worker(worker.id, worker.entry);
      } else {
        memory_.remove_worker(worker.id);
      }
    }
    for (const SliceId slice : update.forget) program_.forget_dead_tokens(slice);
    if (!update.types.empty()) memory_.set_types(update.types);
    for (const SliceId slice : update.removed) agent_.remove_slice(slice, monotonic_now());
  }

  /// Page faults now, not with the first task that waits in each page.
  void touch_pages() {
    constexpr std::size_t kPageBytes = 4096;
    volatile std::byte* const bytes = storage_.bytes().data();
    for (std::size_t at = 0; at < storage_.bytes().size(); at += kPageBytes) bytes[at] = bytes[at];
  }

  Nanos drain_limit_;
  PageBuffer storage_;
  dataplane::SoftMemory memory_;
  Program program_;
  SwitchAgent<Program, dataplane::SoftMemory, transport::UdpTransport> agent_;
  bool drained_ = false;
};

}  // namespace rain::softswitch
