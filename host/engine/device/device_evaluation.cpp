// SPDX-License-Identifier: Apache-2.0
// One pod on every node: feasibility and scores from the device, statuses of nodes that refuse from the host.

#include <optional>
#include <string_view>
#include <utility>

#include "batching/device/device_errors.h"
#include "batching/evaluation.h"
#include "batching/topology_scores.h"
#include "host/engine/device/device_state.h"
#include "host/engine/device/nominations_of_launch.h"

namespace berth {
namespace {

/// The scores that the device computed, and those of the rules that it does not have.
class DeviceScores : public KnownScores {
 public:
  DeviceScores(const PodClass& pod_class, const CompiledNodeSide& side, const CompiledProfile& profile,
               const Snapshot& snapshot, std::vector<DeviceNodeScores> nodes)
      : pod_class_(pod_class),
        side_(side),
        profile_(profile),
        snapshot_(snapshot),
        nodes_(std::move(nodes)),
        has_spread_(pod_class.topology != nullptr && !pod_class.topology->soft.empty()),
        has_affinity_(pod_class.topology != nullptr && affinity_contributes(*pod_class.topology, snapshot.topology())) {
  }

  bool is_feasible(std::int32_t slot) const override { return at(slot).feasible; }

  std::optional<RuleScore> score(std::string_view plugin, std::int32_t slot) const override {
    const DeviceNodeScores& node = at(slot);
    if (plugin == NodeResourcesFit::name) return RuleScore{node.fit, node.fit};
    if (plugin == NodeResourcesBalancedAllocation::name) {
      if (pod_class_.balanced_skips) return std::nullopt;
      return RuleScore{node.balanced, node.balanced};
    }
    if (plugin == PodTopologySpread::name && has_spread_) return RuleScore{node.spread, node.spread_normalized};
    if (plugin == InterPodAffinity::name && has_affinity_)
      return RuleScore{node.pod_affinity, node.pod_affinity_normalized};
    return node_side_score(plugin, slot);
  }

 private:
  const DeviceNodeScores& at(std::int32_t slot) const { return nodes_[static_cast<std::size_t>(slot)]; }

  std::optional<RuleScore> node_side_score(std::string_view plugin, std::int32_t slot) const {
    std::optional<RuleScore> found;
    ScoringRulesOfPart<Rules, RowPart::kNodeSide>::for_each([&](auto tag) {
      using Rule = typename decltype(tag)::type;
      if (Rule::descriptor.name != plugin || side_.weight<Rule>() == 0) return;
      if constexpr (NormalizedRules<Rules>::contains<Rule>) {
        constexpr std::size_t kAt = NormalizedRules<Rules>::index_of<Rule>;
        found = {at(slot).raws.of[kAt], at(slot).normalized.of[kAt]};
      } else {
        const std::int64_t score =
            side_.of<Rule>().score_now(*pod_class_.spec, profile_.options<Rule>(), snapshot_, slot);
        found = {score, score};
      }
    });
    return found;
  }

  const PodClass& pod_class_;
  const CompiledNodeSide& side_;
  const CompiledProfile& profile_;
  const Snapshot& snapshot_;
  std::vector<DeviceNodeScores> nodes_;
  bool has_spread_;
  bool has_affinity_;
};

}  // namespace

/// @param pod  has_row()
std::vector<DeviceNodeScores> DeviceBackend::State::scores_on_device(const PodToPlace& pod) {
  follow_node_events();
  add_class(pod.class_index);
  LaunchPlan plan;
  NominationsOfLaunch(*this, plan).add_pod(pod);
  Prepared prepared = prepare(plan);
  ensure_scratch(1);
  prepared.state.scratch = {seen.data(), classes.soft_domains_max(), next_mark};
  ++next_mark;
  const auto nodes = static_cast<std::uint64_t>(snapshot.slot_count());
  node_scores.reserve(nodes);
  accelerator->evaluate_pod(prepared.state, node_scores.data());
  return node_scores.download(0, nodes);
}

/// nullopt: the device cannot evaluate the pod.
std::optional<Evaluation> DeviceBackend::State::evaluate_on_device(const PodToPlace& pod) {
  if (!has_row(pod.class_index)) return std::nullopt;
  try {
    const DeviceScores scores(table[pod.class_index], table.compiled_node_side(pod.class_index),
                              table.profile_of(pod.class_index), snapshot, scores_on_device(pod));
    return evaluate_pod(pod, sides, nominations, snapshot, scores);
  } catch (const DeviceError&) {
    reset_device();  // the host answers, whatever has become of the device
    return std::nullopt;
  }
}

std::optional<Evaluation> DeviceBackend::State::evaluate_for_fork(const PodToPlace& pod, CommitState& fork,
                                                                  const ExcludedNodes& touched) {
  const LaunchPlan plan = plan_for_fork({&pod, 1}, 1, fork);
  std::optional<std::vector<DeviceNodeScores>> nodes;
  if (!plan.row_of_pod.empty())
    nodes = on_device_for_fork(fork, touched, [&](ForkStates& states, const ForkDifference& difference) {
      return states.evaluate(plan, forks_read->state, rows, classes, columns, difference);
    });
  if (!nodes) {
    ++evaluations_on_host;
    return std::nullopt;
  }
  const DeviceScores scores(table[pod.class_index], table.compiled_node_side(pod.class_index),
                            table.profile_of(pod.class_index), fork.snapshot, std::move(*nodes));
  return evaluate_pod(pod, fork.sides, fork.nominations, fork.snapshot, scores);
}

Evaluation DeviceBackend::State::evaluate(const PodToPlace& pod) {
  check_prepared(pod);
  std::optional<Evaluation> evaluation;
  all_or_nothing([&] { evaluation = evaluate_on_device(CommitState::current(pod)); });
  if (evaluation) return std::move(*evaluation);
  ++evaluations_on_host;
  return CommitState::evaluate(pod);
}

}  // namespace berth
