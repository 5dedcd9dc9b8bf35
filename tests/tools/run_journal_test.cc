// Tests of the journal of a sweep: what survives a kill, and what does not belong.
#include "tools/run_journal.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tools/input_error.h"
#include "tools/run_rain.h"

namespace rain::tools {
namespace {

using testing::content_of;
using testing::ScratchFile;

TEST(RunJournal, add__found_again_by_the_next_process) {
  const ScratchFile file("journal", "");
  {
    RunJournal journal(file.path());
    EXPECT_EQ(journal.find("a=1"), nullptr);
    journal.add("a=1", "1,2");
    journal.add("a=2", "3,4");
  }
  RunJournal journal(file.path());
  ASSERT_NE(journal.find("a=1"), nullptr);
  EXPECT_EQ(*journal.find("a=1"), "1,2");
  EXPECT_EQ(*journal.find("a=2"), "3,4");
  EXPECT_EQ(journal.size(), 2u);
}

TEST(RunJournal, open__cuts_off_a_line_that_a_kill_interrupted) {
  const ScratchFile file("journal", "");
  {
    RunJournal journal(file.path());
    journal.add("a=1", "1,2");
  }
  const std::string whole = content_of(file.path());
  std::ofstream(file.path(), std::ios::app) << "a=2\t3,";
  {
    RunJournal journal(file.path());
    EXPECT_EQ(journal.size(), 1u);
    EXPECT_EQ(journal.find("a=2"), nullptr);
  }
  EXPECT_EQ(content_of(file.path()), whole);
}

TEST(RunJournal, open__another_programs_lines_are_worth_nothing) {
  const ScratchFile file("journal", "rain.journal/1 0000000000000000\na=1\t1,2\n");
  RunJournal journal(file.path());
  EXPECT_EQ(journal.size(), 0u);
  EXPECT_EQ(content_of(file.path()).find("a=1"), std::string::npos);
}

TEST(RunJournal, open__refuses_a_folder_in_use) {
  const ScratchFile file("journal", "");
  RunJournal journal(file.path());
  try {
    RunJournal second(file.path());
    FAIL() << "opened twice";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), file.path() + ": another process is at work in this folder");
  }
}

TEST(RunJournal, open__refuses_what_cannot_be_written) {
  EXPECT_THROW(RunJournal("/proc/nowhere/journal"), InputError);
}

}  // namespace
}  // namespace rain::tools
