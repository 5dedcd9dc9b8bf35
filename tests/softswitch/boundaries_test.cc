// The smallest queues and stores, where off-by-one errors deadlock or overflow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "dataplane/programs.h"
#include "softswitch/recording_transport.h"
#include "softswitch/switch_fixture.h"

namespace rain::softswitch {
namespace {

using packet_table::client_address;
using packet_table::task;
using packet_table::token;
using packet_table::worker_address;

template <typename Program>
struct Switch : SwitchUnderTest<Program, RecordingTransport> {
  explicit Switch(const SwitchOptions& options) : SwitchUnderTest<Program, RecordingTransport>(options, {}) {}

  /// "forward 3", "queue_full 4", "" ...: what came out for this packet.
  std::string step(const packet_table::Packet& packet) {
    this->transport.put(bytes_of(packet), packet.view().source);
    this->agent.poll(Nanos{++now});
    std::string text;
    for (const auto& sent : this->transport.take_sent()) {
      if (sent.message.type == wire::MessageType::kRequest) {
        text += "task " + std::to_string(sent.message.request_id.value);
        EXPECT_EQ(sent.message.payload.size(), payload_bytes);
      } else {
        text += std::string(drop_reason_name(sent.message.drop.reason)) + " " +
                std::to_string(sent.message.request_id.value);
      }
    }
    return text;
  }
  std::string step_task(unsigned id) { return step(task().request(id).payload(payload_bytes)); }
  std::string step_token(std::uint32_t generation) { return step(token(0).generation(generation)); }

  std::int64_t now = 0;
  std::size_t payload_bytes = 8;
};

template <typename Program>
class Boundaries : public testing::Test {};
using Programs = testing::Types<
    dataplane::RainProgram<dataplane::SoftMemory, 2>, dataplane::RainProgram<dataplane::SoftMemory, 4>,
    dataplane::RainProgram<dataplane::SoftMemory, 8>, dataplane::RainPaperProgram<dataplane::SoftMemory>>;
class ProgramName {
 public:
  template <typename T>
  static std::string GetName(int index) {
    return std::array{"rain_2", "rain_4", "rain_8", "rain_paper"}[static_cast<std::size_t>(index)];
  }
};
TYPED_TEST_SUITE(Boundaries, Programs, ProgramName);

TYPED_TEST(Boundaries, queue_of_1__one_waits_the_next_is_refused_and_it_goes_on) {
  Switch<TypeParam> s(one_slice(1, 1));
  for (std::uint32_t round = 0; round < 5; ++round) {
    EXPECT_EQ(s.step_task(1), "");
    EXPECT_EQ(s.step_task(2), "queue_full 2");
    EXPECT_EQ(s.step_task(3), "queue_full 3");
    EXPECT_EQ(s.step_token(3 * round + 1), "task 1");
    EXPECT_EQ(s.agent.waiting(), 0u);
    EXPECT_EQ(s.step_token(3 * round + 2), "") << "filed";
    EXPECT_EQ(s.step_task(4), "task 4");
  }
  EXPECT_EQ(s.drops(DropReason::kQueueFull), 10u);
  EXPECT_EQ(s.counters.drops().total(), 10u);
}

TYPED_TEST(Boundaries, hold_of_0__large_tasks_go_at_once_or_not_at_all) {
  SwitchOptions options = one_slice(1);
  options.hold_slots = 0;
  Switch<TypeParam> s(options);
  s.payload_bytes = 100;
  EXPECT_EQ(s.step_task(1), "payload_store_full 1");
  EXPECT_EQ(s.step_token(1), "");
  EXPECT_EQ(s.step_task(2), "task 2");
  s.payload_bytes = 8;
  EXPECT_EQ(s.step_task(3), "") << "a small task needs no store";
  EXPECT_EQ(s.step_token(2), "task 3");
}

TYPED_TEST(Boundaries, hold_of_1__the_place_is_free_again_after_each_dispatch) {
  SwitchOptions options = one_slice(1);
  options.hold_slots = 1;
  Switch<TypeParam> s(options);
  s.payload_bytes = 1400;
  for (std::uint32_t round = 0; round < 5; ++round) {
    EXPECT_EQ(s.step_task(1), "");
    EXPECT_EQ(s.memory.free_holds(), 0u);
    EXPECT_EQ(s.step_task(2), "payload_store_full 2");
    EXPECT_EQ(s.step_token(round + 1), "task 1");
    EXPECT_EQ(s.memory.free_holds(), 1u);
  }
}

TYPED_TEST(Boundaries, no_workers__tasks_wait_until_the_queue_is_full) {
  Switch<TypeParam> s(one_slice(0, 2));
  EXPECT_EQ(s.step_task(1), "");
  EXPECT_EQ(s.step_task(2), "");
  EXPECT_EQ(s.step_task(3), "queue_full 3");
  EXPECT_EQ(s.agent.waiting(), 2u);
}

TYPED_TEST(Boundaries, rings__wrap_without_mixing_tasks) {
  Switch<TypeParam> s(one_slice(1, 3));
  std::uint32_t generation = 0;
  for (unsigned id = 0; id < 300; id += 3) {
    for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(s.step_task(id + i), "");
    ASSERT_EQ(s.step_task(9999), "queue_full 9999");
    for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(s.step_token(++generation), "task " + std::to_string(id + i));
  }
}

TEST(PushPrograms, no_workers__refused_with_the_reason) {
  Switch<dataplane::RoundRobinProgram<dataplane::SoftMemory>> s(one_slice(0));
  EXPECT_EQ(s.step_task(1), "no_workers 1");
}

TEST(PushPrograms, tasks__leave_at_once_and_reports_are_consumed) {
  Switch<dataplane::JsqProgram<dataplane::SoftMemory>> s(one_slice(2));
  EXPECT_EQ(s.step_task(1), "task 1");
  EXPECT_EQ(s.step(packet_table::report(0)), "");
  EXPECT_EQ(s.count(SwitchCounter::kConsumed), 1u);
  EXPECT_EQ(s.agent.waiting(), 0u);
}

}  // namespace
}  // namespace rain::softswitch
