// SPDX-License-Identifier: Apache-2.0
// Selections that leave nodes out of a row and let others join, against a choice from the list of all feasible nodes.
#include "host/engine/cpu/row_selection.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "batching/feasible_list.h"
#include "batching/node_draw.h"
#include "batching/node_filter.h"
#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

/// Nodes that differ in every raw score; the best ones hold few pods, so that they fill up.
constexpr const char* kMixed =
    "node small*30 cpu=2 memory=4Gi pods=4\n"
    "node large*12 cpu=16 memory=64Gi pods=3 label:disk=ssd taint=soft:PreferNoSchedule\n"
    "node fast*5 cpu=8 memory=32Gi pods=2 label:disk=nvme\n"
    "pod plain cpu=500m memory=1Gi\n"
    "pod big cpu=5 memory=20Gi\n"
    "pod nvme cpu=100m prefer=90:disk:In:nvme prefer=7:disk:Exists\n"
    "pod ssd cpu=100m prefer=50:disk:Exists tolerate=soft\n";

/// A row as of an earlier state of the cluster: some nodes have changed since.
class EarlierRow {
 public:
  EarlierRow() : cluster_(kMixed), tile_(classes(), cluster_.table, cluster_.snapshot) {
    tile_.build(cluster_.snapshot);
  }
  std::int32_t node_count() const { return cluster_.snapshot.node_count(); }
  std::size_t pod_count() const { return cluster_.pods.size(); }

  /// The row learns of the change.
  void place(std::size_t pod, std::int32_t node) {
    cluster_.snapshot.apply(node, cluster_.class_of(pod).delta, 1);
    tile_.refresh(cluster_.snapshot, node);
    tile_.finish_refresh(cluster_.snapshot);
  }
  /// The row does not learn of it.
  void place_later(std::size_t pod, std::int32_t node) {
    cluster_.snapshot.apply(node, cluster_.class_of(pod).delta, 1);
    later_.emplace_back(pod, node);
  }
  void take_back_later() {
    for (const auto& [pod, node] : later_) cluster_.snapshot.apply(node, cluster_.class_of(pod).delta, -1);
    later_.clear();
  }

  /// @param left_out  nodes that may not be chosen at all
  std::optional<Selection> select(std::size_t pod, const ExcludedNodes& left_out) {
    ExcludedNodes excluded = left_out;
    for (const auto& [other, node] : later_) excluded.insert(node);
    std::vector<ExtraNode> extras;
    for (const std::int32_t node : excluded.members())
      if (!left_out.contains(node) && accepts(pod, node)) extras.push_back(extra(pod, node));
    return select_in_row(tile_, slot_of(pod), cluster_.snapshot, cluster_.snapshot.node_order(), excluded, extras);
  }

  Selection from_list(std::size_t pod, const ExcludedNodes& left_out) {
    const std::vector<std::int32_t> feasible = feasible_outside(pod, left_out);
    if (feasible.empty()) return {};
    const PodClass& pod_class = cluster_.class_of(pod);
    const UncachedClass nodes(pod_class, cluster_.profile(), cluster_.row_of(pod), cluster_.snapshot);
    return choose_from_list(feasible, nodes, pod_class, cluster_.row_of(pod), cluster_.profile(), cluster_.snapshot,
                            TieBreak::kLoad);
  }

  bool maxima_are_those_of_the_row(std::size_t pod, const ExcludedNodes& left_out) {
    return raw_maxima(cluster_.row_of(pod), cluster_.snapshot, feasible_outside(pod, left_out)) ==
           tile_.maxima(slot_of(pod));
  }

 private:
  std::vector<std::int32_t> classes() const {
    std::vector<std::int32_t> all;
    for (std::int32_t c = 0; c < cluster_.table.size(); ++c) all.push_back(c);
    return all;
  }
  int slot_of(std::size_t pod) const { return tile_.slot_of(cluster_.pods[pod].class_index); }
  bool accepts(std::size_t pod, std::int32_t node) {
    return filter_node(cluster_.class_of(pod), cluster_.profile(), cluster_.row_of(pod), cluster_.snapshot, node).ok();
  }
  std::vector<std::int32_t> feasible_outside(std::size_t pod, const ExcludedNodes& left_out) {
    std::vector<std::int32_t> feasible;
    for (std::int32_t i = 0; i < node_count(); ++i)
      if (!left_out.contains(i) && accepts(pod, i)) feasible.push_back(i);
    return feasible;
  }
  ExtraNode extra(std::size_t pod, std::int32_t node) {
    const NodeSideRow& row = cluster_.row_of(pod);
    const std::int64_t total = row.fixed_total(cluster_.snapshot, node) +
                               load_total(cluster_.class_of(pod), cluster_.profile(), cluster_.snapshot, node);
    const Draw draw = node_draw(cluster_.profile().draw, cluster_.snapshot, node).bits;
    return {node, make_node_key(total, draw), row.raws(cluster_.snapshot, node)};
  }

  test::CompiledCluster cluster_;
  RowTile tile_;
  std::vector<std::pair<std::size_t, std::int32_t>> later_;
};

TEST(RowSelectionTest, EqualsAChoiceFromTheListOrSaysThatTheMaximaMoved) {
  EarlierRow row;
  std::mt19937 dice(11);
  const auto below = [&](std::size_t end) { return dice() % end; };
  const auto any_node = [&] { return static_cast<std::int32_t>(below(static_cast<std::size_t>(row.node_count()))); };
  int chosen = 0;
  int moved = 0;
  for (int round = 0; round < 400; ++round) {
    const std::size_t pod = below(row.pod_count());
    if (const Selection choice = row.from_list(pod, {}); choice.feasible_count > 0 && round % 6 == 0)
      row.place(pod, choice.node);
    ExcludedNodes left_out;
    for (std::size_t n = below(40); n > 0; --n) left_out.insert(any_node());
    // All but two of the nodes with the largest raw scores, so that the maxima move often.
    if (round % 5 == 0)
      for (std::int32_t node = 30; node < row.node_count() - 2; ++node) left_out.insert(node);
    for (std::size_t n = below(6); n > 0; --n) row.place_later(below(row.pod_count()), any_node());
    for (std::size_t p = 0; p < row.pod_count(); ++p) {
      const Selection expected = row.from_list(p, left_out);
      const std::optional<Selection> actual = row.select(p, left_out);
      if (!actual.has_value()) {
        ASSERT_FALSE(row.maxima_are_those_of_the_row(p, left_out)) << "round " << round << ", pod " << p;
        ++moved;
        continue;
      }
      ASSERT_EQ(actual->feasible_count, expected.feasible_count) << "round " << round << ", pod " << p;
      if (expected.feasible_count == 0) continue;
      ASSERT_EQ(actual->node, expected.node) << "round " << round << ", pod " << p;
      ASSERT_EQ(actual->total, expected.total) << "round " << round << ", pod " << p;
      ++chosen;
    }
    row.take_back_later();
  }
  EXPECT_GT(chosen, 300);
  EXPECT_GT(moved, 20);
}

}  // namespace
}  // namespace berth
