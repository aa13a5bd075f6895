// SPDX-License-Identifier: Apache-2.0
#include "batching/node_side_row.h"

#include <algorithm>

#include "host/framework/preferred_terms.h"
#include "plugins/image_locality/compile.h"
#include "plugins/node_declared_features/compile.h"
#include "plugins/node_name/rule.h"
#include "plugins/node_unschedulable/compile.h"
#include "plugins/normalize.h"

namespace berth {
namespace {

// What placements change must not be in a row that is built once.
static_assert(NodeUnschedulable::touches == Touches::kNothing && NodeName::touches == Touches::kNothing &&
              TaintToleration::touches == Touches::kNothing && NodeAffinityRule::touches == Touches::kNothing &&
              NodeDeclaredFeatures::touches == Touches::kNothing && ImageLocality::touches == Touches::kNothing);

/// Fills NodeSideRow::refusal_of rule by rule; of several refusals the earliest rank stays.
class RefusalWriter {
 public:
  RefusalWriter(NodeSideRow& row, std::int32_t node_count) : row_(row), node_count_(node_count) {
    row_.refusals.emplace_back();
  }

  /// Notes `refusal` on every node for which `refuses` holds; a rule that is not enabled is not asked.
  template <class Refuses>
  std::uint8_t write(Refusal refusal, Refuses refuses) {
    if (refusal.rank == kNotEnabled) return NodeSideRow::kAccepted;
    const std::int32_t rank = refusal.rank;
    row_.refusals.push_back(std::move(refusal));
    const auto code = static_cast<std::uint8_t>(row_.refusals.size() - 1);
    for (std::int32_t i = 0; i < node_count_; ++i) {
      if (!refuses(i)) continue;
      if (row_.refusal_of.empty()) row_.refusal_of.resize(static_cast<std::size_t>(node_count_));
      std::uint8_t& known = row_.refusal_of[static_cast<std::size_t>(i)];
      if (rank < row_.refusals[known].rank) known = code;
    }
    return code;
  }

 private:
  NodeSideRow& row_;
  std::int32_t node_count_;
};

void write_affinity(const CompiledProfile& profile, RefusalWriter& writer, NodeSideRow& row) {
  const CompiledNodeAffinity& affinity = row.affinity_terms;
  const std::int32_t rank = profile.rank_node_affinity;
  if (row.uses_node_set) {
    const std::vector<std::int32_t>& set = *affinity.node_set;
    row.outside_node_set = writer.write({-1, NodeAffinityRule::name, ""},
                                        [&](std::int32_t i) { return !std::binary_search(set.begin(), set.end(), i); });
  }
  if (profile.added_required)
    writer.write({rank, NodeAffinityRule::name, std::string(NodeAffinityRule::reason_added)},
                 [&](std::int32_t i) { return !profile.added_required->matches_any(i); });
  if (affinity.selector || affinity.required)
    writer.write({rank, NodeAffinityRule::name, std::string(NodeAffinityRule::reason)},
                 [&](std::int32_t i) { return !affinity.matches(i); });
}

NodeName::Params compile_node_name(const std::string& node_name, const Snapshot& snapshot) {
  if (node_name.empty()) return {NodeName::kAnyNode};
  const std::int32_t node = snapshot.find_node(node_name);
  return {node < 0 ? NodeName::kUnknownNode : node};
}

void write_refusals(const CompiledProfile& profile, const Snapshot& snapshot, NodeSideRow& row) {
  RefusalWriter writer(row, snapshot.node_count());
  if (!row.pre_filter_message.empty()) return;
  write_affinity(profile, writer, row);

  if (row.wanted_node.node != NodeName::kAnyNode)
    writer.write({profile.rank_node_name, NodeName::name, std::string(NodeName::reason)},
                 [&](std::int32_t i) { return !NodeName::feasible(row.wanted_node, i); });

  writer.write({profile.rank_node_unschedulable, NodeUnschedulable::name, std::string(NodeUnschedulable::reason)},
               [&](std::int32_t i) { return !NodeUnschedulable::feasible(row.cordon, snapshot.unschedulable(i)); });
  writer.write({profile.rank_taint_toleration, TaintToleration::name, std::string(TaintToleration::reason)},
               [&](std::int32_t i) { return !TaintToleration::feasible(row.taints.params(), snapshot.taint_set(i)); });

  if (const auto& missing = profile.missing_filter_state)
    writer.write({static_cast<std::int32_t>(missing->rank), missing->plugin, missing->text, true},
                 [](std::int32_t) { return true; });

  if (!row.needed_features.empty())
    writer.write({profile.rank_node_declared_features, NodeDeclaredFeatures::name,
                  missing_features_reason(row.needed_features, profile.release)},
                 [&](std::int32_t i) { return !missing_features(row.needed_features, snapshot.node(i)).empty(); });
}

void write_affinity_scores(const CompiledProfile& profile, std::int32_t node_count, NodeSideRow& row) {
  const CompiledTerms& preferred = row.affinity_terms.preferred;
  if (!row.scores_affinity || (preferred.empty() && profile.added_preferred.empty())) return;
  row.affinity_raw.resize(static_cast<std::size_t>(node_count));
  for (std::int32_t i = 0; i < node_count; ++i)
    row.affinity_raw[static_cast<std::size_t>(i)] = preferred.score(i) + profile.added_preferred.score(i);
}

/// The pod's preferred terms are parsed by PreScore, be Score enabled or not, or else by Score. Either way what does
/// not parse ends the cycle.
std::string preferred_affinity_error(const PodSpec& spec, const CompiledProfile& profile) {
  const bool in_pre_score = profile.profile->enables(ExtensionPoint::kPreScore, NodeAffinityRule::name);
  const bool is_parsed = profile.scores_anything && (in_pre_score || profile.weight_node_affinity != 0);
  if (!is_parsed || !spec.node_affinity) return {};
  const std::optional<std::string> problem = preferred_terms_problem(spec.node_affinity->preferred);
  if (!problem) return {};
  const std::string_view head = in_pre_score ? "running PreScore plugin \"NodeAffinity\": "
                                             : "running Score plugins: plugin \"NodeAffinity\" failed with: ";
  return std::string(head) + *problem;
}

void summarize_raws(const CompiledProfile& profile, const Snapshot& snapshot, NodeSideRow& row) {
  bool first = true;
  RawMaxima minima;
  for (std::int32_t i = 0; i < snapshot.node_count(); ++i) {
    if (row.refusal(i) != NodeSideRow::kAccepted) continue;
    const std::int64_t taint = profile.weight_taint_toleration != 0 ? row.taint_raw(snapshot, i) : 0;
    const std::int64_t affinity = row.affinity(i);
    minima = first ? RawMaxima{taint, affinity}
                   : RawMaxima{std::min(minima.taint, taint), std::min(minima.affinity, affinity)};
    row.accepted_maxima = {std::max(row.accepted_maxima.taint, taint),
                           std::max(row.accepted_maxima.affinity, affinity)};
    first = false;
  }
  row.raws_vary = minima != row.accepted_maxima && !first;
}

}  // namespace

CompiledNodeSide compile_node_side(const PodSpec& spec, const std::string& node_name, const CompiledProfile& profile,
                                   Snapshot& snapshot, NodeSet node_set) {
  CompiledNodeSide side;
  side.taints = compile_taint_toleration(spec.tolerations, snapshot.taint_sets(), profile.comparison_operators);
  side.cordon = compile_node_unschedulable(spec.tolerations, profile.comparison_operators);
  side.wanted_node = compile_node_name(node_name, snapshot);
  side.affinity_terms = compile_node_affinity(spec, snapshot);
  const bool narrows = profile.pre_filters_node_affinity && node_set == NodeSet::kNarrows;
  if (side.affinity_terms.conflict && narrows) side.pre_filter_message = NodeAffinityRule::reason_conflict;
  side.uses_node_set = side.affinity_terms.node_set && narrows;
  side.needed_features = needed_features(spec);
  side.scores_affinity = profile.weight_node_affinity != 0 && (side.affinity_terms.scores || profile.added_scores);
  side.pre_score_error = preferred_affinity_error(spec, profile);
  return side;
}

NodeSideRow build_node_side_row(CompiledNodeSide compiled, const PodSpec& spec, const CompiledProfile& profile,
                                const Snapshot& snapshot) {
  NodeSideRow row;
  static_cast<CompiledNodeSide&>(row) = std::move(compiled);
  write_refusals(profile, snapshot, row);
  write_affinity_scores(profile, snapshot.node_count(), row);
  if (profile.weight_image_locality != 0)
    row.image_score = compile_image_locality(spec, snapshot, profile.release != Release::k1_35);
  summarize_raws(profile, snapshot, row);
  row.total_of.assign(static_cast<std::size_t>(snapshot.node_count()), -1);
  for (std::int32_t i = 0; i < snapshot.node_count(); ++i)
    if (row.refusal(i) == NodeSideRow::kAccepted && row.pre_filter_message.empty())
      row.total_of[static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>(node_side_total(row, profile, snapshot, i, row.accepted_maxima));
  return row;
}

RawMaxima raw_maxima(const NodeSideRow& row, const Snapshot& snapshot, const std::vector<std::int32_t>& nodes) {
  RawMaxima maxima;
  for (const std::int32_t node : nodes) {
    maxima.taint = std::max(maxima.taint, row.taint_raw(snapshot, node));
    maxima.affinity = std::max(maxima.affinity, row.affinity(node));
  }
  return maxima;
}

std::int64_t node_side_total(const NodeSideRow& row, const CompiledProfile& profile, const Snapshot& snapshot,
                             std::int32_t node, const RawMaxima& maxima) {
  std::int64_t total = row.image(node) * profile.weight_image_locality;
  if (profile.weight_taint_toleration != 0)
    total += profile.weight_taint_toleration *
             default_normalize(row.taint_raw(snapshot, node), maxima.taint, TaintToleration::reverse);
  if (row.scores_affinity)
    total += profile.weight_node_affinity *
             default_normalize(row.affinity(node), maxima.affinity, NodeAffinityRule::reverse);
  return total;
}

}  // namespace berth
