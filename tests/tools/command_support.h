// What the tests of commands have in front of them: matchers, JSON and the built `rain`, by their short names.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/run_rain.h"

namespace rain::tools {

using testing::all_free;
using testing::content_of;
using testing::expect_refused;
using testing::Finished;
using ::testing::HasSubstr;
using testing::RackOnPorts;
using testing::run_rain;
using testing::Running;
using testing::ScratchFile;
using ::testing::StartsWith;

}  // namespace rain::tools
