// Runs a packet table: feeds its packets to a runner and holds what comes out against what was expected and
// against what went in.
#include "dataplane/packet_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>

namespace rain::packet_table {

using dataplane::Action;

namespace {

SliceId slice_id(unsigned slice) { return {static_cast<std::uint16_t>(slice)}; }
WorkerId worker_id(unsigned worker) { return {static_cast<std::uint16_t>(worker)}; }

dataplane::SliceEntry slice_entry(const Rack::SliceOptions& options) {
  const auto other = [](const std::optional<unsigned>& slice) {
    return slice ? slice_id(*slice) : dataplane::kNoSlice;
  };
  return {.present = true,
          .queue_capacity = options.capacity,
          .spill = options.spill,
          .drain = options.drain,
          .depth = options.depth,
          .recirculate = options.recirculate,
          .master_slice = other(options.master_slice),
          .host = other(options.host)};
}

dataplane::WorkerEntry worker_entry(unsigned worker, unsigned slice, unsigned epoch) {
  return {.present = true,
          .slice = {static_cast<std::uint16_t>(slice)},
          .epoch = {static_cast<std::uint16_t>(epoch)},
          .token_key = worker_key(worker),
          .address = worker_address(worker)};
}

/// Failures of the current test so far.
int failures() {
  return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

const char* action_name(Action action) {
  switch (action) {
    case Action::kForward:
      return "forward";
    case Action::kBuffered:
      return "buffered";
    case Action::kDispatch:
      return "dispatch";
    case Action::kRecirculate:
      return "recirculate";
    case Action::kExpired:
      return "expired";
    case Action::kReplyDrop:
      return "reply drop";
    case Action::kReplySync:
      return "reply sync";
    case Action::kConsume:
      return "consume";
    case Action::kIgnore:
      return "ignore";
  }
  return "no action";
}

}  // namespace

Rack& Rack::slice(const SliceOptions& options) { return slices.push_back(slice_entry(options)), *this; }
Rack& Rack::absent_slice() { return slices.emplace_back(), *this; }
Rack& Rack::type(unsigned type, unsigned slice) {
  types.emplace_back(TaskType{static_cast<std::uint16_t>(type)}, slice_id(slice));
  return *this;
}
Rack& Rack::worker(unsigned slice, unsigned weight) {
  workers.push_back(worker_entry(static_cast<unsigned>(workers.size()), slice, kFirstEpoch));
  workers.back().weight = static_cast<std::uint8_t>(weight);
  return *this;
}
Rack& Rack::absent_worker() { return workers.emplace_back(), *this; }

dataplane::MemoryShape Rack::shape() const {
  std::uint32_t capacity = 1;
  for (const dataplane::SliceEntry& slice : slices) capacity = std::max(capacity, slice.queue_capacity);
  const auto worker_count = static_cast<std::uint32_t>(std::max<std::size_t>(workers.size(), 1));
  return {.slices = static_cast<std::uint32_t>(slices.size()),
          .workers = worker_count,
          .task_ring = std::bit_ceil(capacity),
          .token_ring = token_ring != 0 ? token_ring : std::bit_ceil(worker_count * kMaxQuota),
          .hold_slots = hold_slots};
}

Rack small_rack(unsigned workers, const Rack::SliceOptions& options) {
  Rack rack;
  rack.slice(options).type(0, 0);
  for (unsigned i = 0; i < workers; ++i) rack.worker(0);
  return rack;
}

Rack rack_with_master(unsigned workers, Rack::SliceOptions options) {
  options.master_slice = 1;
  Rack rack = small_rack(workers, options);
  options.master_slice.reset();
  options.host = 0;
  rack.slice(options).worker(1);
  return rack;
}

void compare(const Outcome& outcome, const Expected& expected) {
  EXPECT_STREQ(action_name(outcome.action), action_name(expected.action_));
  EXPECT_STREQ(drop_reason_name(outcome.reason), drop_reason_name(expected.reason_));
  EXPECT_EQ(outcome.recirculations, expected.recirculations_ + expected.expired_.size());
  std::vector<unsigned> expired;
  for (const Expiry& expiry : outcome.expired) expired.push_back(expiry.request_id.value);
  EXPECT_EQ(expired, expected.expired_);
  if (outcome.action != expected.action_) return;
  const auto field = [](const char* name, std::uint32_t actual, const std::optional<std::uint32_t>& wanted) {
    EXPECT_EQ(actual, wanted.value_or(actual)) << name;
  };
  EXPECT_EQ(outcome.fetch_bytes > 0, expected.fetches_);
  field("queue length", outcome.queue_length, expected.queue_length_);
  field("request id", outcome.request_id.value, expected.request_);
  field("worker", outcome.worker.value, expected.worker_);
  field("level", outcome.level.value, expected.level_);
  field("generation", outcome.generation.value, expected.generation_);
  field("generation seen", outcome.sync.seen.value, expected.seen_);
  field("generation consumed", outcome.sync.consumed.value, expected.consumed_);
  EXPECT_EQ(outcome.sync.recalled, expected.recalled_);
  field("epoch", outcome.sync.epoch.value, expected.epoch_);
}

/// One run of a table.
struct PacketTable::Run {
  struct Sent {
    Packet packet;
    Nanos time;
  };

  std::unique_ptr<Runner> runner;
  Nanos now{1'000};
  std::map<std::uint16_t, Sent> requests;  // the newest of each request id
  std::vector<Outcome> outcomes;

  void send(const Packet& packet, const Expected& expected) {
    const dataplane::PacketView view = packet.view();
    if (view.message.type == wire::MessageType::kRequest) {
      requests.insert_or_assign(view.message.request_id.value, Sent{packet, now});
    }
    const Outcome outcome = runner->inject(view, now);
    compare(outcome, expected);
    for (const Expiry& expiry : outcome.expired) {
      const auto found = requests.find(expiry.request_id.value);
      ASSERT_NE(found, requests.end()) << "request " << expiry.request_id.value << " was never sent";
      EXPECT_EQ(expiry.client, found->second.packet.view().source);
      EXPECT_EQ(expiry.layout, found->second.packet.view().message.layout);
    }
    if (outcome.action == Action::kForward || outcome.action == Action::kDispatch) expect_intact(outcome);
    if (outcome.action == Action::kReplyDrop) {
      EXPECT_EQ(outcome.receiver, view.source);
      EXPECT_EQ(outcome.request_id, view.message.request_id);
      EXPECT_EQ(outcome.layout, view.message.layout);
    }
    if (outcome.action == Action::kReplySync) {
      EXPECT_EQ(outcome.receiver, view.source);
      EXPECT_EQ(outcome.sync.worker, view.message.token.worker);
      EXPECT_EQ(outcome.sync.level, view.message.token.level);
    }
    outcomes.push_back(outcome);
  }

  /// A request that leaves for a worker is the one that a client sent, and says truly how long it waited.
  void expect_intact(const Outcome& outcome) const {
    const auto found = requests.find(outcome.request_id.value);
    ASSERT_NE(found, requests.end()) << "request " << outcome.request_id.value << " was never sent";
    const dataplane::PacketView sent = found->second.packet.view();
    EXPECT_EQ(outcome.receiver, worker_address(outcome.worker.value));
    EXPECT_EQ(outcome.client, sent.source);
    EXPECT_EQ(outcome.task_type, sent.message.request.task_type);
    EXPECT_EQ(outcome.deadline_us, sent.message.request.deadline_us);
    EXPECT_EQ(outcome.packet_count, sent.message.packet);
    EXPECT_EQ(outcome.last, sent.message.last);
    EXPECT_EQ(outcome.layout, sent.message.layout);
    if (outcome.fetch_bytes > 0) {
      EXPECT_EQ(outcome.fetch_bytes, sent.message.payload.size());
      EXPECT_TRUE(outcome.payload.empty());
    } else {
      EXPECT_TRUE(std::ranges::equal(outcome.payload, sent.message.payload))
          << outcome.payload.size() << " bytes left, " << sent.message.payload.size() << " came";
    }
    EXPECT_EQ(outcome.switch_delay_ns, saturate_to_u32(now - found->second.time));
  }
};

PacketTable& PacketTable::add(int line, std::function<void(Run&)> act) {
  steps_.push_back({line, std::move(act)});
  return *this;
}

PacketTable& PacketTable::send(const Packet& packet, const Expected& expected, int line) {
  return add(line, [=](Run& run) { run.send(packet, expected); });
}

PacketTable& PacketTable::repeat(unsigned count, const Packet& packet, const Expected& expected, int line) {
  return add(line, [=](Run& run) {
    Packet next = packet;
    const int before = failures();
    for (unsigned i = 0; i < count && failures() == before; ++i, next.advance()) run.send(next, expected);
  });
}

PacketTable& PacketTable::at(Nanos now, int line) {
  return add(line, [=](Run& run) { run.now = now; });
}

PacketTable& PacketTable::counts(unsigned slice, const Counts& expected, int line) {
  return add(line, [=](Run& run) {
    const std::optional<Counts> seen = run.runner->counts(slice_id(slice));
    if (!seen) return;
    EXPECT_EQ(seen->balance, expected.balance);
    EXPECT_EQ(seen->spare, expected.spare);
  });
}

PacketTable& PacketTable::move_worker(unsigned worker, unsigned slice, unsigned epoch, int line) {
  return add(
      line, [=](Run& run) { run.runner->set_worker(worker_id(worker), worker_entry(worker, slice, epoch)); });
}

PacketTable& PacketTable::remove_worker(unsigned worker, int line) {
  return add(line, [=](Run& run) { run.runner->set_worker(worker_id(worker), {}); });
}

PacketTable& PacketTable::set_slice(unsigned slice, const Rack::SliceOptions& options, int line) {
  return add(line, [=](Run& run) { run.runner->set_slice(slice_id(slice), slice_entry(options)); });
}

PacketTable& PacketTable::remove_slice(unsigned slice, int line) {
  return add(line, [=](Run& run) { run.runner->set_slice(slice_id(slice), {}); });
}

PacketTable& PacketTable::forget_dead_tokens(unsigned slice, int line) {
  return add(line, [=](Run& run) { run.runner->forget_dead_tokens(slice_id(slice)); });
}

std::vector<Outcome> PacketTable::run(const RunnerFactory& factory) const {
  Run run;
  run.runner = factory(program_, levels_, rack_);
  const int before = failures();
  for (const Step& step : steps_) {
    const ::testing::ScopedTrace trace(file_, step.line, name_);
    step.act(run);
    if (failures() != before) break;  // what follows would only be derailed
  }
  return std::move(run.outcomes);
}

std::string table_name(dataplane::ProgramId program, std::string_view test) {
  std::string name(dataplane::kPrograms[static_cast<unsigned>(program)].name);
  std::ranges::replace(name, '-', '_');
  return name.append("__").append(test);
}

std::vector<PacketTable> all_packet_tables() {
  std::vector<PacketTable> all;
  const auto append = [&](std::vector<PacketTable> tables) {
    for (PacketTable& table : tables) all.push_back(std::move(table));
  };
  for (const dataplane::ProgramInfo& program : dataplane::kPrograms) {
    append(match_tables(program.id));
    append(sticky_tables(program.id));
    if (program.uses_tokens) {
      append(ledger_tables(program.id));
      append(queue_tables(program.id));
    }
    if (pushes(program.id)) append(push_tables(program.id));
  }
  append(draconis_tables());
  append(rain_tables());
  append(rain_paper_tables());
  return all;
}

}  // namespace rain::packet_table
