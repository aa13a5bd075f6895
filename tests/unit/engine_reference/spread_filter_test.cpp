// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/spread_filter.h"

#include <gtest/gtest.h>

#include "tests/unit/engine_reference/asked_cluster.h"

namespace berth::reference {
namespace {

using Counts = std::map<std::string, std::int64_t, std::less<>>;
using test::AskedCluster;

/// The state of the hard constraints, with the calls of a preemption dry run.
class DryRun {
 public:
  explicit DryRun(const AskedCluster& cluster)
      : cluster_(cluster), state_(count_domains(hard_constraints(cluster.request()).list, cluster.request())) {}

  void add(const std::string& pod, const std::string& node) { change(pod, node, 1); }
  void remove(const std::string& pod, const std::string& node) { change(pod, node, -1); }
  bool passes(const std::string& node) const { return status(node).ok(); }
  Status status(const std::string& node) const { return filter(state_, cluster_.request(), *cluster_.node(node).node); }
  const Counts& counts(std::size_t constraint) const { return state_.counts.at(constraint); }

 private:
  void change(const std::string& pod, const std::string& node, std::int64_t delta) {
    update(state_, cluster_.request(), cluster_.pod(pod), *cluster_.node(node).node, delta);
  }

  const AskedCluster& cluster_;
  SpreadState state_;
};

constexpr const char* kP1 =
    "node a1 zone=A host\nnode a2 zone=A host\nnode b1 zone=B host\nnode c1 zone=C host\n"
    "pod web*2 on=a1 label:app=web\npod b on=b1 label:app=web\n";

TEST(SpreadState, E_P1_CountsDomainsWithoutPods) {
  const AskedCluster cluster(std::string(kP1) + "ask p label:app=web spread=zone match=app=web");
  EXPECT_EQ(DryRun(cluster).counts(0), (Counts{{"A", 2}, {"B", 1}, {"C", 0}}));
}

TEST(SpreadState, E_P3_CountsOnlyNodesWithAllKeys) {
  const AskedCluster cluster(
      "node a1 zone=A host\nnode a2 zone=A\nnode b1 zone=B host\nnode b2 host\npod a on=a1 label:app=web\n"
      "pod c*3 on=a2 label:app=web\npod b on=b1 label:app=web\n"
      "ask p label:app=web spread=zone match=app=web spread=host match=app=web");
  const DryRun run(cluster);
  EXPECT_EQ(run.counts(0), (Counts{{"A", 1}, {"B", 1}}));
  EXPECT_EQ(run.counts(1), (Counts{{"a1", 1}, {"b1", 1}}));
}

TEST(SpreadState, E_P4_ADomainWithoutAnEligibleNodeDoesNotExist) {
  const std::string nodes =
      "node a1 zone=A label:disk=ssd\nnode b1 zone=B label:disk=ssd\nnode c1 zone=C label:disk=hdd\n"
      "node d1 zone=D label:disk=ssd taint=gpu:NoSchedule\npod a*2 on=a1 label:app=web\npod b on=b1 label:app=web\n"
      "ask p label:app=web select:disk=ssd spread=zone match=app=web ";
  const AskedCluster both(nodes + "node-taints=Honor");
  EXPECT_EQ(DryRun(both).counts(0), (Counts{{"A", 2}, {"B", 1}}));
  const AskedCluster affinity(nodes);
  EXPECT_EQ(DryRun(affinity).counts(0), (Counts{{"A", 2}, {"B", 1}, {"D", 0}}));
  const AskedCluster neither(nodes + "node-affinity=Ignore");
  EXPECT_EQ(DryRun(neither).counts(0), (Counts{{"A", 2}, {"B", 1}, {"C", 0}, {"D", 0}}));
}

TEST(SpreadState, E_P5_Q1_AddPodCountsForAnEmptySelectorUnlikeTheBase) {
  const AskedCluster cluster(
      "node a1 zone=A\nnode b1 zone=B\npod a*2 on=a1 label:app=web\npod n label:app=web\n"
      "ask p label:app=web spread=zone match=");
  DryRun run(cluster);
  EXPECT_EQ(run.counts(0), (Counts{{"A", 0}, {"B", 0}}));
  run.add("n", "a1");
  EXPECT_EQ(run.counts(0), (Counts{{"A", 1}, {"B", 0}}));
  EXPECT_EQ(run.status("a1").code, StatusCode::kUnschedulable);
}

TEST(SpreadState, E_P6_Q3_RemovingATerminatingPodSubtractsIt) {
  const AskedCluster cluster(
      "node a1 zone=A\nnode b1 zone=B\npod v*2 on=a1 label:app=web\npod dying on=a1 label:app=web terminating\n"
      "pod b on=b1 label:app=web\nask p label:app=web spread=zone match=app=web");
  DryRun run(cluster);
  EXPECT_EQ(run.counts(0), (Counts{{"A", 2}, {"B", 1}}));
  EXPECT_FALSE(run.passes("a1"));
  for (const char* victim : {"v0", "v1", "dying"}) run.remove(victim, "a1");
  EXPECT_EQ(run.counts(0), (Counts{{"A", -1}, {"B", 1}}));
  EXPECT_TRUE(run.passes("a1"));
  run.add("v0", "a1");
  EXPECT_TRUE(run.passes("a1"));
  run.add("v1", "a1");
  EXPECT_TRUE(run.passes("a1")) << "true counts would make v1 the victim";
  run.add("dying", "a1");
  EXPECT_FALSE(run.passes("a1")) << "so the dying pod is the victim";
}

TEST(SpreadState, IgnoresPodsOfOtherNamespacesAndOfNodesWithoutAKey) {
  const AskedCluster cluster(
      "node a zone=A host\nnode b zone=B\npod far on=a label:app=web namespace=other\npod near on=b label:app=web\n"
      "ask p label:app=web spread=zone match=app=web spread=host match=app=web");
  DryRun run(cluster);
  const Counts before = run.counts(0);
  run.add("far", "a");
  run.add("near", "b");
  EXPECT_EQ(run.counts(0), before);
}

TEST(SpreadState, AddingAndRemovingAreInverse) {
  const AskedCluster cluster(std::string(kP1) + "ask p label:app=web spread=zone match=app=web spread=host match=");
  DryRun run(cluster);
  const Counts zones = run.counts(0);
  const Counts hosts = run.counts(1);
  run.remove("web0", "a1");
  run.add("b", "a1");
  run.remove("b", "a1");
  run.add("web0", "a1");
  EXPECT_EQ(run.counts(0), zones);
  EXPECT_EQ(run.counts(1), hosts);
}

TEST(SpreadState, AnEmptiedDomainStillExists) {
  const AskedCluster cluster(std::string(kP1) + "ask p label:app=web spread=zone match=app=web min-domains=3");
  DryRun run(cluster);
  run.remove("b", "b1");
  EXPECT_EQ(run.counts(0), (Counts{{"A", 2}, {"B", 0}, {"C", 0}}));
  EXPECT_TRUE(run.passes("b1"));
}

}  // namespace
}  // namespace berth::reference
