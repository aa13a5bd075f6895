// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "batching/compiled_profile.h"
#include "host/framework/status.h"
#include "plugins/node_name/rule.h"
#include "plugins/node_unschedulable/rule.h"
#include "plugins/taint_toleration/compile.h"

namespace berth {

/// A way in which the node's object refuses a class.
struct Refusal {
  std::int32_t rank = kNotEnabled;  ///< in the profile's Filter order
  std::string_view plugin;
  std::string reason;     ///< empty for nodes outside PreFilter's node set
  bool is_error = false;  ///< ends the pod's cycle: MissingFilterState
};

/// Largest raw scores of the feasible nodes: what normalisation stands on.
struct RawMaxima {
  std::int64_t taint = 0;
  std::int64_t affinity = 0;
  friend bool operator==(const RawMaxima&, const RawMaxima&) = default;
};

/// Do the nodes that NodeAffinity's PreFilter names narrow the search? Not for the node that a pod is nominated to.
enum class NodeSet : std::uint8_t { kNarrows, kIgnored };

/// What a class asks of node objects, compiled; no node was looked at.
struct CompiledNodeSide {
  CompiledTaintToleration taints;
  NodeUnschedulable::Params cordon{};
  NodeName::Params wanted_node{};
  CompiledNodeAffinity affinity_terms;
  bool uses_node_set = false;                ///< PreFilter's node set narrows the search
  std::vector<std::string> needed_features;  ///< empty: every node has them
  bool scores_affinity = false;              ///< NodeAffinity's PreScore does not skip
  std::string pre_filter_message;            ///< non-empty: PreFilter refuses the pod before any node is looked at
  std::string pre_score_error;               ///< non-empty: scoring ends in this error
};

/// @param node_name spec.nodeName; empty for a pending pod
CompiledNodeSide compile_node_side(const PodSpec& spec, const std::string& node_name, const CompiledProfile& profile,
                                   Snapshot& snapshot, NodeSet node_set = NodeSet::kNarrows);

/// The half of a row that placements never change: what a node's labels, taints, name, images and features mean to a
/// class. Classes that differ only in requests and ports share one. Void once node objects change.
struct NodeSideRow : CompiledNodeSide {
  static constexpr std::uint8_t kAccepted = 0;

  /// [node_count] index into `refusals`, kAccepted where no rule of the node side refuses; empty: all accepted.
  std::vector<std::uint8_t> refusal_of;
  std::vector<Refusal> refusals;  ///< [0] stands for kAccepted

  std::vector<std::int64_t> affinity_raw;     ///< [node_count]; empty: 0 everywhere
  std::vector<std::uint8_t> image_score;      ///< [node_count]; empty: 0 everywhere
  std::uint8_t outside_node_set = kAccepted;  ///< the code of nodes outside PreFilter's node set, if there is one
  RawMaxima accepted_maxima;                  ///< over the accepted nodes, whatever their load
  /// [node_count] weighted node-side total under accepted_maxima, -1 where refused: what tiles start from.
  std::vector<std::int32_t> total_of;
  bool raws_vary = false;  ///< accepted nodes differ in a raw score: the maxima can move as nodes fill up

  std::uint8_t refusal(std::int32_t node) const {
    return refusal_of.empty() ? kAccepted : refusal_of[static_cast<std::size_t>(node)];
  }
  /// PreFilter leaves the node out, so that no Filter plugin is asked about it.
  bool is_outside_node_set(std::int32_t node) const {
    return outside_node_set != kAccepted && refusal(node) == outside_node_set;
  }
  std::int64_t taint_raw(const Snapshot& snapshot, std::int32_t node) const {
    return TaintToleration::score(taints.params(), snapshot.taint_set(node));
  }
  std::int64_t affinity(std::int32_t node) const {
    return affinity_raw.empty() ? 0 : affinity_raw[static_cast<std::size_t>(node)];
  }
  std::int64_t image(std::int32_t node) const {
    return image_score.empty() ? 0 : image_score[static_cast<std::size_t>(node)];
  }
  std::uint64_t bytes() const {
    return refusal_of.size() + total_of.size() * sizeof(std::int32_t) + affinity_raw.size() * sizeof(std::int64_t) +
           image_score.size();
  }
};

/// Asks every node what `compiled` asks of one.
NodeSideRow build_node_side_row(CompiledNodeSide compiled, const PodSpec& spec, const CompiledProfile& profile,
                                const Snapshot& snapshot);

/// Largest raw scores of the listed nodes.
RawMaxima raw_maxima(const NodeSideRow& row, const Snapshot& snapshot, const std::vector<std::int32_t>& nodes);

/// Weighted sum of the node-side scores, normalised.
std::int64_t node_side_total(const NodeSideRow& row, const CompiledProfile& profile, const Snapshot& snapshot,
                             std::int32_t node, const RawMaxima& maxima);

}  // namespace berth
