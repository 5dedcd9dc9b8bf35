// How many requests a client may have open at once: as many as its options say, as its share of the rack says, and as a
// window says that follows what the rack can hold. Pure: it counts what is told to it, and knows no time.
//
// A rack holds its queue's capacity and its workers' quotas. Clients that together have more open than that are answered
// with DROP, which costs a round trip and serves nobody. The window finds the number without being told: an overload drop
// takes an eighth of it, once for all requests that were under way by then; a window of served requests adds one, if the
// window was what held the client back. Two clients that do this come to equal windows, because the larger loses more.
// An eighth and not a half: the queue that absorbs the swing may be short, and a window below what the workers need costs
// throughput, while one drop in w^2 / 8 requests costs next to nothing.
//
// One thing that a network's window need not know: a client that begins with thousands of requests at a rack that holds
// fifty hears thousands of drops within a round trip. Each of them says that one request less fits, so the window becomes
// what was open minus what of it was dropped, at once, instead of an eighth less for each round trip.
//
// A window belongs to a task type, because another type has other workers: without that, a slice whose workers have died
// would close the client to all. Types that are equal modulo kWindows share one, which only makes them slower together.
//
// A timeout moves no window: it says that a packet was lost or a worker has died, and the others that serve on need the
// client as before. In an overload it is the deadline that says so: see patience() in client_core.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/assert.h"
#include "base/drop_reasons.h"
#include "base/ids.h"

namespace rain::rpc {

/// A drop that says: too much was asked, ask less.
constexpr bool signals_overload(DropReason reason) {
  switch (reason) {
    case DropReason::kQueueFull:
    case DropReason::kPayloadStoreFull:
    case DropReason::kWorkerQueueFull:
    case DropReason::kRecirculationLimit:
    case DropReason::kDeadlinePassed:  // it waited for longer than anybody wanted
      return true;
    default:
      return false;
  }
}

/// What keeps a request from being sent.
enum class Limit : std::uint8_t {
  kNone,
  kMaxOutstanding,  ///< the client's own bound, or no request id that does not rest
  kShare,           ///< the client's share of the rack
  kWindow,          ///< the back-off window of the request's type
};
inline constexpr unsigned kLimitCount = 4;

/// How a request ended, for its window.
enum class WindowEnd : std::uint8_t { kServed, kOverloaded, kOther };

constexpr WindowEnd window_end_of(DropReason reason) {
  if (reason == DropReason::kHandlerFailed) return WindowEnd::kServed;  // the rack did its part
  return signals_overload(reason) ? WindowEnd::kOverloaded : WindowEnd::kOther;
}

/// The window of one type.
class BackOffWindow {
 public:
  /// Counts the decreases; a request carries the number of its sending. It wraps: an answer 256 decreases late may be
  /// taken for one of now, which costs an eighth.
  using Round = std::uint8_t;

  explicit BackOffWindow(std::uint32_t largest = 1) : largest_(largest), size_(largest) {}

  std::uint32_t size() const { return size_; }
  std::uint32_t open() const { return open_; }
  bool full() const { return open_ >= size_; }

  /// A request leaves. Returns its round.
  Round opened() {
    peak_ = std::max(peak_, ++open_);
    return round_;
  }

  /// A request of that round has ended. Returns true when it began a new decrease.
  bool ended(Round round, WindowEnd end) {
    RAIN_ASSERT(open_ > 0);
    const bool decreased = end == WindowEnd::kOverloaded && decrease(round);
    --open_;
    if (end == WindowEnd::kServed && size_ < largest_) increase();
    return decreased;
  }

 private:
  void increase() {
    if (++served_ < size_) return;
    if (peak_ >= size_) ++size_;  // else the client wanted no more: nothing was learnt
    served_ = 0;
    peak_ = open_;
  }

  bool decrease(Round round) {
    const bool first = round == round_;
    if (first) {
      ++round_;
      base_ = std::min(size_, open_);
      dropped_ = 0;
      served_ = 0;
      peak_ = 0;
    } else if (round != static_cast<Round>(round_ - 1)) {
      return false;  // sent before even the last decrease but one: old news
    }
    ++dropped_;
    const std::uint32_t less = std::max({base_ / 8, dropped_, 1u});
    size_ = std::min(size_, base_ > less ? base_ - less : 1u);
    return first;
  }

  std::uint32_t largest_;
  std::uint32_t size_;         // 1..largest_
  std::uint32_t open_ = 0;     // requests without an end
  std::uint32_t served_ = 0;   // since the window last changed or its requests were last counted
  std::uint32_t peak_ = 0;     // of open_, in the same time
  std::uint32_t base_ = 0;     // what was open, within the window, when the last decrease began
  std::uint32_t dropped_ = 0;  // of those
  Round round_ = 0;
};

class AdmissionControl {
 public:
  using Round = BackOffWindow::Round;
  static constexpr unsigned kWindows = 64;
  static constexpr std::uint32_t kNoShare = UINT32_MAX;

  /// `back_off` false: the windows stay open.
  AdmissionControl(std::uint32_t max_outstanding, bool back_off)
      : max_outstanding_(max_outstanding), back_off_(back_off) {
    windows_.fill(BackOffWindow(max_outstanding));
  }

  /// Requests that are open beyond a lower share just end. 0: none is admitted.
  void set_share(std::uint32_t share) { share_ = share; }
  std::uint32_t share() const { return share_; }
  std::uint32_t window(TaskType type) const { return windows_[index(type)].size(); }

  /// What forbids one more request of this type.
  Limit limit(TaskType type) const {
    if (open_ >= max_outstanding_) return Limit::kMaxOutstanding;
    if (open_ >= share_) return Limit::kShare;
    return windows_[index(type)].full() ? Limit::kWindow : Limit::kNone;
  }

  /// A request was not sent because of `limit`. Its sender wants to hear when there is room.
  void refused(TaskType type, Limit limit) {
    ++refusals_[static_cast<std::size_t>(limit)];
    last_refusal_ = limit;
    wanted_ |= std::uint64_t{1} << index(type);
  }
  /// Whether there is room for a type that was refused; true once for all refusals before.
  bool room_again() {
    if (wanted_ == 0 || open_ >= max_outstanding_ || open_ >= share_) return false;
    for (unsigned i = 0; i < kWindows; ++i) {
      if ((wanted_ >> i & 1) == 0 || windows_[i].full()) continue;
      wanted_ = 0;
      return true;
    }
    return false;
  }
  /// Somebody waits for room_again().
  bool room_wanted() const { return wanted_ != 0; }

  Round opened(TaskType type) {
    ++open_;
    return windows_[index(type)].opened();
  }
  void ended(TaskType type, Round round, WindowEnd end) {
    --open_;
    if (!back_off_ && end == WindowEnd::kOverloaded) end = WindowEnd::kOther;
    if (windows_[index(type)].ended(round, end)) ++back_offs_;
  }

  std::uint32_t open() const { return open_; }
  std::uint64_t refusals(Limit limit) const { return refusals_[static_cast<std::size_t>(limit)]; }
  Limit last_refusal() const { return last_refusal_; }
  std::uint64_t back_offs() const { return back_offs_; }  ///< decreases of any window

 private:
  static std::size_t index(TaskType type) { return type.value % kWindows; }

  std::uint32_t max_outstanding_;
  std::uint32_t share_ = kNoShare;
  std::uint32_t open_ = 0;
  bool back_off_;
  Limit last_refusal_ = Limit::kNone;
  std::uint64_t wanted_ = 0;  // a bit for each window that somebody found full
  std::uint64_t back_offs_ = 0;
  std::array<std::uint64_t, kLimitCount> refusals_{};
  std::array<BackOffWindow, kWindows> windows_;
};

}  // namespace rain::rpc
