// Hashed timer wheel of fixed capacity: client timeouts (up to 64 Ki at once) and the service times of
// emulated workers. Nothing is allocated after construction; schedule and cancel are O(1).
//
// A timer is an id that the caller owns, 0..capacity-1; each id is scheduled at most once at a time. Its
// deadline is rounded up to a tick, and it lies in slot (tick mod slots) until that tick has begun: it never
// fires early, and at most one granularity late, plus what advance() itself is called late. A timer further
// away than the horizon lies in its slot from the start and is passed over once per turn of the wheel.
// Rejected: a hierarchy of wheels, which makes that case cheaper and every other one dearer; our timers are
// mostly cancelled (timeouts) or near (service times).
//
// A bitmap of occupied slots lets advance() and next_wakeup() skip empty ones 64 at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "base/time.h"

namespace rain {

struct TimerWheelOptions {
  std::uint32_t capacity = 1024;        ///< ids are 0..capacity-1; 1..2^24
  Nanos granularity = microseconds(1);  ///< a tick, >= 1 ns: how late a timer may fire
  Nanos horizon = milliseconds(4);  ///< a turn of the wheel; rounded up to a power-of-two count of ticks, at
                                    ///< most 2^20. Later timers work, but are looked at once per turn
};

/// Not thread-safe. `now` never falls between calls; a smaller one is taken as the largest seen.
class TimerWheel {
 public:
  using Id = std::uint32_t;

  explicit TimerWheel(const TimerWheelOptions& options, Nanos now = {})
      : granularity_ns_(options.granularity.value) {
    RAIN_ASSERT(options.capacity >= 1 && options.capacity <= kMaxCapacity);
    RAIN_ASSERT(options.granularity.value >= 1 && options.horizon.value >= 1);
    current_tick_ = tick_at_or_before(now);
    const std::int64_t ticks = std::min<std::int64_t>(options.horizon.value / granularity_ns_ + 1, kMaxSlots);
    const std::size_t slots = std::bit_ceil(std::max<std::size_t>(static_cast<std::size_t>(ticks), 64));
    slot_mask_ = static_cast<std::uint32_t>(slots - 1);
    // List heads: the slots, then the timers that were due when scheduled, then those that are being fired.
    overdue_ = static_cast<std::uint32_t>(slots);
    firing_ = overdue_ + 1;
    heads_.assign(slots + 2, Head{});
    occupied_.assign(slots / 64, 0);
    timers_.assign(options.capacity, Timer{});
  }

  /// Starts or moves timer `id`. A deadline that has passed fires at the next advance().
  void schedule(Id id, Nanos deadline) {
    cancel(id);
    Timer& timer = timers_[id];
    timer.tick = tick_at_or_after(deadline);
    const bool due = timer.tick <= current_tick_;
    append(due ? overdue_ : static_cast<std::uint32_t>(timer.tick) & slot_mask_, id);
    ++size_;
  }

  /// Stops timer `id`. False when it was not scheduled, or has fired.
  bool cancel(Id id) {
    RAIN_ASSERT(id < timers_.size());
    if (timers_[id].list == kNone) return false;
    remove(id);
    --size_;
    return true;
  }

  bool scheduled(Id id) const {
    RAIN_ASSERT(id < timers_.size());
    return timers_[id].list != kNone;
  }
  std::size_t size() const { return size_; }  ///< timers scheduled now
  std::size_t capacity() const { return timers_.size(); }

  /// Calls `fire(id)` for every timer whose deadline has come: overdue ones first, then tick by tick (in a
  /// jump of more than a turn slot by slot), those of one tick in the order scheduled. `fire` may schedule
  /// and cancel any timer, its own included; one that it schedules waits for the next advance(). Returns how
  /// many fired.
  template <typename Fire>
  std::size_t advance(Nanos now, Fire fire) {
    const std::int64_t target = std::max(tick_at_or_before(now), current_tick_);
    const std::int64_t first = current_tick_ + 1;
    const std::int64_t count = std::min<std::int64_t>(target - current_tick_, std::int64_t{slot_mask_} + 1);
    current_tick_ = target;
    move_all(overdue_, firing_);
    std::size_t fired = 0;
    for (std::int64_t i = next_occupied(first, 0, count); i < count; i = next_occupied(first, i + 1, count)) {
      collect_due(slot_of(first + i));
    }
    while (heads_[firing_].first != kNone) {
      const Id id = heads_[firing_].first;
      remove(id);
      --size_;
      ++fired;
      fire(id);
    }
    return fired;
  }

  /// When advance() next has something to do, Nanos::max() if never: how long a run loop may sleep. It may
  /// come back too early for a timer beyond the horizon, never too late.
  Nanos next_wakeup() const {
    if (size_ == 0) return Nanos::max();
    if (heads_[overdue_].first != kNone) return time_of(current_tick_);
    const std::int64_t turn = std::int64_t{slot_mask_} + 1;
    return time_of(current_tick_ + 1 + next_occupied(current_tick_ + 1, 0, turn));
  }

 private:
  static constexpr std::uint32_t kMaxCapacity = 1U << 24;
  static constexpr std::int64_t kMaxSlots = std::int64_t{1} << 20;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Timer {
    std::int64_t tick = 0;
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
    std::uint32_t list = kNone;  // kNone: not scheduled
  };
  struct Head {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };

  std::int64_t tick_at_or_before(Nanos time) const {
    return time.value <= 0 ? 0 : time.value / granularity_ns_;
  }
  std::int64_t tick_at_or_after(Nanos time) const {
    if (time.value <= 0) return 0;
    return time.value / granularity_ns_ + (time.value % granularity_ns_ != 0 ? 1 : 0);
  }
  Nanos time_of(std::int64_t tick) const {
    return tick > INT64_MAX / granularity_ns_ ? Nanos::max() : Nanos{tick * granularity_ns_};
  }
  std::uint32_t slot_of(std::int64_t tick) const { return static_cast<std::uint32_t>(tick) & slot_mask_; }

  void append(std::uint32_t list, Id id) {
    Timer& timer = timers_[id];
    Head& head = heads_[list];
    timer.list = list;
    timer.next = kNone;
    timer.previous = head.last;
    (head.last == kNone ? head.first : timers_[head.last].next) = id;
    head.last = id;
    if (list < overdue_) occupied_[list / 64] |= std::uint64_t{1} << (list % 64);
  }

  void remove(Id id) {
    Timer& timer = timers_[id];
    Head& head = heads_[timer.list];
    (timer.previous == kNone ? head.first : timers_[timer.previous].next) = timer.next;
    (timer.next == kNone ? head.last : timers_[timer.next].previous) = timer.previous;
    if (head.first == kNone && timer.list < overdue_) {
      occupied_[timer.list / 64] &= ~(std::uint64_t{1} << (timer.list % 64));
    }
    timer.list = kNone;
  }

  void move_all(std::uint32_t from, std::uint32_t to) {
    while (heads_[from].first != kNone) {
      const Id id = heads_[from].first;
      remove(id);
      append(to, id);
    }
  }

  /// Moves the due timers of a slot to the list that is being fired; those of later turns stay.
  void collect_due(std::uint32_t slot) {
    for (Id id = heads_[slot].first; id != kNone;) {
      const Id next = timers_[id].next;
      if (timers_[id].tick <= current_tick_) {
        remove(id);
        append(firing_, id);
      }
      id = next;
    }
  }

  /// The smallest i in [from, count) whose slot, that of tick first + i, is occupied; `count` if there is
  /// none.
  std::int64_t next_occupied(std::int64_t first, std::int64_t from, std::int64_t count) const {
    while (from < count) {
      const std::uint32_t slot = slot_of(first + from);
      const std::uint64_t word = occupied_[slot / 64] >> (slot % 64);
      if (word != 0) return std::min<std::int64_t>(from + std::countr_zero(word), count);
      from += 64 - slot % 64;
    }
    return count;
  }

  std::int64_t granularity_ns_;
  std::int64_t current_tick_ = 0;  // every timer of this tick and before has fired
  std::uint32_t slot_mask_ = 0;
  std::uint32_t overdue_ = 0;
  std::uint32_t firing_ = 0;
  std::size_t size_ = 0;
  std::vector<Timer> timers_;
  std::vector<Head> heads_;
  std::vector<std::uint64_t> occupied_;  // one bit per slot
};

}  // namespace rain
