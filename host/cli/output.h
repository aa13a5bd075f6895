// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace berth {

/// The place where output goes did not take it (a full disk, a closed pipe).
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bytes on their way to a file descriptor, collected into large writes: a report may have millions of lines.
class Output {
 public:
  /// @param descriptor stays open and belongs to the caller
  explicit Output(int descriptor) : descriptor_(descriptor) {}
  /// Everything is appended to `target`, which must outlive this.
  explicit Output(std::string& target) : target_(&target) {}
  /// Writes what is left and forgets a failure; call flush() to hear of one.
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view text) {
    buffer_.append(text);
    if (buffer_.size() >= kFlushBytes) flush();
  }
  void write(char byte) { buffer_.push_back(byte); }
  /// @throws OutputError
  void flush();

 private:
  /// Writes and empties the buffer. @return 0, or the errno of what went wrong
  int drain();

  static constexpr std::size_t kFlushBytes = std::size_t{1} << 18;
  int descriptor_ = -1;
  std::string* target_ = nullptr;
  std::string buffer_;
};

}  // namespace berth
