// SPDX-License-Identifier: Apache-2.0
#include "host/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth {

Output::~Output() { drain(); }

int Output::drain() {
  int problem = 0;
  std::string_view left = buffer_;
  if (target_ != nullptr) {
    target_->append(left);
    left = {};
  }
  while (!left.empty() && problem == 0) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      problem = errno;
    }
  }
  buffer_.clear();
  return problem;
}

void Output::flush() {
  const int problem = drain();
  if (problem != 0) throw OutputError(std::string("cannot write the output: ") + std::strerror(problem));
}

}  // namespace berth
