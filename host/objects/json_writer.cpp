// SPDX-License-Identifier: Apache-2.0
#include "host/objects/json_writer.h"

#include <algorithm>

namespace berth {
namespace {

constexpr std::uint32_t kReplacement = 0xfffd;

/// Takes one code point off the front of `text`. Bytes that are not UTF-8 give the replacement character, one each.
std::uint32_t take_code_point(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  std::uint32_t code = length == 1 ? first : first & (0x7fu >> length);
  bool valid = length == 1 || (first >= 0xc2 && first < 0xf5 && length <= text.size());
  for (std::size_t i = 1; valid && i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    valid = (byte & 0xc0u) == 0x80;
    code = code << 6 | (byte & 0x3fu);
  }
  text.remove_prefix(valid ? length : 1);
  return valid ? code : kReplacement;
}

void append_unit(std::string& out, std::uint32_t unit) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[unit >> shift & 0xfu];
}

bool is_ascii_text(char byte) { return static_cast<unsigned char>(byte) < 0x7f; }

}  // namespace

void JsonWriter::append_text(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_ascii_text)) return append_json_string(out_, text);
  std::string quoted;
  append_json_string(quoted, text);
  for (std::string_view rest = quoted; !rest.empty();) {
    const std::uint32_t code = take_code_point(rest);
    if (code < 0x7f) {
      out_ += static_cast<char>(code);
    } else if (code <= 0xffff) {
      append_unit(out_, code);
    } else {
      append_unit(out_, 0xd800 + ((code - 0x10000) >> 10));
      append_unit(out_, 0xdc00 + ((code - 0x10000) & 0x3ff));
    }
  }
}

}  // namespace berth
