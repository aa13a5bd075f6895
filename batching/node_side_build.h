// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions of batching/node_side_row.h over any list of rules. Nothing here names a rule.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "batching/node_side_row.h"

namespace berth {
namespace node_side_detail {

/// Fills NodeSideRow::refusal_of rule by rule; of several refusals of a node it keeps the one with the lowest rank.
template <class List>
class RefusalWriter {
 public:
  RefusalWriter(NodeSideRowOf<List>& row, std::int32_t node_count) : row_(row), node_count_(node_count) {
    row_.refusals.emplace_back();
  }

  /// Records `refusal` for every node for which `refuses` is true. @return its code
  template <class Refuses>
  std::uint8_t write(Refusal refusal, Refuses refuses) {
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
  NodeSideRowOf<List>& row_;
  std::int32_t node_count_;
};

/// Nodes outside PreFilter's node set are refused before every Filter plugin.
inline constexpr std::int32_t kBeforeFilters = -1;

template <class List>
void write_refusals(const ProfileRules<List>& profile, const Snapshot& snapshot, NodeSideRowOf<List>& row) {
  RefusalWriter<List> writer(row, snapshot.node_count());
  if (row.pre_filter_refuses) return;
  if (const auto& missing = profile.missing_filter_state)
    writer.write({static_cast<std::int32_t>(missing->rank), missing->plugin, missing->text, true},
                 [](std::int32_t) { return true; });
  NodeSideRules<List>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    const auto& side = row.template of<Rule>();
    if (side.node_set)
      row.outside_node_set = writer.write({kBeforeFilters, Rule::descriptor.name, ""}, [&side](std::int32_t node) {
        return !std::binary_search(side.node_set->begin(), side.node_set->end(), node);
      });
    if constexpr (Rule::descriptor.filters) {
      const std::int32_t rank = profile.template rank<Rule>();
      if (rank == kNotEnabled) return;
      side.filter(profile.template options<Rule>(), snapshot, [&](std::string reason, auto refuses) {
        writer.write({rank, Rule::descriptor.name, std::move(reason)}, refuses);
      });
    }
  });
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

template <class List>
void summarize_raws(const Snapshot& snapshot, NodeSideRowOf<List>& row) {
  bool first = true;
  RawScoresOf<List> minima;
  for (std::int32_t i = 0; i < snapshot.node_count(); ++i) {
    if (row.refusal(i) != row.kAccepted) continue;
    const RawScoresOf<List> raws = row.raws(snapshot, i);
    if (first) minima = raws;
    minima.lower_to(raws);
    row.accepted_maxima.raise_to(raws);
    first = false;
  }
  row.raws_vary = minima != row.accepted_maxima && !first;
}

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
NodeSideRowOf<List> build_node_side_row(CompiledNodeSideOf<List> compiled, const PodSpec& spec,
                                        const ProfileRules<List>& profile, const Snapshot& snapshot) {
  NodeSideRowOf<List> row;
  static_cast<CompiledNodeSideOf<List>&>(row) = std::move(compiled);
  node_side_detail::write_refusals(profile, snapshot, row);
  node_side_detail::compute_scores(spec, profile, snapshot, row);
  node_side_detail::summarize_raws(snapshot, row);
  row.total_of.assign(static_cast<std::size_t>(snapshot.node_count()), -1);
  if (row.pre_filter_refuses) return row;
  for (std::int32_t i = 0; i < snapshot.node_count(); ++i)
    if (row.refusal(i) == row.kAccepted)
      row.total_of[static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>(row.total(snapshot, i, row.accepted_maxima));
  return row;
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
