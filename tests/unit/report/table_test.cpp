// SPDX-License-Identifier: Apache-2.0
#include "host/report/table.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Table, AlignsColumnsWithoutTrailingBlanks) {
  Table table({{"name"}, {"count", Align::kRight}, {"why"}});
  table.add_row({"a", "1", "x"});
  table.add_row({"longer", "20,000"});
  EXPECT_EQ(table.render(Terminal(), 2),
            "  name     count  why\n"
            "  a            1  x\n"
            "  longer  20,000\n");
}

TEST(Table, OmitsEmptyTitles) {
  Table table({{""}, {""}});
  table.add_row({"a", "b"});
  EXPECT_EQ(table.render(Terminal(), 0), "a  b\n");
}

TEST(Table, TruncatesWideCells) {
  Table table({{"", Align::kLeft, 4}, {""}});
  table.add_row({"abcdefgh", "x"});
  EXPECT_EQ(table.render(Terminal(), 0), "abc~  x\n");
}

TEST(Table, AlignsByDisplayWidth) {
  Table table({{""}, {""}});
  table.add_row({"\xe6\xbc\xa2", "x"});
  table.add_row({"abc", "y"});
  EXPECT_EQ(table.render(Terminal(), 0), "\xe6\xbc\xa2   x\nabc  y\n");
}

TEST(Table, ColoursDoNotShiftColumns) {
  Terminal terminal;
  terminal.color = true;
  Table table({{""}, {""}});
  table.add_row({{"ok", Emphasis::kGood}, "x"});
  table.add_row({"long", "y"});
  EXPECT_EQ(table.render(terminal, 0), "\x1b[32mok\x1b[0m    x\nlong  y\n");
}

}  // namespace
}  // namespace berth
