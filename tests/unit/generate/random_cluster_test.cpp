// SPDX-License-Identifier: Apache-2.0
#include "host/generate/random_cluster.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/generate/node_use.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

bool same_node(const Node& a, const Node& b) {
  return a.name == b.name && a.labels == b.labels && a.unschedulable == b.unschedulable && a.taints == b.taints &&
         a.allocatable == b.allocatable && a.allowed_pod_number == b.allowed_pod_number && a.images == b.images &&
         a.declared_features == b.declared_features;
}

bool same_pod(const Pod& a, const Pod& b) {
  return a.full_name() == b.full_name() && a.stored_uid == b.stored_uid && a.labels == b.labels && *a.spec == *b.spec &&
         a.node_name == b.node_name && a.creation_time_us == b.creation_time_us && a.priority == b.priority &&
         a.phase == b.phase && a.terminating == b.terminating &&
         a.rare().nominated_node_name == b.rare().nominated_node_name;
}

bool same_cluster(const ClusterObjects& a, const ClusterObjects& b) {
  bool same = a.nodes.size() == b.nodes.size() && a.pods.size() == b.pods.size();
  for (std::size_t i = 0; same && i < a.nodes.size(); ++i) same = same_node(*a.nodes[i], *b.nodes[i]);
  for (std::size_t i = 0; same && i < a.pods.size(); ++i) same = same_pod(*a.pods[i], *b.pods[i]);
  return same;
}

TEST(RandomCluster, ASeedGivesOneCluster) {
  int different = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const ClusterObjects first = random_cluster(seed);
    EXPECT_TRUE(same_cluster(first, random_cluster(seed))) << "seed " << seed;
    different += same_cluster(first, random_cluster(seed + 1)) ? 0 : 1;
  }
  EXPECT_EQ(different, 50);
}

TEST(RandomCluster, CountsStayWithinTheirBounds) {
  RandomClusterOptions options;
  options.max_nodes = 3;
  options.max_running_pods = 4;
  options.max_pending_pods = 5;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const ClusterObjects objects = random_cluster(seed, options);
    std::size_t pending = 0;
    for (const PodPtr& pod : objects.pods) pending += pod->node_name.empty() ? 1U : 0U;
    EXPECT_LE(objects.nodes.size(), 3U);
    EXPECT_LE(pending, 5U);
    EXPECT_LE(objects.pods.size() - pending, 4U);
  }
}

TEST(RandomCluster, NamesAreUniqueAndEveryPodHasAContainer) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::set<std::string> names;
    const ClusterObjects objects = random_cluster(seed);
    for (const NodePtr& node : objects.nodes) EXPECT_TRUE(names.insert(node->name).second);
    for (const PodPtr& pod : objects.pods) {
      EXPECT_TRUE(names.insert(pod->full_name()).second);
      ASSERT_NE(pod->spec, nullptr);
      EXPECT_FALSE(pod->spec->containers.empty());
    }
  }
}

TEST(RandomCluster, PodsOfEqualSpecShareIt) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const ClusterObjects objects = random_cluster(seed);
    for (const PodPtr& a : objects.pods) {
      for (const PodPtr& b : objects.pods) EXPECT_EQ(a->spec == b->spec, *a->spec == *b->spec);
    }
  }
}

TEST(RandomCluster, ResourceListsAreSortedWithoutDuplicates) {
  const auto check = [](const ResourceList& list) {
    for (std::size_t i = 1; i < list.size(); ++i) EXPECT_LT(list[i - 1].first, list[i].first);
  };
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const ClusterObjects objects = random_cluster(seed);
    for (const PodPtr& pod : objects.pods) {
      for (const Container& container : pod->spec->containers) check(container.requests);
      for (const Container& container : pod->spec->init_containers) check(container.requests);
      check(pod->spec->overhead);
      check(pod->spec->pod_level_requests);
    }
    for (const NodePtr& node : objects.nodes) {
      const auto& scalars = node->allocatable.scalars;
      for (std::size_t i = 1; i < scalars.size(); ++i) EXPECT_LT(scalars[i - 1].first, scalars[i].first);
    }
  }
}

TEST(RandomCluster, WithoutOvercommitmentEveryNodeHasRoomForItsPods) {
  RandomClusterOptions options;
  options.overcommitted_nodes = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const ClusterObjects objects = random_cluster(seed, options);
    std::map<std::string, NodeUse> uses;
    std::map<std::string, const Node*> nodes;
    for (const NodePtr& node : objects.nodes) nodes[node->name] = node.get();
    for (const PodPtr& pod : objects.pods) {
      const auto node = nodes.find(pod->node_name);
      if (node == nodes.end()) continue;
      EXPECT_TRUE(uses[pod->node_name].has_room(*node->second, requested_on_node(*pod))) << "seed " << seed;
      uses[pod->node_name].add_pod(requested_on_node(*pod));
    }
  }
}

/// Counts the clusters in which each feature that a rule reads occurs.
class FeatureCount {
 public:
  void add(const ClusterObjects& objects) {
    if (objects.nodes.empty()) ++counts_["no nodes"];
    for (const NodePtr& node : objects.nodes) add_node(*node);
    for (const PodPtr& pod : objects.pods) add_pod(*pod);
  }
  int operator[](const std::string& feature) { return counts_[feature]; }

 private:
  void see(bool condition, const std::string& feature) { counts_[feature] += condition ? 1 : 0; }

  void add_node(const Node& node) {
    see(node.unschedulable, "unschedulable");
    see(!node.labels.contains("topology.kubernetes.io/zone"), "no zone");
    see(node.labels.contains("failure-domain.beta.kubernetes.io/zone"), "beta zone");
    see(!node.images.empty(), "images");
    see(!node.declared_features.empty(), "declared features");
    see(node.allowed_pod_number == 0, "no pod slots");
    see(node.allocatable.milli_cpu == 0, "no cpu");
    see(node.allocatable.has_scalar("hugepages-2Mi"), "hugepages");
    see(node.allocatable.has_scalar("nvidia.com/gpu"), "extended resource");
    const auto gen = node.labels.find("gen");
    see(gen && !parse_int64(*gen), "unparsable number");
    see(gen && gen->starts_with("0"), "leading zero");
    for (const Taint& taint : node.taints) see(true, "taint " + std::to_string(static_cast<int>(taint.effect)));
  }

  void add_pod(const Pod& pod) {
    const PodSpec& spec = *pod.spec;
    see(pod.terminating && pod.node_name.empty(), "terminating pending");
    see(pod.terminating && !pod.node_name.empty(), "terminating running");
    see(pod.rare().nominated_node_name == "no-such-node", "nominated to an unknown node");
    see(pod.rare().nominated_node_name.starts_with("node-"), "nominated");
    see(!pod.rare().scheduling_gates.empty(), "gated");
    see(!pod.rare().status_resources.empty(), "status resources");
    see(pod.rare().resize_infeasible, "infeasible resize");
    see(pod.node_name == "no-such-node", "unknown node");
    see(pod.namespace_ != "default", "other namespace");
    see(pod.priority < 0, "negative priority");
    see(spec.scheduler_name != "default-scheduler", "foreign scheduler");
    see(spec.has_pod_level_resources, "pod level");
    see(!spec.overhead.empty(), "overhead");
    see(spec.host_network, "host network");
    see(!spec.node_selector.empty(), "node selector");
    for (const Container& container : spec.init_containers) {
      see(container.restart_always, "sidecar");
      see(!container.restart_always, "init container");
    }
    for (const Container& container : spec.containers) add_container(container);
    for (const Toleration& t : spec.tolerations) {
      see(true, "toleration " + std::to_string(static_cast<int>(t.op)));
      see(t.key.empty(), "toleration of every key");
      see(!t.effect, "toleration of every effect");
    }
    if (spec.node_affinity) add_affinity(*spec.node_affinity);
  }

  void add_container(const Container& container) {
    const Quantity* cpu = find(container.requests, kCpu);
    see(cpu == nullptr, "absent cpu");
    see(cpu != nullptr && cpu->nano == 0, "zero cpu");
    for (const ContainerPort& port : container.ports) {
      see(port.host_port > 0 && port.host_ip.empty(), "port on every address");
      see(port.host_port > 0 && port.host_ip == "127.0.0.1", "port on one address");
      see(port.protocol == "UDP", "udp");
    }
  }

  void add_affinity(const NodeAffinity& affinity) {
    see(affinity.required && affinity.required->empty(), "empty required affinity");
    see(!affinity.preferred.empty(), "preferred affinity");
    if (!affinity.required) return;
    for (const NodeSelectorTerm& term : *affinity.required) {
      see(term.match_expressions.empty() && term.match_fields.empty(), "empty term");
      see(!term.match_fields.empty(), "match fields");
      for (const SelectorRequirement& r : term.match_expressions) {
        see(true, "operator " + std::to_string(static_cast<int>(r.op)));
        see(r.op == SelectorOperator::kIn && r.values.empty(), "malformed");
      }
    }
  }

  std::map<std::string, int> counts_;
};

TEST(RandomCluster, EveryEdgeCaseOccursWithinAThousandSeeds) {
  FeatureCount count;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) count.add(random_cluster(seed));
  for (const char* feature : {"no nodes",
                              "unschedulable",
                              "no zone",
                              "beta zone",
                              "images",
                              "declared features",
                              "no pod slots",
                              "no cpu",
                              "hugepages",
                              "extended resource",
                              "unparsable number",
                              "leading zero",
                              "taint 0",
                              "taint 1",
                              "taint 2",
                              "terminating pending",
                              "terminating running",
                              "nominated to an unknown node",
                              "nominated",
                              "gated",
                              "status resources",
                              "infeasible resize",
                              "unknown node",
                              "other namespace",
                              "negative priority",
                              "foreign scheduler",
                              "pod level",
                              "overhead",
                              "host network",
                              "node selector",
                              "sidecar",
                              "init container",
                              "absent cpu",
                              "zero cpu",
                              "port on every address",
                              "port on one address",
                              "udp",
                              "toleration 0",
                              "toleration 1",
                              "toleration 2",
                              "toleration 3",
                              "toleration of every key",
                              "toleration of every effect",
                              "empty required affinity",
                              "preferred affinity",
                              "empty term",
                              "match fields",
                              "malformed",
                              "operator 0",
                              "operator 1",
                              "operator 2",
                              "operator 3",
                              "operator 4",
                              "operator 5"}) {
    EXPECT_GE(count[feature], 10) << feature;
  }
}

TEST(RandomCluster, DisabledOptionsDoNotOccur) {
  RandomClusterOptions options;
  options.comparison_tolerations = false;
  options.pod_level_resources = false;
  options.status_resources = false;
  options.nominated_pods = false;
  options.gated_pods = false;
  options.foreign_scheduler_names = false;
  options.pods_on_unknown_nodes = false;
  options.malformed_affinity = false;
  FeatureCount count;
  for (std::uint64_t seed = 0; seed < 300; ++seed) count.add(random_cluster(seed, options));
  for (const char* feature : {"toleration 2", "toleration 3", "pod level", "status resources", "nominated", "gated",
                              "foreign scheduler", "unknown node", "malformed"}) {
    EXPECT_EQ(count[feature], 0) << feature;
  }
}

TEST(RandomCluster, SomePodsRequestExactlyTheFreeAmount) {
  int exact = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const ClusterObjects objects = random_cluster(seed);
    std::map<std::string, NodeUse> uses;
    for (const PodPtr& pod : objects.pods) {
      if (!pod->node_name.empty()) uses[pod->node_name].add_pod(requested_on_node(*pod));
    }
    for (const PodPtr& pod : objects.pods) {
      const std::int64_t asked = filter_requests(*pod).milli_cpu;
      for (const NodePtr& node : objects.nodes) {
        const std::int64_t free = node->allocatable.milli_cpu - uses[node->name].requested.milli_cpu;
        exact += pod->node_name.empty() && asked > 0 && asked == free ? 1 : 0;
      }
    }
  }
  EXPECT_GT(exact, 50);
}

}  // namespace
}  // namespace berth
