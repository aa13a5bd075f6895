// SPDX-License-Identifier: Apache-2.0
#include "host/cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace berth {
namespace {

bool is_closed(int descriptor) noexcept { return ::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF; }

/// @param wrong_mode  open mode in which the descriptor cannot do its work
bool reserve(int descriptor, int wrong_mode) noexcept {
  int opened = ::open("/dev/null", wrong_mode);
  if (opened == -1) opened = ::open("/", O_RDONLY | O_DIRECTORY);  // neither read() nor write() works on a directory
  // Lower descriptors are open already, so open() gives the lowest free one: the one that is asked for.
  return opened == descriptor;
}

}  // namespace

bool prepare_standard_streams() noexcept {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (is_closed(STDIN_FILENO) && !reserve(STDIN_FILENO, O_WRONLY)) return false;
  if (is_closed(STDOUT_FILENO) && !reserve(STDOUT_FILENO, O_RDONLY)) return false;
  return !is_closed(STDERR_FILENO) || reserve(STDERR_FILENO, O_RDONLY);
}

}  // namespace berth
