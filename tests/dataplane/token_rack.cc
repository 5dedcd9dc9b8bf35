#include "dataplane/token_rack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace rain::packet_table {

using dataplane::Action;
using dataplane::ProgramId;
using dataplane::ReferenceSwitch;

namespace {

Rack make_rack(const TokenRack::Options& options) {
  Rack rack;
  for (unsigned i = 0; i < options.slices.size(); ++i) rack.slice(options.slices[i]).type(i, i);
  for (const TokenRack::WorkerOptions& worker : options.workers) rack.worker(worker.slice);
  // Dead tokens may be filed beside the living ones.
  return rack.holds(options.hold_slots).tokens(options.new_lives || options.recalls ? 1024 : 64);
}

std::vector<ReferenceSwitch::Slice> reference_slices(const TokenRack::Options& options) {
  std::vector<ReferenceSwitch::Slice> slices;
  for (const Rack::SliceOptions& slice : options.slices) {
    slices.push_back({.capacity = slice.capacity, .spill = slice.spill, .drain = slice.drain});
  }
  return slices;
}

}  // namespace

TokenRack::Options TokenRack::random_options(ProgramId program, Prng& prng) {
  const auto between = [&](unsigned low, unsigned high) {
    return low + static_cast<unsigned>(prng.below(high - low + 1));
  };
  Options options;
  options.program = program;
  options.levels = program == ProgramId::kRain ? 1u << between(1, 3) : kMaxQuota;
  for (unsigned i = 0, count = between(1, 3); i < count; ++i) {
    constexpr std::uint16_t kDrains[] = {0, 1, 2, 4, 7};
    const unsigned capacity = between(1, 12);
    options.slices.push_back({.capacity = capacity,
                              .spill = prng.chance(0.3) ? 0 : between(0, capacity + 1),
                              .drain = kDrains[prng.below(std::size(kDrains))]});
  }
  for (unsigned i = 0, count = between(1, 7); i < count; ++i) {
    options.workers.push_back({.slice = between(0, static_cast<unsigned>(options.slices.size()) - 1),
                               .quota = between(1, options.levels)});
  }
  options.hold_slots = between(0, 3);
  return options;
}

std::string TokenRack::describe(const Options& options) {
  std::ostringstream text;
  text << dataplane::kPrograms[static_cast<unsigned>(options.program)].name << ", " << options.levels
       << " levels, " << options.hold_slots << " holds; slices";
  for (const Rack::SliceOptions& slice : options.slices) {
    text << " {capacity " << slice.capacity << " spill " << slice.spill << " drain " << slice.drain << "}";
  }
  text << "; workers";
  for (const WorkerOptions& worker : options.workers) {
    text << " {slice " << worker.slice << " quota " << worker.quota << "}";
  }
  return text.str();
}

TokenRack::TokenRack(const Options& options, const RunnerFactory& factory, Prng prng)
    : options_(options),
      prng_(prng),
      runner_(factory(options.program, options.levels, make_rack(options))),
      reference_(options.program == ProgramId::kRain ? ReferenceSwitch::Discipline::kLevelled
                                                     : ReferenceSwitch::Discipline::kPaper,
                 reference_slices(options), options.hold_slots) {
  for (const Rack::SliceOptions& slice : options.slices) slices_.push_back({.options = slice, .filed = {}});
  for (unsigned i = 0; i < options.workers.size(); ++i) {
    const WorkerOptions& worker = options.workers[i];
    workers_.push_back({.slice = worker.slice, .quota = worker.quota});
    lives_.push_back({.slice = worker.slice});
    reference_.set_worker(i, worker.slice, kFirstEpoch);
    for (unsigned level = 0; level < worker.quota; ++level) issue(i, level);
  }
}

void TokenRack::run(unsigned events) {
  if (options_.no_delay) settle_wire();
  for (unsigned i = 0; i < events && !::testing::Test::HasFailure(); ++i) {
    if (i % 64 == 0) task_weight_ = 1u << prng_.below(5);  // the load swings: queues fill and drain
    step();
    if (options_.no_delay) settle_wire();
    for (unsigned slice = 0; slice < slices_.size(); ++slice) expect_counts(slice);
    expect_quotas();
  }
}

void TokenRack::step() {
  const unsigned worker = static_cast<unsigned>(pick(workers_.size()));
  switch (prng_.below(10 + task_weight_)) {
    case 0:
    case 1:
    case 2:
      if (!tokens_under_way_.empty()) deliver_token(pick(tokens_under_way_.size()));
      break;
    case 3:
    case 4:
      if (!dispatches_under_way_.empty()) deliver_dispatch(pick(dispatches_under_way_.size()));
      break;
    case 5:
    case 6:
      if (workers_[worker].held > 0) finish(worker);
      break;
    case 7:
      if (options_.repeats && !past_tokens_.empty()) offer_token(past_tokens_[pick(past_tokens_.size())]);
      if (options_.repeats && !past_recalls_.empty()) recall(past_recalls_[pick(past_recalls_.size())]);
      break;
    case 8:
      ask(worker);
      if (options_.recalls) take_back(static_cast<unsigned>(pick(workers_.size())));
      break;
    case 9:
      if (options_.new_lives && prng_.chance(0.25)) begin_new_life(worker);
      if (options_.new_lives) learn_new_life(static_cast<unsigned>(pick(workers_.size())));
      break;
    default:
      send_task();
  }
}

void TokenRack::send_task() {
  const unsigned slice = static_cast<unsigned>(pick(slices_.size()));
  const unsigned request = next_request_++ & 0xFFFF;
  ASSERT_FALSE(open_.contains(request)) << "a task waits for ever";
  const bool large = prng_.chance(0.2);
  OpenTask& task = open_[request];
  task = {.slice = slice, .order = ++orders_, .tokens_at_start = slices_[slice].tokens};
  task.ahead = static_cast<std::uint64_t>(reference_.waiting_tasks(slice));

  const Packet packet = packet_table::task().type(slice).request(request).payload(
      large ? dataplane::kInlinePayloadBytes + 1 : 3);
  const Outcome outcome = runner_->inject(packet.view(), Nanos{static_cast<std::int64_t>(orders_)});
  expect_same(reference_.task(slice, {.request = request, .large = large}), outcome);
  if (outcome.action == Action::kForward) {
    expect_best_token(slice, outcome);
    expect_spill(slice, large, outcome);
    leave(request, outcome);
  } else if (outcome.action == Action::kBuffered) {
    task.waits = true;
    expect_no_room(slice);
  } else {
    open_.erase(request);
  }
}

void TokenRack::deliver_token(std::size_t which) {
  const Token token = tokens_under_way_[which];
  tokens_under_way_.erase(tokens_under_way_.begin() + static_cast<std::ptrdiff_t>(which));
  offer_token(token);
  if (options_.repeats) past_tokens_.push_back(token);
}

void TokenRack::offer_token(const Token& token) {
  const Packet packet =
      packet_table::token(token.worker).level(token.level).generation(token.generation).epoch(token.epoch);
  const Outcome outcome = runner_->inject(packet.view(), Nanos{static_cast<std::int64_t>(orders_)});
  expect_same(reference_.token(token), outcome);
  if (outcome.action == Action::kIgnore) return;
  SliceState& slice = slices_[lives_[token.worker].slice];
  ++slice.tokens;
  if (outcome.action == Action::kDispatch) {
    leave(outcome.request_id.value, outcome);
  } else {
    slice.filed.push_back(token);
  }
}

/// The task left the switch for a worker: once, in order, soon enough, and with room there.
void TokenRack::leave(unsigned request, const Outcome& outcome) {
  const auto found = open_.find(request);
  ASSERT_NE(found, open_.end()) << "request " << request << " was dispatched twice or never sent";
  const OpenTask task = found->second;
  open_.erase(found);
  ++dispatches_;
  expect_in_order(task);
  const bool newcomer = outcome.action == Action::kForward;
  if (options_.no_delay && levelled() && (newcomer || slices_[task.slice].options.spill == 0)) {
    expect_fewest_unfinished(task.slice, outcome.worker.value);
  }
  ++workers_[outcome.worker.value].dispatched;
  dispatches_under_way_.emplace_back(Token{.worker = outcome.worker.value,
                                           .level = outcome.level.value,
                                           .epoch = 0,
                                           .generation = outcome.generation.value},
                                     request);
}

void TokenRack::deliver_dispatch(std::size_t which) {
  const Token token = dispatches_under_way_[which].first;
  dispatches_under_way_.erase(dispatches_under_way_.begin() + static_cast<std::ptrdiff_t>(which));
  Worker& worker = workers_[token.worker];
  --worker.dispatched;
  Worker::Level& level = worker.levels[token.level];
  if (!level.outstanding || level.generation != token.generation) {
    // Only the token of an earlier life can have been given up; the client would be told.
    EXPECT_TRUE(options_.new_lives) << "a dispatch on a token that is not outstanding";
    return;
  }
  level.outstanding = false;
  ++worker.held;
}

void TokenRack::finish(unsigned id) {
  Worker& worker = workers_[id];
  --worker.held;
  unsigned level = worker.held;
  while (level < worker.quota && worker.levels[level].outstanding) ++level;
  ASSERT_LT(level, worker.quota) << "nothing to issue for worker " << id;
  issue(id, level);
}

void TokenRack::issue(unsigned id, unsigned level) {
  Worker& worker = workers_[id];
  worker.levels[level].outstanding = true;
  const std::uint32_t generation = ++worker.levels[level].generation;
  tokens_under_way_.push_back(
      {.worker = id, .level = level, .epoch = worker.epoch, .generation = generation});
}

void TokenRack::ask(unsigned worker) {
  const unsigned level = static_cast<unsigned>(pick(workers_[worker].quota));
  const Outcome outcome = runner_->inject(sync(worker).level(level).view(), Nanos{});
  const ReferenceSwitch::LedgerLine line = reference_.ledger(worker, level);
  EXPECT_EQ(outcome.action, Action::kReplySync);
  EXPECT_EQ(outcome.sync.seen.value, line.seen);
  EXPECT_EQ(outcome.sync.consumed.value, line.consumed);
  EXPECT_EQ(outcome.sync.epoch.value, lives_[worker].epoch);
}

/// The worker wants a token back, wherever it is. It gets it unless a task is on its way.
void TokenRack::take_back(unsigned id) {
  Worker& worker = workers_[id];
  const unsigned level = static_cast<unsigned>(pick(worker.quota));
  if (!worker.levels[level].outstanding) return;
  const Token token{
      .worker = id, .level = level, .epoch = worker.epoch, .generation = worker.levels[level].generation};
  past_recalls_.push_back(token);
  if (!recall(token)) return;
  std::erase_if(slices_[lives_[id].slice].filed, [&](const Token& filed) {
    return filed.worker == id && filed.level == level && filed.generation == token.generation;
  });
  issue(id, level);
}

bool TokenRack::recall(const Token& token) {
  const Packet packet =
      sync(token.worker).level(token.level).epoch(token.epoch).generation(token.generation).recall();
  const Outcome outcome = runner_->inject(packet.view(), Nanos{});
  EXPECT_EQ(outcome.action, Action::kReplySync);
  EXPECT_EQ(outcome.sync.recalled, reference_.recall(token));
  const ReferenceSwitch::LedgerLine line = reference_.ledger(token.worker, token.level);
  EXPECT_EQ(outcome.sync.seen.value, line.seen);
  EXPECT_EQ(outcome.sync.consumed.value, line.consumed);
  return outcome.sync.recalled;
}

/// The control plane moves the worker; the worker does not know yet.
void TokenRack::begin_new_life(unsigned worker) {
  Life& life = lives_[worker];
  const unsigned old_slice = life.slice;
  life = {.slice = static_cast<unsigned>(pick(slices_.size())), .epoch = life.epoch + 1};
  Rack tables;
  for (unsigned i = 0; i <= worker; ++i) tables.worker(life.slice);
  dataplane::WorkerEntry entry = tables.workers[worker];
  entry.epoch = {static_cast<std::uint16_t>(life.epoch)};
  runner_->set_worker({static_cast<std::uint16_t>(worker)}, entry);
  reference_.set_worker(worker, life.slice, life.epoch);
  std::erase_if(slices_[old_slice].filed, [&](const Token& token) { return token.worker == worker; });
  if (prng_.chance(0.5)) {
    runner_->forget_dead_tokens({static_cast<std::uint16_t>(old_slice)});
    reference_.forget_dead_tokens(old_slice);
  }
}

/// Every token it has out died with its epoch: the next of each level takes its place.
void TokenRack::learn_new_life(unsigned id) {
  Worker& worker = workers_[id];
  if (worker.epoch == lives_[id].epoch) return;
  worker.epoch = lives_[id].epoch;
  for (unsigned level = 0; level < worker.quota; ++level) {
    if (worker.levels[level].outstanding) issue(id, level);
  }
}

void TokenRack::settle_wire() {
  while (!::testing::Test::HasFailure() && !(tokens_under_way_.empty() && dispatches_under_way_.empty())) {
    // A worker looks into its socket before it issues: dispatches first.
    if (!dispatches_under_way_.empty()) {
      deliver_dispatch(0);
    } else {
      deliver_token(0);
    }
  }
}

void TokenRack::settle() {
  for (unsigned id = 0; id < workers_.size(); ++id) learn_new_life(id);
  for (bool busy = true; busy && !::testing::Test::HasFailure();) {
    settle_wire();
    busy = false;
    for (unsigned id = 0; id < workers_.size(); ++id) {
      if (workers_[id].held == 0) continue;
      finish(id);
      busy = true;
      settle_wire();
    }
  }
  for (unsigned slice = 0; slice < slices_.size() && !::testing::Test::HasFailure(); ++slice) {
    runner_->forget_dead_tokens({static_cast<std::uint16_t>(slice)});
    reference_.forget_dead_tokens(slice);
    expect_counts(slice);
    std::int64_t workers = 0;
    std::int64_t tokens = 0;
    for (unsigned id = 0; id < workers_.size(); ++id) {
      if (lives_[id].slice != slice) continue;
      ++workers;
      tokens += workers_[id].quota;
    }
    EXPECT_EQ(reference_.idle_tokens(slice) + reference_.spare_tokens(slice), tokens) << "capacity leaked";
    EXPECT_TRUE(workers == 0 || reference_.waiting_tasks(slice) == 0) << "a task waits beside idle workers";
  }
}

void TokenRack::expect_same(const Answer& expected, const Outcome& outcome) const {
  EXPECT_EQ(outcome.action, expected.action);
  EXPECT_STREQ(drop_reason_name(outcome.reason), drop_reason_name(expected.reason));
  EXPECT_EQ(outcome.recirculations, expected.recirculations);
  if (outcome.action == Action::kIgnore) return;
  EXPECT_EQ(outcome.queue_length, expected.waiting);
  if (outcome.action != Action::kForward && outcome.action != Action::kDispatch) return;
  EXPECT_EQ(outcome.request_id.value, expected.request);
  EXPECT_EQ(outcome.worker.value, expected.token.worker);
  EXPECT_EQ(outcome.level.value, expected.token.level);
  EXPECT_EQ(outcome.generation.value, expected.token.generation);
}

/// Of the living tokens that arrived, the one of the emptiest worker, the oldest among equals.
void TokenRack::expect_best_token(unsigned slice, const Outcome& outcome) {
  std::vector<Token>& filed = slices_[slice].filed;
  auto best = filed.begin();
  for (auto token = filed.begin(); token != filed.end(); ++token) {
    if (levelled() && token->level < best->level) best = token;
  }
  ASSERT_NE(best, filed.end()) << "a token from nowhere";
  EXPECT_EQ(outcome.worker.value, best->worker);
  EXPECT_EQ(outcome.level.value, best->level);
  EXPECT_EQ(outcome.generation.value, best->generation);
  filed.erase(best);
}

/// The task was kept although tokens may be filed: no worker is idle, and a busy one has to wait for `spill`
/// tasks before this one.
void TokenRack::expect_no_room(unsigned slice) const {
  const auto before = static_cast<std::uint32_t>(reference_.waiting_tasks(slice)) - 1;
  for (const Token& token : slices_[slice].filed) {
    EXPECT_TRUE(levelled() && token.level > 0) << "an idle worker's token is filed";
    EXPECT_LT(before, slices_[slice].options.spill) << "a spare token is filed";
  }
}

/// The task was bound to a worker that is busy: only while at least `spill` tasks wait, or if it could not
/// wait.
void TokenRack::expect_spill(unsigned slice, bool large, const Outcome& outcome) const {
  if (!levelled() || outcome.level.value == 0 || large) return;
  const Rack::SliceOptions& options = slices_[slice].options;
  EXPECT_GE(reference_.waiting_tasks(slice), std::min(options.spill, options.capacity));
}

/// With no delay on the wire, what the switch knows is how many tasks each worker has.
void TokenRack::expect_fewest_unfinished(unsigned slice, unsigned chosen) const {
  const auto unfinished = [&](unsigned id) { return workers_[id].held + workers_[id].dispatched; };
  EXPECT_LT(unfinished(chosen), workers_[chosen].quota);
  for (unsigned id = 0; id < workers_.size(); ++id) {
    if (workers_[id].slice != slice || unfinished(id) == workers_[id].quota) continue;
    EXPECT_LE(unfinished(chosen), unfinished(id)) << "worker " << chosen << " before worker " << id;
  }
}

/// Tasks that wait leave in order, and after a number of tokens that is known when they start to wait. Where
/// no task is ever held back, all tasks leave in order.
void TokenRack::expect_in_order(const OpenTask& task) {
  SliceState& slice = slices_[task.slice];
  const bool holds_back = levelled() && slice.options.spill > 0;
  if (!holds_back) {
    EXPECT_GT(task.order, slice.last_order);
    slice.last_order = task.order;
  }
  if (!task.waits) return;
  EXPECT_GT(task.order, slice.last_waited);
  slice.last_waited = task.order;
  if (holds_back && slice.options.drain == 0) return;  // idle workers alone serve it
  const std::uint64_t tokens_a_task = holds_back ? slice.options.drain : 1;
  EXPECT_LE(slice.tokens - task.tokens_at_start, (task.ahead + 1) * tokens_a_task) << "it starves";
}

void TokenRack::expect_counts(unsigned slice) {
  const std::int64_t idle = reference_.idle_tokens(slice);
  const std::int64_t waiting = reference_.waiting_tasks(slice);
  EXPECT_TRUE(idle == 0 || waiting == 0) << "a task waits beside an idle worker's token";
  EXPECT_LE(waiting, slices_[slice].options.capacity);
  const std::optional<Counts> counts = runner_->counts({static_cast<std::uint16_t>(slice)});
  if (!counts) return;
  EXPECT_EQ(counts->balance, idle - waiting);
  EXPECT_EQ(static_cast<std::int64_t>(counts->spare), reference_.spare_tokens(slice));
}

void TokenRack::expect_quotas() const {
  for (const Worker& worker : workers_) {
    const auto outstanding =
        static_cast<unsigned>(std::ranges::count(worker.levels, true, &Worker::Level::outstanding));
    EXPECT_EQ(worker.held + outstanding, worker.quota);
    EXPECT_TRUE(options_.new_lives || worker.held + worker.dispatched <= worker.quota);
  }
}

}  // namespace rain::packet_table
