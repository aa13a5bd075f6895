// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interface of a node-side rule for rows (batching/node_side_row.h). Its rule.h declares the type as `NodeSide`;
// its compile.h defines it, derived from NodeSideDefaults:
//
//   static NodeSide compile(const NodeSidePod&, const Options&, Snapshot&)   one class; evaluates no node
//   void filter(const Options&, const Snapshot&, Refuse refuse) const        where the rule filters: calls
//                                        refuse(reason, refuses_node) for each way in which it refuses nodes;
//                                        the reason is read during the call;
//                                        refuses_node(std::int32_t node) is true where it does
//   std::int64_t score(const Snapshot&, std::int32_t node) const             where the rule scores: the raw score
//
//   std::int64_t score_now(const PodSpec&, const Options&, const Snapshot&, std::int32_t node) const
//                                        where score() reads what compute_scores() computed: the same for one node,
//                                        without that
//
// It may hide further members of NodeSideDefaults.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/cluster/snapshot.h"
#include "host/config/feature_gates.h"
#include "host/config/scheduler_config.h"
#include "host/objects/pod.h"
#include "plugins/rule.h"

namespace berth {

/// Whether the nodes that a PreFilter names narrow the search. They do not for the node that a pod is nominated to.
enum class NodeSet : std::uint8_t { kNarrows, kIgnored };

/// The inputs of compiling a class.
struct NodeSidePod {
  const PodSpec& spec;
  const std::string& node_name;  ///< spec.nodeName; empty for a pending pod
  NodeSet node_set = NodeSet::kNarrows;
};

struct NoOptions {};

/// Default members of a rule.
struct NodeSideDefaults {
  /// The part of a profile that the rule reads, compiled once. Hide both with a type and a function of the same names.
  using Options = NoOptions;
  static NoOptions compile_options(const Profile& /*profile*/, const FeatureGates& /*gates*/, Snapshot& /*snapshot*/) {
    return {};
  }
  /// Computes for all slots what score() returns; called only where the rule scores.
  template <class Options>
  void compute_scores(const PodSpec& /*spec*/, const Options& /*options*/, const Snapshot& /*snapshot*/) {}
  /// The same for one slot whose node changed.
  template <class Options>
  void compute_score(const PodSpec& /*spec*/, const Options& /*options*/, const Snapshot& /*snapshot*/,
                     std::int32_t /*node*/) {}
  /// Whether scores of other nodes may have changed because the images of a node have: compute_scores() is called
  /// again.
  bool scores_follow_images(const PodSpec& /*spec*/, const Snapshot& /*snapshot*/) const { return false; }
  /// Takes in values of columns that are new since compile(). extend_options() does the same for the options.
  template <class Options>
  void extend(const NodeSidePod& /*pod*/, const Options& /*options*/, const Snapshot& /*snapshot*/) {}
  template <class Options>
  static void extend_options(Options& /*options*/) {}
  /// What was compiled depends on which slots the nodes of some names have. options_mention_names(): of the options.
  bool mentions_names() const { return false; }
  template <class Options>
  static bool options_mention_names(const Options& /*options*/) {
    return false;
  }
  /// PreScore skips the rule for the class: it is not part of totals.
  template <class Options>
  bool skips_score(const Options& /*options*/) const {
    return false;
  }
  std::uint64_t bytes() const { return 0; }  ///< heap memory of the results of compute_scores()

  /// PreFilter's node set, ascending: other nodes are not filtered. Absent: all nodes. At most one rule of a list
  /// may have one.
  std::optional<std::vector<std::int32_t>> node_set;
  std::set<std::string> node_names;  ///< of `node_set`; nodes of these names need not exist
  std::string pre_filter_message;    ///< non-empty: PreFilter refuses the pod before any node is evaluated
  std::string pre_score_error;       ///< non-empty: scoring ends in this error
};

}  // namespace berth
