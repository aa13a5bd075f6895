// SPDX-License-Identifier: Apache-2.0
#include "host/generate/random_topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/generate/random_cluster.h"
#include "host/generate/random_configuration.h"
#include "host/objects/json_out.h"
#include "host/objects/label_keys.h"

namespace berth {
namespace {

RandomClusterOptions with_topology(std::int32_t percent) {
  RandomClusterOptions options;
  options.topology_percent = percent;
  return options;
}

std::string text_of(const ClusterObjects& objects) {
  std::string text;
  for (const Namespace& ns : objects.namespaces) append_json(text, ns);
  for (const Service& service : objects.services) append_json(text, service);
  for (const Workload& workload : objects.workloads) append_json(text, workload);
  for (const NodePtr& node : objects.nodes) append_json(text, *node);
  for (const PodPtr& pod : objects.pods) append_json(text, *pod);
  return text;
}

bool has_rules(const PodSpec& spec) {
  return spec.pod_affinity || spec.pod_anti_affinity || !spec.topology_spread_constraints.empty();
}

TEST(RandomTopology, AClusterOutsideTheShareEqualsThatOfShareZero) {
  int with_rules = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const ClusterObjects objects = random_cluster(seed, with_topology(40));
    const bool has_any =
        std::any_of(objects.pods.begin(), objects.pods.end(), [](const PodPtr& pod) { return has_rules(*pod->spec); });
    with_rules += has_any ? 1 : 0;
    const std::string plain = text_of(random_cluster(seed, with_topology(0)));
    const std::string full = text_of(random_cluster(seed, with_topology(100)));
    const std::string drawn = text_of(objects);
    EXPECT_TRUE(drawn == plain || drawn == full) << "seed " << seed;
    EXPECT_NE(plain, full) << "seed " << seed;
  }
  EXPECT_GT(with_rules, 60);
  EXPECT_LT(with_rules, 150);
}

TEST(RandomTopology, TermsHaveTheirLabelKeysMerged) {
  ObjectPools pools;
  int with_keys = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const PodPtr& pod : random_cluster(seed, with_topology(100)).pods) {
      EXPECT_EQ(with_label_keys(pod->spec, pod->labels, pools), pod->spec);
      with_keys += names_label_keys(*pod->spec) ? 1 : 0;
    }
  }
  EXPECT_GT(with_keys, 200);
}

TEST(RandomTopology, PodsUseTheSecondProfileOnlyWhenItExists) {
  RandomClusterOptions options;
  options.configuration = true;
  int assigned = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const bool has_second = random_configuration(seed).scheduler_names.size() > 1;
    for (const PodPtr& pod : random_cluster(seed, options).pods) {
      const bool is_assigned = pod->spec->scheduler_name == "second";
      EXPECT_TRUE(!is_assigned || has_second) << "seed " << seed;
      assigned += is_assigned ? 1 : 0;
    }
  }
  EXPECT_GT(assigned, 50);
}

/// Counts the edge cases of the two plugins.
class EdgeCount {
 public:
  void add(const ClusterObjects& objects) {
    add_hostnames(objects);
    for (const NodePtr& node : objects.nodes) add_node(*node);
    for (const Workload& workload : objects.workloads) see(true, workload.kind);
    for (const Service& service : objects.services) see(service.selector.empty(), "service without pairs");
    std::set<std::string> namespaces;
    for (const Namespace& ns : objects.namespaces) namespaces.insert(ns.name);
    for (const PodPtr& pod : objects.pods) {
      see(!namespaces.contains(pod->namespace_), "namespace without object");
      add_pod(*pod);
    }
  }
  int operator[](const std::string& edge) { return counts_[edge]; }

 private:
  void see(bool condition, const std::string& edge) { counts_[edge] += condition ? 1 : 0; }

  void add_hostnames(const ClusterObjects& objects) {
    std::set<std::string> seen;
    for (const NodePtr& node : objects.nodes) {
      const auto name = node->labels.find("kubernetes.io/hostname");
      see(name && !seen.emplace(*name).second, "shared hostname");
    }
  }

  void add_node(const Node& node) {
    for (const char* key : {"topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/rack"}) {
      const auto value = node.labels.find(key);
      see(!value, std::string("no ") + key);
      see(value && value->empty(), std::string("empty ") + key);
    }
  }

  void add_pod(const Pod& pod) {
    const PodSpec& spec = *pod.spec;
    const bool is_running = !pod.node_name.empty();
    const bool repels = spec.pod_anti_affinity && !spec.pod_anti_affinity->required.empty();
    see(pod.labels.empty(), "no labels");
    see(repels && is_running, "running pod that repels");
    see(repels && !pod.rare().nominated_node_name.empty(), "nominated pod that repels");
    see(repels && is_running && pod.terminating, "terminating pod that repels");
    for (const auto* affinity : {&spec.pod_affinity, &spec.pod_anti_affinity}) {
      if (*affinity) add_affinity(**affinity);
    }
    if (spec.pod_affinity && spec.pod_anti_affinity) {
      const auto& liked = spec.pod_affinity->preferred;
      const auto& disliked = spec.pod_anti_affinity->preferred;
      see(!liked.empty() && !disliked.empty() && liked.front() == disliked.back(), "cancelled term");
    }
    std::set<std::pair<std::string, bool>> kinds;
    for (const TopologySpreadConstraint& constraint : spec.topology_spread_constraints) {
      see(!kinds.emplace(constraint.topology_key, constraint.schedule_anyway).second, "repeated constraint");
      add_constraint(constraint);
    }
    if (pod.owners == nullptr) return;
    for (const OwnerReference& owner : *pod.owners) {
      see(!owner.controller, "owner that controls nothing");
      see(owner.name == "gone", "owner that is gone");
      see(owner.kind == "ReplicaSet" && owner.api_version != "apps/v1", "owner of another version");
    }
  }

  void add_constraint(const TopologySpreadConstraint& constraint) {
    see(constraint.schedule_anyway, "soft constraint");
    see(!constraint.schedule_anyway, "hard constraint");
    see(constraint.min_domains.has_value(), "minDomains");
    see(!constraint.honor_node_affinity, "affinity ignored");
    see(constraint.honor_node_taints, "taints honoured");
    see(!constraint.match_label_keys.empty(), "constraint with label keys");
    see(constraint.max_skew == 0, "skew of 0");
    add_selector(constraint.label_selector, "constraint");
  }

  void add_affinity(const PodAffinity& affinity) {
    see(affinity.required.empty() && affinity.preferred.empty(), "empty affinity");
    for (const PodAffinityTerm& term : affinity.required) add_term(term);
    for (const WeightedPodAffinityTerm& weighted : affinity.preferred) {
      see(weighted.weight == 0, "weight of 0");
      add_term(weighted.term);
    }
  }

  void add_term(const PodAffinityTerm& term) {
    see(!term.namespaces.empty() && term.namespace_selector, "namespaces and selector");
    see(!term.namespaces.empty() && !term.namespace_selector, "namespaces only");
    see(!term.mismatch_label_keys.empty(), "term with mismatched keys");
    add_selector(term.label_selector, "term");
    if (term.namespace_selector) add_selector(term.namespace_selector, "namespaces");
  }

  void add_selector(const std::optional<LabelSelector>& selector, const std::string& where) {
    see(!selector, where + ": null selector");
    if (!selector) return;
    const auto& expressions = selector->match_expressions;
    see(selector->match_labels.empty() && expressions.empty(), where + ": empty selector");
    see(selector->match_labels.empty() && !expressions.empty() &&
            std::all_of(expressions.begin(), expressions.end(),
                        [](const SelectorRequirement& requirement) {
                          return requirement.op == SelectorOperator::kNotIn ||
                                 requirement.op == SelectorOperator::kDoesNotExist;
                        }),
        where + ": negative selector");
    for (const SelectorRequirement& requirement : expressions) {
      see(true, where + ": operator " + std::string(to_string(requirement.op)));
      const bool takes_values = requirement.op == SelectorOperator::kIn || requirement.op == SelectorOperator::kNotIn;
      see(takes_values == requirement.values.empty() || !is_qualified_name(requirement.key),
          where + ": malformed selector");
    }
  }

  std::map<std::string, int> counts_;
};

TEST(RandomTopology, EveryEdgeCaseOccursWithinAThousandSeeds) {
  EdgeCount count;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) count.add(random_cluster(seed, with_topology(100)));
  std::vector<std::string> edges = {"shared hostname",
                                    "no topology.kubernetes.io/zone",
                                    "empty topology.kubernetes.io/zone",
                                    "no kubernetes.io/hostname",
                                    "empty kubernetes.io/hostname",
                                    "no example.com/rack",
                                    "empty example.com/rack",
                                    "ReplicaSet",
                                    "StatefulSet",
                                    "ReplicationController",
                                    "service without pairs",
                                    "namespace without object",
                                    "no labels",
                                    "running pod that repels",
                                    "nominated pod that repels",
                                    "terminating pod that repels",
                                    "cancelled term",
                                    "repeated constraint",
                                    "owner that controls nothing",
                                    "owner that is gone",
                                    "owner of another version",
                                    "soft constraint",
                                    "hard constraint",
                                    "minDomains",
                                    "affinity ignored",
                                    "taints honoured",
                                    "constraint with label keys",
                                    "skew of 0",
                                    "empty affinity",
                                    "weight of 0",
                                    "namespaces and selector",
                                    "namespaces only",
                                    "term with mismatched keys"};
  for (const std::string where : {"constraint", "term", "namespaces"}) {
    if (where != "namespaces") edges.push_back(where + ": null selector");
    edges.push_back(where + ": malformed selector");
    edges.push_back(where + ": empty selector");
    edges.push_back(where + ": negative selector");
    for (const char* op : {"In", "NotIn", "Exists", "DoesNotExist"}) edges.push_back(where + ": operator " + op);
  }
  for (const std::string& edge : edges) EXPECT_GE(count[edge], 10) << edge;
}

TEST(RandomTopology, WithoutMalformedAffinityEverySelectorParses) {
  RandomClusterOptions options = with_topology(100);
  options.malformed_affinity = false;
  EdgeCount count;
  for (std::uint64_t seed = 0; seed < 300; ++seed) count.add(random_cluster(seed, options));
  for (const char* where : {"constraint", "term", "namespaces"}) {
    EXPECT_EQ(count[std::string(where) + ": malformed selector"], 0) << where;
  }
}

}  // namespace
}  // namespace berth
