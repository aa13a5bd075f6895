// SPDX-License-Identifier: Apache-2.0
#pragma once

// The exact error texts of apimachinery for malformed requirements and selectors, which appear in statuses of plugins.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/selectors.h"

namespace berth {

/// Distinct problem texts, in the order in which they were found.
class ProblemTexts {
 public:
  /// `PATH: Invalid value: VALUE: DETAIL`
  void invalid(const std::string& path, const std::string& value, std::string_view detail);
  void add(std::string text);
  /// nullopt without a problem; several are in brackets.
  std::optional<std::string> text() const;

 private:
  std::vector<std::string> texts_;
};

/// `"text"`, as problem texts show values.
std::string quoted_value(std::string_view text);
/// `["a","b"]`; an empty list is `null`, as in an object from an API server.
std::string quoted_values(const std::vector<std::string>& values);

/// Adds the problems of one requirement with any of the six operators.
/// @param path  prefix of "key" and "values": "[0].matchExpressions[1]." or ""
void check_requirement(const SelectorRequirement& requirement, const std::string& path, ProblemTexts& problems);

/// Why a label selector does not parse: the problems of its first bad requirement, matchLabels first.
/// @return nullopt when it parses; a null selector does
std::optional<std::string> label_selector_problem(const std::optional<LabelSelector>& selector);

}  // namespace berth
