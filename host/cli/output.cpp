// SPDX-License-Identifier: Apache-2.0
#include "host/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth {

Output::~Output() {
  try {
    flush();
  } catch (const OutputError&) {  // a destructor has nobody to tell
  }
}

void Output::flush() {
  if (target_ != nullptr) {
    target_->append(buffer_);
    buffer_.clear();
    return;
  }
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      buffer_.clear();
      throw OutputError(std::string("cannot write the output: ") + std::strerror(errno));
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

}  // namespace berth
