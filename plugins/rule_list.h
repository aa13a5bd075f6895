// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lists of rules as types, so that code over all rules is written once and resolved at compile time.

#include <array>
#include <cstddef>
#include <type_traits>

#include "plugins/rule.h"

namespace berth {

/// Passes a rule's type to a generic lambda.
template <class Rule>
struct RuleTag {
  using type = Rule;
};

template <class... Rules>
struct RuleList {
  static constexpr std::size_t size = sizeof...(Rules);
  /// In the order of the list.
  static constexpr std::array<RuleDescriptor, size> descriptors{Rules::descriptor...};

  template <class Rule>
  static constexpr bool contains = (std::is_same_v<Rule, Rules> || ...);
  template <class Rule>
  static constexpr std::size_t index_of = [] {
    static_assert(contains<Rule>, "plugins/rules.h does not list the rule");
    std::size_t at = 0;
    // Stops at the first match.
    (void)((std::is_same_v<Rule, Rules> || (++at, false)) || ...);
    return at;
  }();

  /// Calls use(RuleTag<Rule>()) for each rule.
  template <class Use>
  static constexpr void for_each(Use&& use) {
    (use(RuleTag<Rules>()), ...);
  }
  template <class... More>
  using With = RuleList<Rules..., More...>;
};

namespace rule_list_detail {

template <class List, template <class...> class Template>
struct ApplyNodeSides;
template <class... Rules, template <class...> class Template>
struct ApplyNodeSides<RuleList<Rules...>, Template> {
  using type = Template<typename Rules::NodeSide...>;
};

template <class... Lists>
struct Join {
  using type = RuleList<>;
};
template <class... A>
struct Join<RuleList<A...>> {
  using type = RuleList<A...>;
};
template <class... A, class... B, class... Rest>
struct Join<RuleList<A...>, RuleList<B...>, Rest...> : Join<RuleList<A..., B...>, Rest...> {};

template <class List, class Selects>
struct Select;
template <class... Rules, class Selects>
struct Select<RuleList<Rules...>, Selects> {
  using type =
      typename Join<std::conditional_t<Selects::selects(Rules::descriptor), RuleList<Rules>, RuleList<>>...>::type;
};

template <RowPart kPart>
struct InPart {
  static constexpr bool selects(const RuleDescriptor& rule) { return rule.part() == kPart; }
};
template <RowPart kPart>
struct ScoresInPart {
  static constexpr bool selects(const RuleDescriptor& rule) { return rule.part() == kPart && rule.scores; }
};
struct FiltersOutsideNodeSide {
  static constexpr bool selects(const RuleDescriptor& rule) {
    return rule.filters && rule.part() != RowPart::kNodeSide;
  }
};
struct NormalizesByMaximum {
  static constexpr bool selects(const RuleDescriptor& rule) {
    return rule.scores &&
           (rule.normalizer == Normalizer::kByMaximum || rule.normalizer == Normalizer::kByMaximumReversed);
  }
};

}  // namespace rule_list_detail

/// The rules of a list that belong to one part of a row, in the list's order.
template <class List, RowPart kPart>
using RulesOfPart = typename rule_list_detail::Select<List, rule_list_detail::InPart<kPart>>::type;
/// Those of them that score.
template <class List, RowPart kPart>
using ScoringRulesOfPart = typename rule_list_detail::Select<List, rule_list_detail::ScoresInPart<kPart>>::type;
/// The rules that filter by what placements change: load or topology.
template <class List>
using PlacementFilters = typename rule_list_detail::Select<List, rule_list_detail::FiltersOutsideNodeSide>::type;
template <class List>
using NodeSideRules = RulesOfPart<List, RowPart::kNodeSide>;
/// Template<Rule::NodeSide...> for the rules of the node side.
template <class List, template <class...> class Template>
using ApplyNodeSides = typename rule_list_detail::ApplyNodeSides<NodeSideRules<List>, Template>::type;
/// Rules of the node side whose raw scores are normalised by the largest one of the feasible nodes.
template <class List>
using NormalizedRules =
    typename rule_list_detail::Select<NodeSideRules<List>, rule_list_detail::NormalizesByMaximum>::type;

}  // namespace berth
