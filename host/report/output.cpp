// SPDX-License-Identifier: Apache-2.0
#include "host/report/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth {
namespace {

/// Waits until a non-blocking descriptor takes bytes again. @return false when waiting is not possible
bool wait_until_writable(int descriptor) noexcept {
  pollfd waiting{descriptor, POLLOUT, 0};
  return ::poll(&waiting, 1, -1) >= 0 || errno == EINTR;
}

}  // namespace

int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0) {
      return EIO;  // no progress; trying again could go on for ever
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_until_writable(descriptor)) return errno;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Output::~Output() { drain(); }

int Output::drain() {
  int problem = 0;
  if (target_ != nullptr) {
    target_->append(buffer_);
  } else {
    problem = write_all(descriptor_, buffer_);
  }
  buffer_.clear();
  return problem;
}

void Output::flush() {
  const int problem = drain();
  if (problem == 0) return;
  // A closed standard output is replaced by a socket without a peer: standard_streams.h.
  const bool is_closed = descriptor_ == STDOUT_FILENO && (problem == ENOTCONN || problem == EBADF);
  throw OutputError(std::string("cannot write the output: ") +
                    (is_closed ? "standard output is closed" : std::strerror(problem)));
}

void print_output(std::string_view text) {
  Output output(STDOUT_FILENO);
  output.write(text);
  output.flush();
}

}  // namespace berth
