#include "base/stop_signals.h"

#include <gtest/gtest.h>
#include <pthread.h>

namespace rain {
namespace {

bool is_blocked(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 1;
}

TEST(StopSignals, wait__hears_each_signal_once) {
  const StopSignals signals;
  for (const int one : {SIGINT, SIGTERM}) {
    EXPECT_FALSE(StopSignals::pending());
    raise(one);
    EXPECT_TRUE(StopSignals::pending());
    EXPECT_TRUE(signals.wait());
    EXPECT_FALSE(signals.wait(Nanos{})) << "it was taken";
  }
}

TEST(StopSignals, restore__gives_back_the_mask_of_before) {
  {
    const StopSignals signals;
    EXPECT_TRUE(is_blocked(SIGINT));
    EXPECT_TRUE(is_blocked(SIGTERM));
    signals.restore();
    EXPECT_FALSE(is_blocked(SIGINT));
  }
  EXPECT_FALSE(is_blocked(SIGTERM));
}

}  // namespace
}  // namespace rain
