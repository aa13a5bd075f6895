// SPDX-License-Identifier: Apache-2.0
// Selections from groups against a scan of all nodes by batching/node_filter.h and batching/topology_scores.h.
#include "host/engine/cpu/grouped_row.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "batching/node_draw.h"
#include "batching/node_filter.h"
#include "batching/topology_scores.h"
#include "host/engine/cpu/grouped_rows.h"
#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

/// 40 nodes in zones and racks; some lack a label, some have a soft taint, some a label that pods prefer.
std::string mixed_nodes() {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const auto number = [](int n) { return std::to_string(n); };
    text += "node n" + number(i) + " host cpu=4 memory=8Gi pods=" + number(3 + i % 4);
    if (i % 13 != 0) text += " zone=z" + number(i % 3);
    if (i % 11 != 0) text += " label:rack=r" + number(i % 7);
    if (i % 5 == 0) text += " taint=soft:PreferNoSchedule";
    if (i % 4 == 0) text += " label:disk=ssd";
    text += '\n';
  }
  return text;
}

constexpr const char* kPods =
    "pod hard cpu=100m label:app=web spread=zone skew=2 match=app=web\n"
    "pod racks cpu=100m label:app=web spread=rack match=app=web prefer=30:disk:Exists\n"
    "pod soft cpu=200m label:app=web soft-spread=zone match=app=web soft-spread=host skew=3 match=app=web\n"
    "pod anti memory=1Gi label:app=db pod-anti-affinity=host match=app=db pod-anti-affinity=rack:40 match=app=web\n"
    "pod series cpu=100m label:app=cache pod-affinity=rack match=app=cache\n"
    "pod near cpu=100m label:app=near pod-affinity=rack:50 match=app=web pod-affinity=host:20 match=app=db\n"
    "pod both cpu=100m label:app=db spread=host skew=2 match=app=db pod-anti-affinity=zone match=app=cache\n";

/// One row per class over a cluster in which pods are added and removed.
class Rows {
 public:
  Rows(const std::string& text, std::int32_t coarse_domains_max)
      : cluster_(text), tile_(classes(), cluster_.table, cluster_.snapshot) {
    tile_.build(cluster_.snapshot);
    weights_.grow(static_cast<std::size_t>(cluster_.snapshot.node_count()));
    for (const std::int32_t c : tile_.classes()) {
      if (cluster_.table[c].topology == nullptr) continue;
      const NodeSideRow& node_side = cluster_.table.node_side(c);
      const CompiledProfile& profile = cluster_.table.profile_of(c);
      GroupedRow& row = rows_
                            .try_emplace(c, cluster_.table[c], profile, node_side, cluster_.snapshot.topology(),
                                         coarse_domains_max, weights_)
                            .first->second;
      row.set_cells(std::make_shared<NodeCells>(make_cells(row.cell_columns(), node_side, cluster_.snapshot)));
    }
  }

  std::size_t pod_count() const { return cluster_.pods.size(); }
  bool empty() const { return placed_.empty(); }
  std::uint64_t bytes() const { return rows_.begin()->second.bytes(); }

  void place(std::size_t pod, std::int32_t node) {
    change(pod, node, 1);
    placed_.emplace_back(pod, node);
  }
  void undo_last() {
    const auto [pod, node] = placed_.back();
    placed_.pop_back();
    change(pod, node, -1);
  }

  Selection select(std::size_t pod) {
    const std::int32_t c = cluster_.pods[pod].class_index;
    const SlotKeys keys{tile_, tile_.slot_of(c)};
    GroupedRow& row = rows_.at(c);
    row.catch_up(keys, cluster_.table, cluster_.snapshot.topology(), log_);
    return row.select(keys, cluster_.snapshot.topology());
  }

  /// The same by a scan of every node.
  Selection walk(std::size_t pod) {
    const PodClass& pod_class = cluster_.class_of(pod);
    const CompiledProfile& profile = cluster_.profile();
    const NodeSideRow& row = cluster_.row_of(pod);
    const Snapshot& snapshot = cluster_.snapshot;
    std::vector<std::int32_t> feasible;
    for (std::int32_t i = 0; i < snapshot.node_count(); ++i)
      if (filter_node(pod_class, profile, row, snapshot, i).ok()) feasible.push_back(i);
    const RawScores maxima = raw_maxima(row, snapshot, feasible);
    const TopologyScores scores = score_topology(*pod_class.topology, snapshot.topology(), feasible);
    NodeKey best = 0;
    Selection selection{static_cast<std::int64_t>(feasible.size()), -1, 0};
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      const std::int32_t node = feasible[i];
      const std::int64_t total =
          row.total(snapshot, node, maxima) + load_total(pod_class, profile, snapshot, node) + scores.total(i, profile);
      const NodeKey key = make_node_key(total, node_draw(profile.draw, snapshot, node).bits);
      if (key > best) best = key, selection.node = node, selection.total = total;
    }
    return selection;
  }

 private:
  std::vector<std::int32_t> classes() const {
    std::vector<std::int32_t> all;
    for (std::int32_t c = 0; c < cluster_.table.size(); ++c) all.push_back(c);
    return all;
  }

  void change(std::size_t pod, std::int32_t node, int sign) {
    Snapshot& snapshot = cluster_.snapshot;
    snapshot.apply(node, cluster_.class_of(pod).delta, sign);
    snapshot.write_topology().add_all(cluster_.class_of(pod).moves, node, sign);
    log_.append({node, cluster_.pods[pod].class_index, sign});
    tile_.refresh(snapshot, node);
    tile_.finish_refresh(snapshot);
  }

  test::CompiledCluster cluster_;
  RowTile tile_;
  DomainWeights weights_;
  std::map<std::int32_t, GroupedRow> rows_;
  CommitLog log_;
  std::vector<std::pair<std::size_t, std::int32_t>> placed_;
};

void expect_equal(const Selection& actual, const Selection& expected, const std::string& where) {
  ASSERT_EQ(actual.feasible_count, expected.feasible_count) << where;
  if (expected.feasible_count == 0) return;
  EXPECT_EQ(actual.node, expected.node) << where;
  EXPECT_EQ(actual.total, expected.total) << where;
}

void expect_all_equal(Rows& rows, const std::string& where) {
  for (std::size_t pod = 0; pod < rows.pod_count(); ++pod)
    expect_equal(rows.select(pod), rows.walk(pod), where + ", pod " + std::to_string(pod));
}

/// The number of changes between two uses of the rows, and which keys are distinguished by domain.
struct GroupedRowCase {
  int changes;
  std::int32_t coarse_domains_max;
};

class GroupedRowTest : public testing::TestWithParam<GroupedRowCase> {};

TEST_P(GroupedRowTest, SelectionsEqualAScanOfAllNodesThroughPlacementsAndRollbacks) {
  Rows rows(mixed_nodes() + kPods, GetParam().coarse_domains_max);
  expect_all_equal(rows, "empty cluster");
  std::mt19937 random(7);
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    for (int change = 0; change < GetParam().changes; ++change) {
      if (!rows.empty() && random() % 4 == 0) {
        rows.undo_last();
        continue;
      }
      const std::size_t pod = random() % rows.pod_count();
      const Selection choice = rows.walk(pod);
      if (choice.feasible_count > 0) rows.place(pod, choice.node);
    }
    expect_all_equal(rows, "round " + std::to_string(round));
  }
}

// Of 40 nodes, up to 4 changes are replayed into heaps; after more of them a row is one flat pass.
INSTANTIATE_TEST_SUITE_P(Cases, GroupedRowTest,
                         testing::Values(GroupedRowCase{1, 64}, GroupedRowCase{1, 3}, GroupedRowCase{1, 0},
                                         GroupedRowCase{3, 5}, GroupedRowCase{9, 64}, GroupedRowCase{9, 0}));

TEST(GroupedRowBoundTest, AFullClusterHasNoFeasibleGroup) {
  Rows rows("node a host pods=1\nnode b host pods=1\npod p soft-spread=host match=app=web label:app=web\n", 64);
  rows.place(0, 0);
  rows.place(0, 1);
  EXPECT_EQ(rows.select(0).feasible_count, 0);
  rows.undo_last();
  expect_equal(rows.select(0), rows.walk(0), "one node has room again");
}

TEST(GroupedRowBoundTest, EmptyGroupsDoNotAccumulate) {
  Rows rows("node n host pods=100000\npod p label:app=web soft-spread=host match=app=web\n", 64);
  constexpr std::size_t kPlacements = 4000;  // each makes a group of a count that was not there before
  for (std::size_t i = 0; i < kPlacements; ++i) rows.place(0, rows.select(0).node);
  EXPECT_LT(rows.bytes(), kPlacements / 2 * sizeof(NodeGroups::Group));
  expect_equal(rows.select(0), rows.walk(0), "after all placements");
}

TEST(GroupedRowBoundTest, RepeatedKeysDoNotAccumulate) {
  Rows rows("node n*40 host\npod p label:app=web soft-spread=host match=app=web\n", 64);
  rows.select(0);
  constexpr std::size_t kWhatIfs = 2000;
  for (std::size_t i = 0; i < kWhatIfs; ++i) {
    rows.place(0, 7);
    rows.select(0);
    rows.undo_last();
    rows.select(0);
  }
  EXPECT_LT(rows.bytes(), kWhatIfs * sizeof(NodeGroups::Entry));
  expect_equal(rows.select(0), rows.walk(0), "after all what-ifs");
}

// The cache of rows

struct GroupedRowsTest : testing::Test {
  test::CompiledCluster cluster{
      "node a zone=z0\nnode b zone=z1\n"
      "pod p cpu=1 label:app=web spread=zone match=app=web\n"
      "pod q cpu=2 label:app=web spread=zone match=app=web\n"
      "pod r cpu=3 label:app=web soft-spread=zone match=app=web\n"};
  GroupedRow& find(GroupedRows& rows, std::size_t pod) {
    return rows.find(cluster.pods[pod].class_index, cluster.table, cluster.snapshot);
  }
};

TEST_F(GroupedRowsTest, ARowStaysUntilTheClusterChanges) {
  GroupedRows rows(1 << 20, 64);
  GroupedRow* first = &find(rows, 0);
  find(rows, 1);
  EXPECT_EQ(&find(rows, 0), first);
  rows.clear();
  EXPECT_EQ(rows.bytes(), 0u);
}

TEST_F(GroupedRowsTest, ClassesWithTheSameKeysShareCells) {
  GroupedRows rows(1 << 20, 64);
  const NodeCells* cells = &find(rows, 0).cells();
  EXPECT_EQ(&find(rows, 1).cells(), cells);
  EXPECT_NE(&find(rows, 2).cells(), cells) << "a soft key does not keep nodes out";
}

TEST_F(GroupedRowsTest, TheLeastRecentlyUsedRowIsDroppedWithItsCellsAtTheLimit) {
  GroupedRows rows(1, 64);
  find(rows, 0);
  const std::uint64_t one = rows.bytes();
  find(rows, 2);
  find(rows, 0);
  EXPECT_EQ(rows.bytes(), one);
}

}  // namespace
}  // namespace berth
