// SPDX-License-Identifier: Apache-2.0
#include "host/report/terminal.h"

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
  EXPECT_EQ(printable("a\x1b[31mb\x7f\n\r\t"), "a\\x1b[31mb\\x7f\\n\\r\\t");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m"),
            "\\u009b1m");                                   // CSI in one character
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\u202e");          // right-to-left override
  EXPECT_EQ(printable("\xe2\x81\xa6"), "\\u2066");          // left-to-right isolate
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\u2028");          // line separator
  EXPECT_EQ(printable("\xf3\xa0\x80\x81"), "\\U000e0001");  // language tag
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");           // not UTF-8
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
}

TEST(Printable, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(printable("node-1, 50 %"), "node-1, 50 %");
  EXPECT_EQ(printable("caf\xc3\xa9 \xe6\xbc\xa2 e\xcc\x81"), "caf\xc3\xa9 \xe6\xbc\xa2 e\xcc\x81");
  EXPECT_EQ(printable(printable("\x1b\\")), printable("\x1b\\"));
}

TEST(Terminal, PaintsNoControlCharacterOfTheText) {
  Terminal terminal;
  EXPECT_EQ(terminal.paint("a\nb", Emphasis::kPlain), "a\\nb");
  terminal.color = true;
  EXPECT_EQ(terminal.paint("a\x1b[31mb", Emphasis::kGood), "\x1b[32ma\\x1b[31mb\x1b[0m");
}

}  // namespace
}  // namespace berth
