// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/key_tournament.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "host/engine/cpu/node_groups.h"
#include "host/engine/cpu/slot_kernel.h"

namespace berth {
namespace {

/// Few different keys, so that most are equal; totals and draws at the ends of their ranges among them.
NodeKey drawn_key(std::mt19937& dice) {
  const NodeKey keys[] = {0, make_node_key(0, 1), make_node_key(700, kHighestDraw), make_node_key(701, 1),
                          make_node_key(kHighestKeyTotal, kHighestDraw)};
  return keys[dice() % std::size(keys)];
}

std::vector<std::int32_t> drawn_ranks(std::int32_t node_count, std::mt19937& dice) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(node_count));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::shuffle(ranks.begin(), ranks.end(), dice);
  return ranks;
}

/// The best of the nodes outside a set by a look at all of them.
KeyTournament::Best first_of_the_best(const KeyTournament& tournament, int slot, const ExcludedNodes& excluded,
                                      const std::vector<std::int32_t>& ranks) {
  const NodeOrder order(ranks);
  KeyTournament::Best best;
  for (std::int32_t node = 0; node < static_cast<std::int32_t>(ranks.size()); ++node) {
    const NodeKey key = tournament.key(slot, node);
    if (key == 0 || key < best.key || excluded.contains(node)) continue;
    if (key > best.key || order.is_before(node, best.node)) best = {key, node};
  }
  return best;
}

void expect_first_of_the_best(const KeyTournament& tournament, const std::vector<std::int32_t>& ranks) {
  for (int slot = 0; slot < kSlotStep; ++slot) {
    const KeyTournament::Best expected = first_of_the_best(tournament, slot, {}, ranks);
    const KeyTournament::Best actual = tournament.best(slot, NodeOrder(ranks));
    ASSERT_EQ(actual.key, expected.key);
    if (expected.key > 0) {
      ASSERT_EQ(actual.node, expected.node);
    }
  }
}

TEST(KeyTournamentTest, TheFirstNodeOfTheHighestKeyWins) {
  std::mt19937 dice(3);
  for (const std::int32_t node_count : {1, 3, 24, 25, 96, 97, 400, 1500}) {
    KeyTournament tournament(node_count, kSlotStep, true);
    const std::vector<std::int32_t> ranks = drawn_ranks(node_count, dice);
    for (std::int32_t node = 0; node < node_count; ++node)
      for (int slot = 0; slot < kSlotStep; ++slot) tournament.write(node)[slot] = drawn_key(dice);
    tournament.rebuild();
    expect_first_of_the_best(tournament, ranks);
    for (int step = 0; step < 50; ++step) {
      const auto node = static_cast<std::int32_t>(dice() % static_cast<std::uint32_t>(node_count));
      for (int slot = 0; slot < kSlotStep; ++slot) tournament.write(node)[slot] = drawn_key(dice);
      tournament.climb(node);
      expect_first_of_the_best(tournament, ranks);
    }
  }
}

TEST(KeyTournamentTest, TheFirstBestNodeOutsideASetIsFound) {
  std::mt19937 dice(4);
  for (const std::int32_t node_count : {1, 5, 97, 400, 1500}) {
    KeyTournament tournament(node_count, kSlotStep, true);
    const std::vector<std::int32_t> ranks = drawn_ranks(node_count, dice);
    for (std::int32_t node = 0; node < node_count; ++node)
      for (int slot = 0; slot < kSlotStep; ++slot) tournament.write(node)[slot] = drawn_key(dice);
    tournament.rebuild();
    ExcludedNodes excluded;
    for (std::int32_t left = node_count; left >= 0; --left) {
      const auto slot = static_cast<int>(dice() % kSlotStep);
      const KeyTournament::Best expected = first_of_the_best(tournament, slot, excluded, ranks);
      const KeyTournament::Best actual = tournament.best_outside(slot, excluded, NodeOrder(ranks));
      ASSERT_EQ(actual.key, expected.key);
      if (expected.key > 0) {
        ASSERT_EQ(actual.node, expected.node);
      }
      // Half of the time the answer itself, so that many better nodes are in the way.
      const bool take_best = dice() % 2 == 0 && expected.key > 0;
      excluded.insert(take_best ? expected.node
                                : static_cast<std::int32_t>(dice() % static_cast<std::uint32_t>(node_count)));
    }
  }
}

TEST(KeyTournamentTest, WithManySlotsTheFirstNodeOfTheHighestKeyWins) {
  std::mt19937 dice(5);
  const std::int32_t node_count = 1500;  // 94 entries at the top
  KeyTournament tournament(node_count, kMaxSlots, true);
  const std::vector<std::int32_t> ranks = drawn_ranks(node_count, dice);
  for (int step = 0; step < 50; ++step) {
    const auto node = static_cast<std::int32_t>(dice() % static_cast<std::uint32_t>(node_count));
    for (int slot = 0; slot < kMaxSlots; ++slot) tournament.write(node)[slot] = drawn_key(dice);
    tournament.climb(node);
    expect_first_of_the_best(tournament, ranks);
  }
}

TEST(KeyTournamentTest, KeysAloneHaveNoBest) {
  std::mt19937 dice(6);
  KeyTournament keys(1500, kSlotStep, false);
  const std::vector<std::int32_t> ranks = drawn_ranks(1500, dice);
  keys.write(1400)[3] = 7;
  keys.climb(1400);
  keys.rebuild();
  EXPECT_EQ(keys.key(3, 1400), 7);
  EXPECT_THROW(keys.best(3, NodeOrder(ranks)), std::logic_error);
}

TEST(NodeKeyTest, KeepsTotalAndDraw) {
  for (const std::int64_t total : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1200}, kHighestKeyTotal})
    for (const Draw draw : {Draw{1}, Draw{1} << 32, kHighestDraw}) {
      const NodeKey key = make_node_key(total, draw);
      EXPECT_GT(key, 0);
      EXPECT_EQ(total_of(key), total);
      EXPECT_EQ(draw_of(key), draw);
    }
  EXPECT_EQ(make_node_key(500, 77) + make_node_key(-20, 0), make_node_key(480, 77));
  EXPECT_GT(make_node_key(1, 1), make_node_key(0, kHighestDraw));
}

TEST(NodeGroupsTest, AmongEqualKeysTheFirstNodeInNodeOrderIsBetter) {
  EXPECT_TRUE(NodeGroups::Entry::is_worse({9, 3, 1}, {9, 4, 0}));
  EXPECT_FALSE(NodeGroups::Entry::is_worse({9, 4, 0}, {9, 3, 1}));
  EXPECT_TRUE(NodeGroups::Entry::is_worse({8, 3, 0}, {9, 4, 1}));
}

}  // namespace
}  // namespace berth
