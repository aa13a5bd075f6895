// SPDX-License-Identifier: Apache-2.0
#include "host/report/paragraph.h"

#include <algorithm>

#include "host/report/terminal.h"

namespace berth {
namespace {

/// Where the text behind a label of a hanging paragraph begins; 0 when there is no label.
std::size_t hanging_indent(std::string_view text) {
  if (text.substr(0, 2) == "- ") return 2;
  const std::size_t label = text.find_first_not_of(' ');
  const std::size_t gap = label == text.npos ? text.npos : text.find("  ", label);
  const std::size_t body = gap == text.npos ? text.npos : text.find_first_not_of(' ', gap);
  return body == text.npos ? 0 : body;
}

/// The next part of a paragraph that stays on one line: a word, or a command, so that it can be copied. It ends with a
/// semicolon, or with the paragraph.
std::string_view next_part(std::string_view rest) {
  if (!rest.starts_with("kubectl ")) return rest.substr(0, rest.find(' '));
  const std::size_t semicolon = rest.find("; ");
  return semicolon == rest.npos ? rest : rest.substr(0, semicolon + 1);
}

}  // namespace

std::string wrap(std::string_view paragraph, int columns, int indent) {
  const std::string text = printable(paragraph);
  const std::size_t hang = hanging_indent(text);
  std::string wrapped(static_cast<std::size_t>(indent), ' ');
  wrapped.append(text, 0, hang);
  std::string_view rest = std::string_view(text).substr(hang);
  const int start = indent + static_cast<int>(hang);
  int column = start;
  while (!rest.empty()) {
    const std::string_view part = next_part(rest);
    const int width = display_width(part);
    if (column > start && column + 1 + width > columns) {
      wrapped.append("\n").append(static_cast<std::size_t>(start), ' ');
      column = start;
    } else if (column > start) {
      wrapped.push_back(' ');
      ++column;
    }
    wrapped.append(part);
    column += width;
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  }
  return wrapped + "\n";
}

}  // namespace berth
