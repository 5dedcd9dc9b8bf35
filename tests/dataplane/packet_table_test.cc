// Every packet table on the program itself, one test each; and that together they reach every verdict and
// every reason that a program can give.
#include "dataplane/packet_table.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "dataplane/program_runner.h"

namespace rain::packet_table {
namespace {

using dataplane::Action;
using dataplane::ProgramId;

class PacketTables : public ::testing::TestWithParam<PacketTable> {};

TEST_P(PacketTables, on_the_program) { GetParam().run(make_program_runner); }

INSTANTIATE_TEST_SUITE_P(program, PacketTables, ::testing::ValuesIn(all_packet_tables()),
                         [](const auto& table) { return table.param.name(); });

using Answers = std::set<std::pair<Action, DropReason>>;

/// What each program can answer, as its header says.
Answers possible_answers(ProgramId program) {
  using enum DropReason;
  Answers answers{{Action::kConsume, kNone},
                  {Action::kReplyDrop, kUnknownTaskType},
                  {Action::kReplyDrop, kPolicyUnsupported},
                  {Action::kIgnore, kUnexpectedMessage},
                  {Action::kIgnore, kUnknownWorker},
                  {Action::kIgnore, kAddressMismatch},
                  {Action::kIgnore, kBadTokenKey},
                  {Action::kIgnore, kTruncatedExtension}};
  if (program != ProgramId::kDraconis) answers.insert({Action::kForward, kNone});
  if (pushes(program)) {
    answers.insert({Action::kReplyDrop, kNoWorkers});
  } else {
    answers.insert({{Action::kBuffered, kNone},
                    {Action::kDispatch, kNone},
                    {Action::kExpired, kNone},
                    {Action::kReplyDrop, kQueueFull}});
  }
  if (program == ProgramId::kDraconis) answers.insert({Action::kReplyDrop, kNoTask});
  if (program == ProgramId::kR2p2 || program == ProgramId::kRacksched) {
    answers.insert({Action::kRecirculate, kNone});
  }
  if (!dataplane::kPrograms[static_cast<unsigned>(program)].uses_tokens) return answers;
  answers.insert({{Action::kReplySync, kNone},
                  {Action::kReplySync, kGenerationLeap},
                  {Action::kRecirculate, kNone},
                  {Action::kReplyDrop, kPayloadStoreFull},
                  {Action::kIgnore, kBadLevel},
                  {Action::kIgnore, kStaleEpoch},
                  {Action::kIgnore, kDuplicateToken},
                  {Action::kIgnore, kGenerationLeap},
                  {Action::kIgnore, kTokenQueueFull}});
  return answers;
}

TEST(packet_tables, all__reach_every_verdict_and_reason) {
  std::map<ProgramId, Answers> reached;
  for (const PacketTable& table : all_packet_tables()) {
    for (const Outcome& outcome : table.run(make_program_runner)) {
      reached[table.program()].insert({outcome.action, outcome.reason});
      if (!outcome.expired.empty()) reached[table.program()].insert({Action::kExpired, DropReason::kNone});
      if (outcome.recirculations > outcome.expired.size()) {
        reached[table.program()].insert({Action::kRecirculate, DropReason::kNone});
      }
    }
  }
  for (const dataplane::ProgramInfo& program : dataplane::kPrograms) {
    EXPECT_EQ(reached[program.id], possible_answers(program.id)) << program.name;
  }
}

/// Answers wrongly in one way.
class LyingRunner final : public Runner {
 public:
  using Lie = void (*)(Outcome&);
  LyingRunner(std::unique_ptr<Runner> honest, Lie lie) : honest_(std::move(honest)), lie_(lie) {}
  Outcome inject(const dataplane::PacketView& packet, Nanos now) override {
    Outcome outcome = honest_->inject(packet, now);
    lie_(outcome);
    return outcome;
  }
  void set_worker(WorkerId id, const dataplane::WorkerEntry& entry) override {
    honest_->set_worker(id, entry);
  }
  void set_slice(SliceId id, const dataplane::SliceEntry& entry) override { honest_->set_slice(id, entry); }
  void forget_dead_tokens(SliceId slice) override { honest_->forget_dead_tokens(slice); }
  std::optional<Counts> counts(SliceId slice) override { return honest_->counts(slice); }

 private:
  std::unique_ptr<Runner> honest_;
  Lie lie_;
};

bool is_found_out(LyingRunner::Lie lie) {
  const RunnerFactory factory = [lie](ProgramId program, unsigned levels, const Rack& rack) {
    return std::make_unique<LyingRunner>(make_program_runner(program, levels, rack), lie);
  };
  ::testing::TestPartResultArray failures;
  const ::testing::ScopedFakeTestPartResultReporter reporter(&failures);
  for (const PacketTable& table : ledger_tables(ProgramId::kRain)) table.run(factory);
  for (const PacketTable& table : queue_tables(ProgramId::kRain)) {
    if (table.name() != "rain__queue_length_saturates") table.run(factory);  // the slow one
  }
  return failures.size() > 0;
}

/// The tables are worth what they notice, field by field.
TEST(packet_tables, run__finds_each_wrong_field) {
  EXPECT_FALSE(is_found_out([](Outcome&) {}));
  EXPECT_TRUE(is_found_out([](Outcome& o) {
    if (o.action == Action::kConsume) o.action = Action::kBuffered;
  }));
  EXPECT_TRUE(is_found_out([](Outcome& o) {
    if (o.reason == DropReason::kStaleEpoch) o.reason = DropReason::kDuplicateToken;
  }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.recirculations = 0; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { ++o.receiver.port; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { ++o.client.port; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { ++o.request_id.value; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.layout = wire::Layout::kPlain; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.task_type = {}; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.deadline_us = 0; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { ++o.packet_count; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.last = true; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) {
    if (!o.payload.empty()) o.payload.back() ^= std::byte{1};
  }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.payload.resize(o.payload.size() / 2); }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.worker = {}; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.level = kNoLevel; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.generation = {1}; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.switch_delay_ns = 0; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.queue_length = 0; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.sync.worker = {1}; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.sync.level = {1}; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.sync.epoch = {}; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.sync.seen = {}; }));
  EXPECT_TRUE(is_found_out([](Outcome& o) { o.sync.consumed = o.sync.seen; }));
}

}  // namespace
}  // namespace rain::packet_table
