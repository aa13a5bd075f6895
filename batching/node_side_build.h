// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions of batching/node_side_row.h over any list of rules. Nothing here names a rule.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batching/node_side_row.h"

namespace berth {
namespace node_side_detail {

/// Nodes outside PreFilter's node set are refused before every Filter plugin, and slots without a node before all.
inline constexpr std::int32_t kBeforeFilters = -1;
inline constexpr std::int32_t kBeforeAll = -2;

/// A Refusal without its own copy of the reason: most callers compare ranks alone.
struct RefusalView {
  std::int32_t rank;
  std::string_view plugin;
  std::string_view reason;
  bool is_error = false;
};

/// Calls use(refusal, refuses) for each way in which the class is refused, always in the same order;
/// refuses(std::int32_t slot) is true where it is. Only the first one, "no node is there", may be asked about a free
/// slot. use() gives the code of the refusal.
template <class List, class Use>
void for_each_refusal(const ProfileRules<List>& profile, const Snapshot& snapshot, NodeSideRowOf<List>& row, Use use) {
  use(RefusalView{kBeforeAll, {}, {}}, [&snapshot](std::int32_t slot) { return !snapshot.has_node(slot); });
  if (row.pre_filter_refuses) return;
  if (const auto& missing = profile.missing_filter_state)
    use(RefusalView{static_cast<std::int32_t>(missing->rank), missing->plugin, missing->text, true},
        [](std::int32_t) { return true; });
  NodeSideRules<List>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    const auto& side = row.template of<Rule>();
    if (side.node_set)
      row.outside_node_set = use(RefusalView{kBeforeFilters, Rule::descriptor.name, {}}, [&side](std::int32_t node) {
        return !std::binary_search(side.node_set->begin(), side.node_set->end(), node);
      });
    if constexpr (Rule::descriptor.filters) {
      const std::int32_t rank = profile.template rank<Rule>();
      if (rank == kNotEnabled) return;
      side.filter(profile.template options<Rule>(), snapshot, [&](std::string_view reason, auto refuses) {
        use(RefusalView{rank, Rule::descriptor.name, reason}, refuses);
      });
    }
  });
}

inline constexpr std::int32_t kBlock = 256;

/// Calls use(begin, end) for the ranges of slots with a node, in pieces of at most kBlock.
/// @param free_slots  ascending
template <class Use>
void for_each_block(std::int32_t slot_count, const std::vector<std::int32_t>& free_slots, Use use) {
  std::int32_t begin = 0;
  const auto use_until = [&](std::int32_t end) {
    for (; begin < end; begin = std::min(begin + kBlock, end)) use(begin, std::min(begin + kBlock, end));
    begin = end + 1;
  };
  for (const std::int32_t slot : free_slots) use_until(slot);
  use_until(slot_count);
}

/// Fills NodeSideRow::refusal_of rule by rule; of several refusals of a node it keeps the one with the lowest rank.
template <class List>
void write_refusals(const ProfileRules<List>& profile, const Snapshot& snapshot, NodeSideRowOf<List>& row) {
  const std::int32_t slot_count = snapshot.slot_count();
  std::vector<std::int32_t> free_slots;
  row.refusals.emplace_back();
  for_each_refusal(profile, snapshot, row, [&](const RefusalView& refusal, auto refuses) {
    const std::int32_t rank = refusal.rank;
    row.refusals.push_back({rank, refusal.plugin, std::string(refusal.reason), refusal.is_error});
    const auto code = static_cast<std::uint8_t>(row.refusals.size() - 1);
    const bool is_about_nodes = code != NodeSideRowOf<List>::kNoNode;
    // Most blocks have no refused node. Verdicts go to an array on the stack first, so that the compiler can keep in
    // registers what the loop reads.
    for_each_block(slot_count, free_slots, [&](std::int32_t begin, std::int32_t end) {
      std::array<std::uint8_t, kBlock> refused;
      std::uint8_t any = 0;
      for (std::int32_t i = begin; i < end; ++i)
        any |= refused[static_cast<std::size_t>(i - begin)] = static_cast<std::uint8_t>(refuses(i));
      if (any == 0) return;
      if (row.refusal_of.empty()) row.refusal_of.resize(static_cast<std::size_t>(slot_count));
      for (std::int32_t i = begin; i < end; ++i) {
        std::uint8_t& known = row.refusal_of[static_cast<std::size_t>(i)];
        if (refused[static_cast<std::size_t>(i - begin)] != 0 && rank < row.refusals[known].rank) known = code;
      }
    });
    if (is_about_nodes || row.refusal_of.empty()) return code;
    for (std::int32_t i = 0; i < slot_count; ++i)
      if (row.refusal_of[static_cast<std::size_t>(i)] == code) free_slots.push_back(i);
    return code;
  });
}

/// NodeSideRow::refusal_of of one node.
template <class List>
std::uint8_t refusal_now(const ProfileRules<List>& profile, const Snapshot& snapshot, std::int32_t node,
                         NodeSideRowOf<List>& row) {
  if (!snapshot.has_node(node)) return NodeSideRowOf<List>::kNoNode;
  std::uint8_t first = NodeSideRowOf<List>::kAccepted;
  std::uint8_t code = NodeSideRowOf<List>::kAccepted;
  for_each_refusal(profile, snapshot, row, [&](const RefusalView& refusal, auto refuses) {
    ++code;
    if (refusal.rank < row.refusals[first].rank && refuses(node)) first = code;
    return code;
  });
  return first;
}

template <class List>
void compute_scores(const PodSpec& spec, const ProfileRules<List>& profile, const Snapshot& snapshot,
                    NodeSideRowOf<List>& row) {
  NodeSideRules<List>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    if (row.template weight<Rule>() != 0)
      std::get<NodeSideRules<List>::template index_of<Rule>>(row.of_rule)
          .compute_scores(spec, profile.template options<Rule>(), snapshot);
  });
}

/// The score of one node by what is compiled, whether or not compute_scores() was called.
template <class Rule, class List>
std::int64_t score_now(const typename Rule::NodeSide& side, const PodSpec& spec, const ProfileRules<List>& profile,
                       const Snapshot& snapshot, std::int32_t node) {
  const auto& options = profile.template options<Rule>();
  if constexpr (requires { side.score_now(spec, options, snapshot, node); }) {
    return side.score_now(spec, options, snapshot, node);
  } else {
    return side.score(snapshot, node);
  }
}

template <class List>
void summarize_raws(const Snapshot& snapshot, NodeSideRowOf<List>& row) {
  bool first = true;
  RawScoresOf<List> minima;
  const std::int32_t slot_count = snapshot.slot_count();
  for (std::int32_t i = 0; i < slot_count; ++i) {
    if (row.refusal(i) != row.kAccepted) continue;
    const RawScoresOf<List> raws = row.raws(snapshot, i);
    if (first) minima = raws;
    minima.lower_to(raws);
    row.accepted_maxima.raise_to(raws);
    first = false;
  }
  row.raws_vary = minima != row.accepted_maxima && !first;
}

/// The normalised totals of raw scores under fixed maxima. Nodes have few different ones, and each takes divisions.
template <class List>
class NormalizedTotals {
 public:
  explicit NormalizedTotals(const NodeSideRowOf<List>& row)
      : maxima_(row.accepted_maxima), weights_(row.normalized_weights()) {}
  std::int64_t of(const RawScoresOf<List>& raws) {
    for (std::size_t i = 0; i < known_; ++i)
      if (raws_[i] == raws) return totals_[i];
    const std::int64_t total = normalized_total(raws, maxima_, weights_);
    if (known_ < raws_.size()) {
      raws_[known_] = raws;
      totals_[known_++] = total;
    }
    return total;
  }

 private:
  const RawScoresOf<List>& maxima_;
  NormalizedWeightsOf<List> weights_;
  std::size_t known_ = 0;
  std::array<RawScoresOf<List>, 8> raws_;
  std::array<std::int64_t, 8> totals_;
};

}  // namespace node_side_detail

template <class List>
CompiledNodeSideOf<List> compile_node_side(const NodeSidePod& pod, const ProfileRules<List>& profile,
                                           Snapshot& snapshot) {
  CompiledNodeSideOf<List> compiled;
  NodeSideRules<List>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    static_assert(Rule::descriptor.normalizer != Normalizer::kByRange,
                  "rows keep no smallest raw score of a node side");
    constexpr std::size_t kAt = NodeSideRules<List>::template index_of<Rule>;
    auto& side = std::get<kAt>(compiled.of_rule);
    const auto& options = profile.template options<Rule>();
    side = Rule::NodeSide::compile(pod, options, snapshot);
    compiled.pre_filter_refuses = compiled.pre_filter_refuses || !side.pre_filter_message.empty();
    if (compiled.pre_score_error.empty()) compiled.pre_score_error = side.pre_score_error;
    if constexpr (Rule::descriptor.scores)
      compiled.weights[kAt] = side.skips_score(options) ? 0 : profile.template weight<Rule>();
  });
  return compiled;
}

template <class List>
bool extend_node_side(const NodeSidePod& pod, const ProfileRules<List>& profile, const Snapshot& snapshot,
                      bool nodes_came_or_went, CompiledNodeSideOf<List>& compiled) {
  bool is_current = true;
  NodeSideRules<List>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    auto& side = std::get<NodeSideRules<List>::template index_of<Rule>>(compiled.of_rule);
    is_current = is_current && !(nodes_came_or_went && side.mentions_names());
    side.extend(pod, profile.template options<Rule>(), snapshot);
  });
  return is_current;
}

template <class List>
NodeSideRowOf<List> build_node_side_row(CompiledNodeSideOf<List> compiled, const PodSpec& spec,
                                        const ProfileRules<List>& profile, const Snapshot& snapshot) {
  NodeSideRowOf<List> row;
  static_cast<CompiledNodeSideOf<List>&>(row) = std::move(compiled);
  node_side_detail::write_refusals(profile, snapshot, row);
  node_side_detail::compute_scores(spec, profile, snapshot, row);
  node_side_detail::summarize_raws(snapshot, row);
  const std::int32_t slot_count = snapshot.slot_count();
  row.total_of.assign(static_cast<std::size_t>(slot_count), -1);
  if (row.pre_filter_refuses) return row;
  node_side_detail::NormalizedTotals<List> normalized(row);
  for (std::int32_t i = 0; i < slot_count; ++i) {
    if (row.refusal(i) != row.kAccepted) continue;
    // Where raw scores do not vary, what is normalised is the same on all accepted nodes.
    const std::int64_t of_node = normalized.of(row.raws_vary ? row.raws(snapshot, i) : row.accepted_maxima);
    row.total_of[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(row.fixed_total(snapshot, i) + of_node);
  }
  return row;
}

template <class List>
bool update_node_side_row(const PodSpec& spec, const ProfileRules<List>& profile, const Snapshot& snapshot,
                          std::int32_t node, NodeParts parts, NodeSideRowOf<List>& row) {
  const auto i = static_cast<std::size_t>(node);
  bool concerns_all = false;
  NodeSideRules<List>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    if (row.template weight<Rule>() == 0) return;
    auto& side = std::get<NodeSideRules<List>::template index_of<Rule>>(row.of_rule);
    concerns_all = concerns_all || (parts.contains(NodePart::kImages) && side.scores_follow_images(spec, snapshot));
    side.compute_score(spec, profile.template options<Rule>(), snapshot, node);
  });
  const std::uint8_t refusal = node_side_detail::refusal_now(profile, snapshot, node, row);
  if (refusal != row.kAccepted && row.refusal_of.empty())
    row.refusal_of.resize(static_cast<std::size_t>(snapshot.slot_count()));
  if (!row.refusal_of.empty()) row.refusal_of[i] = refusal;
  if (row.pre_filter_refuses) return false;
  const RawScoresOf<List> raws = row.raws(snapshot, node);
  const bool is_accepted = refusal == row.kAccepted;
  row.total_of[i] = is_accepted ? static_cast<std::int32_t>(row.total(snapshot, node, row.accepted_maxima)) : -1;
  // Where raw scores do not vary, the node had that of all; else nobody knows which one it had. That matters for a node
  // that the row refuses, too: a tile that has not read the log since may still count it with the old score.
  const bool may_change_raw = parts.contains(NodePart::kLabels) || parts.contains(NodePart::kTaints);
  if (concerns_all || (row.raws_vary && may_change_raw)) return true;
  return is_accepted && (row.raws_vary ? !raws.is_within(row.accepted_maxima) : raws != row.accepted_maxima);
}

template <class List>
NodeSideOfOneOf<List> node_side_of_one(const CompiledNodeSideOf<List>& compiled, const PodSpec& spec,
                                       const ProfileRules<List>& profile, const Snapshot& snapshot, std::int32_t node) {
  NodeSideOfOneOf<List> one;
  if (!snapshot.has_node(node) || compiled.pre_filter_refuses || profile.missing_filter_state) return one;
  one.accepted = true;
  NodeSideRules<List>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    const auto& side = compiled.template of<Rule>();
    const auto& options = profile.template options<Rule>();
    if (side.node_set && !std::binary_search(side.node_set->begin(), side.node_set->end(), node)) one.accepted = false;
    if constexpr (Rule::descriptor.filters) {
      if (!profile.template filters<Rule>()) return;
      side.filter(options, snapshot,
                  [&](std::string_view /*reason*/, auto refuses) { one.accepted = one.accepted && !refuses(node); });
    }
  });
  if (!one.accepted) return one;
  ScoringRulesOfPart<List, RowPart::kNodeSide>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    const std::int64_t weight = compiled.template weight<Rule>();
    if (weight == 0) return;
    const std::int64_t score =
        node_side_detail::score_now<Rule>(compiled.template of<Rule>(), spec, profile, snapshot, node);
    if constexpr (NormalizedRules<List>::template contains<Rule>) {
      one.raws.of[NormalizedRules<List>::template index_of<Rule>] = score;
    } else {
      one.fixed_total += weight * score;
    }
  });
  return one;
}

template <class List>
std::optional<RuleScore> NodeSideRowOf<List>::score(std::string_view plugin, const Snapshot& snapshot,
                                                    std::int32_t node, const RawScoresOf<List>& maxima) const {
  std::optional<RuleScore> found;
  ScoringRulesOfPart<List, RowPart::kNodeSide>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    if (Rule::descriptor.name != plugin || this->template weight<Rule>() == 0) return;
    const std::int64_t raw = this->template of<Rule>().score(snapshot, node);
    if constexpr (NormalizedRules<List>::template contains<Rule>) {
      const std::int64_t maximum = maxima.of[NormalizedRules<List>::template index_of<Rule>];
      found = {raw, normalize_by_maximum<Rule::descriptor.normalizer>(raw, maximum)};
    } else {
      found = {raw, raw};
    }
  });
  return found;
}

}  // namespace berth
