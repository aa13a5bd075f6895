// SPDX-License-Identifier: Apache-2.0
#include "host/cli/messages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace berth {
namespace {

TEST(Messages, AreOneLineEachWhateverTheTextHolds) {
  testing::internal::CaptureStderr();
  print_message("file\nberth: forged\r\x1b[2J\xc2\x9b\xe2\x80\xae\xff");
  print_warning("a\nb");
  print_note("c");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "berth: file\\nberth: forged\\r\\x1b[2J\\u009b\\u202e\\xff\n"
            "berth: warning: a\\nb\n"
            "berth: note: c\n");
}

TEST(Messages, AreCutAtALimit) {
  testing::internal::CaptureStderr();
  print_message(std::string(kMessageBytesMax, 'x'));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "berth: " + std::string(kMessageBytesMax, 'x') + "\n");
  testing::internal::CaptureStderr();
  print_message(std::string(kMessageBytesMax - 1, 'x') + "\xc3\xa9");  // the last character is beyond the limit
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "berth: " + std::string(kMessageBytesMax - 1, 'x') + "...\n");
  testing::internal::CaptureStderr();
  print_message(std::string(1 << 20, '\n'));
  EXPECT_LT(testing::internal::GetCapturedStderr().size(), kMessageBytesMax + 100);
}

TEST(Messages, AreDroppedWhereStandardErrorTakesNone) {
  const int saved = ::dup(STDERR_FILENO);
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  ::dup2(full, STDERR_FILENO);
  print_warning("text");  // must return
  ::close(STDERR_FILENO);
  print_warning("text");
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(full);
}

}  // namespace
}  // namespace berth
