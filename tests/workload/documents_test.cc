// The examples of docs/workloads.md are what the parsers take.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "workload/workload.h"

namespace rain::workload {
namespace {

// The first word of every line of the document's fenced blocks, by the block's name.
std::map<std::string, std::vector<std::string>> examples() {
  std::ifstream document(RAIN_SOURCE_DIR "/docs/workloads.md");
  EXPECT_TRUE(document.is_open());
  std::map<std::string, std::vector<std::string>> found;
  std::string block;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("```")) {
      block = line.substr(3);
    } else if (!block.empty()) {
      found[block].push_back(line.substr(0, line.find(' ')));
    }
  }
  return found;
}

TEST(documents, workloads__distributions_parse) {
  const auto texts = examples()["distributions"];
  EXPECT_EQ(texts.size(), 6u);
  for (const std::string& text : texts) {
    const auto parsed = Distribution::parse(text);
    EXPECT_TRUE(parsed) << parsed.error();
  }
}

TEST(documents, workloads__classes_parse) {
  const auto texts = examples()["classes"];
  EXPECT_EQ(texts.size(), 3u);
  for (const std::string& text : texts) {
    const auto parsed = parse_classes(text);
    EXPECT_TRUE(parsed) << parsed.error();
  }
}

TEST(documents, workloads__phases_make_workloads) {
  const auto texts = examples()["phases"];
  EXPECT_EQ(texts.size(), 3u);
  for (const std::string& text : texts) {
    const auto phases = parse_phases(text);
    ASSERT_TRUE(phases) << phases.error();
    const auto classes = parse_classes("a:1:exp:10us,b:0:exp:100us");
    ASSERT_TRUE(classes) << classes.error();
    const auto made = Workload::make({.classes = *classes, .phases = *phases}, 1);
    EXPECT_TRUE(made) << made.error();
  }
}

}  // namespace
}  // namespace rain::workload
