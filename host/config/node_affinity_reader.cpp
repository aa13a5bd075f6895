// SPDX-License-Identifier: Apache-2.0
#include "host/config/node_affinity_reader.h"

#include <algorithm>
#include <string>
#include <utility>

namespace berth {
namespace {

/// A requirement with the data to check it; whether it is checked is known after the whole term was read.
struct ReadTerm {
  NodeSelectorTerm term;
  std::vector<std::pair<std::string, std::string>> problems;  ///< path, message
};

bool takes_one_integer(SelectorOperator op) { return op == SelectorOperator::kGt || op == SelectorOperator::kLt; }
bool takes_values(SelectorOperator op) { return op == SelectorOperator::kIn || op == SelectorOperator::kNotIn; }

/// Why a label requirement does not parse: docs/behaviour/plugins-node.md 8.1; empty when it does.
std::string label_requirement_problem(const SelectorRequirement& requirement) {
  const std::size_t count = requirement.values.size();
  const std::string op(to_string(requirement.op));
  if (!is_qualified_name(requirement.key)) return "key \"" + requirement.key + "\" is no label key";
  if (takes_values(requirement.op) && count == 0) return "operator " + op + " needs at least one value";
  if (takes_one_integer(requirement.op) && (count != 1 || !parse_int64(requirement.values[0]))) {
    return "operator " + op + " needs exactly one value, an integer";
  }
  if (!takes_values(requirement.op) && !takes_one_integer(requirement.op) && count != 0) {
    return "operator " + op + " takes no values";
  }
  const auto bad = std::find_if_not(requirement.values.begin(), requirement.values.end(), is_label_value);
  return bad == requirement.values.end() ? "" : "value \"" + *bad + "\" is no label value";
}

std::string field_requirement_problem(const SelectorRequirement& requirement) {
  if (!takes_values(requirement.op)) return "a field takes the operators In and NotIn only";
  return requirement.values.size() == 1 ? "" : "a field needs exactly one value";
}

/// @return whether the operator is one
bool read_requirement(const JsonValue& element, SelectorRequirement& out) {
  bool has_operator = false;
  element.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
    if (key == "key") {
      value.read(out.key);
    } else if (key == "operator") {
      std::string_view text;
      if (!value.read(text)) return true;
      if (const auto op = parse_selector_operator(text)) {
        out.op = *op;
        has_operator = true;
      }
    } else if (key == "values") {
      value.read(out.values);
    } else {
      return false;
    }
    return true;
  });
  return has_operator;
}

void read_requirements(const JsonValue& list, std::string (*problem_of)(const SelectorRequirement&), ReadTerm& term,
                       std::vector<SelectorRequirement>& out) {
  list.for_each_element([&](const JsonValue& element) {
    SelectorRequirement requirement;
    if (!read_requirement(element, requirement)) {
      const JsonValue op = element.field("operator");
      term.problems.emplace_back(op.path(),
                                 "got " + op.describe() + ", expected In, NotIn, Exists, DoesNotExist, Gt or Lt");
    } else if (std::string why = problem_of(requirement); !why.empty()) {
      term.problems.emplace_back(element.path(), std::move(why));
    }
    out.push_back(std::move(requirement));
  });
}

ReadTerm read_term(const JsonValue& value) {
  ReadTerm read;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& list) {
    if (key == "matchExpressions") {
      read_requirements(list, label_requirement_problem, read, read.term.match_expressions);
    } else if (key == "matchFields") {
      read_requirements(list, field_requirement_problem, read, read.term.match_fields);
    } else {
      return false;
    }
    return true;
  });
  return read;
}

void read_required(const JsonValue& selector, std::vector<NodeSelectorTerm>& out, ProblemSink& sink) {
  selector.for_each_field_strict([&](std::string_view key, const JsonValue& terms) {
    if (key != "nodeSelectorTerms") return false;
    terms.for_each_element([&](const JsonValue& element) {
      ReadTerm read = read_term(element);
      for (auto& [path, message] : read.problems) sink.add(std::move(path), std::move(message));
      out.push_back(std::move(read.term));
    });
    return true;
  });
}

PreferredSchedulingTerm read_preferred(const JsonValue& element, ProblemSink& sink) {
  PreferredSchedulingTerm preferred;
  ReadTerm read;
  element.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
    if (key == "weight") {
      value.read(preferred.weight);
    } else if (key == "preference") {
      read = read_term(value);
    } else {
      return false;
    }
    return true;
  });
  if (preferred.weight != 0) {
    for (auto& [path, message] : read.problems) sink.add(std::move(path), std::move(message));
  }
  preferred.preference = std::move(read.term);
  return preferred;
}

}  // namespace

NodeAffinity read_node_affinity(const JsonValue& value, ProblemSink& sink) {
  NodeAffinity affinity;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      if (field.present()) read_required(field, affinity.required.emplace(), sink);
    } else if (key == "preferredDuringSchedulingIgnoredDuringExecution") {
      field.for_each_element([&](const JsonValue& term) { affinity.preferred.push_back(read_preferred(term, sink)); });
    } else {
      return false;
    }
    return true;
  });
  return affinity;
}

}  // namespace berth
