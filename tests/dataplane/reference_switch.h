// The queueing switch as docs/decisions/0005 describes it, in plain containers and plain loops: what the programs `rain`
// and `rain-paper` are held against. Nothing here is counted that can be looked up, and nothing is fast.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "dataplane/packet.h"

namespace rain::dataplane {

class ReferenceSwitch {
 public:
  enum class Discipline : std::uint8_t {
    kLevelled,  ///< idle tokens first, then the lowest level; the spill threshold and the drain
    kPaper,     ///< one FIFO of tokens, whatever their level
  };
  struct Slice {
    std::uint32_t capacity = 1, spill = 0, drain = 0;
  };
  struct Token {
    unsigned worker = 0, level = 0, epoch = 0;
    std::uint32_t generation = 0;
  };
  struct Task {
    unsigned request = 0;
    bool large = false;  ///< needs a hold while it waits
  };
  /// What becomes of a packet. Only the fields that the action has are set.
  struct Answer {
    Action action = Action::kIgnore;
    DropReason reason = DropReason::kNone;
    Token token{};         ///< kForward, kDispatch: the one that was spent
    unsigned request = 0;  ///< kForward, kDispatch
    std::uint32_t waiting = 0;
    unsigned recirculations = 0;
  };
  struct LedgerLine {
    std::uint32_t seen = 0, consumed = 0;
  };

  ReferenceSwitch(Discipline discipline, std::vector<Slice> slices, unsigned hold_slots);

  /// `epoch` counts the lives of the worker; tokens of other lives, or filed in other slices, are dead, and so are
  /// recalled ones.
  void set_worker(unsigned worker, unsigned slice, unsigned epoch) { workers_[worker] = {slice, epoch}; }
  Answer task(unsigned slice, const Task& task);
  Answer token(const Token& token);
  /// True: no task was bound to the token, and none will be.
  bool recall(const Token& token);
  LedgerLine ledger(unsigned worker, unsigned level) { return ledger_[{worker, level}]; }
  void forget_dead_tokens(unsigned slice);

  std::int64_t idle_tokens(unsigned slice) const;   ///< dead ones included
  std::int64_t spare_tokens(unsigned slice) const;  ///< dead ones included
  std::int64_t waiting_tasks(unsigned slice) const {
    return static_cast<std::int64_t>(slices_[slice].waiting.size());
  }

 private:
  struct Life {
    unsigned slice = 0, epoch = 0;
  };
  struct State {
    Slice options;
    std::deque<Task> waiting;
    std::vector<Token> filed;  // in order of arrival
    std::uint64_t spare_arrivals = 0;
  };

  bool is_idle(const Token& token) const { return discipline_ == Discipline::kPaper || token.level == 0; }
  bool is_dead(unsigned slice, const Token& token);
  bool consume(const Token& token);
  std::vector<Token>::iterator oldest_idle(State& state);
  std::vector<Token>::iterator oldest_of_lowest_level(State& state);

  Discipline discipline_;
  std::vector<State> slices_;
  std::map<unsigned, Life> workers_;
  std::map<std::pair<unsigned, unsigned>, LedgerLine> ledger_;
  unsigned free_holds_;
};

}  // namespace rain::dataplane
