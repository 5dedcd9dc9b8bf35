// First in, first out, payloads intact, storage bounded.
#include "rpc/task_fifo.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/prng.h"

namespace rain::rpc {
namespace {

HeldTask task(std::uint16_t id) {
  HeldTask task{};
  task.request_id = {id};
  return task;
}

TEST(TaskFifo, push_pop__keeps_order_and_payloads) {
  TaskFifo fifo(3, 16);
  fifo.push(task(1), as_payload("one"));
  fifo.push(task(2), {});
  fifo.push(task(3), as_payload("sixteen letters!"));
  EXPECT_TRUE(fifo.full());
  EXPECT_EQ(fifo.front().request_id, RequestId{1});
  EXPECT_EQ(as_text(fifo.front_payload()), "one");
  fifo.pop();
  EXPECT_EQ(fifo.front().request_id, RequestId{2});
  EXPECT_TRUE(fifo.front_payload().empty());
  fifo.pop();
  EXPECT_EQ(as_text(fifo.front_payload()), "sixteen letters!");
  fifo.pop();
  EXPECT_TRUE(fifo.empty());
}

TEST(TaskFifo, random__equals_a_deque) {
  Prng prng(1);
  TaskFifo fifo(7, 32);
  std::deque<std::pair<std::uint16_t, std::string>> model;
  for (std::uint16_t step = 0; step < 20'000; ++step) {
    if (!fifo.full() && prng.chance(0.5)) {
      std::string text(prng.below(33), static_cast<char>('a' + step % 26));
      fifo.push(task(step), as_payload(text));
      model.emplace_back(step, std::move(text));
    } else if (!fifo.empty()) {
      ASSERT_EQ(fifo.front().request_id.value, model.front().first);
      ASSERT_EQ(as_text(fifo.front_payload()), model.front().second);
      fifo.pop();
      model.pop_front();
    }
    ASSERT_EQ(fifo.size(), model.size());
  }
}

using TaskFifoDeathTest = testing::Test;

TEST_F(TaskFifoDeathTest, push__beyond_the_bounds_is_a_bug) {
  TaskFifo fifo(1, 4);
  EXPECT_DEATH(fifo.push(task(1), as_payload("five!")), "assertion failed");
  fifo.push(task(1), {});
  EXPECT_DEATH(fifo.push(task(2), {}), "assertion failed");
}

}  // namespace
}  // namespace rain::rpc
