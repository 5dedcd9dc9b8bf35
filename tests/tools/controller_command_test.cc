// Tests of `rain controller` and `rain ctl`, by running them: a rack is changed while it runs.
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "tools/command_support.h"

namespace rain::tools {
namespace {

/// Two slices, each with a server of two workers, and a controller.
class ControllerCommand : public ::testing::Test {
 protected:
  /// Ports: switch, two of each server, controller.
  explicit ControllerCommand(const std::string& rest = "state_file = 'state'\nlease = '1s'\n")
      : port_(testing::free_ports(6)), file_("rack.toml", content(rest)) {}

  std::string content(const std::string& rest) const {
    const auto at = [this](unsigned n) { return std::to_string(port_ + n); };
    return "[switch]\nlisten = '127.0.0.1:" + at(0) +
           "'\n[[slice]]\nname = 'a'\ntypes = [1]\nqueue_capacity = 100\n[[slice]]\nname = "
           "'b'\nqueue_capacity = 100\n"
           "[[server]]\nname = 's'\nport = " +
           at(1) + "\nworkers = 2\nslice = 'a'\n[[server]]\nname = 't'\nport = " + at(3) +
           "\nworkers = 2\nslice = 'b'\n[controller]\nlisten = '127.0.0.1:" + at(5) + "'\n" + rest;
  }
  Finished ctl(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "ctl");
    arguments.insert(arguments.end(), {"--config", file_.path()});
    return run_rain(arguments);
  }
  void done(const std::vector<std::string>& arguments) const {
    const Finished finished = ctl(arguments);
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr("done: version "));
  }
  void refused(const std::vector<std::string>& arguments, int status, const std::string& text) const {
    const Finished finished = ctl(arguments);
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(text));
  }
  nlohmann::json status() const {
    const Finished finished = ctl({"status", "--json"});
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out);
  }
  nlohmann::json worker(unsigned id) const {
    const nlohmann::json now = status();
    for (const auto& one : now["workers"]) {
      if (one["id"] == id) return one;
    }
    return {};
  }

  std::uint16_t port_;
  ScratchFile file_;
};

TEST_F(ControllerCommand, run__a_rack_is_changed_while_it_runs) {
  Running rack({"rack", file_.path()});
  ASSERT_TRUE(rack.wait_for("rack ready: ")) << rack.err();
  nlohmann::json now = status();
  EXPECT_EQ(now["schema"], "rain.status/1");
  EXPECT_EQ(now["slices"].size(), 2u);
  EXPECT_EQ(now["workers"].size(), 4u);
  EXPECT_EQ(now["switches"].at(0)["attached"], true);
  EXPECT_EQ(now["switches"].at(0)["refusal"], "");
  done({"move", "0", "b"});
  EXPECT_EQ(worker(0)["slice"], "b");
  refused({"move", "1", "b"}, 1, "worker 1 is the last one that serves slice \"a\"");
  done({"move", "0", "a"});
  done({"add-slice", "c", "capacity=50", "spill=2"});
  done({"add-type", "7", "c"});
  done({"move", "0", "c"});
  done({"set-slice", "c", "spill=3", "drain=0"});
  done({"set-quota", "0", "2"});
  done({"master", "c", "0"});
  now = status();
  EXPECT_EQ(now["slices"][2]["name"], "c");
  EXPECT_EQ(now["slices"][2]["spill"], 3);
  EXPECT_EQ(now["slices"][2]["types"], nlohmann::json::array({7}));
  EXPECT_EQ(now["slices"][2]["master"], 0);
  EXPECT_EQ(worker(0)["quota_ordered"], 2);
  // The switch has applied all of it, and the moved worker serves its new slice.
  for (int tries = 0; tries < 1000 && status()["switches"][0]["version"] != now["version"]; ++tries) {
  }
  EXPECT_EQ(status()["switches"][0]["version"], now["version"]);
  EXPECT_EQ(status()["switches"][0]["refusal"], "");
  const Finished load = run_rain({"load", "--config", file_.path(), "--classes", "c@7:1:const:1", "--rate",
                                  "500", "--duration", "300ms", "--warmup", "0", "--json"});
  EXPECT_EQ(load.status, 0) << load.out << load.err;
  const Finished table = ctl({"status"});
  EXPECT_THAT(table.out, HasSubstr("slice "));
  EXPECT_THAT(table.out, HasSubstr("serving"));
  rack.send_signal(SIGTERM);
  const Finished finished = rack.finish();
  EXPECT_EQ(finished.status, 0) << finished.err;
}

/// A rack for 100 requests at once, that serves 40 in a second, with a controller.
class LoadsOfAController : public ::testing::Test {
 protected:
  static std::string content(unsigned port) {
    const auto at = [port](unsigned n) { return std::to_string(port + n); };
    return "[switch]\nlisten = '127.0.0.1:" + at(0) +
           "'\n[[slice]]\nname = 'a'\nqueue_capacity = 84\n[[server]]\nname = 's'\nport = " + at(1) +
           "\nworkers = 4\nquota = 4\napp = 'synthetic'\nemulate = true\n[controller]\nlisten = '127.0.0.1:" +
           at(2) + "'\nlease = '1s'\n[load]\nservice = 'const:100ms'\nrate = '2k'\nduration = '10min'\n" +
           "warmup = '0'\ntimeout = '5s'\nconnections = 1\n";
  }
  /// The clients' names and shares, as the controller tells them.
  std::map<std::string, unsigned> shares() const {
    const Finished finished = run_rain({"ctl", "status", "--json", "--config", file_.path()});
    std::map<std::string, unsigned> found;
    if (finished.status != 0) return found;
    const nlohmann::json status = nlohmann::json::parse(finished.out);
    for (const auto& one : status["clients"]) found[one["name"]] = one["share"].get<unsigned>();
    return found;
  }
  static constexpr unsigned kOff = 3;
  /// A queue that is full for a moment narrows a client's back-off window: it then wants a little less than its part.
  ::testing::AssertionResult wait_for_shares(const std::map<std::string, unsigned>& wanted) const {
    std::map<std::string, unsigned> now;
    for (const Nanos limit = monotonic_now() + kPatience; monotonic_now() < limit; usleep(50'000)) {
      now = shares();
      if (std::equal(now.begin(), now.end(), wanted.begin(), wanted.end(), [](const auto& a, const auto& b) {
            return a.first == b.first && a.second <= b.second + kOff && b.second <= a.second + kOff;
          }))
        return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "shares stayed " << ::testing::PrintToString(now);
  }
  static constexpr Nanos kPatience = seconds(60);

  std::uint16_t port_ = testing::free_ports(3);
  ScratchFile file_{"rack.toml", content(port_)};
};

TEST_F(LoadsOfAController, load__weights_divide_the_room__a_killed_ones_part_comes_back) {
  Running rack({"rack", file_.path(), "--no-load"});
  ASSERT_TRUE(rack.wait_for("rack ready: ")) << rack.err();
  Running light({"load", "--config", file_.path(), "--client", "light", "--json"});
  {
    Running heavy({"load", "--config", file_.path(), "--client", "heavy", "--weight", "3"});
    EXPECT_TRUE(wait_for_shares({{"heavy", 75}, {"light", 25}})) << heavy.err() << light.err();
    heavy.send_signal(SIGKILL);
    heavy.finish();
  }
  EXPECT_TRUE(wait_for_shares({{"light", 100}})) << "after the lease";
  light.send_signal(SIGTERM);
  const Finished finished = light.finish();
  EXPECT_THAT(finished.err, HasSubstr("load: the controller is reached"));
  const nlohmann::json report = nlohmann::json::parse(finished.out);
  EXPECT_EQ(report["admission"]["mode"], "wait");
  EXPECT_EQ(report["admission"]["told_by_controller"], true);
  EXPECT_EQ(report["admission"]["share"], 100);
}

TEST_F(LoadsOfAController, load__the_controller_is_away__goes_on_with_what_was_configured) {
  Running in_switch({"switch", "--config", file_.path()});
  Running servers({"worker", "--config", file_.path()});
  {
    Running controller({"controller", "--config", file_.path()});
    ASSERT_TRUE(servers.wait_for("ready: ")) << servers.err();
    ASSERT_TRUE(in_switch.wait_for("reached")) << in_switch.err();
  }
  const std::vector<std::string> load{"load",       "--config", file_.path(), "--rate",   "100",
                                      "--duration", "300ms",    "--share",    "7",        "--admission",
                                      "fail",       "--json",   "--service",  "const:1ms"};
  const Finished finished = run_rain(load);
  EXPECT_EQ(finished.status, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("cannot be reached"));
  const nlohmann::json report = nlohmann::json::parse(finished.out);
  EXPECT_EQ(report["admission"]["share"], 7);
  EXPECT_EQ(report["admission"]["told_by_controller"], false);
}

TEST_F(LoadsOfAController, load__a_rack_that_another_load_fills__starts_all_the_same) {
  Running rack({"rack", file_.path(), "--no-load"});
  ASSERT_TRUE(rack.wait_for("rack ready: ")) << rack.err();
  Running other({"load", "--config", file_.path(), "--admission", "off"});
  ASSERT_TRUE(other.wait_for("2 of 600 s")) << other.err();
  const Finished finished =
      run_rain({"load", "--config", file_.path(), "--admission", "off", "--duration", "300ms", "--json"});
  EXPECT_THAT(finished.err, Not(HasSubstr("nothing answers")));
  EXPECT_GT(nlohmann::json::parse(finished.out)["outcomes"]["dropped"]["queue_full"], 100) << finished.err;
}

TEST_F(ControllerCommand, run__restarts__is_what_it_was) {
  Running servers({"rack", file_.path()});
  ASSERT_TRUE(servers.wait_for("rack ready: ")) << servers.err();
  done({"move", "0", "b"});
  const nlohmann::json before = worker(0);
  servers.send_signal(SIGTERM);
  ASSERT_EQ(servers.finish().status, 0);
  Running controller({"controller", "--config", file_.path()});
  ASSERT_TRUE(controller.wait_for("as it was before, by its state file")) << controller.err();
  const nlohmann::json after = worker(0);
  EXPECT_EQ(after["slice"], "b");
  EXPECT_EQ(after["state"], "left");
  controller.send_signal(SIGTERM);
  EXPECT_EQ(controller.finish().status, 0);
}

TEST_F(ControllerCommand, run__bad_input) {
  const ScratchFile none("rack.toml", "[[server]]\n");
  expect_refused(
      {"controller", "--config", none.path()},
      "rain controller: " + none.path() + ": there is no [controller]; it says where the controller listens");
  Running first({"controller", "--config", file_.path()});
  ASSERT_TRUE(first.wait_for("ready: controller on 127.0.0.1:")) << first.err();
  const Finished second = run_rain({"controller", "--config", file_.path()});
  EXPECT_EQ(second.status, 2);
  EXPECT_THAT(second.err, HasSubstr("cannot listen on 127.0.0.1:"));
}

TEST_F(ControllerCommand, run__a_state_file_that_cannot_be_written__is_refused) {
  const ScratchFile file("rack.toml", content("state_file = 'none/state'\n"));
  const std::string folder = (file.folder() / "none").string();
  expect_refused({"controller", "--config", file.path()},
                 "rain controller: state_file " + folder + "/state: no file can be made in " + folder +
                     ": No such file or directory; the folder must be there and writable");
}

TEST_F(ControllerCommand, run__a_state_file_of_another_kind__is_refused) {
  const ScratchFile rack("rack.toml", content("state_file = 'rack.toml'\n"));
  const Finished finished = run_rain({"controller", "--config", rack.path()});
  EXPECT_EQ(finished.status, 2);
  EXPECT_THAT(finished.err, HasSubstr("rack.toml: is not a controller's state"));
}

TEST_F(ControllerCommand, ctl__bad_input) {
  Running controller({"controller", "--config", file_.path()});
  ASSERT_TRUE(controller.wait_for("ready: ")) << controller.err();
  refused({"drain", "9"}, 2,
          "rain ctl: worker 9 is unknown: no server has registered yet; the controller began ");
  refused({"drain", "x"}, 2, "rain ctl: WORKER = x: an integer from 0 to 1023");
  refused({"drain", "1024"}, 2, "WORKER = 1024: an integer from 0 to 1023");
  refused({"drain"}, 2, "WORKER is required");
  refused({"set-quota", "0", "9"}, 2, "QUOTA = 9: an integer from 1 to 8");
  refused({"add-type", "65536", "a"}, 2, "TYPE = 65536: an integer from 0 to 65535");
  refused({"add-type", "3", "z"}, 2, "slice \"z\" is unknown; there are: a, b");
  refused({"add-type", "1", "b"}, 2, "type 1 belongs to slice \"a\"");
  refused({"add-slice", "a"}, 2, "slice \"a\": there is one of this name");
  refused({"set-slice", "a"}, 2, "set-slice: nothing to set");
  refused({"set-slice", "a", "spil=3"}, 2,
          "'spil=3': spill=N or spill=default, drain=N, capacity=N is allowed; did you mean 'spill'?");
  refused({"set-slice", "a", "spill=1", "drain=2", "spill=default"}, 2,
          "'spill=default': spill is given twice");
  refused({"add-slice", "c", "drain=2", "drain=2"}, 2, "'drain=2': drain is given twice");
  refused({"set-slice", "a", "spill=101"}, 2, "spill 101: at most its capacity, 100");
  refused({"set-slice", "a", "spill=1", "--if-version", "999"}, 1, "version 999 is not the present one");
  refused({"weight", "c", "5"}, 2, "client \"c\": unknown");
  refused({"weight", "c\xFF", "5"}, 2,
          "rain ctl: CLIENT = \"c?\": a name of 1 to 64 bytes, UTF-8 without control characters\n");
  refused({"add-slice", "\xC3"}, 2, "rain ctl: SLICE = \"?\": a name of 1 to 64 bytes, UTF-8 without");
  refused({"master", "a", "0"}, 2, "worker 0 is unknown");
  refused({"status", "--nonsense"}, 2, "--nonsense");
  EXPECT_EQ(ctl({}).status, 2);
}

TEST_F(ControllerCommand, ctl__nobody_listens) {
  refused({"status"}, 1,
          "rain ctl: the controller at 127.0.0.1:" + std::to_string(port_ + 5) + " cannot be reached");
}

TEST_F(ControllerCommand, worker__waits_for_the_controller_and_ends_on_a_signal) {
  Running worker_process({"worker", "--config", file_.path(), "--server", "s"});
  ASSERT_TRUE(worker_process.wait_for("cannot be reached")) << worker_process.err();
  worker_process.send_signal(SIGTERM);
  EXPECT_EQ(worker_process.finish().status, 0);
}

TEST_F(ControllerCommand, worker__killed__its_workers_are_taken_out_and_come_back) {
  Running controller({"controller", "--config", file_.path()});
  Running other({"worker", "--config", file_.path(), "--server", "t"});
  {
    Running killed({"worker", "--config", file_.path(), "--server", "s"});
    ASSERT_TRUE(killed.wait_for("ready: ")) << killed.err();
    ASSERT_TRUE(other.wait_for("ready: ")) << other.err();
    EXPECT_EQ(worker(0)["state"], "serving");
    killed.send_signal(SIGKILL);
    killed.finish();
  }
  ASSERT_TRUE(controller.wait_for("server \"s\": its lease has ended, 2 workers are taken out"))
      << controller.err();
  EXPECT_EQ(worker(0)["state"], "crashed");
  EXPECT_EQ(worker(2)["state"], "serving");
  Running again({"worker", "--config", file_.path(), "--server", "s"});
  ASSERT_TRUE(again.wait_for("ready: ")) << again.err();
  EXPECT_EQ(worker(0)["state"], "serving");
}

}  // namespace
}  // namespace rain::tools
