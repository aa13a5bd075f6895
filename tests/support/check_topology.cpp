// SPDX-License-Identifier: Apache-2.0
#include "tests/support/check_topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "host/objects/pod_state.h"
#include "tests/support/check_match.h"

namespace berth::test {
namespace {

using Labels = std::map<std::string, std::string>;

/// A placed pod with the properties that are read often.
struct Resident {
  PodPtr pod;
  const Node* node;
  Labels labels;
};

/// Label selectors that must all match; null selects nothing.
struct PodSelection {
  bool is_null = false;
  std::vector<LabelSelector> parts;

  bool holds(const Labels& labels) const {
    return !is_null && std::all_of(parts.begin(), parts.end(),
                                   [&](const LabelSelector& part) { return selector_holds(part, labels); });
  }
  bool is_empty() const {
    return !is_null && std::all_of(parts.begin(), parts.end(), [](const LabelSelector& part) {
      return part.match_labels.empty() && part.match_expressions.empty();
    });
  }
};

/// One hard constraint of one pod.
struct HardConstraint {
  const TopologySpreadConstraint* constraint;
  PodSelection selection;
};

bool parses(const SelectorRequirement& requirement) {
  const bool wants_values = requirement.op == SelectorOperator::kIn || requirement.op == SelectorOperator::kNotIn;
  return is_qualified_name(requirement.key) && requirement.values.empty() != wants_values &&
         std::all_of(requirement.values.begin(), requirement.values.end(), is_label_value);
}

bool parses(const std::optional<LabelSelector>& selector) {
  if (!selector) return true;
  for (const auto& [key, value] : selector->match_labels)
    if (!is_qualified_name(key) || !is_label_value(value)) return false;
  return std::all_of(selector->match_expressions.begin(), selector->match_expressions.end(),
                     [](const SelectorRequirement& requirement) { return parses(requirement); });
}

/// One malformed term drops the whole group of terms of a running pod.
bool parse(const std::vector<PodAffinityTerm>& group) {
  return std::all_of(group.begin(), group.end(), [](const PodAffinityTerm& term) {
    return parses(term.label_selector) && parses(term.namespace_selector);
  });
}

bool share_value(const std::string& key, const Node& a, const Node& b) {
  const auto value = a.labels.find(key);
  return value && b.labels.find(key) == value;
}

class Replay {
 public:
  Replay(const ClusterObjects& objects, const TopologyRules& rules) : objects_(objects), rules_(rules) {
    for (const NodePtr& node : objects.nodes) nodes_[node->name] = node.get();
    for (const Namespace& space : objects.namespaces) namespaces_[space.name] = to_map(space.labels);
    for (const PodPtr& pod : objects.pods) {
      if (!is_finished(*pod) && nodes_.contains(pod->node_name)) put(pod, *nodes_.at(pod->node_name));
    }
  }

  void place(const PlacedPod& placed) {
    const auto at = nodes_.find(placed.node);
    if (at == nodes_.end()) return;  // said elsewhere
    const Node& node = *at->second;
    if (rules_.spread) check_spread(*placed.pod, node);
    if (rules_.pod_affinity) check_affinity(*placed.pod, node);
    put(placed.pod, node);
  }

  std::vector<std::string> take_problems() { return std::move(problems_); }

 private:
  void put(const PodPtr& pod, const Node& node) {
    residents_.push_back({pod, &node, to_map(pod->labels)});
    const auto& anti = pod->spec->pod_anti_affinity;
    if (anti && !anti->required.empty() && parse(anti->required)) guarded_.push_back(residents_.size() - 1);
  }

  void say(const Pod& pod, const Node& node, const std::string& what) {
    problems_.push_back("pod " + pod.full_name() + " went to " + node.name + " " + what);
  }

  // Spreading

  std::vector<HardConstraint> hard_constraints(const Pod& pod) const {
    std::vector<HardConstraint> hard;
    const auto& own = pod.spec->topology_spread_constraints;
    for (const TopologySpreadConstraint& constraint : own) {
      if (!constraint.schedule_anyway) hard.push_back({&constraint, own_selection(constraint, pod)});
    }
    if (!own.empty()) return hard;
    const PodSelection selection = selection_of_owners(pod);
    if (selection.is_empty()) return hard;
    for (const TopologySpreadConstraint& constraint : rules_.default_constraints) {
      if (!constraint.schedule_anyway) hard.push_back({&constraint, selection});
    }
    return hard;
  }

  PodSelection own_selection(const TopologySpreadConstraint& constraint, const Pod& pod) const {
    if (!constraint.label_selector) return {true, {}};
    PodSelection selection{false, {*constraint.label_selector}};
    for (const std::string& key : constraint.match_label_keys) {
      const auto value = pod.labels.find(key);
      if (!value || !rules_.merges_match_keys) continue;
      selection.parts.push_back({LabelMap{{key, std::string(*value)}}, {}});
    }
    return selection;
  }

  PodSelection selection_of_owners(const Pod& pod) const {
    const Labels labels = to_map(pod.labels);
    Labels pairs;
    for (const Service& service : objects_.services) {
      const Labels wanted = to_map(service.selector);
      const bool selects = service.namespace_ == pod.namespace_ &&
                           std::includes(labels.begin(), labels.end(), wanted.begin(), wanted.end());
      if (selects) pairs.insert(wanted.begin(), wanted.end());
    }
    PodSelection selection;
    if (const Workload* owner = controller(pod)) {
      if (owner->kind == "ReplicationController") {
        for (const auto& [key, value] : to_map(owner->selector.value_or(LabelSelector{}).match_labels))
          pairs[key] = value;
      } else if (owner->selector) {
        selection.parts.push_back(*owner->selector);
      }
    }
    selection.parts.push_back(
        {LabelMap(std::vector<std::pair<std::string, std::string>>(pairs.begin(), pairs.end())), {}});
    return selection;
  }

  const Workload* controller(const Pod& pod) const {
    static const std::set<std::pair<std::string, std::string>> kKnown = {
        {"v1", "ReplicationController"}, {"apps/v1", "ReplicaSet"}, {"apps/v1", "StatefulSet"}};
    if (pod.owners == nullptr) return nullptr;
    for (const OwnerReference& owner : *pod.owners) {
      if (!owner.controller) continue;
      if (!kKnown.contains({owner.api_version, owner.kind})) return nullptr;
      for (const Workload& workload : objects_.workloads) {
        const bool is_it =
            workload.kind == owner.kind && workload.name == owner.name && workload.namespace_ == pod.namespace_;
        if (is_it) return &workload;
      }
      return nullptr;
    }
    return nullptr;
  }

  bool counts_node(const HardConstraint& hard, const std::vector<HardConstraint>& all, const Pod& pod,
                   const Node& node) const {
    for (const HardConstraint& each : all) {
      if (!node.labels.contains(each.constraint->topology_key)) return false;
    }
    const PodSpec& spec = *pod.spec;
    if (hard.constraint->honor_node_affinity &&
        !(node_selector_holds(spec.node_selector, node) && affinity_holds(spec.node_affinity, node))) {
      return false;
    }
    if (!hard.constraint->honor_node_taints) return true;
    return std::none_of(node.taints.begin(), node.taints.end(), [&](const Taint& taint) {
      return taint.effect != TaintEffect::kPreferNoSchedule &&
             !tolerates(taint, spec.tolerations, rules_.compares_taints);
    });
  }

  void check_spread(const Pod& pod, const Node& node) {
    const std::vector<HardConstraint> all = hard_constraints(pod);
    for (const HardConstraint& hard : all) {
      const std::string& key = hard.constraint->topology_key;
      if (!node.labels.contains(key)) {
        say(pod, node, "which lacks " + key);
      } else if (skew(hard, all, pod, node) > hard.constraint->max_skew) {
        say(pod, node, "which skews " + key + " too much");
      }
    }
  }

  std::int64_t skew(const HardConstraint& hard, const std::vector<HardConstraint>& all, const Pod& pod,
                    const Node& target) const {
    const auto domain = [&](const Node& node) { return std::string(*node.labels.find(hard.constraint->topology_key)); };
    std::map<std::string, std::int64_t> pods_in;
    std::set<const Node*> counted;
    for (const auto& [name, node] : nodes_) {
      if (!counts_node(hard, all, pod, *node)) continue;
      counted.insert(node);
      pods_in.try_emplace(domain(*node), 0);
    }
    const bool counts_pods = !(hard.selection.is_empty() && rules_.bugs.empty_spread_selector_counts_nothing);
    for (const Resident& resident : residents_) {
      const bool counts = counts_pods && counted.contains(resident.node) && !resident.pod->terminating &&
                          resident.pod->namespace_ == pod.namespace_ && hard.selection.holds(resident.labels);
      if (counts) ++pods_in[domain(*resident.node)];
    }
    std::int64_t least = 0;
    if (!pods_in.empty() && static_cast<std::int64_t>(pods_in.size()) >= hard.constraint->min_domains.value_or(1)) {
      least = std::min_element(pods_in.begin(), pods_in.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
              })->second;
    }
    return pods_in[domain(target)] + (hard.selection.holds(to_map(pod.labels)) ? 1 : 0) - least;
  }

  // Affinity

  Labels labels_of_namespace(const std::string& name) const {
    const auto at = namespaces_.find(name);
    return at == namespaces_.end() ? Labels{} : at->second;
  }

  /// @param is_incoming  `owner` is the pod that is placed, so that the upstream defect applies to its terms
  bool in_namespaces(const PodAffinityTerm& term, const Pod& owner, const Pod& other, bool is_incoming) const {
    const auto& listed = term.namespaces;
    if (std::find(listed.begin(), listed.end(), other.namespace_) != listed.end()) return true;
    if (!term.namespace_selector) return listed.empty() && owner.namespace_ == other.namespace_;
    const LabelSelector& selector = *term.namespace_selector;
    if (selector.match_labels.empty() && selector.match_expressions.empty()) return true;
    // A namespace without an object is in no list, but its labels are empty for an existing pod's term.
    const bool is_found = !is_incoming || namespaces_.contains(other.namespace_);
    if (is_found && selector_holds(selector, labels_of_namespace(other.namespace_))) return true;
    return is_incoming && rules_.bugs.negative_namespace_selector_matches_all && selector_holds(selector, {});
  }

  bool matches(const PodAffinityTerm& term, const Pod& owner, const Pod& other, const Labels& labels,
               bool is_incoming) const {
    return term.label_selector && selector_holds(*term.label_selector, labels) &&
           in_namespaces(term, owner, other, is_incoming);
  }

  bool matches_every(const std::vector<PodAffinityTerm>& terms, const Pod& owner, const Pod& other,
                     const Labels& labels) const {
    return std::all_of(terms.begin(), terms.end(),
                       [&](const PodAffinityTerm& term) { return matches(term, owner, other, labels, true); });
  }

  void check_affinity(const Pod& pod, const Node& node) {
    const PodSpec& spec = *pod.spec;
    if (spec.pod_affinity && !spec.pod_affinity->required.empty()) check_wanted(pod, node, spec.pod_affinity->required);
    if (spec.pod_anti_affinity) {
      for (const PodAffinityTerm& term : spec.pod_anti_affinity->required) check_shunned(pod, node, term);
    }
    const Labels labels = to_map(pod.labels);
    for (const std::size_t i : guarded_) {
      const Resident& guard = residents_[i];
      for (const PodAffinityTerm& term : guard.pod->spec->pod_anti_affinity->required) {
        const bool is_hit =
            share_value(term.topology_key, *guard.node, node) && matches(term, *guard.pod, pod, labels, false);
        if (is_hit) say(pod, node, "against the anti-affinity of " + guard.pod->full_name());
      }
    }
  }

  void check_wanted(const Pod& pod, const Node& node, const std::vector<PodAffinityTerm>& terms) {
    std::vector<const Resident*> friends;
    for (const Resident& resident : residents_) {
      if (matches_every(terms, pod, *resident.pod, resident.labels)) friends.push_back(&resident);
    }
    bool has_keys = true;
    bool has_company = true;
    bool is_first = matches_every(terms, pod, pod, to_map(pod.labels));
    for (const PodAffinityTerm& term : terms) {
      has_keys &= node.labels.contains(term.topology_key);
      has_company &= std::any_of(friends.begin(), friends.end(), [&](const Resident* each) {
        return share_value(term.topology_key, *each->node, node);
      });
      is_first &= std::none_of(friends.begin(), friends.end(),
                               [&](const Resident* each) { return each->node->labels.contains(term.topology_key); });
    }
    if (!has_keys || !(has_company || is_first)) say(pod, node, "against its own affinity");
  }

  void check_shunned(const Pod& pod, const Node& node, const PodAffinityTerm& term) {
    for (const Resident& resident : residents_) {
      const bool is_hit = share_value(term.topology_key, *resident.node, node) &&
                          matches(term, pod, *resident.pod, resident.labels, true);
      if (!is_hit) continue;
      return say(pod, node, "against its own anti-affinity, to " + resident.pod->full_name());
    }
  }

  const ClusterObjects& objects_;
  const TopologyRules& rules_;
  std::map<std::string, const Node*> nodes_;
  std::map<std::string, Labels> namespaces_;
  std::vector<Resident> residents_;
  std::vector<std::size_t> guarded_;  ///< residents with required anti-affinity
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_topology(const ClusterObjects& objects, const std::vector<PlacedPod>& placements,
                                        const TopologyRules& rules) {
  Replay replay(objects, rules);
  for (const PlacedPod& placed : placements) replay.place(placed);
  return replay.take_problems();
}

}  // namespace berth::test
