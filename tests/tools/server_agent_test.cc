// Tests of an agent's thread and the link that it speaks through.
#include "tools/server_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "base/clock.h"
#include "tools/run_rain.h"

namespace rain::tools {
namespace {

using testing::ScratchFile;

/// Counts what an agent says. Nobody answers.
class SilentLink final : public control::ServerLink {
 public:
  std::optional<control::ServerOrders> wait_for_orders(Nanos) override { return std::nullopt; }
  void report(std::vector<control::WorkerReport>) override {
    {
      const std::lock_guard lock(mutex_);
      ++reports_;
    }
    changed_.notify_all();
  }
  void request_move(WorkerId, const std::string&) override {}
  void request_spill(const std::string&, std::uint32_t) override {}
  bool leave(Nanos) override { return false; }

  bool wait_for_report() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [this] { return reports_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned reports_ = 0;
};

/// Threads of this process that are agents'.
unsigned agent_threads() {
  unsigned count = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    count += name == "rain-agent" ? 1u : 0u;
  }
  return count;
}

/// A thread that was joined may be listed for a moment more.
bool no_agent_threads() {
  const Nanos give_up = monotonic_now() + seconds(60);
  while (agent_threads() > 0) {
    if (monotonic_now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(AgentRun, destructor__an_exception_leaves_no_thread_behind_that_speaks_through_a_dead_link) {
  const ScratchFile file("rack.toml",
                         "[controller]\n[agent]\ncontrol_interval = '1ms'\n[[server]]\nname = 's'\n");
  const RackFile rack = RackFile::read(file.path());
  ServerAgent agent(rack, rack.servers[0], ServerAgent::Process::kWorker);
  EXPECT_THROW(
      {
        SilentLink link;
        const AgentRun run(&agent, &link);
        EXPECT_TRUE(link.wait_for_report());
        EXPECT_EQ(agent_threads(), 1u);
        throw std::runtime_error("a port that is in use");
      },
      std::runtime_error);
  EXPECT_TRUE(no_agent_threads());
}

TEST(AgentRun, constructor__no_agent__does_nothing) {
  const AgentRun run(nullptr, nullptr);
  EXPECT_TRUE(no_agent_threads());
}

}  // namespace
}  // namespace rain::tools
