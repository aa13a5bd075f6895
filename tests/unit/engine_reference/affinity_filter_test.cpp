// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/affinity_filter.h"

#include <gtest/gtest.h>

#include "tests/unit/engine_reference/asked_cluster.h"

namespace berth::reference {
namespace {

using test::AskedCluster;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHost = "kubernetes.io/hostname";

AffinityState state_of(const AskedCluster& cluster) {
  return count_matches(parse_terms(*cluster.request().pod), cluster.request());
}

std::string feasible(const AskedCluster& cluster, const AffinityState& state) {
  std::string names;
  for (const NodeState* node : cluster.feasible()) {
    if (filter(state, cluster.request(), *node->node).ok()) names += (names.empty() ? "" : " ") + node->node->name;
  }
  return names;
}

void change(AffinityState& state, const AskedCluster& cluster, const std::string& pod, const std::string& node,
            std::int64_t delta) {
  const Pod& other = cluster.pod(pod);
  update(state, cluster.request(), other, parse_terms(other), *cluster.node(node).node, delta);
}

TEST(AffinityState, E_A1_CountsAPodThatMatchesAllTermsForEachOfThem) {
  const AskedCluster cluster(
      "node n1 zone=A label:rack=r1\nnode n2 zone=A label:rack=r2\nnode n3 zone=B label:rack=r1\n"
      "pod e2 on=n1 label:app=db\npod e1 on=n2 label:app=db label:tier=cache\n"
      "pod e3 on=n3 label:app=db label:tier=cache\n"
      "ask p pod-affinity=zone match=app=db pod-affinity=rack match=tier=cache");
  EXPECT_EQ(state_of(cluster).affinity_counts,
            (DomainCounts{{{kZone, "A"}, 1}, {{"rack", "r2"}, 1}, {{kZone, "B"}, 1}, {{"rack", "r1"}, 1}}));
}

TEST(AffinityState, E_A2_RemovingTheLastMatchRestoresTheFirstPodRule) {
  const AskedCluster cluster(
      "node n1 zone=A host\nnode n2 zone=B host\nnode n3 host\npod keyless on=n3 label:app=ring\n"
      "pod r2 on=n2 label:app=ring\nask p label:app=ring pod-affinity=zone match=app=ring");
  AffinityState state = state_of(cluster);
  EXPECT_EQ(state.affinity_counts, (DomainCounts{{{kZone, "B"}, 1}}));
  EXPECT_EQ(feasible(cluster, state), "n2");
  change(state, cluster, "r2", "n2", -1);
  EXPECT_TRUE(state.affinity_counts.empty());
  EXPECT_EQ(feasible(cluster, state), "n1 n2");
  change(state, cluster, "r2", "n2", 1);
  EXPECT_EQ(feasible(cluster, state), "n2");
}

TEST(AffinityState, E_A3_CountsBothDirectionsSeparately) {
  const std::string nodes =
      "node n1 zone=A host\nnode n2 zone=A host\nnode n3 zone=B host\nnode n4 zone=C host\nnode n5 host\n"
      "pod e1 on=n1 label:app=db\npod e2 on=n3 label:app=mon pod-anti-affinity=zone match=app:In:web,db\n"
      "pod e3 on=n5 label:app=db\n";
  const AskedCluster zone(nodes + "ask p label:app=web pod-anti-affinity=zone match=app=db");
  EXPECT_EQ(state_of(zone).existing_anti_affinity, (DomainCounts{{{kZone, "B"}, 1}}));
  EXPECT_EQ(state_of(zone).anti_affinity_counts, (DomainCounts{{{kZone, "A"}, 1}}));
  const AskedCluster host(nodes + "ask p label:app=web pod-anti-affinity=host match=app=db");
  EXPECT_EQ(state_of(host).anti_affinity_counts, (DomainCounts{{{kHost, "n1"}, 1}, {{kHost, "n5"}, 1}}));
  const AskedCluster none(nodes + "ask p label:app=zzz");
  EXPECT_TRUE(state_of(none).is_idle());
}

TEST(AffinityState, E_A8_CountsANominatedPodOnItsOwnNode) {
  const AskedCluster cluster(
      "node n1 zone=A host\nnode n2 zone=B host\npod nominee pod-anti-affinity=zone match=app=web\n"
      "pod guard on=n2 pod-anti-affinity=zone match=app=web\nask p label:app=web");
  AffinityState state = state_of(cluster);
  EXPECT_EQ(state.existing_anti_affinity, (DomainCounts{{{kZone, "B"}, 1}}));
  EXPECT_EQ(feasible(cluster, state), "n1");
  change(state, cluster, "nominee", "n1", 1);
  EXPECT_EQ(state.existing_anti_affinity, (DomainCounts{{{kZone, "A"}, 1}, {{kZone, "B"}, 1}}));
  EXPECT_EQ(feasible(cluster, state), "");
}

TEST(AffinityState, AddingAndRemovingAreInverse) {
  const AskedCluster cluster(
      "node a zone=A host\nnode b zone=B host\npod x on=a label:app=db pod-anti-affinity=host match=app=web\n"
      "pod y on=b label:app=db\n"
      "ask p label:app=web pod-affinity=zone match=app=db pod-anti-affinity=host match=app=db");
  AffinityState state = state_of(cluster);
  const AffinityState before = state;
  change(state, cluster, "x", "b", 1);
  change(state, cluster, "y", "b", -1);
  change(state, cluster, "y", "b", 1);
  change(state, cluster, "x", "b", -1);
  EXPECT_EQ(state.existing_anti_affinity, before.existing_anti_affinity);
  EXPECT_EQ(state.affinity_counts, before.affinity_counts);
  EXPECT_EQ(state.anti_affinity_counts, before.anti_affinity_counts);
}

TEST(AffinityTerms, AMalformedTermEmptiesOnlyItsGroup) {
  const AskedCluster cluster(
      "node n\nask p pod-affinity=zone match=app:In pod-affinity=zone match=a=b pod-anti-affinity=zone match=a=b "
      "pod-affinity=zone:1 match=a=b");
  const PodTerms terms = parse_terms(*cluster.request().pod);
  EXPECT_TRUE(terms.required_affinity.empty());
  EXPECT_EQ(terms.required_anti_affinity.size(), 1u);
  EXPECT_EQ(terms.preferred_affinity.size(), 1u);
  EXPECT_TRUE(terms.problem.starts_with("requiredAffinityTerms: values: ")) << terms.problem;
}

TEST(AffinityTerms, Q2_KeepsANegativeNamespaceSelectorUnlessTheBugIsFixed) {
  const AskedCluster cluster(
      "namespace q label:team=b\nnode n\npod x namespace=other label:app=db\n"
      "ask p pod-anti-affinity=zone match=app=db namespace-match=team:NotIn:a");
  for (const bool keeps : {true, false}) {
    AffinityTerm term = parse_terms(*cluster.request().pod).required_anti_affinity.at(0);
    list_namespaces(term, cluster.view().objects.namespaces, keeps);
    EXPECT_EQ(term.namespaces, std::set<std::string>{"q"});
    EXPECT_EQ(term.matches(cluster.pod("x"), {}), keeps) << "a namespace that has no object";
  }
}

}  // namespace
}  // namespace berth::reference
