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

CompiledTaintToleration CompiledTaintToleration::compile(const NodeSidePod& pod, const Options& options,
                                                         Snapshot& snapshot) {
  return compile_taint_toleration(pod.spec.tolerations, snapshot.taint_sets(), options.comparison_operators);
}

CompiledTaintToleration compile_taint_toleration(std::span<const Toleration> tolerations,
                                                 std::span<const std::vector<Taint>> taint_sets,
                                                 bool comparison_operators) {
  // The score takes only tolerations of PreferNoSchedule or of every effect.
  std::vector<Toleration> for_score;
  for (const Toleration& toleration : tolerations)
    if (!toleration.effect || *toleration.effect == TaintEffect::kPreferNoSchedule) for_score.push_back(toleration);

  CompiledTaintToleration compiled;
  for (const std::vector<Taint>& taints : taint_sets) {
    bool refused = false;
    std::int32_t untolerated = 0;
    for (const Taint& taint : taints) {
      if (taint.effect == TaintEffect::kPreferNoSchedule) {
        untolerated += tolerates_any(for_score, taint, comparison_operators) ? 0 : 1;
      } else {
        refused = refused || !tolerates_any(tolerations, taint, comparison_operators);
      }
    }
    compiled.refused_of_set.push_back(refused ? 1 : 0);
    compiled.untolerated_of_set.push_back(untolerated);
  }
  return compiled;
}

}  // namespace berth
