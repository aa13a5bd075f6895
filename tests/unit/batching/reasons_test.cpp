// SPDX-License-Identifier: Apache-2.0
// Verdicts of single nodes, the resulting texts, and the effect of nominated pods.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "batching/diagnosis_row.h"
#include "batching/node_filter.h"
#include "batching/nominations.h"
#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

Status filter_pod(test::CompiledCluster& cluster, std::size_t pod, std::string_view node) {
  return filter_node(cluster.class_of(pod), cluster.profile(), cluster.row_of(pod), cluster.snapshot,
                     cluster.snapshot.find_node(node));
}

TEST(NodeFilterTest, ReportsEveryInsufficientResource) {
  test::CompiledCluster cluster("node a cpu=1 memory=1 pods=0\npod p cpu=2 memory=2 res:example.com/x=1\n");
  const Status status = filter_pod(cluster, 0, "a");
  EXPECT_EQ(status.plugin, "NodeResourcesFit");
  EXPECT_EQ(status.reasons, (std::vector<std::string>{"Too many pods", "Insufficient cpu", "Insufficient memory",
                                                      "Insufficient example.com/x"}));
}

TEST(NodeFilterTest, RequestAboveAllocatableIsUnresolvable) {
  test::CompiledCluster cluster("node a cpu=2\npod old on=a cpu=1500m\npod p cpu=1\npod q cpu=3\n");
  EXPECT_EQ(filter_pod(cluster, 0, "a").code, StatusCode::kUnschedulable);
  EXPECT_EQ(filter_pod(cluster, 1, "a").code, StatusCode::kUnschedulableAndUnresolvable);
}

TEST(NodeFilterTest, ReportsTheFirstRefusingPluginOfTheProfile) {
  test::CompiledCluster cluster(
      "node a cpu=1 unschedulable taint=t:NoSchedule\npod old on=a port=80\npod p cpu=2 port=80\n");
  EXPECT_EQ(filter_pod(cluster, 0, "a").plugin, "NodeUnschedulable");
  test::CompiledCluster tainted("node a cpu=1 taint=t:NoSchedule\npod old on=a port=80\npod p cpu=2 port=80\n");
  EXPECT_EQ(filter_pod(tainted, 0, "a").plugin, "TaintToleration");
  test::CompiledCluster ports("node a cpu=1\npod old on=a port=80\npod p cpu=2 port=80\n");
  EXPECT_EQ(filter_pod(ports, 0, "a").plugin, "NodePorts");
}

TEST(NodeFilterTest, FilterOrderOfTheProfileDecidesWhichPluginIsReported) {
  test::Scenario scenario = test::parse_scenario("node a cpu=1\npod old on=a port=80\npod p cpu=2 port=80\n");
  auto& filters = scenario.config.profiles.front().plugins[static_cast<std::size_t>(ExtensionPoint::kFilter)];
  std::reverse(filters.begin(), filters.end());
  const EngineCluster cluster(test::fill_cache(scenario.objects), scenario.objects);
  Snapshot snapshot(cluster.cache());
  ClassTable table(cluster, scenario.config, scenario.engine, snapshot);
  std::vector<PodToPlace> pods{{scenario.pending().front(), 0, -1}};
  table.compile(pods);
  EXPECT_EQ(filter_node(table[0], table.profile(0), table.node_side(0), snapshot, 0).plugin, "NodeResourcesFit");
}

TEST(NodeFilterTest, DisabledPluginRefusesNothing) {
  test::CompiledCluster cluster("config disable=NodeResourcesFit\nnode a cpu=1 pods=0\npod p cpu=2\n");
  EXPECT_TRUE(filter_pod(cluster, 0, "a").ok());
  EXPECT_TRUE(load_accepts(cluster.class_of(0), cluster.profile(), cluster.snapshot, 0));
}

TEST(NodeFilterTest, RequestOfZeroFitsAnOvercommittedNode) {
  test::CompiledCluster cluster("node a cpu=1\npod old on=a cpu=5\npod p memory=0\npod q cpu=1m\n");
  EXPECT_TRUE(filter_pod(cluster, 0, "a").ok());
  EXPECT_FALSE(filter_pod(cluster, 1, "a").ok());
}

// Diagnosis

struct DiagnosisTest : testing::Test {
  const std::string& text(std::size_t pod) {
    return row.answer(cluster.class_of(pod), cluster.profile(), cluster.row_of(pod), cluster.snapshot, log)
        .message.text;
  }
  void place(std::size_t pod, std::string_view node, int sign) {
    const std::int32_t i = cluster.snapshot.find_node(node);
    cluster.snapshot.apply(i, cluster.class_of(pod).delta, sign);
    log.append({i, cluster.pods[pod].class_index, sign});
  }
  test::CompiledCluster cluster{
      "node a*2 cpu=2 memory=4Gi\nnode b cpu=1 memory=1Gi taint=t:NoSchedule\nnode c cpu=1 memory=1\n"
      "pod p cpu=2 memory=3Gi\npod q cpu=1\n"};
  CommitLog log;
  DiagnosisRow row;
};

TEST_F(DiagnosisTest, TheTextFollowsTheLog) {
  place(1, "a0", 1);
  place(1, "a1", 1);
  EXPECT_EQ(text(0),
            "0/4 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), 3 Insufficient cpu.");
  place(0, "a0", 1);
  EXPECT_EQ(text(0),
            "0/4 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient memory, 3 Insufficient cpu.");
  place(0, "a0", -1);
  EXPECT_EQ(text(0),
            "0/4 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), 3 Insufficient cpu.");
}

TEST_F(DiagnosisTest, NodesWhereEvictionMayHelpAreCounted) {
  const auto resolvable = [&] {
    return row.answer(cluster.class_of(0), cluster.profile(), cluster.row_of(0), cluster.snapshot, log)
        .message.resolvable_nodes;
  };
  place(1, "a0", 1);
  EXPECT_EQ(resolvable(), 1) << "b has a taint, c is too small, and a1 accepts";
  place(1, "a1", 1);
  EXPECT_EQ(resolvable(), 2);
}

TEST_F(DiagnosisTest, ARefreshedRowEqualsANewOne) {
  text(0);
  for (int step = 0; step < 12; ++step) {
    place(static_cast<std::size_t>(step % 2),
          step % 3 == 0   ? "a0"
          : step % 3 == 1 ? "a1"
                          : "c",
          step % 5 == 4 ? -1 : 1);
    DiagnosisRow fresh;
    EXPECT_EQ(
        text(0),
        fresh.answer(cluster.class_of(0), cluster.profile(), cluster.row_of(0), cluster.snapshot, log).message.text);
  }
}

TEST(DiagnosisCountTest, ANodeOutsideThePreFilterSetCountsWithThePlugin) {
  test::CompiledCluster cluster("node a cpu=1\nnode b cpu=1\nnode c cpu=1\npod p cpu=2 need=@metadata.name:In:b\n");
  DiagnosisRow row;
  const CommitLog log;
  EXPECT_EQ(row.answer(cluster.class_of(0), cluster.profile(), cluster.row_of(0), cluster.snapshot, log).message.text,
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

/// The text that the statuses of all nodes add up to.
std::string text_of_statuses(test::CompiledCluster& cluster, std::size_t pod) {
  const PluginNames narrowing = plugins_with_node_set(cluster.class_of(pod), cluster.row_of(pod));
  Diagnosis diagnosis;
  diagnosis.node_count = cluster.snapshot.node_count();
  for (std::int32_t node = 0; node < cluster.snapshot.slot_count(); ++node)
    count_reasons(filter_node(cluster.class_of(pod), cluster.profile(), cluster.row_of(pod), cluster.snapshot, node),
                  narrowing, 1, diagnosis);
  return message_of(diagnosis).text;
}

TEST(DiagnosisCountTest, TopologyCountsWhereNoRuleBeforeItRefuses) {
  const std::string nodes =
      "node a cpu=1 label:zone=x\nnode b cpu=4 label:zone=x\nnode c cpu=4 label:zone=y pods=1\nnode d cpu=4\n"
      "node e cpu=4 label:zone=z taint=t:NoSchedule\npod near on=b label:app=web\npod other on=c port=80\n"
      "pod p cpu=2 label:app=web port=80 pod-anti-affinity=zone match=app=web\n";
  for (const bool is_reversed : {false, true}) {
    test::Scenario scenario = test::parse_scenario(nodes);
    auto& filters = scenario.config.profiles.front().plugins[static_cast<std::size_t>(ExtensionPoint::kFilter)];
    if (is_reversed) std::reverse(filters.begin(), filters.end());
    test::CompiledCluster cluster(std::move(scenario));
    DiagnosisRow row;
    const CommitLog log;
    EXPECT_EQ(row.answer(cluster.class_of(0), cluster.profile(), cluster.row_of(0), cluster.snapshot, log).message.text,
              text_of_statuses(cluster, 0));
  }
}

// Nominated pods

struct NominationsTest : testing::Test {
  test::CompiledCluster cluster{
      "node a cpu=4 memory=8Gi\nnode b cpu=4 memory=8Gi\npod old on=a cpu=2\n"
      "pod chosen cpu=1500m nominated=a priority=10 port=80\npod low cpu=1 priority=5\npod equal cpu=1 priority=10\n"
      "pod high cpu=1 priority=11\npod port priority=5 port=80\npod lost nominated=none cpu=1\n"
      "pod gated nominated=b gate=g cpu=1\npod gone nominated=b terminating cpu=1\n"};
  Nominations nominations{cluster.scenario.objects, cluster.scenario.config, cluster.snapshot, cluster.table};

  std::size_t index_of(std::string_view name) const {
    for (std::size_t i = 0; i < cluster.pods.size(); ++i)
      if (cluster.pods[i].pod->name == name) return i;
    ADD_FAILURE() << "no pod " << name;
    return 0;
  }
  Status filter_with_nominated_pods(std::string_view name) {
    const std::size_t i = index_of(name);
    return nominations.filter_with_nominated_pods(*cluster.pods[i].pod, cluster.class_of(i), cluster.profile(),
                                                  cluster.row_of(i), cluster.snapshot, cluster.snapshot.find_node("a"));
  }
};

TEST_F(NominationsTest, E_F_1_ANominatedPodCountsAgainstEqualAndLowerPriorities) {
  EXPECT_EQ(filter_with_nominated_pods("low").reasons, (std::vector<std::string>{"Insufficient cpu"}));
  EXPECT_EQ(filter_with_nominated_pods("equal").reasons, (std::vector<std::string>{"Insufficient cpu"}));
  EXPECT_TRUE(filter_with_nominated_pods("high").ok());
}

TEST_F(NominationsTest, ANominatedPodDoesNotCountAgainstItself) {
  EXPECT_TRUE(filter_with_nominated_pods("chosen").ok());
}

TEST_F(NominationsTest, PortsOfANominatedPodAreTakenForTheTimeOfTheQuestion) {
  EXPECT_EQ(filter_with_nominated_pods("port").plugin, "NodePorts");
  EXPECT_TRUE(cluster.snapshot.used_ports(cluster.snapshot.find_node("a")).empty());
}

TEST_F(NominationsTest, AnEvaluationDoesNotChangeTheColumns) {
  const std::int32_t a = cluster.snapshot.find_node("a");
  filter_with_nominated_pods("low");
  EXPECT_EQ(cluster.snapshot.requested(kCpuColumn, a), 2000);
  EXPECT_EQ(cluster.snapshot.non_zero_milli_cpu(a), 2000);
  EXPECT_EQ(cluster.snapshot.pod_count(a), 1);
}

TEST_F(NominationsTest, OnlyQueuedPodsAreNominated) {
  EXPECT_FALSE(nominations.any_against(*cluster.pods[index_of("low")].pod, cluster.snapshot.find_node("b")));
  EXPECT_TRUE(nominations.any_against(*cluster.pods[index_of("low")].pod, cluster.snapshot.find_node("a")));
  EXPECT_EQ(nominations.node_of(*cluster.pods[index_of("chosen")].pod), cluster.snapshot.find_node("a"));
  EXPECT_EQ(nominations.node_of(*cluster.pods[index_of("lost")].pod), -1) << "its node does not exist";
}

TEST_F(NominationsTest, ARemovedNominationDoesNotCountUntilItIsSetAgain) {
  const PodPtr chosen = cluster.pods[index_of("chosen")].pod;
  EXPECT_EQ(nominations.remove(*chosen), "a");
  EXPECT_EQ(nominations.remove(*chosen), std::nullopt);
  EXPECT_TRUE(filter_with_nominated_pods("low").ok());
  nominations.set(chosen, "a", cluster.table, cluster.snapshot);
  EXPECT_FALSE(filter_with_nominated_pods("low").ok());
}

TEST(NodeSideRowTest, TotalsAreNormalisedOverTheAcceptedNodesAndBelowZeroElsewhere) {
  test::CompiledCluster cluster(
      "node a cpu=4 label:disk=ssd\nnode b cpu=4 label:disk=hdd\nnode c cpu=4 taint=t:NoSchedule label:disk=ssd\n"
      "pod p prefer=50:disk:Exists prefer=50:disk:In:ssd\n");
  const NodeSideRow& row = cluster.row_of(0);
  EXPECT_EQ(row.accepted_maxima, (RawScores{{0, 100}}));
  EXPECT_TRUE(row.raws_vary);
  // NodeAffinity weighs 2, TaintToleration 3 and gives 100 everywhere.
  EXPECT_EQ(row.total_of, (std::vector<std::int32_t>{2 * 100 + 3 * 100, 2 * 50 + 3 * 100, -1}));
  EXPECT_EQ(row.refusals[row.refusal(2)].plugin, "TaintToleration");
}

TEST(NodeSideRowTest, ANameConflictRejectsThePodBeforeAnyNode) {
  test::CompiledCluster cluster("node a cpu=1\npod p need=@metadata.name:In:a&@metadata.name:In:b\n");
  EXPECT_EQ(cluster.row_of(0).pre_filter_message("NodeAffinity"), "pod affinity terms conflict");
  EXPECT_EQ(cluster.row_of(0).total_of, (std::vector<std::int32_t>{-1}));
}

TEST(NodeSideRowTest, AMalformedPreferenceIsAPreScoreError) {
  test::CompiledCluster cluster("node a cpu=1\npod p prefer=1:gen:Gt:x\npod q prefer=0:gen:Gt:x\n");
  EXPECT_FALSE(cluster.row_of(0).pre_score_error.empty());
  EXPECT_TRUE(cluster.row_of(1).pre_score_error.empty());
}

}  // namespace
}  // namespace berth
