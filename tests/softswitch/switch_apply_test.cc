// New tables for a switch that serves: what clients and workers on loopback see of a change, made or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/endpoint_text.h"
#include "softswitch/switch_peers.h"

namespace rain::softswitch {
namespace {

using packet_table::task;
using packet_table::token;

/// Three workers: 0 in "a" (type 1), 1 in "b" (type 2), both on thread 0; 2 in "c" (type 3) on thread 1.
SwitchOptions three_slices(const std::vector<Peer>& workers) {
  SwitchOptions options = options_for(workers);
  options.slices = {{.name = "a", .id = {0}, .task_types = {TaskType{1}}, .queue_capacity = 8},
                    {.name = "b", .id = {1}, .task_types = {TaskType{2}}, .queue_capacity = 8},
                    {.name = "c", .id = {2}, .task_types = {TaskType{3}}, .queue_capacity = 8, .group = 1}};
  options.workers.resize(3);
  for (std::uint16_t i = 0; i < 3; ++i) options.workers[i].slice = {i};
  options.max_workers = 8;
  options.max_slices = 3;
  return options;
}

/// To come while the switch runs: slice 7 on thread 0, for no type yet, and its worker 3.
SetSlice fourth_slice() { return {{.name = "d", .id = {7}, .other_types = false, .queue_capacity = 8}}; }
SetWorker fourth_worker(const Peer& peer) {
  SwitchWorker worker = one_slice(4).workers[3];
  worker.slice = fourth_slice().slice.id;
  worker.address = peer.address();
  return {worker};
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
  const auto process = start(three_slices(workers));
  client.send(task().type(3).request(1), process->local());
  await_waiting(*process, 2, 1);
  apply(*process, {fourth_slice(), SetType{{3}, {7}}, fourth_worker(workers[3])});
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
  await_waiting(*process, 0, 2);
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
  await_waiting(*process, 1, 1);
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

/// As a link does whose switch missed that a worker went and came: the worker is on another thread now.
TEST(SwitchProcess, apply__all_there_is_moves_a_worker_to_another_thread) {
  std::vector<Peer> workers(3);
  Peer client;
  const auto process = start(three_slices(workers));
  workers[0].send(token(0), process->local());
  expect_all_handled(workers[0], 0, *process);
  const SwitchOptions before = process->options();
  SwitchWorker moved = before.workers[0];
  moved.slice = {2};
  moved.epoch.value++;
  std::vector<TableChange> all{ClearTables{}};
  for (const SwitchSlice& slice : before.slices) all.push_back(SetSlice{slice});
  all.insert(all.end(), {SetWorker{moved}, SetWorker{before.workers[1]}, SetWorker{before.workers[2]}});
  apply(*process, all);

  client.send(task().type(1).request(1), process->local());  // its token of before is dead
  await_waiting(*process, 0, 1);
  client.send(task().type(3).request(3), process->local());
  await_waiting(*process, 2, 1);
  workers[0].send(token(0).generation(2).epoch(moved.epoch.value), process->local());
  EXPECT_EQ(workers[0].receive().request_id.value, 3);
  // And back: the thread knows its numbers of then.
  apply(*process, {SetWorker{[&] {
    SwitchWorker back = moved;
    back.slice = {0};
    back.epoch.value++;
    return back;
  }()}});
  workers[0].send(token(0).generation(3).epoch(moved.epoch.value + 1u), process->local());
  EXPECT_EQ(workers[0].receive().request_id.value, 1);
}

TEST(SwitchProcess, apply__a_slice_on_another_thread_is_another_slice) {
  std::vector<Peer> workers(3);
  Peer client;
  const auto process = start(three_slices(workers));
  client.send(task().type(1).request(1), process->local());
  await_waiting(*process, 0, 1);
  SwitchSlice moved = process->options().slices[0];
  moved.group = 1;
  apply(*process, {SetSlice{moved}});
  const wire::Message drop = client.receive();
  EXPECT_EQ(drop.request_id.value, 1);
  EXPECT_EQ(drop.drop.reason, DropReason::kSliceRemoved);
  client.send(task().type(1).request(2), process->local());
  await([&] { return process->totals().get(SwitchCounter::kBuffered) >= 2; });
  workers[0].send(token(0), process->local());
  EXPECT_EQ(workers[0].receive().request_id.value, 2);
  expect_all_handled(workers[1], 1, *process);
}

/// What its controller did while it was away was more than it has room for at once.
TEST(SwitchProcess, apply__slices_of_a_full_thread_are_replaced) {
  std::vector<Peer> workers(3);
  Peer client;
  const auto process = start(three_slices(workers));  // with room for a third on thread 0
  client.send(task().type(1).request(1), process->local());
  await_waiting(*process, 0, 1);
  const auto fresh = [](const char* name, std::uint16_t id) {
    return SetSlice{{.name = name, .id = {id}, .task_types = {TaskType{id}}, .queue_capacity = 8}};
  };
  SwitchWorker worker = process->options().workers[0];
  worker.slice = {11};
  worker.epoch.value++;
  apply(*process, {ClearTables{}, fresh("d", 10), fresh("e", 11), fresh("f", 12), SetWorker{worker}});
  EXPECT_EQ(client.receive().drop.reason, DropReason::kSliceRemoved);
  client.send(task().type(11).request(2), process->local());
  workers[0].send(token(0).epoch(worker.epoch.value), process->local());
  EXPECT_EQ(workers[0].receive().request_id.value, 2);
  EXPECT_EQ(process->totals().slices.size(), 3u);
}

/// From now on the kernel steers this socket's packets as it does.
void lock_steering(const Endpoint& local) {
  unsigned locked = 0;
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    const auto* const ipv4 = reinterpret_cast<const sockaddr_in*>(&address);
    if (address.ss_family != AF_INET || ntohs(ipv4->sin_port) != local.port) continue;
    const int on = 1;
    if (setsockopt(descriptor, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof(on)) == 0) ++locked;
  }
  ASSERT_EQ(locked, 2u) << "one socket for each thread";
}

TEST(SwitchProcess, apply__when_steering_fails_all_is_as_before) {
  std::vector<Peer> workers(4);
  Peer client;
  const SwitchOptions options = three_slices(workers);
  const auto process = start(options);
  workers[1].send(token(1), process->local());
  expect_all_handled(workers[1], 1, *process);
  client.send(task().type(1).request(1), process->local());
  await_waiting(*process, 0, 1);
  lock_steering(process->local());
  SwitchWorker changed = process->options().workers[0];
  changed.epoch.value++;
  const std::vector<TableChange> changes{fourth_slice(),     SetType{{3}, {7}}, fourth_worker(workers[3]),
                                         SetWorker{changed}, RemoveSlice{{1}},  RemoveWorker{{1}}};
  const auto applied = process->apply(changes);
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error(), "cannot steer packets of " + format_endpoint(process->local()) +
                                 " to threads: operation not permitted");
  EXPECT_EQ(process->options().slices, options.slices);
  EXPECT_EQ(process->options().workers, options.workers);

  workers[0].send(token(0).generation(1).epoch(changed.epoch.value),
                  process->local());  // of a life it never got
  workers[0].send(token(0).generation(2), process->local());
  EXPECT_EQ(workers[0].receive().request_id.value, 1);
  EXPECT_EQ(process->totals().get(DropReason::kStaleEpoch), 1u);
  workers[1].send(token(1).generation(2), process->local());
  client.send(task().type(2).request(2), process->local());
  EXPECT_EQ(workers[1].receive().request_id.value, 2);
  workers[3].send(token(3), process->local());
  await([&] { return process->totals().get(DropReason::kUnknownWorker) == 1; });
  workers[2].send(token(2), process->local());
  client.send(task().type(3).request(3), process->local());
  EXPECT_EQ(workers[2].receive().request_id.value, 3);
  apply(*process, {SetWorker{changed}});  // what needs no steering is made as ever
}

}  // namespace
}  // namespace rain::softswitch
