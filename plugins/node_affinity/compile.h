// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/cluster/snapshot.h"
#include "host/objects/pod.h"
#include "plugins/node_affinity/rule.h"

namespace berth {

/// A list of node selector terms, compiled against the label columns of a snapshot. Owns what its Terms point to and
/// borrows the columns: void once node objects change.
class CompiledTerms {
 public:
  /// Required terms: an empty term matches nothing. Preferred: weight 0 and empty terms are dropped.
  static CompiledTerms required(const std::vector<NodeSelectorTerm>& terms, Snapshot& snapshot);
  static CompiledTerms preferred(const std::vector<PreferredSchedulingTerm>& terms, Snapshot& snapshot);
  /// One term: equality on every entry, nothing validated.
  static CompiledTerms selector(const LabelMap& node_selector, Snapshot& snapshot);

  bool empty() const { return terms_.empty(); }
  std::span<const NodeAffinityRule::Term> terms() const { return terms_; }
  bool matches_any(std::int32_t node) const {
    return NodeAffinityRule::matches_any(terms_.data(), static_cast<std::int32_t>(terms_.size()), node);
  }
  std::int64_t score(std::int32_t node) const {
    return NodeAffinityRule::score(terms_.data(), static_cast<std::int32_t>(terms_.size()), node);
  }

 private:
  void add(const NodeSelectorTerm& term, std::int64_t weight, Snapshot& snapshot);
  NodeAffinityRule::Requirement compile(const SelectorRequirement& requirement, Snapshot& snapshot);

  std::vector<NodeAffinityRule::Term> terms_;
  std::vector<std::unique_ptr<NodeAffinityRule::Requirement[]>> requirements_;
  std::vector<std::unique_ptr<NodeAffinityRule::NameRequirement[]>> names_;
  std::vector<std::unique_ptr<std::uint64_t[]>> accepted_;
};

/// What NodeAffinity knows of one pod.
struct CompiledNodeAffinity {
  std::optional<CompiledTerms> selector;  ///< absent: no nodeSelector entry
  std::optional<CompiledTerms> required;  ///< absent: no required affinity
  CompiledTerms preferred;
  bool scores = false;  ///< the pod has a preferred list, so PreScore does not skip
  /// PreFilter's node set, ascending: docs/behaviour/plugins-node.md 8.3. Absent: all nodes.
  std::optional<std::vector<std::int32_t>> node_set;
  bool conflict = false;  ///< PreFilter refuses the pod: no name is in all requirements of a term

  bool matches(std::int32_t node) const {
    return (!selector || selector->matches_any(node)) && (!required || required->matches_any(node));
  }
};

CompiledNodeAffinity compile_node_affinity(const PodSpec& spec, Snapshot& snapshot);

/// docs/behaviour/plugins-node.md 8.1: matches nothing when required, an error when preferred.
bool is_malformed(const NodeSelectorTerm& term);

}  // namespace berth
