// Holds docs/operations.md to the readers: every key of a section stands in its table, and no other.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tools/input_error.h"
#include "tools/rack_file.h"
#include "tools/run_rain.h"

namespace rain::tools {
namespace {

using Keys = std::set<std::string>;

/// Keys in the first column of the table under "### HEADING".
Keys documented(const std::string& heading) {
  std::ifstream document(RAIN_OPERATIONS_DOCUMENT);
  EXPECT_TRUE(document.good()) << RAIN_OPERATIONS_DOCUMENT;
  Keys keys;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("#")) inside = line == "### " + heading;
    if (!inside || !line.starts_with("| `")) continue;
    keys.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return keys;
}

/// Keys that the reader of a section knows: it lists them when it meets another.
Keys known(const std::string& file) {
  const testing::ScratchFile rack("rack.toml", file);
  try {
    RackFile::read(rack.path());
    ADD_FAILURE() << "not refused: " << file;
  } catch (const InputError& error) {
    const std::string message = error.what();
    const std::string marker = "allowed are ";
    const std::size_t at = message.find(marker);
    EXPECT_NE(at, std::string::npos) << message;
    std::istringstream list(message.substr(at + marker.size(), message.find(';', at) - at - marker.size()));
    Keys keys;
    for (std::string key; std::getline(list, key, ',');) keys.insert(key.substr(key.find_first_not_of(' ')));
    return keys;
  }
  return {};
}

TEST(OperationsDocument, configuration__every_key_and_no_other) {
  EXPECT_EQ(documented("[switch]"), known("[[server]]\n[switch]\nzzz = 1\n"));
  EXPECT_EQ(documented("[[slice]]"), known("[[slice]]\nzzz = 1\n[[server]]\n"));
  EXPECT_EQ(documented("[[server]]"), known("[[server]]\nzzz = 1\n"));
  EXPECT_EQ(documented("[controller]"), known("[[server]]\n[controller]\nzzz = 1\n"));
  EXPECT_EQ(documented("[agent]"), known("[[server]]\n[agent]\nzzz = 1\n"));
  EXPECT_EQ(documented("[load]"), known("[[server]]\n[load]\nzzz = 1\n"));
}

TEST(OperationsDocument, configuration__is_found) { EXPECT_GT(documented("[[server]]").size(), 10u); }

}  // namespace
}  // namespace rain::tools
