// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "host/config/scheduler_config.h"
#include "host/framework/unsupported.h"
#include "plugins/rules.h"

namespace berth {

/// Rank of a rule that does not filter in a profile.
inline constexpr std::int32_t kNotEnabled = INT32_MAX;

/// Position of the plugin in the profile's Filter order; kNotEnabled where it is not in it.
std::int32_t filter_rank(const Profile& profile, std::string_view plugin);
/// 0: the plugin does not score in the profile.
std::int32_t score_weight(const Profile& profile, std::string_view plugin);

/// The rules of a list as one profile configures them.
template <class List>
struct ProfileRules {
  template <class... NodeSides>
  using OptionsOf = std::tuple<typename NodeSides::Options...>;

  const Profile* profile = nullptr;
  std::optional<MissingFilterState> missing_filter_state;
  /// [List::index_of] in the profile's Filter order: of the rules that refuse a node, the lowest rank is reported.
  std::array<std::int32_t, List::size> ranks{};
  std::array<std::int32_t, List::size> weights{};  ///< [List::index_of] of Score; 0: the rule does not score
  ApplyNodeSides<List, OptionsOf> node_side_options;

  template <class Rule>
  std::int32_t rank() const {
    return ranks[List::template index_of<Rule>];
  }
  template <class Rule>
  bool filters() const {
    return rank<Rule>() != kNotEnabled;
  }
  template <class Rule>
  std::int32_t weight() const {
    return weights[List::template index_of<Rule>];
  }
  template <class Rule>
  const typename Rule::NodeSide::Options& options() const {
    return std::get<NodeSideRules<List>::template index_of<Rule>>(node_side_options);
  }
};

/// Compiles what of the rules refers to a snapshot. @param snapshot  gets the columns that the rules' options read
template <class List>
void compile_options(const Profile& profile, const FeatureGates& gates, Snapshot& snapshot, ProfileRules<List>& rules) {
  NodeSideRules<List>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    std::get<NodeSideRules<List>::template index_of<Rule>>(rules.node_side_options) =
        Rule::NodeSide::compile_options(profile, gates, snapshot);
  });
}

/// The same rules over another snapshot.
template <class List>
ProfileRules<List> rules_over(Snapshot& snapshot, const FeatureGates& gates, const ProfileRules<List>& rules) {
  ProfileRules<List> over;
  over.profile = rules.profile;
  over.missing_filter_state = rules.missing_filter_state;
  over.ranks = rules.ranks;
  over.weights = rules.weights;
  compile_options(*rules.profile, gates, snapshot, over);
  return over;
}

/// @param snapshot  gets the columns that the rules' options read
template <class List>
void compile_rules(const Profile& profile, const FeatureGates& gates, Snapshot& snapshot, ProfileRules<List>& rules) {
  rules.profile = &profile;
  rules.missing_filter_state = missing_filter_state(profile, gates);
  for (std::size_t r = 0; r < List::size; ++r) {
    const RuleDescriptor& rule = List::descriptors[r];
    const bool runs = rule.filters && (rule.filter_gate.empty() || gates.enabled(rule.filter_gate));
    rules.ranks[r] = runs ? filter_rank(profile, rule.name) : kNotEnabled;
    rules.weights[r] = rule.scores ? score_weight(profile, rule.name) : 0;
  }
  compile_options(profile, gates, snapshot, rules);
}

/// Call after nodes changed: adds values of columns that are new.
/// @param nodes_came_or_went  whether a node was added or removed
/// @return false when the rules must be compiled again
template <class List>
bool extend_rules(ProfileRules<List>& rules, bool nodes_came_or_went) {
  bool is_current = true;
  NodeSideRules<List>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    auto& options = std::get<NodeSideRules<List>::template index_of<Rule>>(rules.node_side_options);
    is_current = is_current && !(nodes_came_or_went && Rule::NodeSide::options_mention_names(options));
    Rule::NodeSide::extend_options(options);
  });
  return is_current;
}

}  // namespace berth
