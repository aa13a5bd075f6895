// SPDX-License-Identifier: Apache-2.0
#include "host/objects/selectors.h"

#include <array>
#include <charconv>

namespace berth {
namespace {

constexpr std::array<std::string_view, 6> kOperatorNames = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
constexpr std::size_t kNameBytesMax = 63;
constexpr std::size_t kSubdomainBytesMax = 253;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_alnum(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }
bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

/// 1 to 63 of [A-Za-z0-9_.-], alphanumeric at both ends: a label value that is not empty, and the name behind a prefix.
bool is_short_name(std::string_view text) {
  if (text.empty() || text.size() > kNameBytesMax || !is_alnum(text.front()) || !is_alnum(text.back())) return false;
  for (const char c : text) {
    if (!is_alnum(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

}  // namespace

std::optional<SelectorOperator> parse_selector_operator(std::string_view text) {
  for (std::size_t i = 0; i < kOperatorNames.size(); ++i) {
    if (kOperatorNames[i] == text) return static_cast<SelectorOperator>(i);
  }
  return std::nullopt;
}

std::string_view to_string(SelectorOperator op) { return kOperatorNames[static_cast<std::size_t>(op)]; }

bool is_label_value(std::string_view text) { return text.empty() || is_short_name(text); }

bool is_qualified_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_short_name(text);
  return is_dns_subdomain(text.substr(0, slash)) && is_short_name(text.substr(slash + 1));
}

bool is_dns_subdomain(std::string_view text) {
  if (text.empty() || text.size() > kSubdomainBytesMax) return false;
  char before = '.';
  for (const char c : text) {
    if (!is_lower_alnum(c) && c != '-' && c != '.') return false;
    if (before == '.' && !is_lower_alnum(c)) return false;  // a part starts alphanumeric and is not empty
    if (c == '.' && !is_lower_alnum(before)) return false;  // and ends alphanumeric
    before = c;
  }
  return is_lower_alnum(before);
}

bool is_dns_label(std::string_view text) {
  return text.size() <= kNameBytesMax && text.find('.') == std::string_view::npos && is_dns_subdomain(text);
}

std::optional<std::int64_t> parse_int64(std::string_view text) {
  if (!text.empty() && text[0] == '+') {
    text.remove_prefix(1);
    if (text.empty() || !is_digit(text[0])) return std::nullopt;
  }
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

}  // namespace berth
