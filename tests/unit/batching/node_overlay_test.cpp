// SPDX-License-Identifier: Apache-2.0
#include "batching/node_overlay.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "batching/node_filter.h"
#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

struct NodeOverlayTest : testing::Test {
  test::CompiledCluster cluster{
      "node a cpu=8 memory=8Gi pods=5\nnode b cpu=4 memory=8Gi\npod x on=a cpu=3 memory=1Gi port=80\n"
      "pod y on=a cpu=2 memory=2Gi port=80 port=81\npod p cpu=4 memory=4Gi port=80\npod plain cpu=1\n"};
  NodeOverlay overlay{cluster.snapshot};

  void SetUp() override { read_for(0); }
  void read_for(std::size_t pod) {
    overlay.read_for(cluster.class_of(pod));
    overlay.reset(cluster.snapshot.find_node("a"));
  }
  void apply(const char* name, int sign) {
    for (const PodPtr& pod : cluster.scenario.objects.pods) {
      if (pod->name != name) continue;
      const ResourceDelta delta = cluster.table.delta_of(*pod);
      const std::vector<HostPort> ports = wanted_host_ports(*pod->spec);
      sign > 0 ? overlay.add({delta, ports, {}}) : overlay.remove({delta, ports, {}});
    }
  }
  bool accepts() const {
    const LoadVerdict verdict = filter_load(cluster.class_of(0), overlay);
    return verdict.fits() && !verdict.ports_taken;
  }
};

TEST_F(NodeOverlayTest, ReadsTheNodeAsItIsWithoutChanges) {
  EXPECT_EQ(overlay.requested(kCpuColumn), 5000);
  EXPECT_EQ(overlay.allocatable(kCpuColumn), 8000);
  EXPECT_EQ(overlay.requested(kNoColumn), 0);
  EXPECT_EQ(overlay.pod_count(), 2);
  EXPECT_EQ(overlay.allowed_pods(), 5);
  EXPECT_EQ(overlay.used_ports().size(), 3u) << "one entry for each pod that has a port";
  EXPECT_FALSE(accepts());
}

TEST_F(NodeOverlayTest, AddedAndRemovedPodsChangeAmountsCountsAndPorts) {
  apply("x", -1);
  EXPECT_EQ(overlay.requested(kCpuColumn), 2000);
  EXPECT_EQ(overlay.requested(kMemoryColumn), 2ll << 30);
  EXPECT_EQ(overlay.pod_count(), 1);
  apply("y", -1);
  EXPECT_EQ(overlay.pod_count(), 0);
  EXPECT_TRUE(overlay.used_ports().empty());
  EXPECT_TRUE(accepts());
  apply("x", 1);
  EXPECT_EQ(overlay.requested(kCpuColumn), 3000);
  EXPECT_EQ(overlay.used_ports().size(), 1u);
  EXPECT_FALSE(accepts()) << "the port";
}

TEST_F(NodeOverlayTest, ARemovedPodFreesItsPortsThoughAnotherHasThem) {
  apply("x", -1);
  EXPECT_EQ(overlay.used_ports(), (std::vector<HostPort>{{"0.0.0.0", "TCP", 81}}));
  EXPECT_TRUE(accepts());
}

TEST_F(NodeOverlayTest, TheSnapshotStaysAsItIs) {
  apply("x", -1);
  apply("y", -1);
  const std::int32_t a = cluster.snapshot.find_node("a");
  EXPECT_EQ(cluster.snapshot.requested(kCpuColumn, a), 5000);
  EXPECT_EQ(cluster.snapshot.pod_count(a), 2);
  EXPECT_EQ(cluster.snapshot.used_ports(a).size(), 3u);
}

TEST_F(NodeOverlayTest, ResetForgetsEveryChange) {
  apply("x", -1);
  overlay.reset(cluster.snapshot.find_node("a"));
  EXPECT_EQ(overlay.requested(kCpuColumn), 5000);
  EXPECT_EQ(overlay.pod_count(), 2);
  overlay.reset(cluster.snapshot.find_node("b"));
  EXPECT_EQ(overlay.requested(kCpuColumn), 0);
  EXPECT_EQ(overlay.allocatable(kCpuColumn), 4000);
}

TEST_F(NodeOverlayTest, AClassWithoutPortsReadsThoseOfTheNode) {
  read_for(1);
  apply("x", -1);
  EXPECT_EQ(overlay.used_ports().size(), 3u);
  EXPECT_EQ(overlay.requested(kCpuColumn), 2000);
}

// Tables

/// Random tables and changes of one node: an overlay reads what the changed tables would say.
TEST(OverlaidCountsTest, ReadsWhatChangedTablesWouldSay) {
  std::mt19937 dice(7);
  const auto upto = [&](int most) { return std::uniform_int_distribution<int>(0, most)(dice); };
  for (int round = 0; round < 300; ++round) {
    constexpr std::int32_t kNodes = 12;
    TopologyCounts counts;
    DomainColumn column;
    column.domain_count = 4;
    auto mask = std::make_shared<std::vector<std::uint8_t>>();
    for (std::int32_t i = 0; i < kNodes; ++i) {
      column.domain_of.push_back(upto(column.domain_count));
      mask->push_back(upto(4) == 0 ? 0 : 1);
    }
    index_domains(column);
    counts.add_column(std::move(column));
    counts.add_table(0, 0, nullptr, true);
    counts.add_table(0, 1, mask, true);
    for (int pods = upto(20); pods > 0; --pods) counts.add(upto(1), upto(kNodes - 1), 1);

    const std::int32_t node = upto(kNodes - 1);
    TopologyCounts changed = counts;
    OverlaidCounts overlay(counts);
    overlay.reset(node);
    for (int moves = upto(6); moves > 0; --moves) {
      const std::vector<CountMove> move{{upto(1), 1 + upto(2)}};
      const int sign = upto(1) == 0 ? 1 : -1;
      changed.add_all(move, node, sign);
      overlay.apply(move, sign);
    }
    for (std::int32_t table = 0; table < 2; ++table) {
      EXPECT_EQ(overlay.count_at(table, node), changed.count_at(table, node)) << "round " << round;
      EXPECT_EQ(overlay.total(table), changed.total(table)) << "round " << round;
      EXPECT_EQ(overlay.minimum(table), changed.minimum(table)) << "round " << round;
      EXPECT_EQ(overlay.existing_domains(table), changed.existing_domains(table));
    }
  }
}

}  // namespace
}  // namespace berth
