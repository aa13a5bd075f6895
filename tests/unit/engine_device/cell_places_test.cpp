// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/cell_places.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace berth {
namespace {

NodeCells::Cell in_domain(std::int32_t domain) {
  NodeCells::Cell cell;
  cell.domains = {domain};
  return cell;
}

/// Nodes in the domains of `domain_of`; -1: in no cell.
NodeCells cells_of(const std::vector<std::int32_t>& domain_of) {
  NodeCells cells;
  for (const std::int32_t domain : domain_of) {
    std::int32_t cell = -1;
    for (std::size_t c = 0; domain >= 0 && c < cells.cells.size(); ++c)
      if (cells.cells[c] == in_domain(domain)) cell = static_cast<std::int32_t>(c);
    if (domain >= 0 && cell < 0) {
      cell = static_cast<std::int32_t>(cells.cells.size());
      cells.cells.push_back(in_domain(domain));
    }
    cells.cell_of.push_back(cell);
  }
  return cells;
}

DeviceTuning room_for(std::int32_t places, std::int32_t cells) {
  DeviceTuning tuning;
  tuning.spare_places_min = places;
  tuning.spare_places_share = 1000;
  tuning.spare_cells = cells;
  return tuning;
}

/// Every node in a cell has one position in it, and free positions have no node.
void expect_consistent(const CellPlaces& places, const std::vector<std::int32_t>& domain_of) {
  const std::vector<std::int32_t> node_at = places.node_at();
  std::set<std::int32_t> used;
  for (std::size_t node = 0; node < domain_of.size(); ++node) {
    const std::int32_t cell = places.cell_of()[node];
    ASSERT_EQ(cell < 0, domain_of[node] < 0);
    if (cell < 0) continue;
    ASSERT_EQ(places.cell(cell), in_domain(domain_of[node]));
    const std::int32_t position = places.position_of()[node];
    ASSERT_TRUE(used.insert(position).second);
    ASSERT_EQ(node_at[static_cast<std::size_t>(position)], static_cast<std::int32_t>(node));
    std::int32_t begin = 0;
    for (std::int32_t c = 0; c < cell; ++c) begin += places.room(c);
    ASSERT_GE(position, begin);
    ASSERT_LT(position, begin + places.room(cell));
  }
  for (std::size_t p = 0; p < node_at.size(); ++p) {
    ASSERT_EQ(node_at[p] >= 0, used.contains(static_cast<std::int32_t>(p)));
  }
}

TEST(CellPlacesTest, NodesMoveWhileThereIsRoom) {
  std::vector<std::int32_t> domain_of{1, 1, 1, 1, 2, 2, 2, 2, -1};
  CellPlaces places(cells_of(domain_of), room_for(1, 1));
  ASSERT_EQ(places.cell_count(), 3);
  EXPECT_EQ(places.room(0), 5);
  expect_consistent(places, domain_of);
  EXPECT_TRUE(places.is_in(0, in_domain(1)));
  EXPECT_FALSE(places.is_in(0, in_domain(2)));
  const auto moved = places.move(0, in_domain(2));
  ASSERT_TRUE(moved.has_value());
  EXPECT_FALSE(moved->is_new_cell);
  domain_of[0] = 2;
  expect_consistent(places, domain_of);
  EXPECT_FALSE(places.move(1, in_domain(2)).has_value()) << "no position is free";
  const auto came = places.move(8, in_domain(3));
  ASSERT_TRUE(came.has_value());
  EXPECT_TRUE(came->is_new_cell);
  EXPECT_EQ(came->from, -1);
  domain_of[8] = 3;
  expect_consistent(places, domain_of);
  EXPECT_FALSE(places.move(2, in_domain(4)).has_value()) << "no cell is free";
  expect_consistent(places, domain_of);
}

TEST(CellPlacesTest, ACellWithoutNodesIsUsedAgain) {
  CellPlaces places(cells_of({1, 2, 2}), room_for(2, 0));
  ASSERT_FALSE(places.is_one());
  ASSERT_TRUE(places.move(0, in_domain(2)).has_value());
  EXPECT_TRUE(places.is_one());
  const auto moved = places.move(1, in_domain(7));
  ASSERT_TRUE(moved.has_value());
  EXPECT_TRUE(moved->is_new_cell);
  expect_consistent(places, {2, 7, 2});
}

TEST(CellPlacesTest, ACellHasNoMorePositionsThanThereAreNodes) {
  const CellPlaces places(cells_of({1, 2, 2}), room_for(100, 2));
  for (std::int32_t c = 0; c < places.cell_count(); ++c) EXPECT_EQ(places.room(c), 3);
}

TEST(CellPlacesTest, AnyMovesKeepNodesAndPositionsInStep) {
  std::mt19937 dice(5);
  std::vector<std::int32_t> domain_of;
  for (int i = 0; i < 40; ++i) domain_of.push_back(static_cast<std::int32_t>(dice() % 4) - (i % 9 == 0 ? 4 : 0));
  for (std::int32_t& domain : domain_of) domain = domain < 0 ? -1 : domain;
  CellPlaces places(cells_of(domain_of), room_for(6, 3));
  int refused = 0;
  for (int step = 0; step < 2000; ++step) {
    const std::size_t node = dice() % domain_of.size();
    const auto domain = static_cast<std::int32_t>(dice() % 9);
    if (places.is_in(static_cast<std::int32_t>(node), in_domain(domain))) continue;
    if (places.move(static_cast<std::int32_t>(node), in_domain(domain)).has_value()) {
      domain_of[node] = domain;
    } else {
      ++refused;
    }
    expect_consistent(places, domain_of);
    if (testing::Test::HasFatalFailure()) FAIL() << "step " << step;
  }
  EXPECT_GT(refused, 10);
  EXPECT_LT(refused, 1500);
}

}  // namespace
}  // namespace berth
