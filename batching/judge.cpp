// SPDX-License-Identifier: Apache-2.0
#include "batching/judge.h"

#include <algorithm>
#include <array>

#include "batching/topology_scores.h"
#include "plugins/node_ports/compile.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {
namespace {

std::int64_t allocatable_of(const Snapshot& snapshot, std::int32_t column, std::int32_t node) {
  return column == kNoColumn ? 0 : snapshot.allocatable(column, node);
}
std::int64_t requested_of(const Snapshot& snapshot, std::int32_t column, std::int32_t node) {
  return column == kNoColumn ? 0 : snapshot.requested(column, node);
}

/// NodeResourcesFit scores cpu and memory by the non-zero figures.
std::int64_t fit_requested(const Snapshot& snapshot, std::int32_t column, std::int32_t node) {
  if (column == kCpuColumn) return snapshot.non_zero_milli_cpu(node);
  if (column == kMemoryColumn) return snapshot.non_zero_memory_bytes(node);
  return requested_of(snapshot, column, node);
}

std::int64_t strategy_part(const FitStrategy& strategy, std::int64_t requested, std::int64_t allocatable) {
  switch (strategy.type) {
    case ScoringStrategyType::kLeastAllocated:
      return LeastAllocated::part(requested, allocatable);
    case ScoringStrategyType::kMostAllocated:
      return MostAllocated::part(requested, allocatable);
    case ScoringStrategyType::kRequestedToCapacityRatio:
      break;
  }
  const std::int64_t percent = RequestedToCapacityRatio::utilization(requested, allocatable);
  return strategy.score_of_utilization[static_cast<std::size_t>(percent < 0 ? 0 : percent > 100 ? 100 : percent)];
}

double balanced_of(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                   std::int32_t node, bool with_pod) {
  constexpr std::size_t kStackResources = 16;
  std::array<double, kStackResources> stack_fractions{};
  std::array<bool, kStackResources> stack_counts{};
  const std::size_t count = profile.balanced_resources.size();
  std::vector<double> heap_fractions(count > kStackResources ? count : 0);
  std::unique_ptr<bool[]> heap_counts(count > kStackResources ? new bool[count]() : nullptr);
  double* fractions = count > kStackResources ? heap_fractions.data() : stack_fractions.data();
  bool* counts = count > kStackResources ? heap_counts.get() : stack_counts.data();
  for (std::size_t r = 0; r < count; ++r) {
    const std::int32_t column = profile.balanced_resources[r].column;
    const std::int64_t allocatable = allocatable_of(snapshot, column, node);
    counts[r] = pod_class.balanced_requests[r].counts && allocatable != 0;
    if (!counts[r]) continue;
    const std::int64_t pod = with_pod ? pod_class.balanced_requests[r].amount : 0;
    fractions[r] = NodeResourcesBalancedAllocation::fraction(
        static_cast<double>(saturating_add(requested_of(snapshot, column, node), pod)),
        static_cast<double>(allocatable));
  }
  return NodeResourcesBalancedAllocation::score(fractions, counts, static_cast<int>(count));
}

Status fit_status(const PodClass& pod_class, const LoadVerdict& verdict) {
  Status status{StatusCode::kUnschedulable, std::string(NodeResourcesFit::name), {}};
  if (verdict.too_many_pods) status.reasons.emplace_back(NodeResourcesFit::reason_pods);
  for (std::size_t r = 0; r < pod_class.requested.size(); ++r)
    if ((verdict.short_mask >> r & 1u) != 0)
      status.reasons.push_back(std::string(NodeResourcesFit::reason_prefix) + pod_class.requested[r].name);
  if (verdict.unresolvable_mask != 0) status.code = StatusCode::kUnschedulableAndUnresolvable;
  return status;
}

/// A maxSkew below 1, which no API server lets through, can make costs negative and with them the normalised scores.
bool spread_may_leave_range(const PodClass& pod_class) {
  return pod_class.topology != nullptr && std::any_of(pod_class.topology->soft.begin(), pod_class.topology->soft.end(),
                                                      [](const SoftSpread& soft) { return soft.max_skew < 1; });
}

}  // namespace

LoadVerdict judge_load(const PodClass& pod_class, const Snapshot& snapshot, std::int32_t node) {
  LoadVerdict verdict;
  verdict.ports_taken = !pod_class.ports.empty() && ports_conflict(pod_class.ports, snapshot.used_ports(node));
  verdict.too_many_pods = NodeResourcesFit::too_many_pods(snapshot.pod_count(node), snapshot.allowed_pods(node));
  for (std::size_t r = 0; r < pod_class.requested.size(); ++r) {
    const RequestedResource& request = pod_class.requested[r];
    const std::int64_t allocatable = allocatable_of(snapshot, request.column, node);
    const std::uint64_t bit = std::uint64_t{1} << r;
    if (!NodeResourcesFit::is_short(request.amount, allocatable, requested_of(snapshot, request.column, node)))
      continue;
    verdict.short_mask |= bit;
    if (NodeResourcesFit::is_unresolvable(request.amount, allocatable)) verdict.unresolvable_mask |= bit;
  }
  return verdict;
}

bool load_accepts(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                  std::int32_t node) {
  const LoadVerdict verdict = judge_load(pod_class, snapshot, node);
  return (profile.place_node_ports == kNotEnabled || !verdict.ports_taken) &&
         (profile.place_node_resources_fit == kNotEnabled || verdict.fits());
}

TopologyVerdict judge_topology(const PodClass& pod_class, const Snapshot& snapshot, std::int32_t node,
                               bool affinity_skips) {
  if (pod_class.topology == nullptr) return {};
  return judge_topology(*pod_class.topology, snapshot.topology(), node, affinity_skips);
}

Status status_of(const PodClass& pod_class, const CompiledProfile& profile, const Refusal& refusal,
                 const LoadVerdict& load, const TopologyVerdict& topology) {
  const std::int32_t ports_place = load.ports_taken ? profile.place_node_ports : kNotEnabled;
  const std::int32_t fit_place = load.fits() ? kNotEnabled : profile.place_node_resources_fit;
  const std::int32_t topology_place = place_of_refusal(topology, profile);
  const std::int32_t first = std::min({refusal.place, ports_place, fit_place, topology_place});
  if (first == kNotEnabled) return {};
  if (first == refusal.place) {
    const StatusCode code = refusal.is_error ? StatusCode::kError : StatusCode::kUnschedulableAndUnresolvable;
    Status status{code, std::string(refusal.plugin), {}};
    if (!refusal.reason.empty()) status.reasons.push_back(refusal.reason);
    return status;
  }
  if (first == ports_place)
    return {StatusCode::kUnschedulable, std::string(NodePorts::name), {std::string(NodePorts::reason)}};
  return first == fit_place ? fit_status(pod_class, load) : status_of(topology, profile);
}

Status judge(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& row,
             const Snapshot& snapshot, std::int32_t node, bool affinity_skips) {
  return status_of(pod_class, profile, row.refusals[row.refusal(node)], judge_load(pod_class, snapshot, node),
                   judge_topology(pod_class, snapshot, node, affinity_skips));
}

std::int64_t fit_score(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                       std::int32_t node) {
  const FitStrategy& strategy = profile.fit;
  const bool ratio = strategy.type == ScoringStrategyType::kRequestedToCapacityRatio;
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (std::size_t r = 0; r < strategy.resources.size(); ++r) {
    const ScoredResource& resource = strategy.resources[r];
    const std::int64_t allocatable = allocatable_of(snapshot, resource.column, node);
    if (allocatable == 0 || !pod_class.fit_requests[r].counts) continue;
    const std::int64_t requested =
        saturating_add(fit_requested(snapshot, resource.column, node), pod_class.fit_requests[r].amount);
    const std::int64_t part = strategy_part(strategy, requested, allocatable);
    if (ratio && part <= 0) continue;
    sum += part * resource.weight;
    weights += resource.weight;
  }
  if (weights == 0) return 0;
  return ratio ? static_cast<std::int64_t>(
                     RequestedToCapacityRatio::rounded_mean(static_cast<double>(sum), static_cast<double>(weights)))
               : sum / weights;
}

std::int64_t balanced_score(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                            std::int32_t node) {
  const double with_pod = balanced_of(pod_class, profile, snapshot, node, true);
  if (profile.release == Release::k1_35) return static_cast<std::int64_t>(with_pod);
  const double without_pod = balanced_of(pod_class, profile, snapshot, node, false);
  return static_cast<std::int64_t>(NodeResourcesBalancedAllocation::score_of_change(with_pod, without_pod));
}

std::int64_t load_total(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                        std::int32_t node) {
  std::int64_t total = 0;
  if (profile.weight_fit != 0) total += profile.weight_fit * fit_score(pod_class, profile, snapshot, node);
  if (profile.weight_balanced != 0 && !pod_class.balanced_skips)
    total += profile.weight_balanced * balanced_score(pod_class, profile, snapshot, node);
  return total;
}

bool scores_may_leave_range(const PodClass& pod_class, const Snapshot& snapshot) {
  return snapshot.any_wrapped() || spread_may_leave_range(pod_class);
}

std::string score_range_error(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                              const std::vector<std::int32_t>& nodes) {
  TopologyScores topology;
  if (spread_may_leave_range(pod_class)) topology = score_topology(*pod_class.topology, snapshot.topology(), nodes);
  for (const EnabledPlugin& plugin : profile.profile->at(ExtensionPoint::kScore)) {
    const bool fit = plugin.name == NodeResourcesFit::name;
    const bool balanced = plugin.name == NodeResourcesBalancedAllocation::name && !pod_class.balanced_skips;
    const bool spread = plugin.name == PodTopologySpread::name && topology.spread;
    if (!fit && !balanced && !spread) continue;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::int64_t score = fit        ? fit_score(pod_class, profile, snapshot, nodes[i])
                                 : balanced ? balanced_score(pod_class, profile, snapshot, nodes[i])
                                            : topology.spread_normalized(i);
      if (score < 0 || score > kMaxNodeScore)
        return "applying score defaultWeights on Score plugins: plugin \"" + plugin.name +
               "\" returns an invalid score " + std::to_string(score) +
               ", it should in the range of [0, 100] after normalizing";
    }
  }
  return {};
}

}  // namespace berth
