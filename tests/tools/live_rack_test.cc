// Tests of a rack whose processes come, go and are changed under load, all over real sockets: what the rack promises to
// clients then. How long something took is printed, for people; the tests themselves allow a busy machine its pauses.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "apps/synthetic.h"
#include "base/clock.h"
#include "rain/client.h"
#include "tools/command_support.h"

namespace rain::tools {
namespace {

constexpr Nanos kPatience = seconds(60);

template <typename Condition>
bool becomes(Condition condition) {
  for (const Nanos limit = monotonic_now() + kPatience; monotonic_now() < limit; usleep(10'000)) {
    if (condition()) return true;
  }
  return condition();
}

bool runs(const Running& process) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process.pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

/// A request each millisecond, on a thread; replies are counted in buckets of its own clock.
class SteadyLoad {
 public:
  static constexpr Nanos kBucket = milliseconds(10);

  explicit SteadyLoad(std::uint16_t switch_port)
      : client_(Client::open({.switch_address = "127.0.0.1:" + std::to_string(switch_port),
                              .timeout = milliseconds(200),
                              .back_off = false})
                    .value()),
        thread_([this] { run(); }) {}
  SteadyLoad(const SteadyLoad&) = delete;
  SteadyLoad& operator=(const SteadyLoad&) = delete;
  ~SteadyLoad() {
    stopping_ = true;
    thread_.join();
  }

  std::uint64_t replies() const { return replies_; }
  std::size_t bucket_now() const {
    return static_cast<std::size_t>((monotonic_now() - start_).value / kBucket.value);
  }
  /// The first bucket from `from` on with replies.
  std::optional<std::size_t> resumed(std::size_t from) const {
    for (; from < buckets_.size(); ++from) {
      if (buckets_[from] > 0) return from;
    }
    return std::nullopt;
  }

 private:
  void run() {
    std::array<std::byte, apps::kSyntheticRequestBytes> buffer;
    const Payload request = apps::write_synthetic(microseconds(100), buffer);
    Nanos next = start_;
    while (!stopping_) {
      const Nanos now = monotonic_now();
      if (now >= next) {
        // One that finds no room, while nobody answers, is left out.
        if (!client_.submit(request, {}, [this](const Client::Result& result) { count(result); }))
          ++left_out_;
        client_.flush();
        next = std::max(next + milliseconds(1), now - milliseconds(10));
      }
      client_.wait(milliseconds(1));
    }
  }
  void count(const Client::Result& result) {
    if (!result) return;
    ++replies_;
    ++buckets_[std::min(bucket_now(), buckets_.size() - 1)];
  }

  Client client_;
  const Nanos start_ = monotonic_now();
  std::uint64_t left_out_ = 0;
  std::array<std::atomic<unsigned>, 20'000> buckets_{};
  std::atomic<std::uint64_t> replies_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// A switch, servers "s" (workers 0 and 1, slice "b") and "t" (2 and 3, slice "a"), emulated; slice "a" has type 1, "b" all others.
class LiveRack : public ::testing::Test {
 protected:
  std::string content(const std::string& rest, unsigned group_of_a) const {
    const auto at = [this](unsigned n) { return std::to_string(port_ + n); };
    return "[switch]\nlisten = '127.0.0.1:" + at(0) +
           "'\n[[slice]]\nname = 'a'\ntypes = [1]\ngroup = " + std::to_string(group_of_a) +
           "\n[[slice]]\nname = 'b'\n"
           "[[server]]\nname = 's'\nport = " +
           at(1) +
           "\nworkers = 2\nslice = 'b'\napp = 'synthetic'\nemulate = true\n"
           "[[server]]\nname = 't'\nport = " +
           at(3) + "\nworkers = 2\nslice = 'a'\napp = 'synthetic'\nemulate = true\n" + rest;
  }
  std::string controller() const {
    return "[controller]\nlisten = '127.0.0.1:" + std::to_string(port_ + 5) +
           "'\nstate_file = 'state'\nlease = '30s'\n";
  }
  /// `group_of_a`: the switch thread of slice "a"; that of "b" is 0.
  void write(const std::string& rest, unsigned group_of_a = 0) {
    file_ = std::make_unique<ScratchFile>("rack.toml", content(rest, group_of_a));
  }
  std::unique_ptr<Running> start(const std::string& command, const std::string& name = "") const {
    std::vector<std::string> words{command, "--config", file_->path()};
    if (!name.empty()) words.insert(words.end(), {"--server", name});
    auto running = std::make_unique<Running>(words);
    EXPECT_TRUE(running->wait_for("ready: ")) << running->err();
    return running;
  }
  Finished ctl(std::vector<std::string> words) const {
    words.insert(words.begin(), "ctl");
    words.insert(words.end(), {"--config", file_->path()});
    return run_rain(words);
  }
  nlohmann::json status() const { return nlohmann::json::parse(ctl({"status", "--json"}).out); }
  nlohmann::json worker(unsigned id) const {
    const nlohmann::json now = status();
    for (const auto& one : now["workers"]) {
      if (one["id"] == id) return one;
    }
    return nlohmann::json::object();
  }

  void restart_switch_under_load(bool with_controller);
  nlohmann::json change_under_load(const std::vector<std::string>& change, const char* key,
                                   const std::string& becomes_value);

  std::uint16_t port_ = testing::free_ports(6);
  std::unique_ptr<ScratchFile> file_;
};

void LiveRack::restart_switch_under_load(bool with_controller) {
  write(with_controller ? controller() : "");
  std::unique_ptr<Running> controller_process;
  if (with_controller) controller_process = start("controller");
  auto the_switch = start("switch");
  const auto s = start("worker", "s"), t = start("worker", "t");
  SteadyLoad load(port_);
  ASSERT_TRUE(becomes([&] { return load.replies() > 200; })) << "before anything happens";
  the_switch->send_signal(SIGKILL);
  the_switch->finish();
  usleep(300'000);  // nobody is there to answer
  const std::uint64_t before = load.replies();
  usleep(100'000);
  EXPECT_EQ(load.replies(), before) << "the switch is away";
  the_switch = start("switch");
  const std::size_t back = load.bucket_now();
  ASSERT_TRUE(becomes([&] { return load.replies() > before + 200; })) << "never served again";
  // It may have answered before it was seen to say that it is ready.
  const std::size_t first = *load.resumed(back > 20 ? back - 20 : 0);
  const std::size_t delay = first > back ? first - back : 0;
  std::cout << "served again within " << (delay + 1) * SteadyLoad::kBucket.value / 1'000'000
            << " ms of the switch's return\n";
  EXPECT_LT(delay, std::size_t{300}) << "three seconds";
  for (const Running* process : {s.get(), t.get(), controller_process.get()}) {
    if (process == nullptr) continue;
    EXPECT_TRUE(runs(*process)) << process->err();
  }
}

TEST_F(LiveRack, switch__killed_and_started_again__serves_on) { restart_switch_under_load(false); }

#ifdef RAIN_TESTS_HAVE_CONTROLLER

TEST_F(LiveRack, switch__killed_and_started_again__has_its_tables_from_the_controller) {
  restart_switch_under_load(true);
}

/// Orders a change while a load runs, waits until worker 0's `key` is as it shall be and the load has gone on for a while.
/// Returns the load's report.
nlohmann::json LiveRack::change_under_load(const std::vector<std::string>& change, const char* key,
                                           const std::string& becomes_value) {
  const auto controller_process = start("controller");
  const auto the_switch = start("switch");
  const auto s = start("worker", "s"), t = start("worker", "t");
  Running load({"load", "--config", file_->path(), "--rate", "1000", "--classes",
                "a@1:0.5:const:100us,b@0:0.5:const:100us", "--duration", "10min", "--warmup", "0",
                "--timeout", "1min", "--json"});
  const auto served = [this](unsigned id) { return worker(id).value("served", std::uint64_t{0}); };
  EXPECT_TRUE(becomes([&] { return served(0) > 100; }));
  const Finished ordered = ctl(change);
  EXPECT_EQ(ordered.status, 0) << ordered.err;
  EXPECT_TRUE(becomes([&] { return worker(0)[key] == becomes_value; })) << worker(0).dump();
  const std::uint64_t by_then = served(2);
  EXPECT_TRUE(becomes([&] { return served(2) > by_then + 500; }));
  EXPECT_TRUE(runs(load)) << load.err();
  load.send_signal(SIGINT);
  const Finished finished = load.finish();
  return nlohmann::json::parse(finished.out)["outcomes"];
}

/// Nothing of a load was lost.
void expect_all_completed(const nlohmann::json& outcomes) {
  std::cout << "outcomes " << outcomes.dump() << '\n';
  EXPECT_GT(outcomes["completed"], 500);
  EXPECT_EQ(outcomes["completed"], outcomes["sent"]);
  EXPECT_EQ(outcomes["timed_out"], 0);
  EXPECT_TRUE(outcomes["dropped"].empty()) << outcomes["dropped"].dump();
  EXPECT_EQ(outcomes["without_outcome"], 0);
}

TEST_F(LiveRack, ctl__drains_a_worker_under_load__nothing_is_lost) {
  write(controller());
  expect_all_completed(change_under_load({"drain", "0"}, "state", "drained"));
}

TEST_F(LiveRack, ctl__moves_a_worker_under_load__nothing_is_lost) {
  write(controller());
  expect_all_completed(change_under_load({"move", "0", "a"}, "slice", "a"));
}

TEST_F(LiveRack, ctl__moves_a_worker_to_another_switch_thread_under_load__nothing_is_lost) {
  write(controller(), 1);
  expect_all_completed(change_under_load({"move", "0", "a"}, "slice", "a"));
}

TEST_F(LiveRack, agent__its_spill_threshold_reaches_the_switch__an_operator_wins) {
  write(controller() + "[agent]\npolicy = 'rain'\n");
  const auto controller_process = start("controller");
  const auto the_switch = start("switch");
  const auto s = start("worker", "s"), t = start("worker", "t");
  const auto slice_b = [this] { return status()["slices"][1]; };
  const auto applied = [this] {
    const nlohmann::json now = status();
    return now["switches"][0]["version"] == now["version"] && now["switches"][0]["refusal"] == "";
  };
  ASSERT_TRUE(becomes([&] { return slice_b()["agents_spill"].is_number(); })) << slice_b().dump();
  EXPECT_TRUE(becomes(applied)) << status().dump();
  EXPECT_EQ(ctl({"set-slice", "b", "spill=7"}).status, 0);
  EXPECT_EQ(slice_b()["spill"], 7);
  EXPECT_TRUE(becomes(applied));
  EXPECT_EQ(ctl({"set-slice", "b", "spill=default"}).status, 0);
  EXPECT_TRUE(slice_b()["spill"].is_null());
  EXPECT_TRUE(slice_b()["agents_spill"].is_number());
  EXPECT_TRUE(becomes(applied));
}

#endif

}  // namespace
}  // namespace rain::tools
