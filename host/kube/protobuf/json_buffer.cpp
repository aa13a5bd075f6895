// SPDX-License-Identifier: Apache-2.0
#include "host/kube/protobuf/json_buffer.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace berth {
namespace {

constexpr std::size_t kFirstBytes = 4096;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

constexpr std::uint64_t repeated(std::uint8_t byte) { return 0x0101010101010101U * byte; }
constexpr std::uint64_t kHighBits = repeated(0x80);

/// Whether one of eight bytes is below the bound, which is at most 0x80. Bytes from 0x80 on count as not below it.
constexpr std::uint64_t any_below(std::uint64_t word, std::uint8_t bound) {
  return (word - repeated(bound)) & ~word & kHighBits;
}

/// Whether a byte cannot stand in a JSON string as it is, or belongs to more than ASCII.
constexpr bool has_special(std::uint64_t word) {
  const std::uint64_t quote = any_below(word ^ repeated('"'), 1);
  const std::uint64_t backslash = any_below(word ^ repeated('\\'), 1);
  return ((word & kHighBits) | any_below(word, 0x20) | quote | backslash) != 0;
}

bool is_special(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte >= 0x80 || c == '"' || c == '\\';
}

/// Bytes of the character at the beginning of `text`; 0: it is not UTF-8.
std::size_t utf8_length(std::string_view text) {
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                   static_cast<utf8proc_ssize_t>(text.size()), &code);
  return length > 0 ? static_cast<std::size_t>(length) : 0;
}

}  // namespace

void JsonBuffer::grow(std::size_t more) {
  const std::size_t capacity = std::max({kFirstBytes, 2 * capacity_, size_ + more});
  std::unique_ptr<char[]> bytes(new char[capacity]);  // not std::make_unique, which would write zeros
  if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
}

void JsonBuffer::put_number(std::int64_t number) {
  constexpr std::size_t kDigitsMax = 20;
  char* const to = reserve(kDigitsMax);
  size_ += static_cast<std::size_t>(std::to_chars(to, to + kDigitsMax, number).ptr - to);
}

void JsonBuffer::put_string(std::string_view text) {
  char* to = reserve(text.size() + 2);
  *to++ = '"';
  std::size_t at = 0;
  for (; at + kWordBytes <= text.size(); at += kWordBytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, kWordBytes);
    if (has_special(word)) break;
    std::memcpy(to + at, &word, kWordBytes);
  }
  for (; at < text.size() && !is_special(text[at]); ++at) to[at] = text[at];
  size_ += at + 1;
  if (at < text.size()) return put_escaped(text.substr(at));
  to[at] = '"';
  ++size_;
}

/// The rest of a string, and its quote.
void JsonBuffer::put_escaped(std::string_view text) {
  constexpr std::size_t kEscapeBytes = 6;
  constexpr std::string_view kControl = "\\u00";
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  constexpr std::string_view kHex = "0123456789abcdef";
  char* const begin = reserve(text.size() * kEscapeBytes + 1);
  char* to = begin;
  while (!text.empty()) {
    const char c = text.front();
    std::size_t length = 1;
    if (!is_special(c)) {
      *to++ = c;
    } else if (c == '"' || c == '\\') {
      *to++ = '\\';
      *to++ = c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::memcpy(to, kControl.data(), kControl.size());
      to[4] = kHex[static_cast<unsigned char>(c) >> 4];
      to[5] = kHex[static_cast<unsigned char>(c) & 15];
      to += kEscapeBytes;
    } else if (length = utf8_length(text); length > 0) {
      std::memcpy(to, text.data(), length);
      to += length;
    } else {
      std::memcpy(to, kReplacement.data(), kReplacement.size());
      to += kReplacement.size();
      length = 1;
    }
    text.remove_prefix(length);
  }
  *to++ = '"';
  size_ += static_cast<std::size_t>(to - begin);
}

}  // namespace berth
