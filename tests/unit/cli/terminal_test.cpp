// SPDX-License-Identifier: Apache-2.0
#include "host/cli/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace berth {
namespace {

TEST(Terminal, HasNoColourInAFile) {
  const int file = ::open("/dev/null", O_WRONLY);
  const Terminal terminal = Terminal::of(file);
  ::close(file);
  EXPECT_FALSE(terminal.interactive);
  EXPECT_FALSE(terminal.color);
  EXPECT_EQ(terminal.paint("x", Emphasis::kBad), "x");
}

TEST(Terminal, ColoursATerminal) {
  Terminal terminal;
  terminal.color = true;
  EXPECT_EQ(terminal.paint("x", Emphasis::kGood), "\x1b[32mx\x1b[0m");
  EXPECT_EQ(terminal.paint("x", Emphasis::kPlain), "x");
}

TEST(DisplayWidth, CountsWideCharactersTwiceAndSkipsCombiningOnes) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("\xe6\xbc\xa2"), 2);  // a Han character
  EXPECT_EQ(display_width("e\xcc\x81"), 1);     // e with a combining acute
  EXPECT_EQ(display_width("\xff"), 1);          // not UTF-8
}

TEST(CutToWidth, KeepsShortTextAndMarksATruncation) {
  EXPECT_EQ(cut_to_width("abc", 3), "abc");
  EXPECT_EQ(cut_to_width("abcd", 3), "ab~");
  EXPECT_EQ(cut_to_width("\xe6\xbc\xa2\xe6\xbc\xa2", 3), "\xe6\xbc\xa2~");
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("a\x1b[31mb\x7f\n"), "a?[31mb??");
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(printable("\xe2\x80\xae"), "?");  // right-to-left override
}

}  // namespace
}  // namespace berth
