#include "dataplane/reference_switch.h"

#include <algorithm>

namespace rain::dataplane {

namespace {

bool newer(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) > 0; }

}  // namespace

ReferenceSwitch::ReferenceSwitch(Discipline discipline, std::vector<Slice> slices, unsigned hold_slots)
    : discipline_(discipline), free_holds_(hold_slots) {
  for (Slice slice : slices) {
    slice.spill = std::min(slice.spill, slice.capacity);  // a full queue spills, it does not refuse
    slices_.push_back({.options = slice, .waiting = {}, .filed = {}});
  }
}

bool ReferenceSwitch::is_dead(unsigned slice, const Token& token) {
  const Life& life = workers_.at(token.worker);
  return life.slice != slice || life.epoch != token.epoch ||
         !newer(token.generation, ledger(token.worker, token.level).consumed);
}

bool ReferenceSwitch::consume(const Token& token) {
  std::uint32_t& consumed = ledger_[{token.worker, token.level}].consumed;
  const bool was_unspent = newer(token.generation, consumed);
  if (was_unspent) consumed = token.generation;
  return was_unspent;
}

bool ReferenceSwitch::recall(const Token& token) {
  std::uint32_t& seen = ledger_[{token.worker, token.level}].seen;
  if (newer(token.generation, seen)) seen = token.generation;
  return consume(token);
}

std::vector<ReferenceSwitch::Token>::iterator ReferenceSwitch::oldest_idle(State& state) {
  return std::ranges::find_if(state.filed, [&](const Token& token) { return is_idle(token); });
}

std::vector<ReferenceSwitch::Token>::iterator ReferenceSwitch::oldest_of_lowest_level(State& state) {
  return std::ranges::min_element(state.filed, {}, &Token::level);  // the first of equals
}

ReferenceSwitch::Answer ReferenceSwitch::task(unsigned slice, const Task& task) {
  State& state = slices_[slice];
  const bool can_wait = !task.large || free_holds_ > 0;
  Answer answer{.request = task.request};
  for (;;) {
    auto token = oldest_idle(state);
    if (token == state.filed.end() && discipline_ == Discipline::kLevelled) {
      // No worker is idle. A busy one takes the task only while at least `spill` others wait, or where
      // waiting is impossible and nobody is overtaken.
      const std::size_t waiting = state.waiting.size();
      if (waiting >= state.options.spill || (!can_wait && waiting == 0)) {
        token = oldest_of_lowest_level(state);
      }
    }
    if (token == state.filed.end()) break;
    answer.token = *token;
    state.filed.erase(token);
    const bool dead = is_dead(slice, answer.token);
    consume(answer.token);
    if (!dead) {
      answer.action = Action::kForward;
      answer.waiting = static_cast<std::uint32_t>(state.waiting.size());
      return answer;
    }
    ++answer.recirculations;
  }
  if (!can_wait) {
    answer.action = Action::kReplyDrop;
    answer.reason = DropReason::kPayloadStoreFull;
  } else if (state.waiting.size() >= state.options.capacity) {
    answer.action = Action::kReplyDrop;
    answer.reason = DropReason::kQueueFull;
  } else {
    answer.action = Action::kBuffered;
    state.waiting.push_back(task);
    if (task.large) --free_holds_;
  }
  answer.waiting = static_cast<std::uint32_t>(state.waiting.size());
  return answer;
}

ReferenceSwitch::Answer ReferenceSwitch::token(const Token& token) {
  const Life& life = workers_.at(token.worker);
  if (token.epoch != life.epoch) return {.reason = DropReason::kStaleEpoch};
  LedgerLine& line = ledger_[{token.worker, token.level}];
  if (!newer(token.generation, line.seen)) return {.reason = DropReason::kDuplicateToken};
  line.seen = token.generation;

  State& state = slices_[life.slice];
  std::size_t must_wait_more_than = 0;
  if (!is_idle(token)) {
    ++state.spare_arrivals;
    const bool drains = state.options.drain != 0 && state.spare_arrivals % state.options.drain == 0;
    if (!drains) must_wait_more_than = state.options.spill;
  }
  Answer answer;
  if (state.waiting.size() > must_wait_more_than) {
    const Task head = state.waiting.front();
    state.waiting.pop_front();
    if (head.large) ++free_holds_;
    consume(token);
    answer = {.action = Action::kDispatch, .token = token, .request = head.request};
  } else {
    state.filed.push_back(token);
    answer = {.action = Action::kConsume};
  }
  answer.waiting = static_cast<std::uint32_t>(state.waiting.size());
  return answer;
}

void ReferenceSwitch::forget_dead_tokens(unsigned slice) {
  std::erase_if(slices_[slice].filed, [&](const Token& token) {
    if (!is_dead(slice, token)) return false;
    consume(token);
    return true;
  });
}

std::int64_t ReferenceSwitch::idle_tokens(unsigned slice) const {
  return std::ranges::count_if(slices_[slice].filed, [&](const Token& token) { return is_idle(token); });
}

std::int64_t ReferenceSwitch::spare_tokens(unsigned slice) const {
  return static_cast<std::int64_t>(slices_[slice].filed.size()) - idle_tokens(slice);
}

}  // namespace rain::dataplane
