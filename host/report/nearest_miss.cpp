// SPDX-License-Identifier: Apache-2.0
#include "host/report/nearest_miss.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "host/objects/json_out.h"
#include "host/objects/node_match.h"
#include "host/objects/pod_requests.h"
#include "host/objects/resources.h"
#include "host/report/figures.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {
namespace {

using Changes = std::vector<NeededChange>;

constexpr double kEffortOfOneDecision = 1.0;
constexpr double kEffortOfAnotherLabel = 1.5;  // a label says what a node is: changed less lightly than a toleration
constexpr double kEffortOfOtherPods = 2.0;     // they have reasons of their own to be where they are
constexpr double kEffortOfRoom = 0.5;          // plus up to as much again by the share of the node that is short

/// Exact, in the largest binary unit that leaves no fraction.
std::string exact_bytes(std::int64_t bytes) {
  static constexpr std::array<std::pair<std::int64_t, std::string_view>, 3> kUnits = {
      {{std::int64_t{1} << 30, "Gi"}, {std::int64_t{1} << 20, "Mi"}, {std::int64_t{1} << 10, "Ki"}}};
  for (const auto& [size, unit] : kUnits) {
    if (bytes % size == 0) return fmt::format("{}{}", bytes / size, unit);
  }
  return fmt::format("{} bytes of", bytes);
}

std::string exact_amount(std::string_view resource, std::int64_t amount) {
  if (resource == kCpu) return amount % 1000 == 0 ? fmt::format("{}", amount / 1000) : fmt::format("{}m", amount);
  if (resource == kMemory || resource == kEphemeralStorage) return exact_bytes(amount);
  return fmt::format("{}", amount);
}

void add_shortage(std::string_view resource, std::int64_t asked, std::int64_t used, std::int64_t allocatable,
                  Changes& changes) {
  if (asked <= 0) return;
  const std::int64_t wanted = saturating_add(asked, used);
  if (wanted <= allocatable) return;
  const std::int64_t missing = saturating_add(wanted, -allocatable);
  const double share = allocatable > 0 ? static_cast<double>(missing) / static_cast<double>(allocatable) : 1.0;
  changes.push_back({fmt::format("{} {} more", exact_amount(resource, missing), resource),
                     kEffortOfRoom + kEffortOfRoom * std::min(share, 1.0)});
}

bool is_ignored(std::string_view resource, const NodeResourcesFitArgs& args) {
  if (!is_extended_resource(resource)) return false;
  const auto names = [](const std::vector<std::string>& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  return names(args.ignored_resources, resource) ||
         names(args.ignored_resource_groups, resource.substr(0, resource.find('/')));
}

void add_room(const Pod& pod, const NodeResourcesFitArgs& args, const NodeInfo& info, Changes& changes) {
  const ResourceAmounts asked = filter_requests(pod);
  const ResourceAmounts& allocatable = info.node->allocatable;
  const auto over = static_cast<std::int64_t>(info.pods.size()) + 1 - info.node->allowed_pod_number;
  if (over > 0) changes.push_back({counted(over, "pod slot more", "pod slots more"), kEffortOfRoom});
  add_shortage(kCpu, asked.milli_cpu, info.requested.milli_cpu, allocatable.milli_cpu, changes);
  add_shortage(kMemory, asked.memory_bytes, info.requested.memory_bytes, allocatable.memory_bytes, changes);
  add_shortage(kEphemeralStorage, asked.ephemeral_storage_bytes, info.requested.ephemeral_storage_bytes,
               allocatable.ephemeral_storage_bytes, changes);
  for (const auto& [name, amount] : asked.scalars) {
    if (is_ignored(name, args)) continue;
    add_shortage(name, amount, info.requested.scalar(name), allocatable.scalar(name), changes);
  }
}

/// Comparisons are left out: behind a gate that is off, they tolerate nothing.
bool is_tolerated(const PodSpec& spec, const Taint& taint) {
  return std::any_of(spec.tolerations.begin(), spec.tolerations.end(),
                     [&](const Toleration& toleration) { return tolerates(toleration, taint); });
}

void add_taints(const PodSpec& spec, const Node& node, Changes& changes) {
  for (const Taint& taint : node.taints) {
    if (taint.effect == TaintEffect::kPreferNoSchedule) continue;
    if (is_tolerated(spec, taint)) continue;
    const std::string value = taint.value.empty() ? "" : "=" + taint.value;
    changes.push_back(
        {fmt::format("tolerate taint {}{}:{}", taint.key, value, effect_name(taint.effect)), kEffortOfOneDecision});
  }
}

void add_ports(const PodSpec& spec, const NodeInfo& info, Changes& changes) {
  constexpr std::string_view kAnyIp = "0.0.0.0";
  for (const HostPort& wanted : wanted_host_ports(spec)) {
    const bool taken = std::any_of(info.used_ports.begin(), info.used_ports.end(), [&](const HostPort& used) {
      return used.protocol == wanted.protocol && used.port == wanted.port &&
             (wanted.ip == kAnyIp || used.ip == kAnyIp || used.ip == wanted.ip);
    });
    if (!taken) continue;
    const std::string ip = wanted.ip == kAnyIp ? "" : wanted.ip + ":";
    changes.push_back({fmt::format("free port {}{}/{}", ip, wanted.port, wanted.protocol), kEffortOfOneDecision});
  }
}

std::string joined(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list.append(list.empty() ? "" : ", ").append(value);
  return list;
}

bool is_met(const SelectorRequirement& requirement, std::optional<std::string_view> value) {
  const auto listed = [&] {
    return value && std::find(requirement.values.begin(), requirement.values.end(), *value) != requirement.values.end();
  };
  switch (requirement.op) {
    case SelectorOperator::kIn:
      return listed();
    case SelectorOperator::kNotIn:
      return !listed();
    case SelectorOperator::kExists:
      return value.has_value();
    case SelectorOperator::kDoesNotExist:
      return !value.has_value();
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      break;
  }
  if (!value || requirement.values.size() != 1) return false;
  const std::optional<std::int64_t> left = parse_int64(*value);
  const std::optional<std::int64_t> right = parse_int64(requirement.values.front());
  if (!left || !right) return false;
  return requirement.op == SelectorOperator::kGt ? *left > *right : *left < *right;
}

NeededChange label_change(const SelectorRequirement& requirement) {
  const std::string& key = requirement.key;
  const std::string values = joined(requirement.values);
  switch (requirement.op) {
    case SelectorOperator::kIn:
      if (requirement.values.size() == 1) return {fmt::format("label {}={}", key, values), kEffortOfAnotherLabel};
      return {fmt::format("label {} as one of {}", key, values), kEffortOfAnotherLabel};
    case SelectorOperator::kNotIn:
      return {fmt::format("label {} other than {}", key, values), kEffortOfAnotherLabel};
    case SelectorOperator::kExists:
      return {fmt::format("label {}", key), kEffortOfAnotherLabel};
    case SelectorOperator::kDoesNotExist:
      return {fmt::format("no label {}", key), kEffortOfAnotherLabel};
    case SelectorOperator::kGt:
      return {fmt::format("label {} above {}", key, values), kEffortOfAnotherLabel};
    case SelectorOperator::kLt:
      return {fmt::format("label {} below {}", key, values), kEffortOfAnotherLabel};
  }
  return {};
}

/// A node cannot be renamed, so a name that does not match weighs as much as several labels.
NeededChange name_change(const SelectorRequirement& requirement) {
  const std::string_view verb = requirement.op == SelectorOperator::kNotIn ? "another node than" : "be node";
  return {fmt::format("{} {} (matchFields)", verb, joined(requirement.values)), 4 * kEffortOfAnotherLabel};
}

Changes term_changes(const NodeSelectorTerm& term, const Node& node) {
  Changes changes;
  if (term.match_expressions.empty() && term.match_fields.empty()) {
    changes.push_back({"a node selector term that is not empty", kEffortOfAnotherLabel});
  }
  for (const SelectorRequirement& requirement : term.match_expressions) {
    if (!is_met(requirement, node.labels.find(requirement.key))) changes.push_back(label_change(requirement));
  }
  for (const SelectorRequirement& requirement : term.match_fields) {
    if (!is_met(requirement, node.name)) changes.push_back(name_change(requirement));
  }
  return changes;
}

double total_effort(const Changes& changes) {
  double sum = 0;
  for (const NeededChange& change : changes) sum += change.effort;
  return sum;
}

/// Any one term is enough: the one that asks least is named.
void add_terms(const std::vector<NodeSelectorTerm>& terms, const Node& node, Changes& changes) {
  if (terms.empty()) changes.push_back({"a required node affinity with a term", kEffortOfAnotherLabel});
  std::optional<Changes> least;
  for (const NodeSelectorTerm& term : terms) {
    Changes needed = term_changes(term, node);
    if (!least || total_effort(needed) < total_effort(*least)) least = std::move(needed);
  }
  if (least) changes.insert(changes.end(), least->begin(), least->end());
}

void add_affinity(const PodSpec& spec, const NodeAffinityArgs& args, const Node& node, Changes& changes) {
  if (args.added_affinity && args.added_affinity->required) {
    Changes enforced;
    add_terms(*args.added_affinity->required, node, enforced);
    for (NeededChange& change : enforced) changes.push_back({change.text + " (addedAffinity)", change.effort});
  }
  for (const auto& [key, value] : spec.node_selector) {
    if (node.labels.find(key) == value) continue;
    changes.push_back({fmt::format("label {}={}", key, value), kEffortOfAnotherLabel});
  }
  if (spec.node_affinity && spec.node_affinity->required) add_terms(*spec.node_affinity->required, node, changes);
}

}  // namespace

std::optional<NeededChange> change_of_other_pods(const Status& status) {
  if (status.plugin == PodTopologySpread::name) {
    if (status.message() == PodTopologySpread::reason_missing_label)
      return NeededChange{"the labels that the pod's topology spread constraints name", kEffortOfAnotherLabel};
    return NeededChange{"fewer matching pods in its domain, or more in the others (topology spread)",
                        kEffortOfOtherPods};
  }
  if (status.plugin != InterPodAffinity::name) return std::nullopt;
  if (status.message() == InterPodAffinity::reason_affinity)
    return NeededChange{"a pod in its domain that the pod's affinity asks for", kEffortOfOtherPods};
  if (status.message() == InterPodAffinity::reason_anti_affinity)
    return NeededChange{"no pod in its domain that the pod's anti-affinity excludes", kEffortOfOtherPods};
  return NeededChange{"no pod in its domain whose anti-affinity excludes the pod", kEffortOfOtherPods};
}

double Miss::effort() const { return total_effort(changes); }

MissFinder::MissFinder(const ClusterCache& cluster, const Pod* left_out) : cluster_(cluster) {
  const NodeInfo* const info = left_out == nullptr ? nullptr : cluster.node_of_pod(left_out->uid());
  if (info == nullptr || info->node == nullptr) return;
  without_.add_node(info->node);
  for (const PodPtr& pod : info->pods)
    if (pod->uid() != left_out->uid()) without_.assume_pod(pod, info->name);
}

const NodeInfo* MissFinder::find_node(std::string_view name) const {
  const NodeInfo* const changed = without_.find_node(name);
  return changed != nullptr ? changed : cluster_.find_node(name);
}

std::vector<NeededChange> MissFinder::changes(const Pod& pod, const Profile& profile, std::string_view node) const {
  const NodeInfo* info = find_node(node);
  if (info == nullptr || info->node == nullptr) return {};
  const auto filters = [&](std::string_view plugin) { return profile.enables(ExtensionPoint::kFilter, plugin); };
  Changes needed;
  if (filters("NodeUnschedulable") && info->node->unschedulable &&
      !is_tolerated(*pod.spec, {"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule})) {
    needed.push_back({"uncordon it", kEffortOfOneDecision});
  }
  if (filters("TaintToleration")) add_taints(*pod.spec, *info->node, needed);
  if (filters("NodeAffinity")) add_affinity(*pod.spec, profile.args.node_affinity, *info->node, needed);
  if (filters("NodePorts")) add_ports(*pod.spec, *info, needed);
  if (filters("NodeResourcesFit")) add_room(pod, profile.args.node_resources_fit, *info, needed);
  return needed;
}

std::optional<Miss> MissFinder::nearest(const Pod& pod, const Profile& profile,
                                        std::span<const RefusedNode> refused) const {
  std::optional<Miss> nearest;
  for (const RefusedNode& node : refused) {
    Miss miss{std::string(node.name), changes(pod, profile, node.name)};
    if (node.other_pods) miss.changes.push_back(*node.other_pods);
    if (miss.changes.empty()) continue;
    if (!nearest || miss.effort() < nearest->effort()) nearest = std::move(miss);
  }
  return nearest;
}

}  // namespace berth
