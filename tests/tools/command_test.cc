// Tests of the command's frame, by running it: help, version, and words that are no commands.
#include "tools/command_support.h"

namespace rain::tools {
namespace {

TEST(Command, run_command__help_and_version) {
  const Finished help = run_rain({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("budget"));
  EXPECT_EQ(help.err, "");
  const Finished of_command = run_rain({"budget", "--help"});
  EXPECT_EQ(of_command.status, 0);
  EXPECT_THAT(of_command.out, HasSubstr("--levels"));
  const Finished version = run_rain({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, StartsWith("rain "));
}

TEST(Command, run_command__output_that_cannot_be_written_is_a_failure) {
  const std::vector<std::vector<std::string>> commands = {
      {"--help"}, {"--version"}, {"budget", "--help"}, {"budget", "rain"}, {"budget", "rain", "--json"}};
  for (const auto& words : commands) {
    const Finished finished = run_rain(words, "/dev/full");
    EXPECT_EQ(finished.status, 1) << words[0];
    EXPECT_EQ(finished.err, (words[0] == "budget" && words[1] != "--help" ? "rain budget" : "rain") +
                                std::string(": cannot write standard output: No space left on device\n"));
  }
}

TEST(Command, run_command__unknown_words) {
  const Finished none = run_rain({});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, StartsWith("rain: a command is missing: one of "));
  const Finished unknown = run_rain({"budgte"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.out, "");
  EXPECT_THAT(unknown.err, StartsWith("rain: 'budgte' is not a command: one of "));
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'budget'?\n"));
  EXPECT_EQ(run_rain({"--bogus"}).status, 2);
}

}  // namespace
}  // namespace rain::tools
