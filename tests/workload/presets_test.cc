// The presets against the figures of the papers they come from.
#include "workload/presets.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "workload/workload.h"

namespace rain::workload {
namespace {

double mean_us(std::string_view name) {
  const auto classes = parse_classes(name);
  EXPECT_TRUE(classes) << classes.error();
  return WorkloadSpec::steady(1, *classes).mean_demand() / 1000;
}

TEST(presets, presets__all_parse_and_are_named_once) {
  std::set<std::pair<std::string_view, Quantity>> seen;
  for (const Preset& preset : presets()) {
    const auto classes = parse_classes(preset.name, preset.quantity);
    EXPECT_TRUE(classes) << classes.error();
    EXPECT_TRUE(seen.emplace(preset.name, preset.quantity).second) << preset.name;
  }
  EXPECT_EQ(seen.size(), 11u);
}

TEST(presets, presets__have_the_means_of_their_papers) {
  EXPECT_NEAR(mean_us("high-bimodal"), 50.5, 1e-9);
  EXPECT_NEAR(mean_us("extreme-bimodal"), 2.9975, 1e-9);
  EXPECT_NEAR(mean_us("tpcc"), 0.44 * 5.7 + 0.04 * 6 + 0.44 * 20 + 0.04 * 88 + 0.04 * 100, 1e-9);
  EXPECT_NEAR(mean_us("rocksdb-persephone"), 318.25, 1e-9);
  EXPECT_NEAR(mean_us("bimodal-90-10"), 95, 1e-9);
  EXPECT_NEAR(mean_us("bimodal-50-50"), 275, 1e-9);
  EXPECT_NEAR(mean_us("trimodal-thirds"), 1850, 1e-4);
  EXPECT_NEAR(mean_us("rocksdb-fixed"), 17.9, 1e-9);
  EXPECT_NEAR(mean_us("rocksdb-exp"), 17.9, 1e-9);
}

TEST(presets, parse_classes__unknown_names_get_the_list) {
  const auto time = parse_classes("tpcd");
  ASSERT_FALSE(time);
  EXPECT_EQ(time.error(),
            "classes \"tpcd\" (allowed: NAME[@TYPE]:SHARE:DISTRIBUTION,.. or one of high-bimodal, "
            "extreme-bimodal, tpcc, rocksdb-persephone, bimodal-90-10, bimodal-50-50, trimodal-thirds, "
            "rocksdb-fixed, rocksdb-exp)");
  const auto count = parse_classes("tpcc", Quantity::kCount);
  ASSERT_FALSE(count);
  EXPECT_EQ(
      count.error(),
      "classes \"tpcc\" (allowed: NAME[@TYPE]:SHARE:DISTRIBUTION,.. or one of rocksdb-fixed, rocksdb-exp)");
}

}  // namespace
}  // namespace rain::workload
