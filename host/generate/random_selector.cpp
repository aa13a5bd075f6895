// SPDX-License-Identifier: Apache-2.0
#include "host/generate/random_selector.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {
namespace {

struct LabelChoice {
  std::string_view key;
  std::array<std::string_view, 3> values;
};

constexpr std::array<LabelChoice, 3> kPodLabels = {
    {{"app", {"web", "db", "cache"}}, {"tier", {"front", "back", ""}}, {"version", {"v1", "v2", "v2"}}}};
constexpr std::array<LabelChoice, 3> kNamespaceLabels = {
    {{"env", {"prod", "dev", ""}},
     {"kubernetes.io/metadata.name", {"default", "team-a", "team-b"}},
     {"team", {"a", "b", "b"}}}};

const std::array<LabelChoice, 3>& choices_of(LabelsOf what) {
  return what == LabelsOf::kPod ? kPodLabels : kNamespaceLabels;
}

using LabelEntries = std::vector<std::pair<std::string, std::string>>;

void add_pair(Random& random, LabelsOf what, LabelEntries& entries) {
  const LabelChoice& label = random.pick(choices_of(what));
  const std::string_view value = random.pick(label.values);
  entries.emplace_back(label.key, value);
}

SelectorRequirement random_requirement(Random& random, LabelsOf what) {
  static constexpr std::array<SelectorOperator, 6> kOperators = {
      SelectorOperator::kIn,    SelectorOperator::kIn,     SelectorOperator::kNotIn,
      SelectorOperator::kNotIn, SelectorOperator::kExists, SelectorOperator::kDoesNotExist};
  const LabelChoice& label = random.pick(choices_of(what));
  SelectorRequirement requirement;
  requirement.key = random.chance(8) ? "absent-key" : label.key;
  requirement.op = random.pick(kOperators);
  if (requirement.op == SelectorOperator::kExists || requirement.op == SelectorOperator::kDoesNotExist)
    return requirement;
  const std::int64_t count = random.between(1, 2);
  for (std::int64_t i = 0; i < count; ++i) requirement.values.emplace_back(random.pick(label.values));
  return requirement;
}

/// A pair of `own`; false when it has none.
bool add_own_pair(Random& random, const LabelMap& own, LabelEntries& entries) {
  if (own.empty()) return false;
  auto entry = own.begin();
  for (std::uint64_t skipped = random.below(own.size()); skipped > 0; --skipped) ++entry;
  const auto [key, value] = *entry;
  entries.emplace_back(key, value);
  return true;
}

}  // namespace

LabelMap random_labels(Random& random, LabelsOf what) {
  LabelEntries entries;
  if (random.chance(6)) return LabelMap();
  for (const LabelChoice& label : choices_of(what)) {
    if (random.chance(80)) entries.emplace_back(label.key, random.pick(label.values));
  }
  return LabelMap(std::move(entries));
}

LabelMap random_pairs(Random& random, LabelsOf what) {
  LabelEntries entries;
  if (!random.chance(10)) add_pair(random, what, entries);
  if (random.chance(20)) add_pair(random, what, entries);
  return LabelMap(std::move(entries));
}

LabelSelector random_selector(Random& random, LabelsOf what, const LabelMap& own) {
  LabelSelector selector;
  LabelEntries pairs;
  const bool self = random.chance(60) && add_own_pair(random, own, pairs);
  if (random.chance(self ? 10 : 40)) add_pair(random, what, pairs);
  const std::int64_t count = self ? random.between(0, 3) - 2 : random.between(pairs.empty() ? 1 : 0, 2);
  for (std::int64_t i = 0; i < count; ++i) selector.match_expressions.push_back(random_requirement(random, what));
  selector.match_labels = LabelMap(std::move(pairs));
  return selector;
}

std::optional<LabelSelector> random_optional_selector(Random& random, LabelsOf what, const LabelMap& own,
                                                      const SelectorMoods& moods) {
  if (random.chance(moods.unset)) return random.chance(50) ? std::optional(LabelSelector{}) : std::nullopt;
  LabelSelector selector = random_selector(random, what, own);
  if (random.chance(moods.malformed)) make_malformed(random, selector);
  return selector;
}

LabelSelector random_negative_selector(Random& random, LabelsOf what) {
  LabelSelector selector;
  const std::int64_t count = random.between(1, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    SelectorRequirement requirement = random_requirement(random, what);
    const bool has_values = !requirement.values.empty();
    requirement.op = has_values ? SelectorOperator::kNotIn : SelectorOperator::kDoesNotExist;
    selector.match_expressions.push_back(std::move(requirement));
  }
  return selector;
}

void make_malformed(Random& random, LabelSelector& selector) {
  const auto add = [&](std::string key, SelectorOperator op, std::vector<std::string> values) {
    selector.match_expressions.push_back({std::move(key), op, std::move(values)});
  };
  switch (random.below(6)) {
    case 0:
      return add("app", SelectorOperator::kIn, {});
    case 1:
      return add("app", SelectorOperator::kNotIn, {});
    case 2:
      return add("app", SelectorOperator::kExists, {"web"});
    case 3:
      return add("a/b/c", SelectorOperator::kExists, {});
    case 4:
      return add("app", SelectorOperator::kNotIn, {"web", "-web"});
    default:
      selector.match_labels = LabelMap{{"app", "not a value"}};
  }
}

}  // namespace berth
