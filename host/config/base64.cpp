// SPDX-License-Identifier: Apache-2.0
#include "host/config/base64.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace berth {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<std::uint32_t> base64_digit(char c) {
  const auto at = kDigits.find(c);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(at);
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits), [](char c) { return c != '\n' && c != '\r'; });
  if (digits.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && !digits.empty() && digits.back() == '=') {
    digits.pop_back();
    ++padding;
  }
  std::string bytes;
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : digits) {
    const auto digit = base64_digit(c);
    if (!digit) return std::nullopt;
    bits = (bits << 6 | *digit) & 0xffffu;
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes += static_cast<char>(static_cast<unsigned char>(bits >> bit_count & 0xffu));
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= group.size() ? kDigits[bits >> (18 - 6 * i) & 0x3fu] : '=';
    }
  }
  return text;
}

void read_base64(const JsonValue& value, std::string& out) {
  if (value.present() && !value.is_string()) {
    value.problem("expected base64");
    return;
  }
  std::string_view text;
  if (!value.read(text)) return;
  if (auto bytes = decode_base64(text)) {
    out = std::move(*bytes);
  } else {
    value.problem("expected base64");  // the value may be a key, so it is not shown
  }
}

}  // namespace berth
