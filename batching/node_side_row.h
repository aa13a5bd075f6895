// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of a row that placements do not change, for the rules of a list. The function templates over a list are
// defined in batching/node_side_build.h and instantiated for the existing rules in node_side_row.cpp.

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "batching/compiled_profile.h"
#include "batching/node_side_scores.h"
#include "batching/rule_score.h"
#include "host/framework/plugin_names.h"

namespace berth {

/// One way in which a rule refuses a class because of the node's object.
struct Refusal {
  std::int32_t rank = kNotEnabled;  ///< in the profile's Filter order
  std::string_view plugin;
  std::string reason;     ///< empty for nodes outside PreFilter's node set
  bool is_error = false;  ///< ends the pod's cycle: MissingFilterState
};

/// The compiled node side of a class, before any node is evaluated.
template <class List>
struct CompiledNodeSideOf {
  using NodeRules = NodeSideRules<List>;

  ApplyNodeSides<List, std::tuple> of_rule;
  /// [NodeRules::index_of] of Score; 0: the rule does not score in the profile, or skips the class.
  std::array<std::int32_t, NodeRules::size> weights{};
  bool pre_filter_refuses = false;  ///< some rule has a pre_filter_message
  std::string pre_score_error;      ///< non-empty: scoring ends in this error

  template <class Rule>
  const typename Rule::NodeSide& of() const {
    return std::get<NodeRules::template index_of<Rule>>(of_rule);
  }
  template <class Rule>
  std::int32_t weight() const {
    return weights[NodeRules::template index_of<Rule>];
  }
  NormalizedWeightsOf<List> normalized_weights() const {
    NormalizedWeightsOf<List> result;
    NormalizedRules<List>::for_each([&](auto tag) {
      using Rule = typename decltype(tag)::type;
      result.of[NormalizedRules<List>::template index_of<Rule>] = weight<Rule>();
    });
    return result;
  }

  /// Non-empty: the plugin's PreFilter refuses the pod before any node is evaluated.
  std::string_view pre_filter_message(std::string_view plugin) const {
    std::string_view found;
    NodeRules::for_each([&](auto tag) {
      using Rule = typename decltype(tag)::type;
      if (Rule::descriptor.name == plugin) found = of<Rule>().pre_filter_message;
    });
    return found;
  }
  /// The plugins whose PreFilter names a node set.
  PluginNames plugins_with_node_set() const {
    PluginNames plugins;
    NodeRules::for_each([&](auto tag) {
      using Rule = typename decltype(tag)::type;
      if (of<Rule>().node_set) plugins.insert(Rule::descriptor.name);
    });
    return plugins;
  }
  /// The names that the plugin's PreFilter allows; null: all.
  const std::set<std::string>* node_names(std::string_view plugin) const {
    const std::set<std::string>* found = nullptr;
    NodeRules::for_each([&](auto tag) {
      using Rule = typename decltype(tag)::type;
      if (Rule::descriptor.name == plugin && of<Rule>().node_set) found = &of<Rule>().node_names;
    });
    return found;
  }
  /// PreFilter's node set; null: all nodes.
  const std::vector<std::int32_t>* node_set() const {
    const std::vector<std::int32_t>* found = nullptr;
    NodeRules::for_each([&](auto tag) {
      const auto& set = of<typename decltype(tag)::type>().node_set;
      if (set) found = &*set;
    });
    return found;
  }
};
using CompiledNodeSide = CompiledNodeSideOf<Rules>;

template <class List>
CompiledNodeSideOf<List> compile_node_side(const NodeSidePod& pod, const ProfileRules<List>& profile,
                                           Snapshot& snapshot);

/// The verdicts and scores of a class that depend on a node's labels, taints, name, images and features. Classes that
/// differ only in requests and ports share one. update_node() follows a changed node.
template <class List>
struct NodeSideRowOf : CompiledNodeSideOf<List> {
  static constexpr std::uint8_t kAccepted = 0;
  using NodeRules = NodeSideRules<List>;

  static constexpr std::uint8_t kNoNode = 1;  ///< refusal() of a slot without a node

  /// [slot_count] index into `refusals`, kAccepted where no rule of the node side refuses; empty: all accepted.
  std::vector<std::uint8_t> refusal_of;
  std::vector<Refusal> refusals;  ///< [0] and [1] are the entries of kAccepted and kNoNode

  std::uint8_t outside_node_set = kAccepted;  ///< the code of nodes outside PreFilter's node set, if there is one
  RawScoresOf<List> accepted_maxima;          ///< over the accepted nodes, whatever their load
  /// [slot_count] weighted node-side total under accepted_maxima, -1 where refused: the initial totals of tiles.
  std::vector<std::int32_t> total_of;
  bool raws_vary = false;  ///< accepted nodes differ in a raw score: the maxima can change as nodes fill up

  std::uint8_t refusal(std::int32_t node) const {
    return refusal_of.empty() ? kAccepted : refusal_of[static_cast<std::size_t>(node)];
  }
  /// The node is outside PreFilter's node set, so that no Filter plugin runs on it.
  bool is_outside_node_set(std::int32_t node) const {
    return outside_node_set != kAccepted && refusal(node) == outside_node_set;
  }
  /// Raw scores of the normalised rules.
  RawScoresOf<List> raws(const Snapshot& snapshot, std::int32_t node) const {
    RawScoresOf<List> raws;
    NormalizedRules<List>::for_each([&](auto tag) {
      using Rule = typename decltype(tag)::type;
      if (this->template weight<Rule>() != 0)
        raws.of[NormalizedRules<List>::template index_of<Rule>] = this->template of<Rule>().score(snapshot, node);
    });
    return raws;
  }
  /// Weighted sum of the scores that need no normaliser.
  std::int64_t fixed_total(const Snapshot& snapshot, std::int32_t node) const {
    std::int64_t total = 0;
    ScoringRulesOfPart<List, RowPart::kNodeSide>::for_each([&](auto tag) {
      using Rule = typename decltype(tag)::type;
      if constexpr (!NormalizedRules<List>::template contains<Rule>)
        if (const std::int64_t weight = this->template weight<Rule>(); weight != 0)
          total += weight * this->template of<Rule>().score(snapshot, node);
    });
    return total;
  }
  /// Weighted sum of all node-side scores. @param maxima  over the feasible nodes
  std::int64_t total(const Snapshot& snapshot, std::int32_t node, const RawScoresOf<List>& maxima) const {
    return fixed_total(snapshot, node) + normalized_total(raws(snapshot, node), maxima, this->normalized_weights());
  }
  /// The score of one plugin. nullopt: it does not score the class here.
  std::optional<RuleScore> score(std::string_view plugin, const Snapshot& snapshot, std::int32_t node,
                                 const RawScoresOf<List>& maxima) const;

  std::uint64_t bytes() const {
    std::uint64_t bytes = refusal_of.size() + total_of.size() * sizeof(std::int32_t);
    NodeRules::for_each([&](auto tag) { bytes += this->template of<typename decltype(tag)::type>().bytes(); });
    return bytes;
  }
};
using NodeSideRow = NodeSideRowOf<Rules>;

/// Call after nodes changed: adds values of columns that are new.
/// @param nodes_came_or_went  whether a node was added or removed
/// @return false when the node side must be compiled again
template <class List>
bool extend_node_side(const NodeSidePod& pod, const ProfileRules<List>& profile, const Snapshot& snapshot,
                      bool nodes_came_or_went, CompiledNodeSideOf<List>& compiled);

/// Evaluates the row on one node whose object changed, or which came or went.
/// @return whether that changes the row for other nodes too, so that it must be built again: a raw score of an accepted
/// node changed, or a rule's scores read all nodes
template <class List>
bool update_node_side_row(const PodSpec& spec, const ProfileRules<List>& profile, const Snapshot& snapshot,
                          std::int32_t node, NodeParts parts, NodeSideRowOf<List>& row);

/// A class on one node, without a row.
template <class List>
struct NodeSideOfOneOf {
  bool accepted = false;
  RawScoresOf<List> raws;        ///< of an accepted node
  std::int64_t fixed_total = 0;  ///< likewise
};
using NodeSideOfOne = NodeSideOfOneOf<Rules>;
template <class List>
NodeSideOfOneOf<List> node_side_of_one(const CompiledNodeSideOf<List>& compiled, const PodSpec& spec,
                                       const ProfileRules<List>& profile, const Snapshot& snapshot, std::int32_t node);

/// Evaluates `compiled` on every node.
template <class List>
NodeSideRowOf<List> build_node_side_row(CompiledNodeSideOf<List> compiled, const PodSpec& spec,
                                        const ProfileRules<List>& profile, const Snapshot& snapshot);

extern template CompiledNodeSide compile_node_side(const NodeSidePod&, const ProfileRules<Rules>&, Snapshot&);
extern template NodeSideRow build_node_side_row(CompiledNodeSide, const PodSpec&, const ProfileRules<Rules>&,
                                                const Snapshot&);
extern template bool extend_node_side(const NodeSidePod&, const ProfileRules<Rules>&, const Snapshot&, bool,
                                      CompiledNodeSide&);
extern template bool update_node_side_row(const PodSpec&, const ProfileRules<Rules>&, const Snapshot&, std::int32_t,
                                          NodeParts, NodeSideRow&);
extern template NodeSideOfOne node_side_of_one(const CompiledNodeSide&, const PodSpec&, const ProfileRules<Rules>&,
                                               const Snapshot&, std::int32_t);
extern template std::optional<RuleScore> NodeSideRow::score(std::string_view, const Snapshot&, std::int32_t,
                                                            const RawScores&) const;

}  // namespace berth
