// SPDX-License-Identifier: Apache-2.0
#include "host/generate/csv_table.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "host/objects/errors.h"

namespace berth {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.problems().front().to_string();
  }
  return "no error";
}

std::string error_of_text(const std::string& text) {
  return error_of([&] { CsvTable(text, "t.csv"); });
}

TEST(CsvTable, FieldsAreFoundByColumnName) {
  const CsvTable table("a,b\n1,x\n2,\n", "t.csv");
  ASSERT_EQ(table.row_count(), 2U);
  EXPECT_EQ(table.text(0, "b"), "x");
  EXPECT_EQ(table.text(1, "b"), "");
  EXPECT_EQ(table.number(1, "a"), 2);
  EXPECT_EQ(table.text(0, "absent"), "");
  EXPECT_FALSE(table.has_column("absent"));
}

TEST(CsvTable, WindowsLineEndsByteOrderMarkAndEmptyLinesAreSkipped) {
  const CsvTable table(
      "\xEF\xBB\xBF"
      "a,b\r\n\r\n1,x\r\n\n2,y\r",
      "t.csv");
  ASSERT_EQ(table.row_count(), 2U);
  EXPECT_EQ(table.text(0, "b"), "x");
  EXPECT_EQ(table.text(1, "b"), "y");
}

TEST(CsvTable, QuotedFieldsMayContainCommasQuotesAndLineEnds) {
  const CsvTable table("a,b\n\"1,5\",\"say \"\"hi\"\"\nthere\"\n2,x\n", "t.csv");
  EXPECT_EQ(table.text(0, "a"), "1,5");
  EXPECT_EQ(table.text(0, "b"), "say \"hi\"\nthere");
  EXPECT_EQ(error_of([&] { table.fail(1, "wrong"); }), "t.csv: line 4: wrong");
}

TEST(CsvTable, TheLastRowNeedsNoLineEnd) {
  EXPECT_EQ(CsvTable("a\n1", "t.csv").row_count(), 1U);
  EXPECT_EQ(CsvTable("a\n\"1\"", "t.csv").text(0, "a"), "1");
}

TEST(CsvTable, ARowOfAnotherLengthIsRefusedWithItsLine) {
  EXPECT_EQ(error_of_text("a,b\n1,2\n3\n"), "t.csv: line 3: got 1 fields, expected 2 as in the header");
  EXPECT_EQ(error_of_text("a,b\n1,2,\n"), "t.csv: line 2: got 3 fields, expected 2 as in the header");
}

TEST(CsvTable, BrokenQuotesAreRefusedWithTheirLine) {
  EXPECT_EQ(error_of_text("a\n1\n\"2\n3\n"), "t.csv: line 3: a quote that does not close");
  EXPECT_EQ(error_of_text("a,b\n\"1\"x,2\n"), "t.csv: line 2: text behind a closing quote, expected a comma");
}

TEST(CsvTable, AHeaderWithUniqueNamesIsRequired) {
  EXPECT_EQ(error_of_text(""), "t.csv: line 1: no header line");
  EXPECT_EQ(error_of_text("a,b,a\n"), "t.csv: line 1: column \"a\" stands here twice");
}

TEST(CsvTable, MissingColumnsAreNamedTogether) {
  const CsvTable table("a,b\n", "t.csv");
  EXPECT_EQ(error_of([&] { table.require_columns({"a", "c", "d"}); }), "t.csv: line 1: missing columns: c, d");
}

TEST(CsvTable, InvalidCountsAreRefused) {
  for (const char* field : {"", "x", "-1", "1.5", "1 ", "99999999999999999999"}) {
    const CsvTable table("a,b\n" + std::string(field) + ",\n", "t.csv");
    EXPECT_EQ(error_of([&] { table.number(0, "a"); }),
              "t.csv: line 2: a: got \"" + std::string(field) + "\", expected an integer of at least 0");
  }
}

}  // namespace
}  // namespace berth
