// SPDX-License-Identifier: Apache-2.0
// Selection and commits on handmade rows, by one thread and by several.
#include "batching/device/cell_selection.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "batching/device/commit_body.h"
#include "batching/device/run_body.h"
#include "tests/support/thread_team.h"
#include "tests/unit/batching_device/hand_made_row.h"

namespace berth {
namespace {

using test::HandMadeRow;

DeviceChoice choose(HandMadeRow& row, int threads) {
  std::vector<DeviceChoice> choices(static_cast<std::size_t>(threads));
  test::run_together(threads, [&](const test::ThreadTeam& team) {
    choices[static_cast<std::size_t>(team.index())] = choose_node(team, row.state(), row.row(), 1);
  });
  for (const DeviceChoice& choice : choices) {
    EXPECT_EQ(choice.node, choices.front().node) << "every thread has the same answer";
    EXPECT_EQ(choice.key, choices.front().key);
    EXPECT_EQ(choice.feasible_count, choices.front().feasible_count);
  }
  return choices.front();
}

void expect_plain_choice(HandMadeRow& row, int threads) {
  std::int64_t feasible = 0;
  std::int32_t best = -1;
  for (std::int32_t node = 0; node < row.node_count(); ++node) {
    if (row.worth(node) < 0) continue;
    ++feasible;
    if (best < 0 || row.worth(node) >= row.worth(best)) best = node;  // the order of nodes is from the highest down
  }
  const DeviceChoice choice = choose(row, threads);
  ASSERT_EQ(choice.feasible_count, feasible);
  ASSERT_EQ(choice.node, best);
  if (best >= 0) {
    ASSERT_EQ(choice.key, row.key(best));
  }
}

TEST(CellSelectionTest, TheFirstNodeInNodeOrderOfTheHighestKeyIsSelectedAcrossCells) {
  std::mt19937 dice(3);
  // As many cells as one thread selects from alone, and one more.
  for (const std::int32_t cells : {1, 2, 5, kSoloCellsMax, kSoloCellsMax + 1, 300})
    for (int again = 0; again < 15; ++again) {
      std::vector<std::int32_t> sizes;
      for (std::int32_t c = 0; c < cells; ++c) sizes.push_back(static_cast<std::int32_t>(1 + dice() % 10));
      HandMadeRow row(sizes);
      for (std::int32_t node = 0; node < row.node_count(); ++node)
        row.set_worth(node, static_cast<std::int32_t>(dice() % 4) - 1 - again % 2);
      row.build();
      expect_plain_choice(row, 1 + again % 4);
    }
}

TEST(CellSelectionTest, TheFirstNodeIsSelectedWhenAllTie) {
  for (const int threads : {1, 2, 7}) {
    HandMadeRow row(std::vector<std::int32_t>(200, 3));
    row.build();
    EXPECT_EQ(choose(row, threads).node, 599);
    EXPECT_EQ(choose(row, threads).feasible_count, 600);
  }
}

TEST(CellSelectionTest, NoNodeIsSelectedWhenNoneIsFeasible) {
  for (const std::vector<std::int32_t>& sizes :
       {std::vector<std::int32_t>{9}, {8, 1}, std::vector<std::int32_t>(150, 2)}) {
    HandMadeRow row(sizes);
    for (std::int32_t node = 0; node < row.node_count(); ++node) row.set_worth(node, -1);
    row.build();
    const DeviceChoice choice = choose(row, 2);
    EXPECT_EQ(choice.node, -1);
    EXPECT_EQ(choice.feasible_count, 0);
  }
}

TEST(CellSelectionTest, AFullCellHasNoKey) {
  HandMadeRow row({1, 1});
  row.set_worth(0, -1);
  row.build();
  EXPECT_EQ(choose(row, 1).node, 1);
  EXPECT_EQ(choose(row, 1).feasible_count, 1);
}

/// Places a batch of `pod_count` pods of the only class.
std::vector<DeviceOutcome> commit(HandMadeRow& row, std::int32_t pod_count, bool stops_at_failure) {
  const std::vector<std::int32_t> row_of_pod(static_cast<std::size_t>(pod_count), 0);
  const std::vector<std::int32_t> last_pod{pod_count - 1};
  std::vector<DeviceOutcome> outcomes(static_cast<std::size_t>(pod_count));
  std::int32_t committed = -1;
  DeviceBatch batch;
  batch.row_of_pod = row_of_pod.data();
  batch.last_pod = last_pod.data();
  batch.pod_count = pod_count;
  batch.row_count = 1;
  batch.stops_at_failure = stops_at_failure;
  batch.outcomes = outcomes.data();
  batch.committed_count = &committed;
  commit_batch(SequentialTeam(), row.state(), batch);
  EXPECT_GE(committed, 0);
  outcomes.resize(static_cast<std::size_t>(committed));
  return outcomes;
}

TEST(CellSelectionTest, ARowWithoutNodesSelectsNothing) {
  HandMadeRow of_one_cell({0});
  of_one_cell.layout().in_order = true;
  of_one_cell.build();
  HandMadeRow by_node({});
  by_node.layout().by_node = true;
  for (HandMadeRow* row : {&of_one_cell, &by_node}) {
    EXPECT_EQ(choose(*row, 2).node, -1);
    const std::vector<DeviceOutcome> outcomes = commit(*row, 3, false);
    ASSERT_EQ(outcomes.size(), 3u);
    for (const DeviceOutcome& outcome : outcomes) EXPECT_EQ(outcome.kind, DeviceOutcomeKind::kUnschedulable);
    EXPECT_EQ(commit(*row, 3, true).size(), 1u);
    EXPECT_EQ(commit(*row, 0, true).size(), 0u);
    EXPECT_EQ(begin_run(row->state(), row->row()).feasible_count, 0);
  }
}

TEST(CellSelectionTest, ASingleFeasibleNodeIsSelectedWithoutScoring) {
  HandMadeRow row({65});
  for (std::int32_t node = 0; node < 65; ++node) row.set_worth(node, node == 64 ? 5 : -1);
  row.profile().scores_anything = true;
  row.pod_class().fails_scoring = true;
  row.build();
  const std::vector<DeviceOutcome> outcomes = commit(row, 1, true);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].kind, DeviceOutcomeKind::kPlaced);
  EXPECT_EQ(outcomes[0].node, 64);
  EXPECT_EQ(outcomes[0].total, 0);
  row.set_worth(0, 1);
  row.refresh(0);
  EXPECT_EQ(commit(row, 1, true)[0].kind, DeviceOutcomeKind::kScoringFails);
}

}  // namespace
}  // namespace berth
