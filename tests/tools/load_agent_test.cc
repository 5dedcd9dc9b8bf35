// Tests of load_agent.h in virtual time, against a rack of one line that answers, refuses or keeps silent.
#include "tools/load_agent.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "transport/memory.h"

namespace rain::tools {
namespace {

const Endpoint kRack = Endpoint::v4(10, 0, 0, 1, 9000);
const Endpoint kClient = Endpoint::v4(10, 0, 0, 2, 5000);
constexpr Nanos kWire = microseconds(5);  // one way

/// Answers each request as `answer` says: after how long, and with which message.
class FakeRack {
 public:
  struct Answer {
    Nanos after{};
    wire::MessageType type = wire::MessageType::kReply;
    DropReason reason = DropReason::kNone;
  };
  FakeRack(transport::MemoryTransport transport,
           std::function<std::optional<Answer>(std::uint64_t index)> answer)
      : transport_(std::move(transport)), answer_(std::move(answer)) {}

  void poll(Nanos now) {
    for (const transport::RxPacket& packet : transport_.receive(now)) {
      wire::Message request;
      ASSERT_EQ(wire::decode(packet.bytes, request), DropReason::kNone);
      types.push_back(request.request.task_type);
      sticky += request.policy == wire::Policy::kSticky ? 1u : 0u;
      const auto answer = answer_(seen++);
      if (!answer) continue;
      wire::Message reply;
      reply.type = answer->type;
      reply.first = reply.last = true;
      reply.request_id = request.request_id;
      reply.packet = 1;
      reply.has_extension = true;
      reply.reply.switch_delay_ns = saturate_to_u32(answer->after / 2);
      reply.reply.service_ns = saturate_to_u32(answer->after / 2);
      reply.drop.reason = answer->reason;
      waiting_.push_back({now + answer->after, reply, packet.source});
    }
    while (!waiting_.empty() && waiting_.front().due <= now) {
      std::array<std::byte, wire::kMaxPacketBytes> buffer;
      transport_.send(now, wire::encode(waiting_.front().message, buffer), waiting_.front().to);
      transport_.flush(now);
      waiting_.pop_front();
    }
  }
  Nanos next_due() const { return waiting_.empty() ? Nanos::max() : waiting_.front().due; }

  std::uint64_t seen = 0;
  std::vector<TaskType> types;
  std::uint64_t sticky = 0;

 private:
  struct Waiting {
    Nanos due;
    wire::Message message;
    Endpoint to;
  };
  transport::MemoryTransport transport_;
  std::function<std::optional<Answer>(std::uint64_t)> answer_;
  std::deque<Waiting> waiting_;
};

struct World {
  using Agent = LoadAgent<transport::MemoryTransport>;

  explicit World(std::function<std::optional<FakeRack::Answer>(std::uint64_t)> answer, double rate = 1000,
                 std::uint32_t max_outstanding = 64, bool back_off = false)
      : rack(network.open(kRack), std::move(answer)),
        agent(network.open(kClient),
              {.switch_address = kRack,
               .max_outstanding = max_outstanding,
               .timeout = milliseconds(10),
               .back_off = back_off},
              {.start = milliseconds(1), .warmup = milliseconds(100), .duration = milliseconds(400)},
              workload::Workload::make(
                  workload::WorkloadSpec::steady(
                      rate,
                      *workload::parse_classes("a@3:0.5:const:8,b@4:0.5:const:8", workload::Quantity::kCount),
                      workload::Arrival::kConstant),
                  1)
                  .value(),
              *app, app->make_builder({}, 1), {}) {}

  /// Runs until the agent has finished; `late`: how late it is woken for each send.
  void run(Nanos late = {}) {
    for (int steps = 0; !agent.finished(); ++steps) {
      ASSERT_LT(steps, 1'000'000);
      rack.poll(now);
      agent.poll(now);
      const Nanos due = agent.next_due();  // max(): waits for answers alone
      const Nanos next =
          std::min({network.next_arrival(), rack.next_due(), due == Nanos::max() ? due : due + late});
      now = std::max(now + Nanos{1}, next);
    }
  }

  Nanos now{};
  transport::MemoryNetwork network{{.latency = kWire}};
  std::unique_ptr<apps::App> app = std::move(*apps::make_app("echo"));
  FakeRack rack;
  Agent agent;
};

std::optional<FakeRack::Answer> answer_after_20us(std::uint64_t) {
  return FakeRack::Answer{.after = microseconds(20)};
}

TEST(LoadAgent, send_sticky__marks_its_part_of_the_requests) {
  const auto sticky = [](double part) {
    World world(answer_after_20us);
    if (part > 0) world.agent.send_sticky(part, 1);
    world.run();
    EXPECT_EQ(world.rack.seen, 499u);
    return world.rack.sticky;
  };
  EXPECT_EQ(sticky(0), 0u);
  EXPECT_EQ(sticky(1), 499u);
  EXPECT_NEAR(static_cast<double>(sticky(0.25)), 125, 40);
  EXPECT_EQ(sticky(0.25), sticky(0.25)) << "the same seed";
}

TEST(LoadAgent, poll__every_request_completes_and_warmup_is_apart) {
  World world(answer_after_20us);
  world.run();
  const LoadResults& results = world.agent.results();
  EXPECT_EQ(results.measured.sent, 400u);
  EXPECT_EQ(results.measured.completed, 400u);
  EXPECT_EQ(results.warmup.completed, results.warmup.sent);
  EXPECT_NEAR(static_cast<double>(results.warmup.sent), 100, 1);
  EXPECT_EQ(results.completed_in_window, 400u);
  EXPECT_EQ(world.rack.seen, results.measured.sent + results.warmup.sent);
}

TEST(LoadAgent, poll__latency_and_its_parts) {
  World world(answer_after_20us);
  world.run();
  const LoadResults& results = world.agent.results();
  for (const ClassResults& one : results.classes) {
    EXPECT_GT(one.latency.count(), 100u);
    EXPECT_EQ(one.latency.quantile(0), microseconds(30));
    EXPECT_EQ(one.latency.max(), microseconds(30));
    EXPECT_EQ(one.slowdown.max(), Nanos{2000});
    EXPECT_EQ(one.service.max(), microseconds(10));
  }
  EXPECT_EQ(results.wire.max(), microseconds(10));
  EXPECT_EQ(results.in_switch.max(), microseconds(10));
  EXPECT_EQ(results.send_lag.max(), Nanos{});
}

TEST(LoadAgent, poll__task_types_follow_the_classes) {
  World world(answer_after_20us);
  world.run();
  for (const TaskType type : world.rack.types) EXPECT_TRUE(type == TaskType{3} || type == TaskType{4});
}

TEST(LoadAgent, poll__a_late_generator_owns_up_to_it) {
  World world(answer_after_20us);
  world.run(microseconds(300));
  const LoadResults& results = world.agent.results();
  EXPECT_EQ(results.measured.sent, 400u);  // open loop: no request is left out
  EXPECT_GE(results.send_lag.quantile(0.5), microseconds(290));
  EXPECT_GE(results.classes[0].latency.quantile(0.5), microseconds(320));
  EXPECT_EQ(results.wire.max(), microseconds(10));  // the rack is not blamed for it
}

TEST(LoadAgent, poll__silence_times_out_and_the_schedule_goes_on) {
  World world([](std::uint64_t) { return std::optional<FakeRack::Answer>(); });
  world.run();
  const LoadResults& results = world.agent.results();
  EXPECT_EQ(results.measured.sent, 400u);
  EXPECT_EQ(results.measured.timed_out, 400u);
  EXPECT_EQ(results.measured.completed, 0u);
  EXPECT_EQ(results.measured.to_outcomes().without_outcome(), 0u);
}

TEST(LoadAgent, poll__refusals_are_counted_by_reason) {
  World world([](std::uint64_t index) -> std::optional<FakeRack::Answer> {
    if (index % 2 == 0) return FakeRack::Answer{.after = microseconds(20)};
    return FakeRack::Answer{.after = {}, .type = wire::MessageType::kDrop, .reason = DropReason::kQueueFull};
  });
  world.run();
  const Outcomes outcomes = world.agent.results().measured.to_outcomes();
  EXPECT_EQ(outcomes.dropped.at("queue_full"), 200u);
  EXPECT_EQ(outcomes.completed, 200u);
  EXPECT_EQ(outcomes.without_outcome(), 0u);
}

TEST(LoadAgent, poll__beyond_the_open_limit_requests_count_as_backpressure) {
  World world([](std::uint64_t) { return FakeRack::Answer{.after = milliseconds(5)}; }, 10'000, 10);
  world.run();
  const Outcomes outcomes = world.agent.results().measured.to_outcomes();
  EXPECT_EQ(outcomes.sent, 4000u);
  EXPECT_GT(outcomes.dropped.at("client_backpressure"), 2000u);
  EXPECT_EQ(outcomes.without_outcome(), 0u);
}

/// Answers after 5 ms: with 10 requests open, 2000 a second are served.
std::optional<FakeRack::Answer> answer_after_5ms(std::uint64_t) {
  return FakeRack::Answer{.after = milliseconds(5)};
}

TEST(LoadAgent, set_share__requests_beyond_it_end_under_its_name) {
  World world(answer_after_5ms, 10'000);
  world.agent.set_share(10);
  world.run();
  const Outcomes outcomes = world.agent.results().measured.to_outcomes();
  EXPECT_EQ(outcomes.sent, 4000u);
  EXPECT_NEAR(static_cast<double>(outcomes.completed), 800, 30);
  EXPECT_EQ(outcomes.dropped.at("admission_share"), outcomes.sent - outcomes.completed);
  EXPECT_EQ(outcomes.without_outcome(), 0u);
}

TEST(LoadAgent, poll__a_narrowed_window_ends_requests_under_its_name) {
  World world(
      [](std::uint64_t index) -> std::optional<FakeRack::Answer> {
        if (index >= 16) return answer_after_5ms(index);
        return FakeRack::Answer{
            .after = {}, .type = wire::MessageType::kDrop, .reason = DropReason::kQueueFull};
      },
      10'000, 64, true);
  world.run();
  const LoadResults& results = world.agent.results();
  const OutcomeCounts& warmup = results.warmup;
  EXPECT_EQ(warmup.dropped[static_cast<std::size_t>(DropReason::kQueueFull)], 16u);
  EXPECT_GT(warmup.to_outcomes().dropped.at("admission_window"), 0u);
  EXPECT_GT(world.agent.admission().back_offs(), 0u);
  EXPECT_EQ(results.measured.to_outcomes().without_outcome(), 0u);
}

TEST(LoadAgent, wait_for_room__what_waited_counts_from_its_intended_time) {
  World world(answer_after_5ms, 2'500);  // a quarter more than is served
  world.agent.set_share(10);
  world.agent.wait_for_room();
  world.run();
  const LoadResults& results = world.agent.results();
  const Outcomes outcomes = results.measured.to_outcomes();
  EXPECT_EQ(outcomes.sent, 1000u) << "the schedule goes on";
  EXPECT_NEAR(static_cast<double>(outcomes.completed), 800, 50);
  EXPECT_EQ(outcomes.dropped.at("admission_timeout"), outcomes.sent - outcomes.completed);
  EXPECT_EQ(results.send_lag.max(), Nanos{}) << "the generator was never late";
  EXPECT_EQ(results.admission.count(), outcomes.completed);
  EXPECT_GT(results.admission.max(), milliseconds(9));
  EXPECT_LE(results.admission.max(), milliseconds(10)) << "then it ends, unsent";
  EXPECT_GT(results.classes[0].latency.max(), milliseconds(14));
  EXPECT_LE(world.rack.seen, 1000u);
}

TEST(LoadAgent, wait_for_room__with_room_nothing_waits) {
  World world(answer_after_20us);
  world.agent.wait_for_room();
  world.run();
  const LoadResults& results = world.agent.results();
  EXPECT_EQ(results.measured.completed, 400u);
  EXPECT_EQ(results.admission.max(), Nanos{});
  EXPECT_EQ(results.classes[0].latency.max(), microseconds(30));
}

TEST(LoadAgent, wait_for_room__no_share_at_all_ends_with_the_timeouts) {
  World world(answer_after_20us);
  world.agent.set_share(0);
  world.agent.wait_for_room();
  world.run();
  const Outcomes outcomes = world.agent.results().measured.to_outcomes();
  EXPECT_EQ(outcomes.dropped.at("admission_timeout"), 400u);
  EXPECT_EQ(outcomes.without_outcome(), 0u);
  EXPECT_EQ(world.rack.seen, 0u);
}

TEST(LoadAgent, poll__a_generator_far_too_slow_gives_up_and_says_so) {
  World world(answer_after_20us, 1'000'000);
  int steps = 0;
  for (; !world.agent.finished(); world.now += milliseconds(1), ++steps) {
    world.rack.poll(world.now);
    world.agent.poll(world.now);
    ASSERT_LT(world.now, seconds(2)) << "still at it";
  }
  const LoadResults& results = world.agent.results();
  const Outcomes outcomes = results.measured.to_outcomes();
  EXPECT_EQ(outcomes.sent, 400'000u);
  EXPECT_GT(outcomes.dropped.at("generator_overload"), 200'000u);
  EXPECT_EQ(outcomes.without_outcome(), 0u);
  EXPECT_FALSE(make_report(results, milliseconds(400)).kept_schedule);
}

TEST(LoadAgent, stop__ends_the_window_early) {
  World world(answer_after_20us);
  while (world.now < milliseconds(201)) {
    world.rack.poll(world.now);
    world.agent.poll(world.now);
    world.now += microseconds(1);
  }
  world.agent.stop(world.now);
  world.run();
  EXPECT_EQ(world.agent.window().warmup, milliseconds(100));
  EXPECT_EQ(world.agent.window().duration, milliseconds(100));
  EXPECT_NEAR(static_cast<double>(world.agent.results().measured.sent), 100, 1);
  EXPECT_EQ(world.agent.results().measured.to_outcomes().without_outcome(), 0u);
}

TEST(LoadAgent, stop__during_the_warmup_leaves_nothing_measured) {
  World world(answer_after_20us);
  world.agent.stop(milliseconds(11));
  world.run();
  EXPECT_EQ(world.agent.window().warmup, milliseconds(10));
  EXPECT_EQ(world.agent.window().duration, Nanos{});
  EXPECT_EQ(world.agent.results().measured.sent, 0u);
}

}  // namespace
}  // namespace rain::tools
