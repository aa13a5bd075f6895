// SPDX-License-Identifier: Apache-2.0
#include "host/framework/preferred_terms.h"

#include "host/framework/label_problems.h"

namespace berth {
namespace {

void check_field(const SelectorRequirement& requirement, const std::string& path, ProblemTexts& problems) {
  if (requirement.op != SelectorOperator::kIn && requirement.op != SelectorOperator::kNotIn) {
    problems.add(path + ".operator: Unsupported value: " + quoted_value(to_string(requirement.op)) +
                 ": supported values: \"In\", \"NotIn\"");
  } else if (requirement.values.size() != 1) {
    problems.invalid(path + ".values", quoted_values(requirement.values), "must have one element");
  }
}

void check_term(const NodeSelectorTerm& term, const std::string& path, ProblemTexts& problems) {
  for (std::size_t i = 0; i < term.match_expressions.size(); ++i) {
    check_requirement(term.match_expressions[i], path + ".matchExpressions[" + std::to_string(i) + "].", problems);
  }
  for (std::size_t i = 0; i < term.match_fields.size(); ++i) {
    check_field(term.match_fields[i], path + ".matchFields[" + std::to_string(i) + "]", problems);
  }
}

}  // namespace

std::optional<std::string> preferred_terms_problem(const std::vector<PreferredSchedulingTerm>& terms) {
  ProblemTexts problems;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].weight != 0) check_term(terms[i].preference, "[" + std::to_string(i) + "]", problems);
  }
  return problems.text();
}

}  // namespace berth
