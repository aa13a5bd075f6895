// SPDX-License-Identifier: Apache-2.0
// Selections from groups against a scan of all nodes by batching/node_filter.h and batching/topology_scores.h.
#include "host/engine/cpu/grouped_row.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "batching/node_draw.h"
#include "batching/node_filter.h"
#include "batching/topology_scores.h"
#include "host/engine/cpu/grouped_rows.h"
#include "host/engine/cpu/grouped_selection.h"
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
    const SlotKeys keys = keys_of(pod);
    GroupedRow& row = row_of(pod);
    row.catch_up(keys, cluster_.table, cluster_.snapshot.topology(), log_);
    return row.select(keys, cluster_.snapshot.topology(), scratch_);
  }

  // Placements that the rows do not learn of.

  void catch_up_all() {
    for (std::size_t pod = 0; pod < pod_count(); ++pod) {
      row_of(pod).catch_up(keys_of(pod), cluster_.table, cluster_.snapshot.topology(), log_,
                           NodeGroups::Knows::kAllNodes);
      row_of(pod).settle(keys_of(pod), cluster_.snapshot.topology(), scratch_);
    }
  }
  void place_later(std::size_t pod, std::int32_t node) {
    apply(pod, node, 1);
    later_.emplace_back(pod, node);
  }
  void take_back_later() {
    for (const auto& [pod, node] : later_) apply(pod, node, -1);
    later_.clear();
  }
  /// Leaves out what changed later, and lets it join again. Call catch_up_all() before those placements.
  /// @param left_out  nodes that may not be chosen at all
  Selection select_outside(std::size_t pod, const ExcludedNodes& left_out) {
    ExcludedNodes excluded = left_out;
    for (const auto& [other, node] : later_) exclude_with_mates(pod, node, excluded);
    const std::vector<ExtraOnNode> extras = extras_of(pod, excluded, left_out);
    return std::as_const(row_of(pod))
        .select(keys_of(pod), cluster_.snapshot.topology(), excluded, std::span(extras), scratch_);
  }
  /// The same from settled groups. @return nullopt: they do not tell
  std::optional<Selection> select_settled(std::size_t pod, const ExcludedNodes& left_out) {
    const TopologyCounts& counts = cluster_.snapshot.topology();
    if (!row_of(pod).counts_are_settled(counts)) return std::nullopt;
    ExcludedNodes excluded = left_out;
    for (const auto& [other, node] : later_) excluded.insert(node);
    const std::vector<ExtraOnNode> extras = extras_of(pod, excluded, left_out);
    return std::as_const(row_of(pod)).select_settled(keys_of(pod), counts, excluded, std::span(extras), scratch_);
  }

  /// The same by a scan of every node.
  Selection walk(std::size_t pod, const ExcludedNodes& left_out = {}) {
    const PodClass& pod_class = cluster_.class_of(pod);
    const CompiledProfile& profile = cluster_.profile();
    const NodeSideRow& row = cluster_.row_of(pod);
    const Snapshot& snapshot = cluster_.snapshot;
    std::vector<std::int32_t> feasible;
    for (std::int32_t i = 0; i < snapshot.node_count(); ++i)
      if (!left_out.contains(i) && accepts(pod, i)) feasible.push_back(i);
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

  SlotKeys keys_of(std::size_t pod) const {
    return {tile_, tile_.slot_of(cluster_.pods[pod].class_index), cluster_.snapshot.node_order()};
  }
  GroupedRow& row_of(std::size_t pod) { return rows_.at(cluster_.pods[pod].class_index); }
  bool accepts(std::size_t pod, std::int32_t node) {
    return filter_node(cluster_.class_of(pod), cluster_.profile(), cluster_.row_of(pod), cluster_.snapshot, node).ok();
  }
  using ExtraOnNode = ExtraPlace<NodeTopology<TopologyCounts>>;
  /// The excluded nodes that accept the pod, except those left out.
  std::vector<ExtraOnNode> extras_of(std::size_t pod, const ExcludedNodes& excluded, const ExcludedNodes& left_out) {
    const PodClass& pod_class = cluster_.class_of(pod);
    const Snapshot& snapshot = cluster_.snapshot;
    std::vector<ExtraOnNode> extras;
    for (const std::int32_t node : excluded.members()) {
      if (left_out.contains(node) || !accepts(pod, node)) continue;
      const std::int64_t total =
          cluster_.row_of(pod).fixed_total(snapshot, node) + load_total(pod_class, cluster_.profile(), snapshot, node);
      const Draw draw = node_draw(cluster_.profile().draw, snapshot, node).bits;
      extras.push_back({{node, make_node_key(total, draw), cluster_.row_of(pod).raws(snapshot, node)},
                        {*pod_class.topology, snapshot.topology(), node}});
    }
    return extras;
  }
  /// With the nodes whose counts by which they are grouped may have moved with those of `node`.
  void exclude_with_mates(std::size_t pod, std::int32_t node, ExcludedNodes& excluded) {
    const TopologyCounts& counts = cluster_.snapshot.topology();
    excluded.insert(node);
    for (const std::int32_t table : row_of(pod).reads().counted_tables) {
      const DomainColumn& column = counts.column(counts.column_of(table));
      for (std::int32_t i = 0; i < cluster_.snapshot.node_count(); ++i)
        if (column[node] != 0 && column[i] == column[node]) excluded.insert(i);
    }
  }

  void apply(std::size_t pod, std::int32_t node, int sign) {
    cluster_.snapshot.apply(node, cluster_.class_of(pod).delta, sign);
    cluster_.snapshot.write_topology().add_all(cluster_.class_of(pod).moves, node, sign);
  }
  void change(std::size_t pod, std::int32_t node, int sign) {
    Snapshot& snapshot = cluster_.snapshot;
    apply(pod, node, sign);
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
  std::vector<std::pair<std::size_t, std::int32_t>> later_;
  SelectionScratch scratch_;  ///< one for all rows
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

/// Places some pods; every 30th round takes many back, so that the cluster does not stay full.
void change_and_catch_up(Rows& rows, std::mt19937& random, int changes, int round) {
  for (int change = 0; change < changes; ++change) {
    const std::size_t pod = random() % rows.pod_count();
    const Selection choice = rows.walk(pod);
    if (choice.feasible_count > 0) rows.place(pod, choice.node);
  }
  if (round % 30 == 29)
    for (int undone = 0; undone < 25 && !rows.empty(); ++undone) rows.undo_last();
  rows.catch_up_all();
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

TEST_P(GroupedRowTest, SelectionsOutsideASetEqualAScanWithPlacementsThatTheRowsDoNotKnow) {
  Rows rows(mixed_nodes() + kPods, GetParam().coarse_domains_max);
  std::mt19937 random(13);
  for (int round = 0; round < 120 && !HasFatalFailure(); ++round) {
    change_and_catch_up(rows, random, GetParam().changes, round);
    ExcludedNodes left_out;
    for (std::size_t n = random() % 30; n > 0; --n) left_out.insert(static_cast<std::int32_t>(random() % 40));
    for (std::size_t n = random() % 5; n > 0; --n)
      rows.place_later(random() % rows.pod_count(), static_cast<std::int32_t>(random() % 40));
    for (std::size_t pod = 0; pod < rows.pod_count(); ++pod)
      expect_equal(rows.select_outside(pod, left_out), rows.walk(pod, left_out),
                   "round " + std::to_string(round) + ", pod " + std::to_string(pod));
    rows.take_back_later();
  }
}

TEST_P(GroupedRowTest, SettledGroupsEqualAScanWhileCountsOfTheClassDoNotChange) {
  Rows rows(mixed_nodes() + kPods + "pod other cpu=700m label:app=other soft-spread=zone match=app=other\n",
            GetParam().coarse_domains_max);
  std::mt19937 random(17);
  int settled_count = 0;
  int unsettled_count = 0;
  for (int round = 0; round < 200 && !HasFatalFailure(); ++round) {
    change_and_catch_up(rows, random, GetParam().changes, round);
    ExcludedNodes left_out;
    for (std::size_t n = random() % 6; n > 0; --n) left_out.insert(static_cast<std::int32_t>(random() % 40));
    for (std::size_t n = random() % 4; n > 0; --n)
      rows.place_later(random() % rows.pod_count(), static_cast<std::int32_t>(random() % 40));
    for (std::size_t pod = 0; pod < rows.pod_count(); ++pod) {
      const std::optional<Selection> settled = rows.select_settled(pod, left_out);
      ++(settled ? settled_count : unsettled_count);
      if (settled)
        expect_equal(*settled, rows.walk(pod, left_out),
                     "round " + std::to_string(round) + ", pod " + std::to_string(pod));
    }
    rows.take_back_later();
  }
  EXPECT_GT(settled_count, 100);
  EXPECT_GT(unsettled_count, 100);
}

TEST(GroupedRowBoundTest, ExcludedNodesNeedGroupsThatKnowAllNodes) {
  Rows rows("node n*40 host\npod p label:app=web soft-spread=host match=app=web\n", 64);
  rows.select(0);  // the first selection is one flat pass
  ExcludedNodes left_out;
  left_out.insert(3);
  EXPECT_THROW(rows.select_outside(0, left_out), std::logic_error);
  rows.catch_up_all();
  expect_equal(rows.select_outside(0, left_out), rows.walk(0, left_out), "with all nodes known");
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
  // A vector may have twice the room that it needs; a group for each placement would take more even without that.
  EXPECT_LT(rows.bytes(), kPlacements * sizeof(NodeGroups::Group));
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
