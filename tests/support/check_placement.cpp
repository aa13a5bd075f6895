// SPDX-License-Identifier: Apache-2.0
#include "tests/support/check_placement.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "host/objects/pod_requests.h"

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

/// A pod on a node in the final state; only a new one can have broken a rule.
struct Resident {
  PodPtr pod;
  bool is_new;
};

bool tolerates(const Taint& taint, const std::vector<Toleration>& tolerations, const CheckRules& rules) {
  for (const Toleration& t : tolerations) {
    if (t.effect.value_or(taint.effect) != taint.effect || (t.key != "" && t.key != taint.key)) continue;
    if (t.op == TolerationOperator::kExists) return true;
    if (t.op == TolerationOperator::kEqual && t.value == taint.value) return true;
    if (t.op == TolerationOperator::kEqual || !rules.compares_taints) continue;
    long long have = 0;
    long long bound = 0;
    std::from_chars(taint.value.data(), taint.value.data() + taint.value.size(), have);
    std::from_chars(t.value.data(), t.value.data() + t.value.size(), bound);
    const bool canonical = std::to_string(have) == taint.value && std::to_string(bound) == t.value;
    if (canonical && (t.op == TolerationOperator::kGt ? have > bound : have < bound)) return true;
  }
  return false;
}

/// nullopt: malformed, so the whole term is void.
std::optional<bool> expression_holds(const SelectorRequirement& r, const std::map<std::string, std::string>& labels) {
  if (!is_qualified_name(r.key) || !std::all_of(r.values.begin(), r.values.end(), is_label_value)) return std::nullopt;
  const auto at = labels.find(r.key);
  const bool there = at != labels.end();
  const bool listed = there && std::count(r.values.begin(), r.values.end(), at->second) > 0;
  if (r.op == SelectorOperator::kIn) return r.values.empty() ? std::nullopt : std::optional(listed);
  if (r.op == SelectorOperator::kNotIn) return r.values.empty() ? std::nullopt : std::optional(!listed);
  if (r.op == SelectorOperator::kExists) return r.values.empty() ? std::optional(there) : std::nullopt;
  if (r.op == SelectorOperator::kDoesNotExist) return r.values.empty() ? std::optional(!there) : std::nullopt;
  const auto bound = r.values.size() == 1 ? parse_int64(r.values.front()) : std::nullopt;
  if (!bound) return std::nullopt;
  const auto have = there ? parse_int64(at->second) : std::nullopt;
  return have && (r.op == SelectorOperator::kGt ? *have > *bound : *have < *bound);
}

std::optional<bool> field_holds(const SelectorRequirement& r, const Node& node) {
  const bool in = r.op == SelectorOperator::kIn;
  if ((!in && r.op != SelectorOperator::kNotIn) || r.values.size() != 1) return std::nullopt;
  return (r.values.front() == (r.key == "metadata.name" ? node.name : "")) == in;
}

bool term_holds(const NodeSelectorTerm& term, const Node& node) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : node.labels) labels.emplace(key, value);
  std::vector<std::optional<bool>> parts;
  for (const SelectorRequirement& r : term.match_expressions) parts.push_back(expression_holds(r, labels));
  for (const SelectorRequirement& r : term.match_fields) parts.push_back(field_holds(r, node));
  // value_or turns a malformed part into "no".
  return !parts.empty() &&
         std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.value_or(false); });
}

bool affinity_holds(const std::optional<NodeAffinity>& affinity, const Node& node) {
  if (!affinity || !affinity->required) return true;
  return std::any_of(affinity->required->begin(), affinity->required->end(),
                     [&](const NodeSelectorTerm& term) { return term_holds(term, node); });
}

bool selector_holds(const LabelMap& selector, const Node& node) {
  std::size_t held = 0;
  for (const auto& [key, value] : node.labels) held += selector.find(key) == value ? 1u : 0u;
  return held == selector.size();
}

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

/// Collects what is wrong with one run.
class Judge {
 public:
  Judge(const ClusterObjects& objects, const CheckRules& rules) : rules_(rules) {
    for (const NodePtr& node : objects.nodes) nodes_[node->name] = node;
    for (const PodPtr& pod : objects.pods) {
      if (!pod->node_name.empty() && pod->phase != PodPhase::kSucceeded && pod->phase != PodPhase::kFailed) {
        residents_[pod->node_name].push_back({pod, false});
      }
    }
  }

  void take(const PlacedPod& placed) {
    const Pod& pod = *placed.pod;
    if (!seen_.insert(pod.uid()).second) say(pod, "was placed twice");
    if (!pod.node_name.empty()) say(pod, "was placed although it is bound to " + pod.node_name);
    if (!pod.rare().scheduling_gates.empty()) say(pod, "was placed although it is gated");
    if (pod.terminating) say(pod, "was placed although it is terminating");
    if (!nodes_.contains(placed.node)) return say(pod, "was placed on \"" + placed.node + "\", which does not exist");
    residents_[placed.node].push_back({placed.pod, true});
  }

  std::vector<std::string> verdict() {
    for (const auto& [name, residents] : residents_) {
      const bool touched = std::any_of(residents.begin(), residents.end(), [](const Resident& r) { return r.is_new; });
      if (touched) judge_node(*nodes_.at(name), residents);
    }
    return std::move(problems_);
  }

 private:
  void say(const Pod& pod, const std::string& what) { problems_.push_back("pod " + pod.full_name() + " " + what); }
  void say(const Node& node, const std::string& what) { problems_.push_back("node " + node.name + " " + what); }

  void judge_node(const Node& node, const std::vector<Resident>& residents) {
    if (static_cast<std::int64_t>(residents.size()) > node.allowed_pod_number) {
      say(node, "holds " + std::to_string(residents.size()) + " pods of " + std::to_string(node.allowed_pod_number));
    }
    judge_capacity(node, residents);
    judge_ports(node, residents);
    for (const Resident& resident : residents) {
      if (resident.is_new) judge_match(node, *resident.pod);
    }
  }

  bool is_ignored(const std::string& name) const {
    const auto lists = [&](const std::vector<std::string>& list, const std::string& what) {
      return std::find(list.begin(), list.end(), what) != list.end();
    };
    return is_extended_resource(name) && (lists(rules_.ignored_resources, name) ||
                                          lists(rules_.ignored_resource_groups, name.substr(0, name.find('/'))));
  }

  /// A pod that asks for a resource was let in while the sum still fitted, and later pods that ask for it as well, so
  /// the final sum fits. Resources that no new pod asks for may be overcommitted as they were.
  void judge_capacity(const Node& node, const std::vector<Resident>& residents) {
    Amounts used;
    std::set<std::string> asked;
    for (const Resident& resident : residents) {
      for (const auto& [name, amount] : table(requested_on_node(*resident.pod))) used[name] += amount;
      if (!resident.is_new) continue;
      for (const auto& [name, amount] : table(filter_requests(*resident.pod))) {
        if (amount > 0 && !is_ignored(name)) asked.insert(name);
      }
    }
    const Amounts has = table(node.allocatable);
    for (const std::string& name : asked) {
      const auto limit = has.find(name);
      if (used[name] > (limit == has.end() ? 0 : limit->second)) say(node, "is overcommitted in " + name);
    }
  }

  void judge_ports(const Node& node, const std::vector<Resident>& residents) {
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

  void judge_match(const Node& node, const Pod& pod) {
    const PodSpec& spec = *pod.spec;
    std::vector<Taint> taints = node.taints;
    if (node.unschedulable) taints.push_back({"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule});
    for (const Taint& taint : taints) {
      if (taint.effect == TaintEffect::kPreferNoSchedule || tolerates(taint, spec.tolerations, rules_)) continue;
      say(pod, "does not tolerate the taint " + taint.key + " of " + node.name);
    }
    if (!selector_holds(spec.node_selector, node)) say(pod, "does not select " + node.name);
    if (!affinity_holds(spec.node_affinity, node)) say(pod, "has an affinity that refuses " + node.name);
    if (!affinity_holds(rules_.added_affinity, node)) say(pod, "is on " + node.name + " against the added affinity");
    if (rules_.declared_features && !features_hold(node, spec))
      say(pod, "needs a feature that " + node.name + " lacks");
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
  Judge judge(objects, rules);
  for (const PlacedPod& placed : placements) judge.take(placed);
  return judge.verdict();
}

}  // namespace berth::test
