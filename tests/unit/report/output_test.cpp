// SPDX-License-Identifier: Apache-2.0
#include "host/report/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

namespace berth {
namespace {

TEST(Output, ReportsThatAFullDeviceTookNothing) {
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  Output output(full);
  output.write("text");
  EXPECT_THROW(output.flush(), OutputError);
  ::close(full);
}

TEST(Output, ReportsAClosedDescriptor) {
  Output output(-1);
  output.write("text");
  EXPECT_THROW(output.flush(), OutputError);
}

TEST(WriteAll, ReportsAPipeWithoutAReader) {
  const auto handler = std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[0]);
  EXPECT_EQ(write_all(ends[1], "text"), EPIPE);
  ::close(ends[1]);
  std::signal(SIGPIPE, handler);
}

TEST(WriteAll, WaitsForANonBlockingPipeThatIsFull) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK), 0);
  const std::string text(std::size_t{1} << 20, 'x');  // more than a pipe holds
  std::size_t received = 0;
  std::thread reader([&] {
    std::array<char, 4096> buffer;
    while (received < text.size()) {
      const ssize_t count = ::read(ends[0], buffer.data(), buffer.size());
      if (count > 0) received += static_cast<std::size_t>(count);
      if (count < 0) std::this_thread::yield();
    }
  });
  EXPECT_EQ(write_all(ends[1], text), 0);
  reader.join();
  EXPECT_EQ(received, text.size());
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace berth
