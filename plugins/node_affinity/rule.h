// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

struct CompiledNodeAffinity;  // compile.h

/// nodeSelector, required and preferred node affinity, and the profile's addedAffinity:
/// docs/behaviour/plugins-node.md 8. All operators come down to one test: is the id of the node's value in a set? (Id
/// 0, the absent value, included.)
struct NodeAffinityRule {
  static constexpr RuleDescriptor descriptor{.name = "NodeAffinity",
                                             .touches = Touches::kNothing,
                                             .filters = true,
                                             .scores = true,
                                             .normalizer = Normalizer::kByMaximum};
  static constexpr std::string_view name = descriptor.name;
  using NodeSide = CompiledNodeAffinity;
  static constexpr std::string_view reason = "node(s) didn't match Pod's node affinity/selector";
  static constexpr std::string_view reason_added = "node(s) didn't match scheduler-enforced node affinity";
  static constexpr std::string_view reason_conflict = "pod affinity terms conflict";

  /// One compiled requirement on a label.
  struct Requirement {
    const std::int32_t* value_id;   ///< [node_count] column of the label key; borrowed from the snapshot
    const std::uint64_t* accepted;  ///< [accepted_words] bit per value id; borrowed from the class
    std::int32_t accepted_words;
  };
  /// One compiled requirement on metadata.name.
  struct NameRequirement {
    std::int32_t node;  ///< -1: a name that no node has
    bool equal;         ///< In, else NotIn
  };
  /// AND of its parts. A malformed or empty required term has `never` set.
  struct Term {
    const Requirement* requirements;
    const NameRequirement* names;
    std::int32_t requirement_count;
    std::int32_t name_count;
    std::int64_t weight;  ///< of a preferred term
    bool never;
  };

  BERTH_HD static bool matches(const Requirement& requirement, std::int32_t node) {
    const std::int32_t id = requirement.value_id[node];
    return (requirement.accepted[id >> 6] >> (id & 63) & 1u) != 0;
  }
  BERTH_HD static bool matches(const Term& term, std::int32_t node) {
    bool all = !term.never;
    for (std::int32_t i = 0; i < term.requirement_count; ++i) all = all && matches(term.requirements[i], node);
    for (std::int32_t i = 0; i < term.name_count; ++i) all = all && (term.names[i].node == node) == term.names[i].equal;
    return all;
  }
  /// OR of terms: no term matches no node.
  BERTH_HD static bool matches_any(const Term* terms, std::int32_t count, std::int32_t node) {
    bool any = false;
    for (std::int32_t i = 0; i < count; ++i) any = any || matches(terms[i], node);
    return any;
  }
  BERTH_HD static std::int64_t score(const Term* terms, std::int32_t count, std::int32_t node) {
    std::int64_t sum = 0;
    for (std::int32_t i = 0; i < count; ++i) sum += matches(terms[i], node) ? terms[i].weight : 0;
    return sum;
  }
};

}  // namespace berth
