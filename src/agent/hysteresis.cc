#include "agent/hysteresis.h"

#include <algorithm>

#include "base/assert.h"

namespace rain::agent {
namespace {

constexpr std::uint32_t kMaxHold = 1u << 20;

void count_up(std::uint32_t& intervals) {
  if (intervals < kMaxHold) ++intervals;
}

}  // namespace

const char* HysteresisOptions::problem() const {
  if (longest_hold > kMaxHold) return "longest hold: up to 1048576 intervals";
  if (hold > longest_hold) return "hold: up to the longest hold";
  return nullptr;
}

Hysteresis::Hysteresis(const HysteresisOptions& options, std::size_t slices)
    : options_(options), slices_(slices), permits_(slices) {
  RAIN_ASSERT(options.problem() == nullptr);
}

void Hysteresis::on_interval(std::span<const AdaptiveSlice> slices) {
  RAIN_ASSERT(slices.size() == slices_.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    Slice& slice = slices_[i];
    count_up(slice.since_move);
    count_up(slice.in_role);
    if (slices[i].moved) {
      on_move(slice, slices[i].state == SliceState::kUnderloaded ? Role::kLender : Role::kBorrower);
    }
    const bool may_change = slice.role == Role::kNone || slice.since_move >= slice.hold;
    permits_[i] = {.lend = may_change || slice.role == Role::kLender,
                   .borrow = may_change || slice.role == Role::kBorrower};
  }
}

void Hysteresis::on_move(Slice& slice, Role role) {
  slice.since_move = 0;
  if (slice.role == role) return;
  const bool first = slice.role == Role::kNone;
  if (first || slice.in_role >= options_.longest_hold) {
    slice.hold = options_.hold;
  } else {
    slice.hold = std::min(slice.hold * 2, options_.longest_hold);
  }
  if (!first) ++role_changes_;
  slice.role = role;
  slice.in_role = 0;
}

}  // namespace rain::agent
