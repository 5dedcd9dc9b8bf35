// What a file of numbers may look like, and the place that each error names.
#include "workload/csv.h"

#include <gtest/gtest.h>

#include <array>

#include "workload/temporary_file.h"

namespace rain::workload {
namespace {

constexpr std::array<std::string_view, 2> kHeaders = {"a", "a,b"};

TEST(csv, next_row__numbers_of_each_row) {
  const TemporaryFile text("a,b\r\n1,2.5\r\n\n3e2,0\n");
  auto file = NumberFile::open(text.path(), kHeaders);
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(file->columns(), 2u);
  ASSERT_EQ(file->next_row(), true);
  EXPECT_EQ(file->number(0, 0, 1000), 1);
  EXPECT_EQ(file->number(1, 0, 1000), 2.5);
  ASSERT_EQ(file->next_row(), true);
  EXPECT_EQ(file->number(0, 0, 1000), 300);
  EXPECT_EQ(file->next_row(), false);
}

TEST(csv, open__errors) {
  const auto missing = NumberFile::open("/nowhere/x.csv", kHeaders);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), "/nowhere/x.csv: cannot be read: No such file or directory");
  EXPECT_EQ(NumberFile::open("/dev/null", kHeaders).error(), "/dev/null: is not a regular file");
  const TemporaryFile empty("\n\n");
  EXPECT_EQ(NumberFile::open(empty.path(), kHeaders).error(),
            empty.path() + ": is empty (allowed: \"a\" or \"a,b\")");
  const TemporaryFile other("x\n1\n");
  EXPECT_EQ(NumberFile::open(other.path(), kHeaders).error(),
            other.path() + ":1: header \"x\" (allowed: \"a\" or \"a,b\")");
}

TEST(csv, number__errors_name_line_and_column) {
  const TemporaryFile text("a,b\n1,2\n\n1,x\n1,9\n1\n");
  auto file = NumberFile::open(text.path(), kHeaders);
  ASSERT_TRUE(file) << file.error();
  ASSERT_EQ(file->next_row(), true);
  ASSERT_EQ(file->next_row(), true);
  EXPECT_EQ(file->number(1, 0, 5).error(),
            text.path() + ":4: column 2: b \"x\" is not a number (allowed: 0 to 5)");
  ASSERT_EQ(file->next_row(), true);
  EXPECT_EQ(file->number(1, 0, 5).error(),
            text.path() + ":5: column 2: b \"9\" is out of range (allowed: 0 to 5)");
  EXPECT_EQ(file->next_row().error(), text.path() + ":6: has 1 columns (allowed: 2)");
}

}  // namespace
}  // namespace rain::workload
