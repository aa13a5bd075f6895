// SPDX-License-Identifier: Apache-2.0
#include "host/kube/access/secret_text.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace berth {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

}  // namespace

bool read_secret(const JsonValue& value, std::string& out) {
  if (!value.present()) return true;
  if (value.is_string()) return value.read(out);
  value.problem("expected a string");
  return false;
}

bool trim_token(std::string& token) {
  const std::size_t first = token.find_first_not_of(kBlanks);
  token = first == std::string::npos ? std::string() : token.substr(first, token.find_last_not_of(kBlanks) + 1 - first);
  return std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool read_token(const JsonValue& value, std::string& out) {
  std::string token;
  if (!read_secret(value, token)) return false;
  if (!trim_token(token)) {
    value.problem("expected a token of visible ASCII characters");
    return false;
  }
  if (!token.empty()) out = std::move(token);
  return true;
}

}  // namespace berth
