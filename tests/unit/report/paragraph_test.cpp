// SPDX-License-Identifier: Apache-2.0
#include "host/report/paragraph.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Wrap, BreaksAtBlanksAndIndentsEveryLine) { EXPECT_EQ(wrap("one two three", 9, 2), "  one two\n  three\n"); }

TEST(Wrap, IndentsAfterALabel) { EXPECT_EQ(wrap("12  one two", 9, 1), " 12  one\n     two\n"); }

TEST(Wrap, IndentsAfterADash) { EXPECT_EQ(wrap("- one two", 7, 0), "- one\n  two\n"); }

TEST(Wrap, DoesNotBreakALongWord) { EXPECT_EQ(wrap("abcdefghij x", 5, 0), "abcdefghij\nx\n"); }

TEST(Wrap, KeepsACommandOnOneLineSoThatItCanBeCopied) {
  EXPECT_EQ(wrap("- run kubectl get no,po -A > a.json", 12, 0), "- run\n  kubectl get no,po -A > a.json\n");
  EXPECT_EQ(wrap("kubectl, a tool", 9, 0), "kubectl,\na tool\n");
}

TEST(Wrap, LetsNoTextOfTheInputStartALine) { EXPECT_EQ(wrap("a\nforged\r", 20, 0), "a\\nforged\\r\n"); }

TEST(Wrap, WritesAnEmptyLineForNoText) { EXPECT_EQ(wrap("", 10, 0), "\n"); }

}  // namespace
}  // namespace berth
