// The whole process on loopback: real sockets, real threads, real signals. The test plays clients and workers.
#include "softswitch/switch_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>

#include "base/endpoint_text.h"
#include "softswitch/switch_peers.h"

namespace rain::softswitch {
namespace {

using packet_table::task;
using packet_table::token;

class EveryProgram : public testing::TestWithParam<const char*> {};

TEST_P(EveryProgram, start__serves_a_task) {
  std::vector<Peer> workers(1);
  Peer client;
  SwitchOptions options = options_for(workers);
  options.program = GetParam();
  const auto process = start(options);
  EXPECT_NE(process->local().port, 0);
  if (options.program_info().uses_tokens) workers[0].send(token(0), process->local());
  if (options.program_info().uses_tokens) expect_all_handled(workers[0], 0, *process);
  client.send(task().request(12), process->local());
  const wire::Message dispatched = workers[0].receive();
  EXPECT_EQ(dispatched.type, wire::MessageType::kRequest);
  EXPECT_EQ(dispatched.request_id.value, 12);
  EXPECT_EQ(dispatched.dispatch.client, client.address());
  EXPECT_EQ(workers[0].last_source(), process->local());
  process->drain();
  const SwitchReport report = process->join();
  EXPECT_EQ(report.program, GetParam());
  EXPECT_TRUE(report.drained);
  EXPECT_EQ(report.totals.get(SwitchCounter::kForwarded), 1u);
  ASSERT_EQ(report.totals.slices.size(), 1u);
  EXPECT_EQ(report.totals.slices[0].forwarded, 1u);
  EXPECT_EQ(report.slices[0].queue_delay.count(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Programs, EveryProgram,
                         testing::Values("rain", "rain-paper", "racksched", "pallas", "random", "round-robin",
                                         "jsq"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SwitchProcess, start__levels_follow_the_quota) {
  for (const unsigned quota : {1u, 2u, 3u, 4u, 5u, 8u}) {
    std::vector<Peer> workers(1);
    Peer client;
    SwitchOptions options = options_for(workers);
    options.quota = quota;
    const auto process = start(options);
    workers[0].send(token(0).level(quota - 1), process->local());
    expect_all_handled(workers[0], 0, *process);
    client.send(task(), process->local());
    EXPECT_EQ(workers[0].receive().dispatch.level.value, quota - 1);
  }
}

TEST(SwitchProcess, start__bad_options_are_refused) {
  SwitchOptions options = one_slice(1);
  options.program = "fifo";
  const auto process = SwitchProcess::start(options);
  ASSERT_FALSE(process.has_value());
  EXPECT_THAT(process.error(), testing::HasSubstr("program = \"fifo\""));
}

TEST(SwitchProcess, start__port_in_use_is_refused) {
  SwitchOptions options = one_slice(1);
  options.listen = kLoopback;
  const auto first = start(options);
  options.listen = first->local();
  const auto second = SwitchProcess::start(options);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error(), "cannot bind " + format_endpoint(first->local()) + ": address already in use");
}

TEST(SwitchProcess, start__another_life_has_another_boot_id) {
  SwitchOptions options = one_slice(1);
  options.listen = kLoopback;
  EXPECT_NE(start(options)->boot_id(), start(options)->boot_id());
}

TEST(SwitchProcess, groups__each_thread_serves_its_slices) {
  std::vector<Peer> workers(3);
  Peer client;
  SwitchOptions options = options_for(workers);
  options.slices = {{.name = "a", .id = {0}, .task_types = {TaskType{1}}, .queue_capacity = 8},
                    {.name = "b", .id = {1}, .task_types = {TaskType{2}}, .queue_capacity = 8, .group = 1},
                    {.name = "rest", .id = {2}, .queue_capacity = 8, .group = 2}};
  for (std::uint16_t i = 0; i < 3; ++i) options.workers[i].slice = {i};
  const auto process = start(options);
  for (unsigned i = 0; i < 3; ++i) {
    workers[i].send(token(i), process->local());
    expect_all_handled(workers[i], i, *process);
  }
  client.send(task().type(1).request(1), process->local());
  client.send(task().type(2).request(2).layout(wire::Layout::kReference), process->local());
  client.send(task().type(77).request(3), process->local());
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(workers[i].receive().request_id.value, i + 1);
  client.send(task().bare().request(4), process->local());  // type 0, and no worker is left
  workers[2].send(token(2).generation(2), process->local());
  EXPECT_EQ(workers[2].receive().request_id.value, 4);
  process->drain();
  const SwitchReport report = process->join();
  ASSERT_EQ(report.totals.slices.size(), 3u);
  EXPECT_EQ(report.totals.slices[0].forwarded, 1u);
  EXPECT_EQ(report.totals.slices[1].forwarded, 1u);
  EXPECT_EQ(report.totals.slices[2].forwarded + report.totals.slices[2].dispatched, 2u);
  EXPECT_EQ(report.totals.get(SwitchCounter::kSyncAcks), 3u);
}

TEST(SwitchProcess, totals__can_be_read_while_it_runs) {
  std::vector<Peer> workers(1);
  Peer client;
  const auto process = start(options_for(workers));
  for (unsigned id = 0; id < 3; ++id) client.send(task().request(id), process->local());
  await_waiting(*process, 0, 3);
  EXPECT_EQ(process->totals().get(SwitchCounter::kBuffered), 3u);
}

TEST(SwitchProcess, drain__queued_tasks_are_served_and_new_ones_refused) {
  std::vector<Peer> workers(1);
  Peer client;
  const auto process = start(options_for(workers));
  client.send(task().request(1), process->local());
  client.send(task().request(2), process->local());
  await_waiting(*process, 0, 2);
  process->drain();
  // The thread sees it within its idle wait; until then a task would still be taken. Ask until one is refused.
  unsigned asked = 0;
  wire::Message refusal;
  do {
    ASSERT_LT(asked, 1000u);
    const unsigned buffered_before = static_cast<unsigned>(process->totals().get(SwitchCounter::kBuffered));
    client.send(task().request(100 + asked++), process->local());
    await([&] {
      const SwitchTotals totals = process->totals();
      return totals.get(SwitchCounter::kRefused) > 0 ||
             totals.get(SwitchCounter::kBuffered) > buffered_before;
    });
  } while (process->totals().get(SwitchCounter::kRefused) == 0);
  refusal = client.receive();
  EXPECT_EQ(refusal.type, wire::MessageType::kDrop);
  EXPECT_EQ(refusal.drop.reason, DropReason::kShuttingDown);

  const auto waiting = process->totals().slices[0].waiting();
  for (std::uint32_t i = 1; i <= waiting; ++i) {
    workers[0].send(token(0).generation(i), process->local());
    const wire::Message dispatched = workers[0].receive();
    if (i <= 2) {
      EXPECT_EQ(dispatched.request_id.value, i);
    }
  }
  const SwitchReport report = process->join();
  EXPECT_TRUE(report.drained);
  EXPECT_EQ(report.waiting(), 0u);
}

TEST(SwitchProcess, drain__ends_at_the_limit_with_the_rest_counted) {
  std::vector<Peer> workers(1);
  Peer client;
  SwitchOptions options = options_for(workers);
  options.drain_limit = milliseconds(1);
  const auto process = start(options);
  client.send(task(), process->local());
  await_waiting(*process, 0, 1);
  process->drain();
  const SwitchReport report = process->join();
  EXPECT_FALSE(report.drained);
  EXPECT_EQ(report.waiting(), 1u);
  EXPECT_THAT(report.text(), testing::HasSubstr("1 tasks were left"));
}

TEST(SwitchProcess, drain__what_lies_in_the_socket_is_answered) {
  std::vector<Peer> workers(1);
  Peer client;
  SwitchOptions options = options_for(workers);
  const auto process = start(options);
  process->drain();
  client.send(task(), process->local());  // before or after the thread saw it: an answer, or the queue
  process->join();
  const SwitchTotals totals = process->totals();
  EXPECT_EQ(totals.get(SwitchCounter::kPacketsIn),
            totals.get(SwitchCounter::kRefused) + totals.get(SwitchCounter::kBuffered));
}

class EverySignal : public testing::TestWithParam<int> {};

TEST_P(EverySignal, run_switch__drains_and_reports) {
  std::vector<Peer> workers(1);
  Endpoint address;
  bool signalled = false;
  const SwitchHooks hooks{
      .on_ready =
          [&](const SwitchProcess& process) {
            address = process.local();
            Peer().send(task(), address);
            return nullptr;
          },
      .totals_interval = milliseconds(1),
      .on_totals =
          [&](const SwitchTotals& totals) {
            if (signalled || totals.get(SwitchCounter::kBuffered) == 0) return;
            signalled = true;
            workers[0].send(token(0), address);
            kill(getpid(), GetParam());
          },
  };
  const auto report = run_switch(options_for(workers), hooks);
  ASSERT_TRUE(report.has_value()) << report.error();
  EXPECT_TRUE(signalled);
  EXPECT_TRUE(report->drained);
  EXPECT_EQ(report->totals.get(SwitchCounter::kDispatched), 1u) << "the task that waited found its worker";
}

INSTANTIATE_TEST_SUITE_P(Signals, EverySignal, testing::Values(SIGINT, SIGTERM),
                         [](const auto& one) { return one.param == SIGINT ? "SIGINT" : "SIGTERM"; });

/// Whoever uses the process while it serves lets go of it while it is there, also when a hook throws.
TEST(RunSwitch, on_ready__what_it_gives_back_ends_before_the_process) {
  std::vector<Peer> workers(1);
  unsigned users = 0;
  const SwitchHooks hooks{
      .on_ready =
          [&](SwitchProcess& process) {
            ++users;
            return std::shared_ptr<void>(nullptr, [&](void*) {
              EXPECT_TRUE(process.apply({}).has_value());
              --users;
            });
          },
      .totals_interval = milliseconds(1),
      .on_totals = [&](const SwitchTotals&) { throw std::runtime_error("a full disk"); },
  };
  EXPECT_THROW(static_cast<void>(run_switch(options_for(workers), hooks)), std::runtime_error);
  EXPECT_EQ(users, 0u);
}

TEST(RunSwitch, start__errors_come_back_and_signals_work_as_before) {
  SwitchOptions options = one_slice(1);
  options.quota = 99;
  const auto report = run_switch(options, {});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error(), "quota is 99; allowed: 1..8");
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_FALSE(sigismember(&blocked, SIGTERM));
}

}  // namespace
}  // namespace rain::softswitch
