// SPDX-License-Identifier: Apache-2.0
#include "host/cli/bar.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace berth {
namespace {

Terminal unicode_terminal() {
  Terminal terminal;
  terminal.unicode = true;
  return terminal;
}

TEST(Bar, IsExactToAnEighthInUnicode) {
  EXPECT_EQ(bar(0.5, 4, unicode_terminal()), "██");
  EXPECT_EQ(bar(9.0 / 32, 4, unicode_terminal()), "█▏");
}

TEST(Bar, ShowsSmallNonZeroShares) {
  EXPECT_EQ(bar(0.00001, 10, Terminal()), "#");
  EXPECT_EQ(bar(0.00001, 10, unicode_terminal()), "▏");
  EXPECT_EQ(bar(0, 10, Terminal()), "");
}

TEST(Bar, StaysWithinItsColumns) {
  EXPECT_EQ(bar(7, 3, Terminal()), "###");
  EXPECT_EQ(bar(-1, 3, Terminal()), "");
  EXPECT_EQ(bar(std::numeric_limits<double>::quiet_NaN(), 3, Terminal()), "");
  EXPECT_EQ(track_bar(0.5, 4, Terminal()), "##..");
  EXPECT_EQ(display_width(track_bar(0.3, 20, unicode_terminal())), 20);
}

TEST(HistogramOf, CountsByTenthsWithFullNodesInTheLast) {
  const std::vector<std::int32_t> percents = {-5, 0, 9, 10, 89, 90, 100, 250};
  const Histogram bins = histogram_of(percents);
  EXPECT_EQ(bins, (Histogram{3, 1, 0, 0, 0, 0, 0, 0, 1, 3}));
}

TEST(DrawHistograms, DrawsBothToOneScale) {
  const std::string text = draw_histograms({4}, {2, 2}, Terminal(), 0);
  EXPECT_NE(text.find("0-10 %       4  ########################      2  ############\n"), std::string::npos) << text;
  EXPECT_NE(text.find("10-20 %       0                                2  ############\n"), std::string::npos) << text;
}

TEST(DrawHistograms, HandlesZeroNodes) {
  EXPECT_EQ(draw_histograms({}, {}, Terminal(), 0).find('#'), std::string::npos);
}

}  // namespace
}  // namespace berth
