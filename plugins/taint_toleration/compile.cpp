// SPDX-License-Identifier: Apache-2.0
#include "plugins/taint_toleration/compile.h"

#include <algorithm>
#include <optional>

namespace berth {
namespace {

/// A decimal integer in its one canonical spelling, as the comparison operators want it.
std::optional<std::int64_t> parse_canonical_int64(const std::string& text) {
  const auto value = parse_int64(text);
  if (!value || std::to_string(*value) != text) return std::nullopt;
  return value;
}

bool compares(const Toleration& toleration, const Taint& taint) {
  const auto wanted = parse_canonical_int64(toleration.value);
  const auto present = parse_canonical_int64(taint.value);
  if (!wanted || !present) return false;
  return toleration.op == TolerationOperator::kLt ? *present < *wanted : *present > *wanted;
}

}  // namespace

bool tolerates(const Toleration& toleration, const Taint& taint, bool comparison_operators) {
  if (toleration.effect && *toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  switch (toleration.op) {
    case TolerationOperator::kExists:
      return true;
    case TolerationOperator::kEqual:
      return toleration.value == taint.value;
    case TolerationOperator::kGt:
    case TolerationOperator::kLt:
      return comparison_operators && compares(toleration, taint);
  }
  return false;
}

bool tolerates_any(std::span<const Toleration> tolerations, const Taint& taint, bool comparison_operators) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return tolerates(toleration, taint, comparison_operators); });
}

CompiledTaintToleration::Options CompiledTaintToleration::compile_options(const Profile& /*profile*/,
                                                                          const FeatureGates& gates,
                                                                          Snapshot& /*snapshot*/) {
  return {gates.enabled("TaintTolerationComparisonOperators")};
}

namespace {

/// One taint set against the tolerations of a pod.
class TaintVerdicts {
 public:
  TaintVerdicts(std::span<const Toleration> tolerations, bool comparison_operators)
      : tolerations_(tolerations), comparison_operators_(comparison_operators) {
    // The score takes only tolerations of PreferNoSchedule or of every effect.
    for (const Toleration& toleration : tolerations)
      if (!toleration.effect || *toleration.effect == TaintEffect::kPreferNoSchedule) for_score_.push_back(toleration);
  }
  bool refuses(const std::vector<Taint>& taints) const {
    return std::any_of(taints.begin(), taints.end(), [&](const Taint& taint) {
      return taint.effect != TaintEffect::kPreferNoSchedule &&
             !tolerates_any(tolerations_, taint, comparison_operators_);
    });
  }
  std::int32_t untolerated(const std::vector<Taint>& taints) const {
    return static_cast<std::int32_t>(std::count_if(taints.begin(), taints.end(), [&](const Taint& taint) {
      return taint.effect == TaintEffect::kPreferNoSchedule && !tolerates_any(for_score_, taint, comparison_operators_);
    }));
  }

 private:
  std::span<const Toleration> tolerations_;
  bool comparison_operators_;
  std::vector<Toleration> for_score_;
};

}  // namespace

CompiledTaintToleration CompiledTaintToleration::compile(const NodeSidePod& pod, const Options& options,
                                                         Snapshot& snapshot) {
  CompiledTaintToleration compiled =
      compile_taint_toleration(pod.spec.tolerations, snapshot.taint_sets(), options.comparison_operators);
  compiled.known_definitions = snapshot.taint_set_ids().definition_count();
  return compiled;
}

void CompiledTaintToleration::extend(const NodeSidePod& pod, const Options& options, const Snapshot& snapshot) {
  const ValueIds& ids = snapshot.taint_set_ids();
  if (known_definitions == ids.definition_count()) return;
  const TaintVerdicts verdicts(pod.spec.tolerations, options.comparison_operators);
  refused_of_set.resize(static_cast<std::size_t>(ids.end()));
  untolerated_of_set.resize(static_cast<std::size_t>(ids.end()));
  ids.for_each_defined_since(known_definitions, [&](std::int32_t id) {
    const auto set = static_cast<std::size_t>(id);
    refused_of_set[set] = verdicts.refuses(snapshot.taint_sets()[set]) ? 1 : 0;
    untolerated_of_set[set] = verdicts.untolerated(snapshot.taint_sets()[set]);
  });
  known_definitions = ids.definition_count();
}

CompiledTaintToleration compile_taint_toleration(std::span<const Toleration> tolerations,
                                                 std::span<const std::vector<Taint>> taint_sets,
                                                 bool comparison_operators) {
  const TaintVerdicts verdicts(tolerations, comparison_operators);
  CompiledTaintToleration compiled;
  for (const std::vector<Taint>& taints : taint_sets) {
    compiled.refused_of_set.push_back(verdicts.refuses(taints) ? 1 : 0);
    compiled.untolerated_of_set.push_back(verdicts.untolerated(taints));
  }
  return compiled;
}

}  // namespace berth
