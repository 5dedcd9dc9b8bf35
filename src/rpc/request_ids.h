// The client's 16-bit request ids: which are free, which belong to an open request, which must rest.
//
// The id is all that ties a reply to its request, so none is used again while an answer to its last use may
// still be under way. Free ids are taken in the order in which they came back, which puts as many other
// requests as possible between two uses; an id whose request timed out, or was sent more than once, rests
// until the answers that are still due have come, or twice the timeout has passed.
//
// Resting ids lie in a ring of their own. Each take() looks at two of them and rotates those that must rest
// on, so that a long timeout never holds up the short ones behind it and no call pays for a scan. Rejected: a
// timer per id (24 bytes for each of 64 Ki ids, for something that is needed only after a fault).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/ids.h"
#include "base/time.h"

namespace rain::rpc {

class RequestIds {
 public:
  using Slot = std::uint16_t;
  static constexpr Slot kNoSlot = UINT16_MAX;
  static constexpr std::uint32_t kAll = 65536;

  /// Ids 0..count-1 are used; count in 2..kAll.
  explicit RequestIds(std::uint32_t count)
      : count_(count),
        slot_of_(count, kNoSlot),
        free_(count),
        resting_(count),
        rest_(std::make_unique<Rest[]>(count)) {
    RAIN_ASSERT(count >= 2 && count <= kAll);
    for (std::uint32_t id = 0; id < count; ++id) free_.push(static_cast<std::uint16_t>(id));
  }

  /// A free id for the request in `slot`; nothing when all are open or resting.
  std::optional<RequestId> take(Slot slot, Nanos now) {
    look_at_resting(now);
    if (free_.size == 0) return std::nullopt;
    const std::uint16_t id = free_.pop();
    slot_of_[id] = slot;
    return RequestId{id};
  }

  /// Whether take() would give one; each call looks on among the resting ones.
  bool any_free(Nanos now) {
    if (free_.size == 0) look_at_resting(now);
    return free_.size > 0;
  }

  /// The slot of the open request with this id, else kNoSlot.
  Slot find(RequestId id) const { return id.value < count_ ? slot_of_[id.value] : kNoSlot; }

  /// The request has ended and no answer to it can still be under way.
  void release(RequestId id) {
    close(id);
    free_.push(id.value);
  }

  /// The request has ended, `answers_due` (>= 1) may still come.
  void release_after(RequestId id, unsigned answers_due, Nanos until) {
    close(id);
    rest_[id.value] = {until, static_cast<std::uint8_t>(answers_due < UINT8_MAX ? answers_due : UINT8_MAX)};
    resting_.push(id.value);
  }

  /// An answer came for an id that is not open: if it rests, one fewer is due. (On an id that is free the
  /// count means nothing.)
  void answered_late(RequestId id) {
    if (id.value < count_ && slot_of_[id.value] == kNoSlot && rest_[id.value].answers_due > 0) {
      --rest_[id.value].answers_due;
    }
  }

  std::uint32_t resting() const { return resting_.size; }
  std::uint32_t free() const { return free_.size; }

 private:
  static constexpr unsigned kLooks = 2;

  struct Rest {
    Nanos until{};
    std::uint8_t answers_due = 0;
  };

  struct Ring {
    explicit Ring(std::uint32_t capacity) : ids(capacity) {}
    void push(std::uint16_t id) {
      std::uint32_t tail = head + size++;
      if (tail >= ids.size()) tail -= static_cast<std::uint32_t>(ids.size());
      ids[tail] = id;
    }
    std::uint16_t pop() {
      const std::uint16_t id = ids[head];
      if (++head == ids.size()) head = 0;
      --size;
      return id;
    }
    std::vector<std::uint16_t> ids;
    std::uint32_t head = 0;
    std::uint32_t size = 0;
  };

  void look_at_resting(Nanos now) {
    for (unsigned look = 0; look < kLooks && resting_.size > 0; ++look) {
      const std::uint16_t id = resting_.pop();
      const bool rested = rest_[id].answers_due == 0 || rest_[id].until <= now;
      (rested ? free_ : resting_).push(id);
    }
  }

  void close(RequestId id) {
    RAIN_ASSERT(find(id) != kNoSlot);
    slot_of_[id.value] = kNoSlot;
  }

  std::uint32_t count_;
  std::vector<Slot> slot_of_;
  Ring free_;
  Ring resting_;
  std::unique_ptr<Rest[]> rest_;
};

}  // namespace rain::rpc
