// SPDX-License-Identifier: Apache-2.0
#include "host/objects/errors.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace berth {
namespace {

std::string join(const std::vector<InputProblem>& problems) {
  std::string text;
  for (const InputProblem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += problem.to_string();
  }
  return text;
}

/// `text` without quoted strings, digits, and text in square brackets.
std::string without_values(std::string_view text) {
  std::string out;
  bool is_quoted = false;
  int bracket_depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && c == '[') {
      ++bracket_depth;
    } else if (!is_quoted && c == ']') {
      bracket_depth = std::max(bracket_depth - 1, 0);
    } else if (!is_quoted && bracket_depth == 0 && (c < '0' || c > '9')) {
      out += c;
    }
  }
  return out;
}

/// The path within the object: without the line and the list items that lead to it.
std::string_view path_in_object(std::string_view location) {
  constexpr std::string_view kLine = "line , ";
  constexpr std::string_view kItems = "items.";
  if (location.starts_with(kLine)) location.remove_prefix(kLine.size());
  while (location.starts_with(kItems)) location.remove_prefix(kItems.size());
  return location;
}

/// What remains of a problem when all that differs from object to object is taken out.
std::string what_is_said(const InputProblem& problem) {
  const std::string kind = problem.object.substr(0, problem.object.find(' '));
  const std::string location = without_values(problem.location);
  return kind + '\n' + std::string(path_in_object(location)) + '\n' + without_values(problem.message);
}

}  // namespace

std::string InputProblem::to_string() const {
  std::string place = location;
  if (!object.empty()) place += place.empty() ? object : " (" + object + ")";
  std::string text;
  for (const std::string* part : {&source, &std::as_const(place), &message}) {
    if (part->empty()) continue;
    if (!text.empty()) text += ": ";
    text += *part;
  }
  if (repeat_count > 0) text += " (and " + std::to_string(repeat_count) + " more like it)";
  return text;
}

std::uint64_t group_of(const InputProblem& problem) {
  return std::max<std::uint64_t>(1, std::hash<std::string>{}(what_is_said(problem)));
}

void fold_into(std::vector<InputProblem>& problems, InputProblem&& problem, std::size_t limit) {
  if (problem.group == 0) problem.group = group_of(problem);
  const auto same = std::find_if(problems.begin(), problems.end(),
                                 [&](const InputProblem& kept) { return kept.group == problem.group; });
  if (same != problems.end()) {
    same->repeat_count += 1 + problem.repeat_count;
  } else if (problems.size() < limit) {
    problems.push_back(std::move(problem));
  }
}

std::int64_t total_count(const std::vector<InputProblem>& problems) {
  std::int64_t count = 0;
  for (const InputProblem& problem : problems) count += 1 + problem.repeat_count;
  return count;
}

InputError::InputError(InputProblem problem) : InputError(std::vector<InputProblem>{std::move(problem)}) {}

InputError::InputError(std::vector<InputProblem> problems)
    : std::runtime_error(join(problems)), problems_(std::move(problems)) {}

}  // namespace berth
