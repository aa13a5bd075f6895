// SPDX-License-Identifier: Apache-2.0
#include "host/cli/standard_streams.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace berth {
namespace {

bool is_closed(int descriptor) noexcept { return ::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF; }

bool reserve_input() noexcept {
  int opened = ::open("/dev/null", O_WRONLY);
  if (opened == -1) opened = ::open("/", O_RDONLY | O_DIRECTORY);  // neither read() nor write() works on a directory
  // open() gives the lowest free descriptor, the one that is asked for.
  return opened == STDIN_FILENO;
}

/// Lower descriptors have to be open.
bool reserve_output(int descriptor) noexcept {
  // A socket without a peer takes no bytes, nor can it be reopened by its name /dev/stdout.
  int opened = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (opened == -1) opened = ::open("/dev/null", O_RDONLY);
  if (opened == -1) opened = ::open("/", O_RDONLY | O_DIRECTORY);
  return opened == descriptor;
}

}  // namespace

bool prepare_standard_streams() noexcept {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (is_closed(STDIN_FILENO) && !reserve_input()) return false;
  if (is_closed(STDOUT_FILENO) && !reserve_output(STDOUT_FILENO)) return false;
  return !is_closed(STDERR_FILENO) || reserve_output(STDERR_FILENO);
}

}  // namespace berth
