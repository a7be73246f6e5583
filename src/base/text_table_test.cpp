#include "base/text_table.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace owlet {
namespace {

TEST(TextTable, AlignsColumns) {
  TextTable table;
  table.add_column("kind");
  table.add_column("bytes", TextTable::Align::right);
  table.add_column("");
  table.add_row({"weights", "61 MB", ""});
  table.add_row({"größe", "1.5 GB", "peak"});
  EXPECT_EQ(table.to_string(2),
            "  kind      bytes\n"
            "  weights   61 MB\n"
            "  größe    1.5 GB  peak\n");
}

TEST(TextTable, LeavesOutAnEmptyHeader) {
  TextTable table;
  table.add_column("");
  EXPECT_TRUE(table.empty());
  table.add_row({"x"});
  EXPECT_EQ(table.to_string(), "x\n");
}

TEST(TextTable, RefusesRowsOfAnotherLength) {
  TextTable table;
  table.add_column("a");
  EXPECT_THROW(table.add_row({"1", "2"}), Error);
}

}  // namespace
}  // namespace owlet
