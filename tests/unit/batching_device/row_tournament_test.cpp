// SPDX-License-Identifier: Apache-2.0
#include "batching/device/row_tournament.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/unit/batching_device/hand_made_row.h"

namespace berth {
namespace {

using test::HandMadeRow;
using Sizes = std::vector<std::int32_t>;

/// Below, at and above a power of the arity; one cell, several, and cells of one node next to a large one.
const std::vector<Sizes>& all_sizes() {
  static const std::vector<Sizes> kSizes{{1},  {7},   {8},    {9},       {63},     {64},
                                         {65}, {513}, {8, 8}, {1, 1, 1}, {513, 1}, {1, 7, 8, 9, 63, 64, 65, 513}};
  return kSizes;
}

void expect_tops(const HandMadeRow& row) {
  for (std::int32_t cell = 0; cell < row.view().layout.cell_count; ++cell) {
    const std::int32_t best = row.plain_best(cell);
    const RowEntry top = row.view().top(cell);
    ASSERT_EQ(top.key, best < 0 ? 0 : row.key(best)) << "cell " << cell;
    if (best >= 0) {
      ASSERT_EQ(row.view().node_at(top.position), best) << "cell " << cell;
    }
  }
}

void draw_worths(HandMadeRow& row, std::mt19937& dice) {
  for (std::int32_t node = 0; node < row.node_count(); ++node)
    row.set_worth(node, static_cast<std::int32_t>(dice() % 5) - 1);
}

TEST(RowTournamentTest, TheTopOfACellIsTheLowestNodeOfItsHighestKey) {
  std::mt19937 dice(1);
  for (const Sizes& sizes : all_sizes())
    for (int again = 0; again < 20; ++again) {
      HandMadeRow row(sizes);
      draw_worths(row, dice);
      row.build();
      expect_tops(row);
    }
}

TEST(RowTournamentTest, ARefreshEqualsABuild) {
  std::mt19937 dice(2);
  for (const Sizes& sizes : all_sizes()) {
    HandMadeRow row(sizes);
    draw_worths(row, dice);
    row.build();
    for (int step = 0; step < 300; ++step) {
      const auto node = static_cast<std::int32_t>(dice() % static_cast<std::uint32_t>(row.node_count()));
      row.set_worth(node, static_cast<std::int32_t>(dice() % 5) - 1);
      row.refresh(node);
      const std::vector<NodeKey> keys = row.keys();
      const std::vector<std::int32_t> best = row.best();
      const std::vector<std::int32_t> live = row.live();
      expect_tops(row);
      row.build();
      ASSERT_EQ(keys, row.keys()) << "step " << step;
      ASSERT_EQ(best, row.best()) << "step " << step;
      ASSERT_EQ(live, row.live()) << "step " << step;
    }
  }
}

TEST(RowTournamentTest, TheLowerNodeWinsATie) {
  for (const Sizes& sizes : all_sizes()) {
    HandMadeRow row(sizes);
    for (std::int32_t node = 0; node < row.node_count(); ++node) row.set_worth(node, 7);
    row.build();
    expect_tops(row);
    // Each node in order loses its key and the next one leads; then each returns and leads again.
    for (std::int32_t node = 0; node < row.node_count(); ++node) {
      row.set_worth(node, node % 2 == 0 ? 6 : -1);
      row.refresh(node);
      expect_tops(row);
    }
    for (std::int32_t node = row.node_count() - 1; node >= 0; --node) {
      row.set_worth(node, 7);
      row.refresh(node);
      expect_tops(row);
    }
  }
}

TEST(RowTournamentTest, ARefreshStopsWhereNothingChanges) {
  constexpr NodeKey kPoison = -77;
  HandMadeRow row({513});
  for (std::int32_t node = 0; node < 513; ++node) row.set_worth(node, 10);
  row.set_worth(0, 50);    // the best of all
  row.set_worth(100, 40);  // the best of its 8 and of its 64
  row.build();
  const auto entry_at = [&](std::int32_t level, std::int32_t index) -> NodeKey& {
    return row.keys()[static_cast<std::size_t>(row.layout().level_offset[level] + index)];
  };
  entry_at(1, 101 / 8) = kPoison;
  row.refresh(101);
  EXPECT_EQ(entry_at(1, 101 / 8), kPoison) << "the node has the key that it had";
  row.build();

  entry_at(2, 101 / 64) = kPoison;
  row.set_worth(101, 30);
  row.refresh(101);
  EXPECT_EQ(entry_at(2, 101 / 64), kPoison) << "the node is not the best of its 8";
  row.build();

  entry_at(3, 0) = kPoison;
  row.set_worth(101, 39);
  row.set_worth(110, 45);
  row.refresh(110);
  EXPECT_EQ(entry_at(2, 110 / 64), row.key(110));
  EXPECT_EQ(entry_at(3, 0), row.key(0)) << "the entry above was looked at, and is the node's that is better still";
  row.build();
  row.set_worth(0, 5);
  row.refresh(0);
  EXPECT_EQ(row.view().top(0).key, row.key(110));
}

TEST(RowTournamentTest, AnEqualKeyOnAnEarlierNodePropagates) {
  HandMadeRow row({65});
  for (std::int32_t node = 0; node < 65; ++node) row.set_worth(node, 1);
  row.set_worth(63, 9);
  row.build();
  ASSERT_EQ(row.view().top(0).position, 63);
  row.set_worth(64, 9);
  row.refresh(64);
  EXPECT_EQ(row.view().top(0).position, 64);
}

TEST(RowTournamentTest, ARefreshCountsTheFeasibleNodesOfItsCell) {
  HandMadeRow row({9, 65});
  row.build();
  EXPECT_EQ(row.live(), (Sizes{9, 65}));
  for (const std::int32_t worth : {-1, -1, 3, 4, -2, 0}) {
    row.set_worth(5, worth);
    row.refresh(5);
    Sizes expected{9, 65};
    expected[static_cast<std::size_t>(row.cell_of(5))] -= worth < 0 ? 1 : 0;
    EXPECT_EQ(row.live(), expected);
  }
}

TEST(RowTournamentTest, ANeverFeasibleNodeIsSkipped) {
  HandMadeRow row({8, 9}, 3);
  row.build();
  const std::vector<NodeKey> keys = row.keys();
  const std::vector<std::int32_t> live = row.live();
  for (std::int32_t node = 17; node < 20; ++node) row.refresh(node);
  EXPECT_EQ(row.keys(), keys);
  EXPECT_EQ(row.live(), live);
}

TEST(RowTournamentTest, ARowLaidOutByNodeHasKeysOnly) {
  HandMadeRow row({65});
  row.layout() = DeviceLayout{.cell_count = 65, .by_node = true, .level_offset = {0, 65}, .base = row.layout().base};
  for (std::int32_t node = 0; node < 65; ++node) row.refresh(node);
  row.set_worth(64, -1);
  row.refresh(64);
  row.set_worth(63, 8);
  row.refresh(63);
  const RowView view = row.view();
  for (std::int32_t node = 0; node < 65; ++node) {
    EXPECT_EQ(view.cell_of(node), node);
    EXPECT_EQ(view.node_at(view.position_of(node)), node);
    EXPECT_EQ(view.top(node).key, row.key(node));
    EXPECT_EQ(view.top(node).position, node);
    EXPECT_EQ(view.live_of(node), node == 64 ? 0 : 1);
  }
}

TEST(RowTournamentTest, TheCellOfAnEntryIsFoundOnEveryLevel) {
  for (const Sizes& sizes : all_sizes()) {
    const HandMadeRow row(sizes);
    const RowView view = row.view();
    for (std::int32_t level = 0; level < view.layout.level_count; ++level)
      for (std::int32_t cell = 0; cell < view.layout.cell_count; ++cell)
        for (std::int32_t e = view.begin(level, cell); e < view.begin(level, cell + 1); ++e)
          ASSERT_EQ(cell_of_entry(view, level, e), cell);
  }
}

}  // namespace
}  // namespace berth
