// Discrete-event engine: events ordered by (time, sequence number). Knows no packet, draws no random number,
// reads no clock; times are integers, so that the order of a run is the same on any machine and compiler.
//
// Most delays of a rack are constants: whatever enters a link leaves it in the same order. Such events lie in
// FIFO lanes, where pushing and popping is a store and a load; only the rest (service times) pays a
// logarithm. A lane is a hint, not a promise: an event that would break its lane's order is kept with the
// rest, so the caller need not prove anything, and the order of events does not depend on the lanes chosen.
//
// Which event is next is random, so what such a loop pays for is less the comparisons than the branches that
// no predictor can foresee. Hence the next one is found by a fixed pattern of comparisons without a branch,
// both among the lanes and, in a tournament tree, among the rest. The one unforeseeable branch left is the
// jump to the lane's code; each lane has its own, because heads that are written through a computed index
// stall the loads of the next search (measured: a third more time).
//
// Rejected: one binary heap for all (plain_engine.h, which this one is tested and measured against); a heap
// beside the lanes (its sifting is all unforeseeable branches: 45 ns an event where the tree takes 12); a
// timing wheel of 1 ns slots (its memory misses the cache for a few dozen pending events).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/time.h"

namespace rain::sim {

namespace detail {

/// (time, sequence number, where the event lies) as one number: 64, 44 and 20 bits. Sequence numbers are
/// unique, so the place never decides; it is there to be found together with the least key.
__extension__ using EventKey = unsigned __int128;
inline constexpr EventKey kNever = ~EventKey{0};
inline constexpr unsigned kPlaceBits = 20;
inline constexpr std::uint32_t kPlaceMask = (1u << kPlaceBits) - 1;

constexpr EventKey event_key(Nanos at, std::uint64_t sequence, std::uint32_t place) {
  return (EventKey{static_cast<std::uint64_t>(at.value)} << 64) | (sequence << kPlaceBits) | place;
}
constexpr Nanos event_time(EventKey key) { return {static_cast<std::int64_t>(key >> 64)}; }
constexpr std::uint32_t event_place(EventKey key) { return static_cast<std::uint32_t>(key) & kPlaceMask; }
constexpr EventKey earlier(EventKey a, EventKey b) { return b < a ? b : a; }

template <typename Event>
struct EventEntry {
  EventKey key;
  Event event;
};

/// A FIFO of entries whose keys only rise. Behind the last lies an entry of key kNever, so that the head's
/// key can be read without asking whether there is one.
template <typename Event>
class EventLane {
 public:
  using Entry = EventEntry<Event>;

  EventLane() : ring_(kInitialCapacity) { ring_[0].key = kNever; }

  bool keeps_order(Nanos at) const { return at >= last_; }
  EventKey head() const { return ring_[head_].key; }

  void push(EventKey key, const Event& event) {
    last_ = event_time(key);
    ring_[tail_] = {key, event};
    tail_ = (tail_ + 1) & mask_;
    if (tail_ == head_) [[unlikely]]
      grow();
    ring_[tail_].key = kNever;
  }

  /// Takes the first event, of which there must be one.
  Event pop() {
    const Event event = ring_[head_].event;
    head_ = (head_ + 1) & mask_;
    return event;
  }

  std::size_t capacity() const { return ring_.size(); }

 private:
  static constexpr std::size_t kInitialCapacity = 256;

  /// Every place holds an entry: none is left for the mark behind the last.
  [[gnu::noinline]] void grow() {
    std::vector<Entry> larger(ring_.size() * 2);
    for (std::size_t i = 0; i < ring_.size(); ++i) larger[i] = ring_[(head_ + i) & mask_];
    head_ = 0;
    tail_ = ring_.size();
    ring_ = std::move(larger);
    mask_ = ring_.size() - 1;
  }

  std::vector<Entry> ring_;
  std::size_t mask_ = kInitialCapacity - 1;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  Nanos last_{};
};

/// Events of any delay: a tournament tree, each event in a leaf, each inner node the earlier of its two
/// children. Popping leaves its leaf to the event that is usually scheduled next (a worker's next service),
/// which then plays its way up once, instead of once for the pop and once for the push.
template <typename Event>
class EventTree {
 public:
  static constexpr std::size_t kMaxEvents = std::size_t{1} << (kPlaceBits - 1);

  /// `first_place`: of leaf 0 in keys.
  explicit EventTree(std::uint32_t first_place) : first_place_(first_place) { resize(kInitialLeaves); }

  /// Returns the key of the first event, as settle() does.
  EventKey push(Nanos at, std::uint64_t sequence, const Event& event) {
    if (free_.empty()) [[unlikely]]
      resize(events_.size() * 2);
    const std::uint32_t leaf = free_.back();
    free_.pop_back();
    vacant_ = false;  // the vacant leaf is the last one freed: the event is in it now
    events_[leaf] = event;
    return play(leaf, event_key(at, sequence, first_place_ + leaf));
  }

  /// Takes the event of key `first`, the first; the key stays in the tree until the next push() or settle().
  Event pop(EventKey first) {
    last_popped_ = event_place(first) - first_place_;
    free_.push_back(last_popped_);
    vacant_ = true;
    return events_[last_popped_];
  }

  /// True: the key of a popped event still stands in the tree; settle() before the next pop().
  bool vacant() const { return vacant_; }
  EventKey settle() {
    vacant_ = false;
    return play(last_popped_, kNever);
  }

  std::size_t capacity() const { return events_.size(); }

 private:
  static constexpr std::size_t kInitialLeaves = 64;

  EventKey play(std::uint32_t leaf, EventKey key) {
    std::size_t node = leaf + leaves_;
    nodes_[node] = key;
    for (; node > 1; node /= 2) {
      key = earlier(key, nodes_[node ^ 1]);
      nodes_[node / 2] = key;
    }
    return key;
  }

  [[gnu::noinline]] void resize(std::size_t leaves) {
    RAIN_ASSERT(leaves <= kMaxEvents);
    const std::size_t before = events_.size();
    std::vector<EventKey> nodes(2 * leaves, kNever);
    for (std::size_t i = 0; i < before; ++i) nodes[leaves + i] = nodes_[before + i];
    for (std::size_t i = leaves - 1; i >= 1; --i) nodes[i] = earlier(nodes[2 * i], nodes[2 * i + 1]);
    nodes_ = std::move(nodes);
    events_.resize(leaves);
    leaves_ = leaves;
    free_.reserve(leaves);
    for (std::size_t leaf = leaves; leaf > before; --leaf) {
      free_.push_back(static_cast<std::uint32_t>(leaf - 1));
    }
  }

  std::vector<EventKey> nodes_;  // nodes_[1] is the root, nodes_[leaves + i] leaf i
  std::vector<Event> events_;
  std::vector<std::uint32_t> free_;
  std::size_t leaves_ = 0;
  std::uint32_t first_place_;
  std::uint32_t last_popped_ = 0;
  bool vacant_ = false;
};

}  // namespace detail

/// `Event`: a small trivially copyable struct of the caller's. `kLanes`: FIFO lanes. Not thread-safe.
/// Allocates only when more events are pending at once than ever before. Bounds: 2^44 events a run, half a
/// million pending outside the lanes.
template <typename Event, unsigned kLanes>
class Engine {
  static_assert(std::is_trivially_copyable_v<Event>);
  static constexpr unsigned kMaxLanes = 8;
  static_assert(kLanes >= 1 && kLanes <= kMaxLanes);

 public:
  Engine() : tree_(kLanes) { heads_.fill(detail::kNever); }

  /// Schedules an event that mostly comes after the ones in the same lane. `at` >= now().
  [[gnu::always_inline]] void schedule(unsigned lane, Nanos at, const Event& event) {
    RAIN_ASSERT(at >= now_ && lane < kLanes);
    detail::EventLane<Event>& to = lanes_[lane];
    if (!to.keeps_order(at)) [[unlikely]]
      return schedule(at, event);
    const detail::EventKey key = detail::event_key(at, sequence_++, lane);
    to.push(key, event);
    heads_[lane] = detail::earlier(heads_[lane], key);  // another one only if the lane was empty
  }

  /// Schedules an event of any delay. `at` >= now().
  void schedule(Nanos at, const Event& event) {
    RAIN_ASSERT(at >= now_);
    heads_[kLanes] = tree_.push(at, sequence_++, event);
  }

  /// Takes the next event, sets the time to its own and calls `handle(place, event)`, which may schedule; false when
  /// none is left. `place` is a std::integral_constant: the event's lane, or kLanes when it came from outside the
  /// lanes. The call stands in the code of each place, so that what is decided by the place is decided for nothing:
  /// after the jump there, a handler that knows what usually lies in a lane need not jump again.
  template <typename Handle>
  [[gnu::always_inline]] bool step(Handle&& handle) {
    if (tree_.vacant()) heads_[kLanes] = tree_.settle();
    const detail::EventKey first = first_of<0, kLanes + 1>();
    if (first == detail::kNever) [[unlikely]]
      return false;
    now_ = detail::event_time(first);
    ++processed_;
    switch (detail::event_place(first)) {
      case 0:
        return take<0>(handle);
      case 1:
        return take<1>(handle);
      case 2:
        return take<2>(handle);
      case 3:
        return take<3>(handle);
      case 4:
        return take<4>(handle);
      case 5:
        return take<5>(handle);
      case 6:
        return take<6>(handle);
      case 7:
        return take<7>(handle);
      default:
        return take<kMaxLanes>(handle);
    }
    static_assert(kMaxLanes == 8);
  }

  /// step() that only hands out the event.
  bool pop(Event& event) {
    return step([&](auto, const Event& next) { event = next; });
  }

  Nanos now() const { return now_; }
  std::uint64_t processed() const { return processed_; }
  std::uint64_t pending() const { return sequence_ - processed_; }
  /// Events that can be pending at once before more memory is allocated.
  std::size_t capacity() const {
    std::size_t total = tree_.capacity();
    for (const detail::EventLane<Event>& lane : lanes_) total += lane.capacity();
    return total;
  }

 private:
  template <unsigned kFirst, unsigned kCount>
  detail::EventKey first_of() const {
    if constexpr (kCount == 1) {
      return heads_[kFirst];
    } else {
      return detail::earlier(first_of<kFirst, kCount / 2>(),
                             first_of<kFirst + kCount / 2, kCount - kCount / 2>());
    }
  }

  template <unsigned kPlace, typename Handle>
  [[gnu::always_inline]] bool take(Handle& handle) {
    if constexpr (kPlace < kLanes) {
      const Event event = lanes_[kPlace].pop();
      heads_[kPlace] = lanes_[kPlace].head();
      handle(std::integral_constant<unsigned, kPlace>{}, event);
    } else {
      handle(std::integral_constant<unsigned, kLanes>{}, tree_.pop(heads_[kLanes]));
    }
    return true;
  }

  std::array<detail::EventKey, kLanes + 1> heads_;  // keys of the lanes' first events, and of the tree's
  std::array<detail::EventLane<Event>, kLanes> lanes_;
  detail::EventTree<Event> tree_;
  Nanos now_{};
  std::uint64_t sequence_ = 0;
  std::uint64_t processed_ = 0;
};

}  // namespace rain::sim
