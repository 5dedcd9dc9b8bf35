// Tests of `rain compare`, by running it on a rack of emulated workers.
#include <fstream>

#include "tools/command_support.h"

namespace rain::tools {
namespace {

const char* const kRack =
    "[[server]]\nname = 'a'\nport = %s\nworkers = 8\napp = 'synthetic'\nemulate = true\nquota = 2\n"
    "[load]\nservice = 'bimodal:0.5:1ms:4ms'\nrate = '60%'\nduration = '700ms'\nwarmup = '100ms'\n";

TEST(CompareCommand, run__same_load_behind_each_scheduler) {
  const RackOnPorts rack(kRack);
  const std::string folder = rack.file.folder() / "out";
  const Finished finished =
      run_rain({"compare", rack.file.path(), "--schedulers", "random,rain", "--json", "--out", folder});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["schema"], "rain.compare/1");
  EXPECT_EQ(json["reference"], "rain");
  ASSERT_EQ(json["runs"].size(), 2u);
  EXPECT_EQ(json["runs"][0]["scheduler"], "random");
  EXPECT_EQ(json["runs"][0]["depth"], 0);
  EXPECT_EQ(json["runs"][1]["scheduler"], "rain");
  EXPECT_EQ(json["runs"][1]["depth"], 2);
  EXPECT_EQ(json["runs"][0]["requested_rps"], 1920.0);  // 60 % of 8 workers / 2.5 ms
  EXPECT_EQ(json["runs"][0]["outcomes"]["sent"], json["runs"][1]["outcomes"]["sent"]);
  EXPECT_TRUE(json["slowdown_p99_ratio"].contains("random/rain"));
  for (const char* scheduler : {"random", "rain"}) {
    std::ifstream stream(folder + "/" + scheduler + ".json");
    EXPECT_EQ(nlohmann::json::parse(stream)["scheduler"], scheduler);
  }
  EXPECT_TRUE(all_free(rack.port, 2));
}

TEST(CompareCommand, run__table_and_what_was_chosen) {
  const RackOnPorts rack(kRack);
  const Finished finished =
      run_rain({"compare", rack.file.path(), "--schedulers", "jsq,rain-paper", "--duration", "300ms"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("jsq/rain-paper"));
  EXPECT_THAT(finished.out, HasSubstr("slowdown p99"));
  EXPECT_THAT(finished.err, HasSubstr("rain compare: rate 1920/s, 60% of capacity\n"));
}

TEST(CompareCommand, run__interrupted_stops_the_rack) {
  const RackOnPorts rack(kRack);
  Running running({"compare", rack.file.path(), "--duration", "60s"});
  ASSERT_TRUE(running.wait_for("[random] 1 of 61 s")) << running.err();
  running.send_signal(SIGTERM);
  const Finished finished = running.finish();
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, HasSubstr("rain compare: interrupted\n"));
  EXPECT_TRUE(all_free(rack.port, 2));
}

TEST(CompareCommand, run__bad_input) {
  const RackOnPorts rack(kRack);
  const std::string path = rack.file.path();
  expect_refused({"compare"}, "rain compare: FILE is required");
  expect_refused({"compare", path, "--schedulers", "rain"},
                 "rain compare: --schedulers = rain: at least two, separated by commas");
  expect_refused({"compare", path, "--schedulers", "rain,rain"},
                 "rain compare: --schedulers = rain,rain: rain stands there twice");
  expect_refused(
      {"compare", path, "--schedulers", "rain,nginx"},
      "rain compare: --scheduler = nginx: one of rain, rain-paper, racksched, pallas, random, round-robin, "
      "jsq");
  expect_refused({"compare", path, "--out", "/dev/null/x"},
                 "rain compare: --out = /dev/null/x: cannot be made a folder");
}

}  // namespace
}  // namespace rain::tools
