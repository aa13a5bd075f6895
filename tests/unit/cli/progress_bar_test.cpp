// SPDX-License-Identifier: Apache-2.0
#include "host/cli/progress_bar.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(ProgressBar, ShowsTheShareThatIsDone) {
  const std::string text = progress_text("placing", 1200, 3000, Terminal());
  EXPECT_TRUE(text.starts_with("placing ")) << text;
  EXPECT_TRUE(text.ends_with(" 1,200 of 3,000")) << text;
}

TEST(ProgressBar, ShowsTheCountAloneWhenTheTotalIsNotKnown) {
  EXPECT_EQ(progress_text("reading", 1200, 0, Terminal()), "reading 1,200");
}

TEST(ProgressBar, PrintsNothingAwayFromATerminal) {
  testing::internal::CaptureStderr();
  {
    ProgressBar bar("reading");
    bar.update(1, 0);
    bar.update(1, 2);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace berth
