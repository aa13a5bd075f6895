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
#include "plugins/node_side.h"

namespace berth {

/// A list of node selector terms, compiled against the label columns of a snapshot. Owns what its Terms point to and
/// borrows the columns: void once the number of slots changes, or a node comes or goes whose name they mention.
class CompiledTerms {
 public:
  /// Required terms: an empty term matches nothing. Preferred: weight 0 and empty terms are dropped.
  static CompiledTerms required(const std::vector<NodeSelectorTerm>& terms, Snapshot& snapshot);
  static CompiledTerms preferred(const std::vector<PreferredSchedulingTerm>& terms, Snapshot& snapshot);
  /// One term: equality on every entry, nothing validated.
  static CompiledTerms selector(const LabelMap& node_selector, Snapshot& snapshot);

  /// Call when nodes got other labels: adds the values that are new.
  void extend();
  /// Some term is about names of nodes.
  bool mentions_names() const { return mentions_names_; }

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
  void compile(const SelectorRequirement& requirement, Snapshot& snapshot, NodeAffinityRule::Requirement& compiled);

  /// A requirement as it was written, to test values that come later.
  struct Source {
    SelectorRequirement requirement;
    const LabelColumn* column;
    std::uint64_t known_definitions;  ///< of the column's values
    NodeAffinityRule::Requirement* compiled;
    std::unique_ptr<std::uint64_t[]> accepted;
  };
  static void extend(Source& source);

  std::vector<NodeAffinityRule::Term> terms_;
  std::vector<std::unique_ptr<NodeAffinityRule::Requirement[]>> requirements_;
  std::vector<std::unique_ptr<NodeAffinityRule::NameRequirement[]>> names_;
  std::vector<Source> sources_;
  bool mentions_names_ = false;
};

/// What NodeAffinity knows of one pod. Its node set: docs/behaviour/plugins-node.md 8.3.
struct CompiledNodeAffinity : NodeSideDefaults {
  struct Options {
    std::optional<CompiledTerms> added_required;  ///< of addedAffinity
    CompiledTerms added_preferred;
    bool added_scores = false;         ///< addedAffinity has a preferred list
    bool pre_filters = false;          ///< the node set narrows the search
    std::string preferred_error_head;  ///< of a preferred term that does not parse; empty: nobody parses them
  };
  static Options compile_options(const Profile& profile, const FeatureGates& gates, Snapshot& snapshot);
  static CompiledNodeAffinity compile(const NodeSidePod& pod, const Options& options, Snapshot& snapshot);

  template <class Refuse>
  void filter(const Options& options, const Snapshot& /*snapshot*/, Refuse refuse) const {
    if (options.added_required)
      refuse(NodeAffinityRule::reason_added,
             [&options](std::int32_t node) { return !options.added_required->matches_any(node); });
    if (selector || required) refuse(NodeAffinityRule::reason, [this](std::int32_t node) { return !matches(node); });
  }
  static void extend_options(Options& options) {
    if (options.added_required) options.added_required->extend();
    options.added_preferred.extend();
  }
  static bool options_mention_names(const Options& options) {
    return (options.added_required && options.added_required->mentions_names()) ||
           options.added_preferred.mentions_names();
  }
  void extend(const NodeSidePod& pod, const Options& options, const Snapshot& snapshot);
  bool mentions_names() const {
    return node_set || (required && required->mentions_names()) || preferred.mentions_names();
  }
  void compute_scores(const PodSpec& spec, const Options& options, const Snapshot& snapshot);
  void compute_score(const PodSpec& spec, const Options& options, const Snapshot& snapshot, std::int32_t node);
  std::int64_t score(const Snapshot& /*snapshot*/, std::int32_t node) const {
    return raw_of.empty() ? 0 : raw_of[static_cast<std::size_t>(node)];
  }
  std::int64_t score_now(const PodSpec& /*spec*/, const Options& options, const Snapshot& /*snapshot*/,
                         std::int32_t node) const {
    return preferred.score(node) + options.added_preferred.score(node);
  }
  bool skips_score(const Options& options) const { return !scores && !options.added_scores; }
  std::uint64_t bytes() const { return raw_of.size() * sizeof(std::int64_t); }

  bool matches(std::int32_t node) const {
    return (!selector || selector->matches_any(node)) && (!required || required->matches_any(node));
  }

  std::optional<CompiledTerms> selector;  ///< absent: no nodeSelector entry
  std::optional<CompiledTerms> required;  ///< absent: no required affinity
  CompiledTerms preferred;
  bool scores = false;               ///< the pod has a preferred list, so PreScore does not skip
  bool conflict = false;             ///< no name is in all requirements of a term, for which PreFilter refuses the pod
  std::vector<std::int64_t> raw_of;  ///< [node_count]; empty: 0 everywhere
};

CompiledNodeAffinity compile_node_affinity(const PodSpec& spec, Snapshot& snapshot);

/// docs/behaviour/plugins-node.md 8.1: matches nothing when required, an error when preferred.
bool is_malformed(const NodeSelectorTerm& term);

}  // namespace berth
