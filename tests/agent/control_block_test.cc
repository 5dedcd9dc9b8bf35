// The shared block: what one side writes the other reads, whatever happens to either, and files that are none.
#include "agent/control_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace rain::agent {
namespace {

using testing::HasSubstr;

class ControlBlockFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "rain-block-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ / "block";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  ControlBlock open(unsigned workers) {
    auto block = ControlBlock::open(path_, workers);
    if (!block) {
      ADD_FAILURE() << block.error();
      std::abort();
    }
    return std::move(*block);
  }
  void write(std::size_t at, std::uint64_t word) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.write(reinterpret_cast<const char*>(&word), sizeof(word));
  }

  std::filesystem::path directory_;
  std::string path_;
};

TaskSample sample(std::int64_t number) {
  return {.worker_wait = Nanos{number},
          .switch_wait = Nanos{number + 1},
          .service = Nanos{number + 2},
          .switch_queue = static_cast<std::uint32_t>(number % 1000),
          .token_round_trip = Nanos{number % 1000 * 64}};
}

bool operator==(const TaskSample& a, const TaskSample& b) {
  return a.worker_wait == b.worker_wait && a.switch_wait == b.switch_wait && a.service == b.service &&
         a.switch_queue == b.switch_queue && a.token_round_trip == b.token_round_trip;
}

std::vector<std::int64_t> numbers_taken(AgentPort& port, std::uint64_t* lost = nullptr) {
  std::vector<std::int64_t> numbers;
  const std::uint64_t missed = port.take_samples([&](const TaskSample& taken) {
    EXPECT_TRUE(taken == sample(taken.worker_wait.value)) << taken.worker_wait.value;
    numbers.push_back(taken.worker_wait.value);
  });
  if (lost != nullptr) *lost = missed;
  return numbers;
}

TEST(ControlBlock, want__nothing_is_wanted_until_the_agent_says_so) {
  const ControlBlock block = ControlBlock::anonymous(2);
  AgentPort agent = block.agent_port(1);
  const WorkerPort worker = block.worker_port(1);
  EXPECT_EQ(worker.wanted(), std::nullopt);
  agent.want({.quota = 0, .ask = 7});
  EXPECT_EQ(worker.wanted(), (Wanted{.quota = 0, .ask = 7}));
  agent.want({.quota = 8, .ask = UINT32_MAX});
  EXPECT_EQ(worker.wanted(), (Wanted{.quota = 8, .ask = UINT32_MAX}));
  EXPECT_EQ(block.worker_port(0).wanted(), std::nullopt) << "the other worker's";
}

TEST(ControlBlock, status__as_published) {
  const ControlBlock block = ControlBlock::anonymous(1);
  WorkerPort worker = block.worker_port(0);
  const AgentPort agent = block.agent_port(0);
  worker.publish({.idle = Nanos{500}, .quota = 3, .held = 70000, .served = 9}, false, Nanos{2000});
  WorkerStatus status = agent.status(Nanos{2500});
  EXPECT_EQ(status.steps, 1u);
  EXPECT_EQ(status.idle, Nanos{500}) << "it is busy";
  EXPECT_EQ(status.quota, 3u);
  EXPECT_EQ(status.held, 70000u);
  EXPECT_FALSE(status.drained);
  EXPECT_EQ(status.served, 9u);
  worker.publish({.idle = Nanos{600}, .quota = 0, .drained = true}, true, Nanos{3000});
  status = agent.status(Nanos{3300});
  EXPECT_EQ(status.steps, 2u);
  EXPECT_EQ(status.idle, Nanos{900}) << "idle goes on while it sleeps";
  EXPECT_TRUE(status.drained);
}

TEST(ControlBlock, take_samples__each_once_in_order) {
  const ControlBlock block = ControlBlock::anonymous(1);
  WorkerPort worker = block.worker_port(0);
  worker.add(sample(1));
  AgentPort agent = block.agent_port(0);
  EXPECT_THAT(numbers_taken(agent), testing::IsEmpty()) << "it begins now";
  for (int number = 2; number <= 4; ++number) worker.add(sample(number));
  EXPECT_THAT(numbers_taken(agent), testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(numbers_taken(agent), testing::IsEmpty());
}

TEST(ControlBlock, take_samples__the_newest_of_more_than_fit) {
  const ControlBlock block = ControlBlock::anonymous(1);
  WorkerPort worker = block.worker_port(0);
  AgentPort agent = block.agent_port(0);
  numbers_taken(agent);
  const auto total = static_cast<std::int64_t>(kSampleRing) + 100;
  for (std::int64_t number = 0; number < total; ++number) worker.add(sample(number));
  std::uint64_t lost = 0;
  const std::vector<std::int64_t> numbers = numbers_taken(agent, &lost);
  EXPECT_EQ(lost, 101u) << "the oldest in the ring is given up: it may be being overwritten";
  EXPECT_EQ(numbers.size(), kSampleRing - 1);
  EXPECT_EQ(numbers.front(), 101);
  EXPECT_EQ(numbers.back(), total - 1);
}

TEST(ControlBlock, add__what_does_not_fit_is_cut) {
  const ControlBlock block = ControlBlock::anonymous(1);
  WorkerPort worker = block.worker_port(0);
  AgentPort agent = block.agent_port(0);
  numbers_taken(agent);
  worker.add({.worker_wait = seconds(100),
              .switch_wait = Nanos{-5},
              .service = Nanos::max(),
              .switch_queue = 70000,
              .token_round_trip = seconds(1)});
  agent.take_samples([](const TaskSample& taken) {
    EXPECT_EQ(taken.worker_wait, Nanos{UINT32_MAX});
    EXPECT_EQ(taken.switch_wait, Nanos{});
    EXPECT_EQ(taken.service, Nanos{UINT32_MAX});
    EXPECT_EQ(taken.switch_queue, 65535u);
    EXPECT_EQ(taken.token_round_trip, Nanos{65535 * 64});
  });
}

/// No sample that is taken is half of one and half of another.
TEST(ControlBlock, take_samples__two_threads) {
  const ControlBlock block = ControlBlock::anonymous(1);
  AgentPort agent = block.agent_port(0);
  numbers_taken(agent);
  constexpr std::int64_t kSamples = 300'000;
  std::thread worker([&] {
    WorkerPort port = block.worker_port(0);
    for (std::int64_t number = 0; number < kSamples; ++number) port.add(sample(number));
  });
  std::int64_t last = -1;
  std::uint64_t seen = 0;
  while (last < kSamples - 1) {
    std::uint64_t lost = 0;
    const std::vector<std::int64_t> numbers = numbers_taken(agent, &lost);
    seen += lost + numbers.size();
    for (const std::int64_t number : numbers) {
      ASSERT_GT(number, last);
      last = number;
    }
  }
  worker.join();
  EXPECT_EQ(seen, static_cast<std::uint64_t>(kSamples));
}

TEST_F(ControlBlockFile, open__both_sides_in_any_order) {
  const ControlBlock first = open(2);
  const ControlBlock second = open(2);
  first.agent_port(1).want({.quota = 5});
  EXPECT_EQ(second.worker_port(1).wanted()->quota, 5u);
}

/// A worker that is killed while it writes, and an agent that comes later.
TEST_F(ControlBlockFile, open__survives_the_death_of_either_side) {
  const ControlBlock block = open(1);
  AgentPort(block.agent_port(0)).want({.quota = 2, .ask = 4});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto own = ControlBlock::open(path_, 1);
    if (!own) _exit(1);
    WorkerPort port = own->worker_port(0);
    for (std::int64_t number = 0;; number = (number + 1) % 1'000'000) port.add(sample(number));
  }
  AgentPort agent = block.agent_port(0);
  numbers_taken(agent);
  while (numbers_taken(agent).empty()) {
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  numbers_taken(agent);
  EXPECT_THAT(numbers_taken(agent), testing::IsEmpty());

  const ControlBlock again = open(1);
  EXPECT_EQ(again.worker_port(0).wanted(), (Wanted{.quota = 2, .ask = 4})) << "what was wanted stays";
  again.worker_port(0).add(sample(77));
  EXPECT_THAT(numbers_taken(agent), testing::ElementsAre(77));
}

TEST_F(ControlBlockFile, open__another_size_is_refused_with_the_numbers) {
  { open(2); }
  const auto block = ControlBlock::open(path_, 3);
  ASSERT_FALSE(block.has_value());
  EXPECT_EQ(block.error(), "control block " + path_ + ": is for 2 workers, not for 3: remove the file");
}

TEST_F(ControlBlockFile, open__another_version_is_refused_with_the_numbers) {
  { open(2); }
  write(8, 7);
  const auto block = ControlBlock::open(path_, 2);
  ASSERT_FALSE(block.has_value());
  EXPECT_THAT(block.error(), HasSubstr("has version 7, this program writes version 1: remove the file"));
}

TEST_F(ControlBlockFile, open__other_files_are_refused_and_left_as_they_are) {
  for (const std::string& content :
       {std::string(), std::string("short"), std::string(40000, 'x'), std::string(40000, '\0')}) {
    std::ofstream(path_, std::ios::binary) << content;
    EXPECT_EQ(ControlBlock::open(path_, 1).error(), "control block " + path_ + ": is not a control block");
    std::ostringstream now;
    now << std::ifstream(path_, std::ios::binary).rdbuf();
    EXPECT_EQ(now.str(), content);
  }
  EXPECT_THAT(ControlBlock::open(directory_.string(), 1).error(), HasSubstr("cannot open: Is a directory"));
  EXPECT_THAT(ControlBlock::open(directory_ / "none/block", 1).error(),
              HasSubstr("cannot make: No such file"));
}

TEST_F(ControlBlockFile, open__a_pipe_is_refused) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(ControlBlock::open(path_, 1).error(), "control block " + path_ + ": is no regular file");
}

TEST_F(ControlBlockFile, open__a_cut_block_is_refused) {
  { open(2); }
  std::filesystem::resize_file(path_, 1000);
  EXPECT_THAT(ControlBlock::open(path_, 2).error(),
              HasSubstr("is 1000 bytes long, a block for 2 workers has 33088: remove the file"));
}

TEST_F(ControlBlockFile, open__makes_one_file) {
  { open(2); }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1) << "no draft is left";
}

TEST_F(ControlBlockFile, claim__a_place_has_one_process) {
  ControlBlock workers = open(2);
  ControlBlock agent = open(2);
  ASSERT_TRUE(workers.claim_worker(0));
  ASSERT_TRUE(workers.claim_worker(1));
  ASSERT_TRUE(agent.claim_agent()) << "the other side's";
  {
    ControlBlock late = open(2);
    const std::string process = "process " + std::to_string(getpid());
    EXPECT_EQ(late.claim_worker(1).error(),
              "control block " + path_ + ": " + process + " has worker 1's place: end it first");
    EXPECT_EQ(late.claim_agent().error(),
              "control block " + path_ + ": " + process + " has the agent's place: end it first");
  }
  EXPECT_FALSE(open(2).claim_agent()) << "who was refused took nothing away";
  { const ControlBlock gone = std::move(agent); }
  EXPECT_TRUE(open(2).claim_agent());
}

TEST(ControlBlock, claim__memory_of_one_process_needs_none) {
  ControlBlock block = ControlBlock::anonymous(1);
  EXPECT_TRUE(block.claim_worker(0));
  EXPECT_TRUE(block.claim_agent());
}

TEST_F(ControlBlockFile, wanted__what_is_no_quota_is_not_wanted) {
  const ControlBlock block = open(1);
  write(64 + 64, 200 | 1 << 8);
  EXPECT_EQ(block.worker_port(0).wanted(), std::nullopt);
}

}  // namespace
}  // namespace rain::agent
