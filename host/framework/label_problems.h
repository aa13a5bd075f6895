// SPDX-License-Identifier: Apache-2.0
#pragma once

// What apimachinery says of requirements and selectors that do not parse, word for word: statuses of plugins show it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/selectors.h"

namespace berth {

/// Problem texts, each once, in the order they were found.
class ProblemTexts {
 public:
  /// `PATH: Invalid value: VALUE: DETAIL`
  void invalid(const std::string& path, const std::string& value, std::string_view detail);
  void add(std::string text);
  /// nullopt without a problem; several stand in brackets.
  std::optional<std::string> text() const;

 private:
  std::vector<std::string> texts_;
};

/// `"text"`, as problem texts show values.
std::string quoted_value(std::string_view text);
/// `["a","b"]`; an empty list is `null`, as one is that came from an API server.
std::string quoted_values(const std::vector<std::string>& values);

/// Adds what is wrong with one requirement, whichever of the six operators it has.
/// @param path  stands before "key" and "values": "[0].matchExpressions[1]." or ""
void check_requirement(const SelectorRequirement& requirement, const std::string& path, ProblemTexts& problems);

/// Why a label selector does not parse: the problems of its first bad requirement, matchLabels in front.
/// @return nullopt when it parses; a null selector does
std::optional<std::string> label_selector_problem(const std::optional<LabelSelector>& selector);

}  // namespace berth
