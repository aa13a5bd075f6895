// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/token_mutator.h"

#include <algorithm>
#include <cctype>
#include <random>

namespace berth::fuzz {
namespace {

struct Range {
  std::size_t begin = 0;
  std::size_t size = 0;
};

std::size_t end_of_string(std::string_view text, std::size_t quote) {
  std::size_t at = quote + 1;
  while (at < text.size() && text[at] != '"' && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '+'; }

/// Strings with their quotes, numbers and names.
std::vector<Range> tokens_of(std::string_view text) {
  std::vector<Range> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    if (text[at] == '"') {
      end = end_of_string(text, at);
    } else {
      while (end < text.size() && is_plain(text[end])) ++end;
    }
    if (end > at) tokens.push_back({at, end - at});
    at = std::max(end, at + 1);
  }
  return tokens;
}

std::vector<Range> lines_of(std::string_view text) {
  std::vector<Range> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back({at, end - at});
    at = end;
  }
  return lines;
}

}  // namespace

std::string mutate_tokens(std::string_view text, const std::vector<std::string_view>& words, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  const std::vector<Range> tokens = tokens_of(text);
  const std::vector<Range> lines = lines_of(text);
  if (tokens.empty() || lines.empty()) return std::string(text);
  std::string out(text);
  const Range line = lines[pick(lines.size())];
  const Range token = tokens[pick(tokens.size())];
  switch (pick(8)) {
    case 0:  // a line twice
      return out.insert(line.begin, text.substr(line.begin, line.size));
    case 1:
      return out.erase(line.begin, line.size);
    case 2:
    case 3:
    case 4: {
      const Range other = tokens[pick(tokens.size())];
      return out.replace(token.begin, token.size, text.substr(other.begin, other.size));
    }
    default:
      return out.replace(token.begin, token.size, words[pick(words.size())]);
  }
}

}  // namespace berth::fuzz
