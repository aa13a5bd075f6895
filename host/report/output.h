// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace berth {

/// The output could not be written: a full disk, a closed pipe, a closed descriptor.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Writes all of `text`, also when the descriptor is interrupted, takes only a part, or is non-blocking and full.
/// @return 0, or the errno of the failure
int write_all(int descriptor, std::string_view text) noexcept;

/// Buffers bytes for a file descriptor and writes them in large blocks: a report may have millions of lines.
class Output {
 public:
  /// @param descriptor stays open and belongs to the caller
  explicit Output(int descriptor) : descriptor_(descriptor) {}
  /// Everything is appended to `target`, which must outlive this object.
  explicit Output(std::string& target) : target_(&target) {}
  /// Writes what is left and ignores a failure; call flush() to hear of one.
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
  /// Writes and empties the buffer. @return 0, or the errno of the failure
  int drain();

  static constexpr std::size_t kFlushBytes = std::size_t{1} << 18;
  int descriptor_ = -1;
  std::string* target_ = nullptr;
  std::string buffer_;
};

/// Writes `text` to standard output. @throws OutputError
void print_output(std::string_view text);

}  // namespace berth
