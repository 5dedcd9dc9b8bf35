// Tests of `rain figures`, by running it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/command_support.h"

namespace rain::tools {
namespace {

// Builds with checks and sanitizers are slow: so few requests that these too need less than two minutes.
TEST(FiguresCommand, figures__quick_makes_every_figure_and_claim) {
  const ScratchFile place("x", "");
  const std::filesystem::path out = place.folder() / "out";
  const Finished finished = run_rain({"figures", "--quick", "--requests", "3000", "--out", out});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("100 % of the work"));
  EXPECT_FALSE(std::filesystem::exists(out / "journal"));
  const std::string page = content_of(out / "index.html");
  const std::string claims = content_of(out / "claims.csv");
  for (const std::string name :
       {"fig1", "fig6", "fig7", "fig8", "fig9", "fig10", "fig11", "ours", "ablation"}) {
    EXPECT_GT(std::filesystem::file_size(out / (name + ".png")), 10'000u) << name;
    EXPECT_THAT(page, HasSubstr("src='" + name + ".png'"));
    EXPECT_THAT(page, HasSubstr("href='" + name + ".csv'"));
    EXPECT_THAT(claims, HasSubstr("\n" + name + ","));
    EXPECT_THAT(finished.out, HasSubstr(name + ": "));
  }
  EXPECT_THAT(page, HasSubstr("verdicts need a run without --quick"));
  EXPECT_THAT(content_of(out / "fig7.csv"), HasSubstr("get_p99_us"));
  EXPECT_TRUE(finished.out.ends_with((out / "index.html").string() + "\n"));
}

TEST(FiguresCommand, figures__chosen_ones_alone) {
  const ScratchFile place("x", "");
  const std::filesystem::path out = place.folder() / "out";
  const Finished finished = run_rain({"figures", "fig1", "fig1", "--requests", "3000", "--out", out});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_TRUE(std::filesystem::exists(out / "fig1.png"));
  EXPECT_FALSE(std::filesystem::exists(out / "fig6.csv"));
}

// Verdicts follow the data: the same claims on two sets of made-up measurements.
TEST(FiguresCommand, plot__verdicts_are_computed) {
  const ScratchFile place("x", "");
  const std::string out = place.folder() / "out";
  ASSERT_EQ(run_rain({"figures", "fig1", "--requests", "3000", "--out", out}).status,
            0);  // puts plot.py there
  const auto claims_of = [&](const std::string& factor) {
    std::ofstream csv(out + "/fig2.csv");
    csv << "item_bytes,keys,scan_us\n32,500,50" << factor << "\n32,3000,300" << factor << "\n1024,500,107"
        << factor << "\n1024,3000,640" << factor << "\n";
    csv.close();
    const std::string command =
        "/usr/bin/python3 " + out + "/plot.py " + out + " --requests=1 fig2 >/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return content_of(out + "/claims.csv");
  };
  EXPECT_THAT(claims_of(""), HasSubstr("107 us,107 us,reproduced"));
  EXPECT_THAT(claims_of("0"), HasSubstr("differs: +900 %"));
}

TEST(FiguresCommand, figures__refusals) {
  expect_refused({"figures", "fig3"},
                 "rain figures: 'fig3' is not a figure: one of fig1, fig2, fig6, fig7, fig8, fig9, fig10, "
                 "fig11, ours, ablation");
}

}  // namespace
}  // namespace rain::tools
