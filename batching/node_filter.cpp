// SPDX-License-Identifier: Apache-2.0
#include "batching/node_filter.h"

#include <algorithm>
#include <array>

#include "batching/load_rules.h"
#include "batching/topology_scores.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/node_ports/compile.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/pod_topology_spread/rule.h"
#include "plugins/volume_restrictions/volume_restrictions.h"

namespace berth {
namespace {

/// One node of a snapshot, as batching/load_rules.h reads it.
class SnapshotNode {
 public:
  SnapshotNode(const Snapshot& snapshot, std::int32_t node) : snapshot_(snapshot), node_(node) {}
  std::int64_t allocatable(std::int32_t column) const {
    return column == kNoColumn ? 0 : snapshot_.allocatable(column, node_);
  }
  std::int64_t requested(std::int32_t column) const {
    return column == kNoColumn ? 0 : snapshot_.requested(column, node_);
  }
  std::int64_t fit_requested(std::int32_t column) const {
    if (column == kCpuColumn) return snapshot_.non_zero_milli_cpu(node_);
    if (column == kMemoryColumn) return snapshot_.non_zero_memory_bytes(node_);
    return requested(column);
  }
  std::int64_t pod_count() const { return snapshot_.pod_count(node_); }
  std::int64_t allowed_pods() const { return snapshot_.allowed_pods(node_); }
  const std::vector<HostPort>& used_ports() const { return snapshot_.used_ports(node_); }

 private:
  const Snapshot& snapshot_;
  std::int32_t node_;
};

/// The requests of a class for the resources that its profile scores.
class ScoredRequests {
 public:
  ScoredRequests(const std::vector<ScoredResource>& resources, const std::vector<ScoredRequest>& requests)
      : resources_(resources), requests_(requests) {}
  std::int32_t size() const { return static_cast<std::int32_t>(resources_.size()); }
  std::int32_t column(std::int32_t r) const { return resources_[static_cast<std::size_t>(r)].column; }
  std::int64_t amount(std::int32_t r) const { return requests_[static_cast<std::size_t>(r)].amount; }
  std::int64_t weight(std::int32_t r) const {
    return requests_[static_cast<std::size_t>(r)].counts ? resources_[static_cast<std::size_t>(r)].weight : 0;
  }

 private:
  const std::vector<ScoredResource>& resources_;
  const std::vector<ScoredRequest>& requests_;
};

double balanced_of(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                   std::int32_t node, bool with_pod) {
  constexpr std::size_t kStackResources = 16;
  std::array<double, kStackResources> stack_fractions{};
  std::array<bool, kStackResources> stack_counts{};
  const std::size_t count = profile.balanced_resources.size();
  std::vector<double> heap_fractions(count > kStackResources ? count : 0);
  std::unique_ptr<bool[]> heap_counts(count > kStackResources ? new bool[count]() : nullptr);
  return balanced_score_of(ScoredRequests(profile.balanced_resources, pod_class.balanced_requests),
                           SnapshotNode(snapshot, node), with_pod,
                           count > kStackResources ? heap_fractions.data() : stack_fractions.data(),
                           count > kStackResources ? heap_counts.get() : stack_counts.data());
}

// The scores that read the load, two functions per rule: whether its PreScore skips the class, and the score of one
// node.

bool skips_score(RuleTag<NodeResourcesFit> /*rule*/, const PodClass& /*pod_class*/) { return false; }
std::int64_t load_score_of(RuleTag<NodeResourcesFit> /*rule*/, const PodClass& pod_class,
                           const CompiledProfile& profile, const Snapshot& snapshot, std::int32_t node) {
  return fit_score_of(profile.fit.type, profile.fit.score_of_utilization.data(),
                      ScoredRequests(profile.fit.resources, pod_class.fit_requests), SnapshotNode(snapshot, node));
}

bool skips_score(RuleTag<NodeResourcesBalancedAllocation> /*rule*/, const PodClass& pod_class) {
  return pod_class.balanced_skips;
}
std::int64_t load_score_of(RuleTag<NodeResourcesBalancedAllocation> /*rule*/, const PodClass& pod_class,
                           const CompiledProfile& profile, const Snapshot& snapshot, std::int32_t node) {
  const std::int64_t with_pod = to_integer(balanced_of(pod_class, profile, snapshot, node, true));
  if (profile.release == Release::k1_35) return with_pod;
  const std::int64_t without_pod = to_integer(balanced_of(pod_class, profile, snapshot, node, false));
  return NodeResourcesBalancedAllocation::wrapping_score_of_change(with_pod, without_pod);
}

using LoadScores = ScoringRulesOfPart<Rules, RowPart::kLoad>;

/// The rules that read the load, with every insufficient resource.
template <class Node>
LoadVerdict load_verdict(const PodClass& pod_class, const Node& node) {
  LoadVerdict verdict;
  verdict.ports_taken = !pod_class.ports.empty() && ports_conflict(pod_class.ports, node.used_ports());
  verdict.too_many_pods = NodeResourcesFit::too_many_pods(node.pod_count(), node.allowed_pods());
  for (std::size_t r = 0; r < pod_class.requested.size(); ++r) {
    const RequestedResource& request = pod_class.requested[r];
    const std::int64_t allocatable = node.allocatable(request.column);
    if (!NodeResourcesFit::is_short(request.amount, allocatable, node.requested(request.column))) continue;
    verdict.insufficient.insert(r);
    if (NodeResourcesFit::is_unresolvable(request.amount, allocatable)) verdict.is_unresolvable = true;
  }
  return verdict;
}

// The rules that filter by load or topology, two functions per rule: the code with which it refuses the node (kSuccess:
// it accepts), and the reasons of a refusal.

constexpr StatusCode refusal_of(bool refuses, bool is_unresolvable) {
  if (!refuses) return StatusCode::kSuccess;
  return is_unresolvable ? StatusCode::kUnschedulableAndUnresolvable : StatusCode::kUnschedulable;
}

StatusCode refusal_of(RuleTag<NodePorts> /*rule*/, const LoadVerdict& verdict) {
  return refusal_of(verdict.ports_taken, false);
}
void add_reasons(RuleTag<NodePorts> /*rule*/, const PodClass& /*pod_class*/, const LoadVerdict& /*verdict*/,
                 std::vector<std::string>& reasons) {
  reasons.emplace_back(NodePorts::reason);
}

StatusCode refusal_of(RuleTag<NodeResourcesFit> /*rule*/, const LoadVerdict& verdict) {
  return refusal_of(!verdict.fits(), verdict.is_unresolvable);
}
void add_reasons(RuleTag<NodeResourcesFit> /*rule*/, const PodClass& pod_class, const LoadVerdict& verdict,
                 std::vector<std::string>& reasons) {
  if (verdict.too_many_pods) reasons.emplace_back(NodeResourcesFit::reason_pods);
  for (std::size_t r = 0; r < pod_class.requested.size(); ++r)
    if (verdict.insufficient.contains(r))
      reasons.push_back(std::string(NodeResourcesFit::reason_prefix) + pod_class.requested[r].name);
}

StatusCode refusal_of(RuleTag<PodTopologySpread> /*rule*/, const TopologyVerdict& verdict) {
  return refusal_of(verdict.spread != SpreadVerdict::kAccepted, verdict.spread == SpreadVerdict::kMissingLabel);
}
void add_reasons(RuleTag<PodTopologySpread> /*rule*/, const PodClass& /*pod_class*/, const TopologyVerdict& verdict,
                 std::vector<std::string>& reasons) {
  reasons.emplace_back(verdict.spread == SpreadVerdict::kMissingLabel ? PodTopologySpread::reason_missing_label
                                                                      : PodTopologySpread::reason);
}

StatusCode refusal_of(RuleTag<InterPodAffinity> /*rule*/, const TopologyVerdict& verdict) {
  return refusal_of(verdict.affinity != AffinityVerdict::kAccepted, verdict.affinity == AffinityVerdict::kAffinity);
}
void add_reasons(RuleTag<InterPodAffinity> /*rule*/, const PodClass& /*pod_class*/, const TopologyVerdict& verdict,
                 std::vector<std::string>& reasons) {
  switch (verdict.affinity) {
    case AffinityVerdict::kAffinity:
      reasons.emplace_back(InterPodAffinity::reason_affinity);
      return;
    case AffinityVerdict::kAntiAffinity:
      reasons.emplace_back(InterPodAffinity::reason_anti_affinity);
      return;
    default:
      reasons.emplace_back(InterPodAffinity::reason_existing_anti_affinity);
  }
}

/// The verdict that the functions of a rule read.
template <class Rule>
const auto& verdict_for(const LoadVerdict& load, const TopologyVerdict& topology) {
  if constexpr (Rule::descriptor.part() == RowPart::kLoad)
    return load;
  else
    return topology;
}

bool accepts(const LoadVerdict& verdict, const CompiledProfile& profile) {
  bool accepted = true;
  RulesOfPart<PlacementFilters<Rules>, RowPart::kLoad>::for_each([&](auto rule) {
    accepted = accepted &&
               (!profile.filters<typename decltype(rule)::type>() || refusal_of(rule, verdict) == StatusCode::kSuccess);
  });
  return accepted;
}

/// The first of these rules that refuses, in the profile's order.
struct FirstRule {
  std::int32_t rank = kNotEnabled;
  NodeVerdict verdict;
};
FirstRule first_of_rules(const CompiledProfile& profile, const LoadVerdict& load, const TopologyVerdict& topology) {
  FirstRule first;
  PlacementFilters<Rules>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    const StatusCode code = refusal_of(tag, verdict_for<Rule>(load, topology));
    const std::int32_t rank = profile.rank<Rule>();
    if (code != StatusCode::kSuccess && rank < first.rank) first = {rank, {code, Rule::descriptor.name}};
  });
  return first;
}

}  // namespace

LoadVerdict filter_load(const PodClass& pod_class, const Snapshot& snapshot, std::int32_t node) {
  return load_verdict(pod_class, SnapshotNode(snapshot, node));
}

LoadVerdict filter_load(const PodClass& pod_class, const NodeOverlay& node) { return load_verdict(pod_class, node); }

bool load_accepts(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                  std::int32_t node) {
  return accepts(filter_load(pod_class, snapshot, node), profile);
}

bool load_accepts(const PodClass& pod_class, const CompiledProfile& profile, const NodeOverlay& node) {
  return accepts(filter_load(pod_class, node), profile);
}

TopologyVerdict filter_topology(const PodClass& pod_class, const Snapshot& snapshot, std::int32_t node) {
  if (pod_class.topology == nullptr) return {};
  return filter_topology(*pod_class.topology, snapshot.topology(), node);
}

TopologyVerdict filter_topology(const PodClass& pod_class, const NodeOverlay& node, bool affinity_skips) {
  if (pod_class.topology == nullptr) return {};
  return filter_topology(*pod_class.topology, node.counts(), affinity_skips);
}

bool affinity_pre_filter_skips(const PodClass& pod_class, const Snapshot& snapshot) {
  return pod_class.topology != nullptr && affinity_pre_filter_skips(*pod_class.topology, snapshot.topology());
}

HostRefusal filter_host(const PodClass& pod_class, std::int32_t node) {
  return pod_class.host.empty() ? HostRefusal{kNotEnabled} : pod_class.host.refusal(node);
}

HostRefusal filter_host(const PodClass& pod_class, const NodeOverlay& node) {
  if (pod_class.host.empty()) return {kNotEnabled};
  if (node.added_pods().empty() && node.removed_pods().empty()) return pod_class.host.refusal(node.node());
  return pod_class.host.refusal_with(node.node_name(), node.added_pods(), node.removed_pods());
}

namespace {

/// The plugin refuses before it misses the state of its PreFilter, which has the same rank.
bool precedes_missing_state(const HostRefusal& host, const Refusal& refusal) {
  return host.rank == refusal.rank && host.plugin == VolumeRestrictions::kName && is_disk_conflict(host.status);
}

}  // namespace

NodeVerdict first_refusal(const CompiledProfile& profile, const Refusal& refusal, const HostRefusal& host,
                          const LoadVerdict& load, const TopologyVerdict& topology) {
  const FirstRule rule = first_of_rules(profile, load, topology);
  const std::int32_t first = std::min({refusal.rank, host.rank, rule.rank});
  if (first == kNotEnabled) return {};
  if (first == refusal.rank && !precedes_missing_state(host, refusal))
    return {refusal.is_error ? StatusCode::kError : StatusCode::kUnschedulableAndUnresolvable, refusal.plugin};
  return first == host.rank ? NodeVerdict{host.status.code, host.plugin} : rule.verdict;
}

Status status_of(const PodClass& pod_class, const CompiledProfile& profile, const Refusal& refusal,
                 const HostRefusal& host, const LoadVerdict& load, const TopologyVerdict& topology) {
  const NodeVerdict first = first_refusal(profile, refusal, host, load, topology);
  Status status{first.code, std::string(first.plugin), {}};
  if (first.accepts()) return status;
  if (host.rank != kNotEnabled && first.plugin == host.plugin &&
      (host.rank != refusal.rank || precedes_missing_state(host, refusal)))
    return host.status;
  if (first.plugin == refusal.plugin) {
    if (!refusal.reason.empty()) status.reasons.push_back(refusal.reason);
    return status;
  }
  PlacementFilters<Rules>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    if (first.plugin == Rule::descriptor.name)
      add_reasons(tag, pod_class, verdict_for<Rule>(load, topology), status.reasons);
  });
  return status;
}

Status filter_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                   const Snapshot& snapshot, std::int32_t node) {
  return status_of(pod_class, profile, row.of_class().refusals[row.refusal(node)], filter_host(pod_class, node),
                   filter_load(pod_class, snapshot, node), filter_topology(pod_class, snapshot, node));
}

Status filter_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                   const NodeOverlay& node, bool affinity_skips) {
  return status_of(pod_class, profile, row.of_class().refusals[row.refusal(node.node())], filter_host(pod_class, node),
                   filter_load(pod_class, node), filter_topology(pod_class, node, affinity_skips));
}

NodeVerdict verdict_of_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                            const Snapshot& snapshot, std::int32_t node) {
  return first_refusal(profile, row.of_class().refusals[row.refusal(node)], filter_host(pod_class, node),
                       filter_load(pod_class, snapshot, node), filter_topology(pod_class, snapshot, node));
}

NodeVerdict verdict_of_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                            const NodeOverlay& node, bool affinity_skips) {
  return first_refusal(profile, row.of_class().refusals[row.refusal(node.node())], filter_host(pod_class, node),
                       filter_load(pod_class, node), filter_topology(pod_class, node, affinity_skips));
}

std::optional<std::int64_t> load_score(std::string_view plugin, const PodClass& pod_class,
                                       const CompiledProfile& profile, const Snapshot& snapshot, std::int32_t node) {
  std::optional<std::int64_t> score;
  LoadScores::for_each([&](auto rule) {
    if (decltype(rule)::type::descriptor.name == plugin && !skips_score(rule, pod_class))
      score = load_score_of(rule, pod_class, profile, snapshot, node);
  });
  return score;
}

std::int64_t load_total(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                        std::int32_t node) {
  std::int64_t total = 0;
  LoadScores::for_each([&](auto rule) {
    const std::int64_t weight = profile.weight<typename decltype(rule)::type>();
    if (weight == 0 || skips_score(rule, pod_class)) return;
    total +=
        weight * std::clamp<std::int64_t>(load_score_of(rule, pod_class, profile, snapshot, node), 0, kMaxNodeScore);
  });
  return total;
}

std::string score_range_error(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                              const std::vector<std::int32_t>& nodes, const HostScores* host) {
  TopologyScores topology;
  if (pod_class.spread_may_be_negative) topology = score_topology(*pod_class.topology, snapshot.topology(), nodes);
  const auto score_of = [&](std::string_view plugin, std::size_t i) {
    std::optional<std::int64_t> score = load_score(plugin, pod_class, profile, snapshot, nodes[i]);
    if (plugin == PodTopologySpread::name && topology.spread) score = topology.spread_normalized(i);
    if (host != nullptr && !score)
      if (const auto of_host = host->score(plugin, i)) score = of_host->normalized;
    return score;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const EnabledPlugin& plugin : profile.profile->at(ExtensionPoint::kScore)) {
      const std::optional<std::int64_t> score = score_of(plugin.name, i);
      if (!score || (*score >= 0 && *score <= kMaxNodeScore)) continue;
      return "applying score defaultWeights on Score plugins: plugin \"" + plugin.name +
             "\" returns an invalid score " + std::to_string(*score) +
             ", it should in the range of [0, 100] after normalizing";
    }
  return {};
}

}  // namespace berth
