// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace berth {

/// Text of JSON that is written once and read once; keeps its memory. Members and elements are written with a comma
/// behind each, of which close() takes the last one away.
class JsonBuffer {
 public:
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  /// The text, valid until the next change. @param padding  bytes that may be read behind it
  std::string_view text(std::size_t padding) {
    std::memset(reserve(padding), 0, padding);
    return {bytes_.get(), size_};
  }

  void put(char c) {
    *reserve(1) = c;
    ++size_;
  }
  void put(std::string_view raw) {
    if (raw.empty()) return;  // its pointer may be null, which memcpy() must not get
    std::memcpy(reserve(raw.size()), raw.data(), raw.size());
    size_ += raw.size();
  }
  /// Key and opening bracket, or key alone.
  void open(std::string_view key, char bracket) {
    char* const to = reserve(key.size() + 1);
    std::memcpy(to, key.data(), key.size());
    to[key.size()] = bracket;
    size_ += key.size() + 1;
  }
  void close(char bracket) {
    if (bytes_[size_ - 1] == ',') --size_;
    char* const to = reserve(2);
    to[0] = bracket;
    to[1] = ',';
    size_ += 2;
  }
  /// Takes the comma behind the outermost value away.
  void end() { --size_; }
  void put_number(std::int64_t number);
  /// In quotes. What is not UTF-8 becomes U+FFFD, byte by byte, as Go's encoding/json has it.
  void put_string(std::string_view text);

 private:
  char* reserve(std::size_t more) {
    if (more > capacity_ - size_) grow(more);
    return bytes_.get() + size_;
  }
  void grow(std::size_t more);
  void put_escaped(std::string_view text);

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace berth
