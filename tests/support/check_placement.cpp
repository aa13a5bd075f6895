// SPDX-License-Identifier: Apache-2.0
#include "tests/support/check_placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "host/objects/pod_requests.h"
#include "host/objects/pod_state.h"
#include "tests/support/check_match.h"

namespace berth::test {
namespace {

using Amounts = std::map<std::string, __int128>;  // cannot overflow, whatever the input says

Amounts table(const ResourceAmounts& amounts) {
  Amounts result{{"cpu", amounts.milli_cpu},
                 {"memory", amounts.memory_bytes},
                 {"ephemeral-storage", amounts.ephemeral_storage_bytes}};
  for (const auto& [name, amount] : amounts.scalars) result[name] += amount;
  return result;
}

/// A pod on a node in the final state; only a new pod can break a rule.
struct Resident {
  PodPtr pod;
  bool is_new;
};

std::vector<ContainerPort> ports_of(const PodSpec& spec) {
  std::vector<ContainerPort> ports;
  const auto collect = [&](const Container& container) {
    std::copy_if(container.ports.begin(), container.ports.end(), std::back_inserter(ports),
                 [](const ContainerPort& port) { return port.host_port > 0; });
  };
  std::for_each(spec.containers.begin(), spec.containers.end(), collect);
  for (const Container& container : spec.init_containers) {
    if (container.restart_always) collect(container);
  }
  return ports;
}

bool collide(const ContainerPort& a, const ContainerPort& b) {
  const auto protocol = [](const ContainerPort& port) { return port.protocol.empty() ? "TCP" : port.protocol; };
  const auto everywhere = [](const ContainerPort& port) { return port.host_ip.empty() || port.host_ip == "0.0.0.0"; };
  return a.host_port == b.host_port && protocol(a) == protocol(b) &&
         (everywhere(a) || everywhere(b) || a.host_ip == b.host_ip);
}

/// Collects the violations of one run.
class PlacementCheck {
 public:
  PlacementCheck(const ClusterObjects& objects, const CheckRules& rules) : rules_(rules) {
    for (const NodePtr& node : objects.nodes) nodes_[node->name] = node;
    for (const PodPtr& pod : objects.pods) {
      if (is_on_node(*pod)) {
        residents_[pod->node_name].push_back({pod, false});
      }
    }
  }

  void add(const PlacedPod& placed) {
    const Pod& pod = *placed.pod;
    if (!seen_.insert(pod.uid()).second) say(pod, "was placed twice");
    if (!pod.node_name.empty()) say(pod, "was placed although it is bound to " + pod.node_name);
    if (!pod.rare().scheduling_gates.empty()) say(pod, "was placed although it is gated");
    if (pod.terminating) say(pod, "was placed although it is terminating");
    if (!nodes_.contains(placed.node)) return say(pod, "was placed on \"" + placed.node + "\", which does not exist");
    residents_[placed.node].push_back({placed.pod, true});
  }

  std::vector<std::string> problems() {
    for (const auto& [name, residents] : residents_) {
      const bool touched = std::any_of(residents.begin(), residents.end(), [](const Resident& r) { return r.is_new; });
      if (touched) check_node(*nodes_.at(name), residents);
    }
    return std::move(problems_);
  }

 private:
  void say(const Pod& pod, const std::string& what) { problems_.push_back("pod " + pod.full_name() + " " + what); }
  void say(const Node& node, const std::string& what) { problems_.push_back("node " + node.name + " " + what); }

  void check_node(const Node& node, const std::vector<Resident>& residents) {
    if (static_cast<std::int64_t>(residents.size()) > node.allowed_pod_number) {
      say(node, "holds " + std::to_string(residents.size()) + " pods of " + std::to_string(node.allowed_pod_number));
    }
    check_capacity(node, residents);
    check_ports(node, residents);
    for (const Resident& resident : residents) {
      if (resident.is_new) check_match(node, *resident.pod);
    }
  }

  bool is_ignored(const std::string& name) const {
    const auto lists = [&](const std::vector<std::string>& list, const std::string& what) {
      return std::find(list.begin(), list.end(), what) != list.end();
    };
    return is_extended_resource(name) && (lists(rules_.ignored_resources, name) ||
                                          lists(rules_.ignored_resource_groups, name.substr(0, name.find('/'))));
  }

  /// Every new pod that requests a resource was placed while the sum fitted, so the final sum fits. Resources that no
  /// new pod requests may stay overcommitted.
  void check_capacity(const Node& node, const std::vector<Resident>& residents) {
    Amounts used;
    std::set<std::string> asked;
    for (const Resident& resident : residents) {
      const Amounts wanted = table(filter_requests(*resident.pod));
      for (const auto& [name, amount] : table(requested_on_node(*resident.pod))) {
        // One with resources in its status was placed by what it requests, and takes those from then on.
        const auto limit = resident.is_new ? wanted.find(name) : wanted.end();
        used[name] += limit == wanted.end() ? (resident.is_new ? 0 : amount) : std::min(amount, limit->second);
      }
      if (!resident.is_new) continue;
      for (const auto& [name, amount] : wanted) {
        if (amount > 0 && !is_ignored(name)) asked.insert(name);
      }
    }
    const Amounts has = table(node.allocatable);
    for (const std::string& name : asked) {
      const auto limit = has.find(name);
      if (used[name] > (limit == has.end() ? 0 : limit->second)) say(node, "is overcommitted in " + name);
    }
  }

  void check_ports(const Node& node, const std::vector<Resident>& residents) {
    for (std::size_t i = 0; i < residents.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!residents[i].is_new && !residents[j].is_new) continue;
        for (const ContainerPort& a : ports_of(*residents[i].pod->spec)) {
          for (const ContainerPort& b : ports_of(*residents[j].pod->spec)) {
            if (!collide(a, b)) continue;
            say(node, "gives host port " + std::to_string(a.host_port) + " to " + residents[i].pod->full_name() +
                          " and to " + residents[j].pod->full_name());
          }
        }
      }
    }
  }

  void check_match(const Node& node, const Pod& pod) {
    const PodSpec& spec = *pod.spec;
    std::vector<Taint> taints;
    if (rules_.taints) taints = node.taints;
    if (node.unschedulable) taints.push_back({"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule});
    for (const Taint& taint : taints) {
      if (taint.effect == TaintEffect::kPreferNoSchedule || tolerates(taint, spec.tolerations, rules_.compares_taints))
        continue;
      say(pod, "does not tolerate the taint " + taint.key + " of " + node.name);
    }
    if (rules_.node_affinity) check_affinity(node, pod);
    if (rules_.declared_features && !features_hold(node, spec))
      say(pod, "needs a feature that " + node.name + " lacks");
  }

  void check_affinity(const Node& node, const Pod& pod) {
    const PodSpec& spec = *pod.spec;
    if (!node_selector_holds(spec.node_selector, node)) say(pod, "does not select " + node.name);
    if (!affinity_holds(spec.node_affinity, node)) say(pod, "has an affinity that refuses " + node.name);
    if (!affinity_holds(rules_.added_affinity, node)) say(pod, "is on " + node.name + " against the added affinity");
  }

  static bool features_hold(const Node& node, const PodSpec& spec) {
    const auto needs = [](const Container& container) { return container.restarts_all_containers; };
    const auto& has = node.declared_features;
    const bool needed = std::any_of(spec.containers.begin(), spec.containers.end(), needs) ||
                        std::any_of(spec.init_containers.begin(), spec.init_containers.end(), needs);
    return !needed || std::find(has.begin(), has.end(), "RestartAllContainersOnContainerExits") != has.end();
  }

  const CheckRules& rules_;
  std::map<std::string, NodePtr> nodes_;
  std::map<std::string, std::vector<Resident>> residents_;
  std::set<std::string> seen_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_placement(const ClusterObjects& objects, const std::vector<PlacedPod>& placements,
                                         const CheckRules& rules) {
  PlacementCheck check(objects, rules);
  for (const PlacedPod& placed : placements) check.add(placed);
  std::vector<std::string> problems = check.problems();
  if (rules.topology) {
    for (std::string& problem : check_topology(objects, placements, *rules.topology)) {
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

CheckRules check_rules(const SchedulerConfig& config, const Profile& profile, const EngineConfig& engine) {
  const PluginArgs& args = profile.args;
  CheckRules rules{args.node_resources_fit.ignored_resources,
                   args.node_resources_fit.ignored_resource_groups,
                   args.node_affinity.added_affinity,
                   config.gates.enabled("TaintTolerationComparisonOperators"),
                   config.gates.enabled("NodeDeclaredFeatures"),
                   {}};
  rules.taints = profile.enables(ExtensionPoint::kFilter, "TaintToleration");
  rules.node_affinity = profile.enables(ExtensionPoint::kFilter, "NodeAffinity");
  TopologyRules& topology = rules.topology.emplace();
  topology.spread = profile.enables(ExtensionPoint::kFilter, "PodTopologySpread");
  topology.pod_affinity = profile.enables(ExtensionPoint::kFilter, "InterPodAffinity");
  if (!args.pod_topology_spread.system_defaulting) {
    topology.default_constraints = args.pod_topology_spread.default_constraints;
  }
  topology.merges_match_keys = config.gates.enabled("MatchLabelKeysInPodTopologySpread");
  topology.compares_taints = rules.compares_taints;
  topology.bugs = engine.upstream_bugs;
  return rules;
}

}  // namespace berth::test
