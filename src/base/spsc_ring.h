// Bounded queue between exactly two threads, one that pushes and one that pops: the only way in which agents
// of one process hand each other work.
//
// Each side's index has a cache line of its own, next to that side's last known copy of the other index, so
// that a side touches the other's line only when the copy says full (or empty). Indices run freely and are
// masked on use: full and empty differ without a spare slot.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "base/assert.h"

namespace rain {

/// Hard-wired, as clang 14 lacks std::hardware_destructive_interference_size.
inline constexpr std::size_t kCacheLineBytes = 64;

template <typename T>
class SpscRing {
  static_assert(std::is_default_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

 public:
  /// Room for `capacity` elements: a power of two, at least 1. Allocates here and never after.
  explicit SpscRing(std::size_t capacity) : mask_(capacity - 1), slots_(std::make_unique<T[]>(capacity)) {
    RAIN_ASSERT(std::has_single_bit(capacity));
  }
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  std::size_t capacity() const { return mask_ + 1; }

  /// Producer: false, and `value` untouched, when full.
  bool try_push(T&& value) {
    const std::size_t tail = producer_.index.load(std::memory_order_relaxed);
    if (!room(tail)) return false;
    slots_[tail & mask_] = std::move(value);
    producer_.index.store(tail + 1, std::memory_order_release);
    return true;
  }
  bool try_push(const T& value) {
    T copy = value;
    return try_push(std::move(copy));
  }

  /// Consumer: the oldest element, nullptr when empty. Stays valid until pop().
  T* front() {
    const std::size_t head = consumer_.index.load(std::memory_order_relaxed);
    if (head == consumer_.other) {
      consumer_.other = producer_.index.load(std::memory_order_acquire);
      if (head == consumer_.other) return nullptr;
    }
    return &slots_[head & mask_];
  }
  /// Consumer: removes what front() returned.
  void pop() {
    const std::size_t head = consumer_.index.load(std::memory_order_relaxed);
    RAIN_ASSERT(head != consumer_.other);
    consumer_.index.store(head + 1, std::memory_order_release);
  }
  /// Consumer: front() and pop() in one.
  std::optional<T> try_pop() {
    T* oldest = front();
    if (oldest == nullptr) return std::nullopt;
    std::optional<T> value(std::move(*oldest));
    pop();
    return value;
  }
  /// Consumer: moves up to out.size() elements out; one synchronisation for all of them. Returns how many.
  std::size_t pop_batch(std::span<T> out) {
    const std::size_t head = consumer_.index.load(std::memory_order_relaxed);
    if (consumer_.other - head < out.size())
      consumer_.other = producer_.index.load(std::memory_order_acquire);
    const std::size_t available = consumer_.other - head;
    const std::size_t count = available < out.size() ? available : out.size();
    for (std::size_t i = 0; i < count; ++i) out[i] = std::move(slots_[(head + i) & mask_]);
    if (count != 0) consumer_.index.store(head + count, std::memory_order_release);
    return count;
  }

  /// From any thread: exact when both sides rest, else a value that was true a moment ago; 0..capacity().
  std::size_t size() const {
    const std::size_t head = consumer_.index.load(std::memory_order_acquire);
    const std::size_t tail = producer_.index.load(std::memory_order_acquire);
    // The head was read first and may be old by now: the difference can exceed the capacity, never go below
    // 0.
    return tail - head < capacity() ? tail - head : capacity();
  }
  bool empty() const { return size() == 0; }

 private:
  struct alignas(kCacheLineBytes) Side {
    std::atomic<std::size_t> index{0};  // next slot of this side; written by it alone
    std::size_t other = 0;              // the other side's index when this one last looked
  };

  bool room(std::size_t tail) {
    if (tail - producer_.other <= mask_) return true;
    producer_.other = consumer_.index.load(std::memory_order_acquire);
    return tail - producer_.other <= mask_;
  }

  const std::size_t mask_;
  const std::unique_ptr<T[]> slots_;
  Side producer_;
  Side consumer_;
};

}  // namespace rain
