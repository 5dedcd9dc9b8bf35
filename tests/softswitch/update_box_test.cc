// How an update reaches the thread that owns the tables, and that nothing of it is left behind.
#include "softswitch/update_box.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace rain::softswitch {
namespace {

bool readable(const UpdateBox& box) {
  pollfd descriptor{box.wake().descriptor(), POLLIN, 0};
  return poll(&descriptor, 1, 0) == 1;
}

/// Busy, it takes updates before the sender has signalled; then the signal comes after all has been done.
TEST(UpdateBox, deliver__leaves_no_thread_awake) {
  constexpr unsigned kUpdates = 300;
  UpdateBox box;
  unsigned made = 0;
  std::thread busy([&] {
    while (made < kUpdates) {
      if (box.take() == nullptr) continue;
      ++made;
      box.done();
    }
  });
  const GroupUpdate update;
  unsigned left_awake = 0;
  for (unsigned i = 0; i < kUpdates; ++i) {
    EXPECT_TRUE(box.deliver(update));
    if (readable(box)) ++left_awake;
  }
  busy.join();
  EXPECT_EQ(left_awake, 0u);
}

TEST(UpdateBox, deliver__wakes_a_thread_that_sleeps) {
  UpdateBox box;
  const GroupUpdate update;
  const GroupUpdate* taken = nullptr;
  std::thread sleeper([&] {
    while (taken == nullptr) {
      box.wake().wait(seconds(3600));  // returns, or the test never ends
      taken = box.take();
      if (taken != nullptr) box.done();
    }
  });
  EXPECT_TRUE(box.deliver(update));
  sleeper.join();
  EXPECT_EQ(taken, &update);
  EXPECT_EQ(box.take(), nullptr);
}

TEST(UpdateBox, deliver__tells_that_the_thread_has_ended) {
  UpdateBox box;
  const GroupUpdate update;
  std::thread ends([&] {
    box.wake().wait(seconds(3600));
    box.close();
  });
  EXPECT_FALSE(box.deliver(update)) << "it ended without having looked";
  ends.join();
  EXPECT_FALSE(box.deliver(update));
}

}  // namespace
}  // namespace rain::softswitch
