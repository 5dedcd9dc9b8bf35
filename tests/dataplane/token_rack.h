// A rack in a random order of events, from a seed: clients that send tasks, workers that obey the rule of
// levels, and a wire that delays, reorders and repeats. The switch under test answers through a Runner and
// every answer is held against ReferenceSwitch and against what the rack itself knows.
//
// The rule of levels: a worker of quota n that holds k unfinished tasks has tokens of n - k levels
// outstanding. On finishing with k left it issues the token of level k if that is not outstanding, else of the
// lowest level above that is not.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "dataplane/packet_table.h"
#include "dataplane/reference_switch.h"

namespace rain::packet_table {

class TokenRack {
 public:
  struct WorkerOptions {
    unsigned slice = 0, quota = 1;
  };
  struct Options {
    dataplane::ProgramId program = dataplane::ProgramId::kRain;
    unsigned levels = 4;
    std::vector<Rack::SliceOptions> slices;
    std::vector<WorkerOptions> workers;
    unsigned hold_slots = 0;
    bool no_delay = false;   ///< the wire delivers at once: the switch knows all there is to know
    bool repeats = false;    ///< the wire repeats tokens, also long after
    bool new_lives = false;  ///< workers get new epochs and move between slices
    bool recalls = false;    ///< workers take tokens back, and issue the next of the level instead
  };
  /// Small and random, so that every boundary is met often.
  static Options random_options(dataplane::ProgramId program, Prng& prng);
  static std::string describe(const Options& options);

  TokenRack(const Options& options, const RunnerFactory& factory, Prng prng);

  /// That many random events, fewer if one of them fails.
  void run(unsigned events);
  /// No more tasks: all that is under way arrives, all that is held is finished. Then no task may wait and no
  /// capacity may be missing.
  void settle();

  std::uint64_t dispatches() const { return dispatches_; }

 private:
  using Token = dataplane::ReferenceSwitch::Token;
  using Answer = dataplane::ReferenceSwitch::Answer;

  struct Worker {
    unsigned slice = 0, quota = 1;
    unsigned epoch = kFirstEpoch;  // as the worker knows it; the switch's may be newer
    unsigned held = 0;
    unsigned dispatched = 0;  // under way to it
    struct Level {
      bool outstanding = false;
      std::uint32_t generation = 0;
    };
    std::array<Level, kMaxQuota> levels{};
  };
  struct Life {  // as the switch's tables have it
    unsigned slice = 0, epoch = kFirstEpoch;
  };
  struct OpenTask {
    unsigned slice = 0;
    bool waits = false;
    std::uint64_t order = 0;            // of arrival
    std::uint64_t tokens_at_start = 0;  // accepted in the slice before it began to wait
    std::uint64_t ahead = 0;
  };
  struct SliceState {
    Rack::SliceOptions options;
    std::uint64_t tokens = 0;       // accepted so far
    std::uint64_t last_order = 0;   // of the task that left last
    std::uint64_t last_waited = 0;  // and of the waiting ones
    std::vector<Token> filed;       // the living, in order of arrival
  };

  void step();
  void send_task();
  void deliver_token(std::size_t which);
  void deliver_dispatch(std::size_t which);
  void finish(unsigned worker);
  void ask(unsigned worker);
  void take_back(unsigned worker);
  bool recall(const Token& token);
  void begin_new_life(unsigned worker);
  void learn_new_life(unsigned worker);

  void issue(unsigned worker, unsigned level);
  void offer_token(const Token& token);
  void settle_wire();

  void expect_same(const Answer& expected, const Outcome& outcome) const;
  void expect_best_token(unsigned slice, const Outcome& outcome);
  void expect_no_room(unsigned slice) const;
  void expect_spill(unsigned slice, bool large, const Outcome& outcome) const;
  void expect_fewest_unfinished(unsigned slice, unsigned chosen) const;
  void expect_in_order(const OpenTask& task);
  void expect_counts(unsigned slice);
  void expect_quotas() const;
  void leave(unsigned request, const Outcome& outcome);

  bool levelled() const { return options_.program == dataplane::ProgramId::kRain; }
  std::size_t pick(std::size_t count) { return static_cast<std::size_t>(prng_.below(count)); }

  Options options_;
  Prng prng_;
  std::unique_ptr<Runner> runner_;
  dataplane::ReferenceSwitch reference_;
  std::vector<Worker> workers_;
  std::vector<Life> lives_;
  std::vector<SliceState> slices_;
  std::deque<Token> tokens_under_way_;
  std::deque<std::pair<Token, unsigned>> dispatches_under_way_;  // and the request
  std::vector<Token> past_tokens_;                               // for repeats
  std::vector<Token> past_recalls_;
  std::map<unsigned, OpenTask> open_;  // by request id
  std::uint64_t orders_ = 0;
  std::uint64_t dispatches_ = 0;
  unsigned next_request_ = 0;
  unsigned task_weight_ = 1;
};

}  // namespace rain::packet_table
