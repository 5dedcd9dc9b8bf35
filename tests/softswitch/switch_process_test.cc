// The whole process on loopback: real sockets, real threads, real signals. The test plays clients and workers.
#include "softswitch/switch_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/clock.h"
#include "base/endpoint_text.h"
#include "dataplane/packet_builder.h"
#include "softswitch/switch_fixture.h"
#include "transport/udp.h"

namespace rain::softswitch {
namespace {

using packet_table::sync;
using packet_table::task;
using packet_table::token;
using packet_table::worker_key;
using transport::UdpTransport;

const Endpoint kLoopback = Endpoint::v4(127, 0, 0, 1, 0);

/// A client's or worker's socket.
class Peer {
 public:
  Peer() : transport_(open()) {}

  const Endpoint& address() const { return transport_.local(); }

  void send(const packet_table::Packet& packet, const Endpoint& to) {
    const auto bytes = bytes_of(packet);
    transport_.send(Nanos{}, bytes, to);
    transport_.flush(Nanos{});
  }

  /// The next packet; fails the test when none comes.
  wire::Message receive() {
    const Nanos end = monotonic_now() + seconds(10);
    while (monotonic_now() < end) {
      if (next_ == batch_.size()) {
        batch_ = transport_.receive(monotonic_now());
        next_ = 0;
      }
      if (next_ < batch_.size()) {
        wire::Message message;
        EXPECT_EQ(wire::decode(batch_[next_].bytes, message), DropReason::kNone);
        source_ = batch_[next_++].source;
        return message;
      }
      transport_.wait(milliseconds(10));
    }
    ADD_FAILURE() << "nothing came";
    return {};
  }
  const Endpoint& last_source() const { return source_; }

 private:
  static UdpTransport open() {
    auto transport = UdpTransport::open({.listen = kLoopback});
    if (!transport) std::abort();
    return std::move(*transport);
  }

  UdpTransport transport_;
  std::span<transport::RxPacket> batch_{};
  std::size_t next_ = 0;
  Endpoint source_{};
};

SwitchOptions options_for(const std::vector<Peer>& workers) {
  SwitchOptions options = one_slice(static_cast<unsigned>(workers.size()));
  options.listen = kLoopback;
  for (std::size_t i = 0; i < workers.size(); ++i) options.workers[i].address = workers[i].address();
  return options;
}

std::unique_ptr<SwitchProcess> start(const SwitchOptions& options) {
  auto process = SwitchProcess::start(options);
  if (!process) {
    ADD_FAILURE() << process.error();
    std::abort();
  }
  return std::move(*process);
}

/// SYNC answered by the switch: all that this worker has sent before has been handled.
void expect_all_handled(Peer& peer, unsigned worker, const SwitchProcess& process) {
  peer.send(sync(worker).request(777), process.local());
  const wire::Message ack = peer.receive();
  EXPECT_EQ(ack.type, wire::MessageType::kSyncAck);
  EXPECT_EQ(ack.sync_ack.boot_id, process.boot_id());
}

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

/// Three workers: 0 in "a" (type 1), 1 in "b" (type 2), both on thread 0; 2 in "c" (type 3) on thread 1.
SwitchOptions three_slices(const std::vector<Peer>& workers) {
  SwitchOptions options = options_for(workers);
  options.slices = {{.name = "a", .id = {0}, .task_types = {TaskType{1}}, .queue_capacity = 8},
                    {.name = "b", .id = {1}, .task_types = {TaskType{2}}, .queue_capacity = 8},
                    {.name = "c", .id = {2}, .task_types = {TaskType{3}}, .queue_capacity = 8, .group = 1}};
  for (std::uint16_t i = 0; i < 3; ++i) options.workers[i].slice = {i};
  options.max_workers = 8;
  options.max_slices = 3;
  return options;
}

void apply(SwitchProcess& process, std::vector<TableChange> changes) {
  const auto applied = process.apply(changes);
  ASSERT_TRUE(applied.has_value()) << applied.error();
}

TEST(SwitchProcess, apply__a_moved_worker_serves_its_new_slice) {
  std::vector<Peer> workers(3);
  Peer client;
  const auto process = start(three_slices(workers));
  workers[0].send(token(0), process->local());
  expect_all_handled(workers[0], 0, *process);
  SwitchWorker moved = process->options().workers[0];
  moved.slice = {1};
  moved.epoch.value++;
  apply(*process, {SetWorker{moved}});
  EXPECT_EQ(process->options().workers[0], moved);

  client.send(task().type(1).request(1), process->local());  // its filed token is dead: this waits
  client.send(task().type(2).request(2), process->local());
  workers[0].send(token(0).generation(2), process->local());  // of the old epoch
  workers[0].send(token(0).generation(3).epoch(moved.epoch.value), process->local());
  EXPECT_EQ(workers[0].receive().request_id.value, 2);
  const SwitchTotals totals = process->totals();
  EXPECT_EQ(totals.get(DropReason::kStaleEpoch), 1u);
  EXPECT_EQ(totals.get(SwitchCounter::kRecirculations), 0u);
  EXPECT_EQ(totals.slices[0].waiting(), 1u);
}

TEST(SwitchProcess, apply__a_new_slice_takes_a_type_from_another_thread) {
  std::vector<Peer> workers(4);
  Peer client;
  SwitchOptions options = three_slices(workers);
  const SwitchWorker fourth{.id = {3},
                            .slice = {7},
                            .address = workers[3].address(),
                            .token_key = worker_key(3),
                            .epoch = options.workers[0].epoch};
  options.workers.pop_back();
  const auto process = start(options);
  client.send(task().type(3).request(1), process->local());
  while (process->totals().slices[2].waiting() < 1) usleep(1000);
  apply(*process, {SetSlice{{.name = "d", .id = {7}, .other_types = false, .queue_capacity = 8}},
                   SetType{{3}, {7}}, SetWorker{fourth}});
  client.send(task().type(3).request(2), process->local());
  workers[3].send(token(3), process->local());
  EXPECT_EQ(workers[3].receive().request_id.value, 2);
  workers[2].send(token(2), process->local());
  EXPECT_EQ(workers[2].receive().request_id.value, 1) << "it waited in the slice that had the type";
  EXPECT_EQ(process->totals().slices.size(), 4u);
}

TEST(SwitchProcess, apply__a_removed_slice_answers_its_tasks) {
  std::vector<Peer> workers(3);
  Peer client;
  SwitchOptions options = three_slices(workers);
  options.drain_limit = milliseconds(1);
  const auto process = start(options);
  client.send(task().type(1).request(1), process->local());
  client.send(task().type(1).request(2).payload(100), process->local());
  while (process->totals().slices[0].waiting() < 2) usleep(1000);
  apply(*process, {RemoveSlice{{0}}, RemoveWorker{{0}}});
  for (unsigned request = 1; request <= 2; ++request) {
    const wire::Message drop = client.receive();
    EXPECT_EQ(drop.type, wire::MessageType::kDrop);
    EXPECT_EQ(drop.request_id.value, request);
    EXPECT_EQ(drop.drop.reason, DropReason::kSliceRemoved);
  }
  client.send(task().type(1).request(3), process->local());
  EXPECT_EQ(client.receive().drop.reason, DropReason::kUnknownTaskType);
  // Another slice in its place starts empty.
  apply(*process, {SetSlice{{.name = "e", .id = {9}, .task_types = {TaskType{1}}, .queue_capacity = 8}}});
  EXPECT_EQ(process->totals().slices[1].name, "e");
  EXPECT_EQ(process->totals().slices[1].buffered, 0u);
  client.send(task().type(1).request(4), process->local());
  while (process->totals().slices[1].waiting() < 1) usleep(1000);
  process->drain();
  EXPECT_EQ(process->join().waiting(), 1u);
}

TEST(SwitchProcess, apply__a_switch_may_start_with_nothing) {
  std::vector<Peer> workers(1);
  Peer client;
  SwitchOptions options = options_for(workers);
  const SwitchSlice slice = options.slices[0];
  const SwitchWorker worker = options.workers[0];
  options.slices.clear();
  options.workers.clear();
  options.max_slices = 2;
  options.max_workers = 4;
  options.max_queue_capacity = 64;
  const auto process = start(options);
  client.send(task().request(1), process->local());
  EXPECT_EQ(client.receive().drop.reason, DropReason::kUnknownTaskType);
  for (int i = 0; i < 2; ++i) apply(*process, {ClearTables{}, SetSlice{slice}, SetWorker{worker}});
  workers[0].send(token(0), process->local());
  client.send(task().request(2), process->local());
  EXPECT_EQ(workers[0].receive().request_id.value, 2);
}

TEST(SwitchProcess, apply__refused_changes_change_nothing) {
  std::vector<Peer> workers(3);
  const auto process = start(three_slices(workers));
  const std::vector<TableChange> changes{RemoveWorker{{0}}, SetType{{4}, {60}}};
  const auto applied = process->apply(changes);
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error(), "type 4: slice = 60: no slice has this id");
  EXPECT_EQ(process->options().workers.size(), 3u);
  expect_all_handled(workers[0], 0, *process);
}

TEST(SwitchProcess, apply__after_the_end_is_refused) {
  std::vector<Peer> workers(3);
  const auto process = start(three_slices(workers));
  process->drain();
  process->join();
  const std::vector<TableChange> changes{RemoveWorker{{0}}};
  const auto applied = process->apply(changes);
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error(), "the switch is shutting down");
}

TEST(SwitchProcess, totals__can_be_read_while_it_runs) {
  std::vector<Peer> workers(1);
  Peer client;
  const auto process = start(options_for(workers));
  for (unsigned id = 0; id < 3; ++id) client.send(task().request(id), process->local());
  while (process->totals().slices[0].waiting() < 3) usleep(1000);
  EXPECT_EQ(process->totals().get(SwitchCounter::kBuffered), 3u);
}

TEST(SwitchProcess, drain__queued_tasks_are_served_and_new_ones_refused) {
  std::vector<Peer> workers(1);
  Peer client;
  const auto process = start(options_for(workers));
  client.send(task().request(1), process->local());
  client.send(task().request(2), process->local());
  while (process->totals().slices[0].waiting() < 2) usleep(1000);
  process->drain();
  // The thread sees it within its idle wait; until then a task would still be taken. Ask until one is refused.
  unsigned asked = 0;
  wire::Message refusal;
  do {
    ASSERT_LT(asked, 1000u);
    const unsigned buffered_before = static_cast<unsigned>(process->totals().get(SwitchCounter::kBuffered));
    client.send(task().request(100 + asked++), process->local());
    for (;;) {
      const SwitchTotals totals = process->totals();
      if (totals.get(SwitchCounter::kRefused) > 0 || totals.get(SwitchCounter::kBuffered) > buffered_before)
        break;
      usleep(1000);
    }
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
  while (process->totals().slices[0].waiting() < 1) usleep(1000);
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
