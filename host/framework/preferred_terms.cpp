// SPDX-License-Identifier: Apache-2.0
#include "host/framework/preferred_terms.h"

#include <algorithm>
#include <string_view>

namespace berth {
namespace {

constexpr std::string_view kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kQualifiedNameRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::size_t kLabelBytesMax = 63;

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string quoted_list(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) out += (out.size() > 1 ? "," : "") + quoted(value);
  return out + "]";
}

/// Collects problem texts, each once, in the order they were found.
class Problems {
 public:
  void invalid(const std::string& path, const std::string& value, std::string_view detail) {
    add(path + ": Invalid value: " + value + ": " + std::string(detail));
  }
  void add(std::string text) {
    if (std::find(texts_.begin(), texts_.end(), text) == texts_.end()) texts_.push_back(std::move(text));
  }
  std::optional<std::string> text() const {
    if (texts_.empty()) return std::nullopt;
    if (texts_.size() == 1) return texts_.front();
    std::string all = "[";
    for (const std::string& text : texts_) all += (all.size() > 1 ? ", " : "") + text;
    return all + "]";
  }

 private:
  std::vector<std::string> texts_;
};

void check_value_count(const SelectorRequirement& requirement, const std::string& path, Problems& problems) {
  const std::string values = quoted_list(requirement.values);
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      if (requirement.values.empty()) {
        problems.invalid(path, values, "for 'in', 'notin' operators, values set can't be empty");
      }
      return;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      if (!requirement.values.empty()) {
        problems.invalid(path, values, "values set must be empty for exists and does not exist");
      }
      return;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      if (requirement.values.size() != 1) {
        problems.invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required");
      }
      return;
  }
}

void check_integers(const SelectorRequirement& requirement, const std::string& path, Problems& problems) {
  if (requirement.op != SelectorOperator::kGt && requirement.op != SelectorOperator::kLt) return;
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    if (parse_int64(requirement.values[i])) continue;
    problems.invalid(path + "[" + std::to_string(i) + "]", quoted(requirement.values[i]),
                     "for 'Gt', 'Lt' operators, the value must be an integer");
  }
}

void check_label_values(const SelectorRequirement& requirement, const std::string& path, Problems& problems) {
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    const std::string& value = requirement.values[i];
    if (is_label_value(value)) continue;
    problems.invalid(path + "[" + std::to_string(i) + "][" + requirement.key + "]", quoted(value),
                     value.size() > kLabelBytesMax ? "must be no more than 63 bytes" : kLabelValueRule);
  }
}

void check_expression(const SelectorRequirement& requirement, const std::string& path, Problems& problems) {
  if (!is_qualified_name(requirement.key)) {
    problems.invalid(path + ".key", quoted(requirement.key), kQualifiedNameRule);
  }
  check_value_count(requirement, path + ".values", problems);
  check_integers(requirement, path + ".values", problems);
  check_label_values(requirement, path + ".values", problems);
}

void check_field(const SelectorRequirement& requirement, const std::string& path, Problems& problems) {
  if (requirement.op != SelectorOperator::kIn && requirement.op != SelectorOperator::kNotIn) {
    problems.add(path + ".operator: Unsupported value: " + quoted(to_string(requirement.op)) +
                 ": supported values: \"In\", \"NotIn\"");
  } else if (requirement.values.size() != 1) {
    problems.invalid(path + ".values", quoted_list(requirement.values), "must have one element");
  }
}

void check_term(const NodeSelectorTerm& term, const std::string& path, Problems& problems) {
  for (std::size_t i = 0; i < term.match_expressions.size(); ++i) {
    check_expression(term.match_expressions[i], path + ".matchExpressions[" + std::to_string(i) + "]", problems);
  }
  for (std::size_t i = 0; i < term.match_fields.size(); ++i) {
    check_field(term.match_fields[i], path + ".matchFields[" + std::to_string(i) + "]", problems);
  }
}

}  // namespace

std::optional<std::string> preferred_terms_problem(const std::vector<PreferredSchedulingTerm>& terms) {
  Problems problems;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].weight != 0) check_term(terms[i].preference, "[" + std::to_string(i) + "]", problems);
  }
  return problems.text();
}

std::optional<std::string> preferred_terms_error(const std::vector<PreferredSchedulingTerm>& terms) {
  std::optional<std::string> problem = preferred_terms_problem(terms);
  if (!problem) return std::nullopt;
  return "running PreScore plugin \"NodeAffinity\": " + *problem;
}

}  // namespace berth
