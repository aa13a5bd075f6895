// SPDX-License-Identifier: Apache-2.0
#include "host/framework/draw.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace berth {
namespace {

constexpr DrawAmounts kOffered{32000, std::int64_t{128} << 30, 110};
constexpr std::uint32_t kFull = 65535;

std::uint32_t fullness(const DrawAmounts& offered, const DrawAmounts& in_use) {
  return FullnessScale(offered).fullness(in_use);
}

TEST(Fullness, IsTheMeanOfThreeShares) {
  EXPECT_EQ(fullness(kOffered, {}), 0u);
  EXPECT_EQ(fullness(kOffered, kOffered), kFull);
  EXPECT_EQ(fullness(kOffered, {32000, 0, 0}), kFull / 3);
  EXPECT_EQ(fullness(kOffered, {0, std::int64_t{128} << 30, 0}), kFull / 3);
  EXPECT_EQ(fullness(kOffered, {0, 0, 110}), kFull / 3);
  EXPECT_EQ(fullness(kOffered, {16000, std::int64_t{64} << 30, 55}), 32767u) << "truncated";
  EXPECT_EQ(fullness({10, 10, 10}, {1, 2, 3}), 13107u);
}

TEST(Fullness, ClampsEachShare) {
  EXPECT_EQ(fullness(kOffered, {64000, 0, 0}), kFull / 3) << "an overcommitted resource does not stand for another";
  EXPECT_EQ(fullness(kOffered, {INT64_MAX, INT64_MAX, INT64_MAX}), kFull);
}

TEST(Fullness, IsOneWithoutCapacity) {
  EXPECT_EQ(fullness({0, 0, 0}, {}), kFull);
  EXPECT_EQ(fullness({0, 0, 0}, {5, 5, 5}), kFull);
  EXPECT_EQ(fullness({0, std::int64_t{128} << 30, 110}, {}), kFull / 3);
  EXPECT_EQ(fullness({-1, INT64_MIN, 110}, {}), 2 * kFull / 3);
}

TEST(Fullness, SumsThatWrappedToBelowZeroCountAsNothing) {
  EXPECT_EQ(fullness(kOffered, {-1, INT64_MIN, 0}), 0u);
  EXPECT_EQ(fullness(kOffered, {-1, INT64_MIN, 110}), kFull / 3);
  EXPECT_EQ(fullness({INT64_MAX, INT64_MAX, INT64_MAX}, {INT64_MAX, INT64_MAX, INT64_MAX}), kFull);
}

TEST(Fullness, NeverFallsWithAnAmount) {
  for (const std::int64_t offered : {std::int64_t{1}, std::int64_t{3}, std::int64_t{4095}, std::int64_t{96000},
                                     (std::int64_t{1} << 43) + 1, INT64_MAX}) {
    const FullnessScale scale({offered, offered, 110});
    std::uint32_t before = 0;
    for (std::int64_t step = 0; step <= 3000; ++step) {
      const std::int64_t increment = offered / 2900 + 1;
      const std::int64_t amount = step > INT64_MAX / increment ? INT64_MAX : step * increment;
      const std::uint32_t now = scale.fullness({amount, amount, 50});
      ASSERT_GE(now, before) << offered << ", " << amount;
      before = now;
    }
    EXPECT_EQ(before, 2 * (kFull / 3) + 9929) << offered;
  }
}

TEST(Fullness, EveryPodRaisesItWhereANodeAllowsUpTo21844) {
  for (const std::int64_t allowed : {1, 2, 3, 7, 110, 250, 500, 1000, 9973, 21843, 21844})
    for (const DrawAmounts& other : {DrawAmounts{0, 0, 0}, DrawAmounts{12345, 987654321, 0}, kOffered}) {
      const FullnessScale scale({kOffered.milli_cpu, kOffered.memory_bytes, allowed});
      for (std::int64_t pods = 0; pods < allowed; ++pods)
        ASSERT_GT(scale.fullness({other.milli_cpu, other.memory_bytes, pods + 1}),
                  scale.fullness({other.milli_cpu, other.memory_bytes, pods}))
            << pods << " of " << allowed;
    }
}

TEST(Fullness, MayStayWhereAPodIsLessThanAStep) {
  const FullnessScale scale({32000, 1, 100000});
  EXPECT_EQ(scale.fullness({0, 0, 0}), scale.fullness({0, 0, 1}));
  EXPECT_EQ(scale.fullness({0, 0, 100000}), scale.fullness({0, 0, 100001})) << "nor above the allowed number";
}

// Draws

DrawRule rule_of(DrawOrder order, std::uint64_t seed = 0) { return {order, mix_bits(seed)}; }

Draw draw(const DrawRule& rule, std::uint32_t node, const DrawAmounts& in_use, std::uint32_t class_seed = 0) {
  const NodeDraws draws(rule, node_name_hash("node-" + std::to_string(node)), node, kOffered);
  return draw_of_class(rule.order, draws.with(in_use), class_seed);
}

constexpr auto kOrders =
    std::array{DrawOrder::kEmptierFirst, DrawOrder::kFullerFirst, DrawOrder::kByClass, DrawOrder::kNodeOrder};

TEST(DrawTest, ADrawHas48BitsAndIsNever0) {
  for (const DrawOrder order : kOrders)
    for (std::uint32_t node = 0; node < 2000; ++node)
      for (const DrawAmounts& in_use : {DrawAmounts{}, kOffered}) {
        const Draw drawn = draw(rule_of(order, node % 7), node, in_use, node * 31);
        ASSERT_GT(drawn, 0u);
        ASSERT_LE(drawn, kHighestDraw);
      }
}

TEST(DrawTest, AHashOfZeroIsNoMissingNode) {
  // The seed that is the state itself makes the hash 0; the node is full, so that the bits before it are 0 too.
  const std::uint64_t state = 5 + 0x9e3779b97f4a7c15ull * 111;
  const NodeDraws draws({DrawOrder::kEmptierFirst, state}, 5, 0, kOffered);
  EXPECT_EQ(draws.with(kOffered).bits >> 32, 0u);
  const NodeDraws zero({DrawOrder::kEmptierFirst, 5 + 0x9e3779b97f4a7c15ull * 111}, 5, 0, {1, 1, 110});
  EXPECT_EQ(zero.with({1, 1, 110}).bits, 1u);
  EXPECT_EQ(draw_by_class({0, 77}, 77), Draw{1} << 16);
}

TEST(DrawTest, TheEmptierOrTheFullerNodeWinsWhateverTheHash) {
  for (std::uint32_t other = 1; other < 500; ++other) {
    const DrawAmounts one{100, 200 << 20, 1};
    EXPECT_GT(draw(rule_of(DrawOrder::kEmptierFirst), 0, {}), draw(rule_of(DrawOrder::kEmptierFirst), other, one));
    EXPECT_LT(draw(rule_of(DrawOrder::kFullerFirst), 0, {}), draw(rule_of(DrawOrder::kFullerFirst), other, one));
  }
}

TEST(DrawTest, OnlyDrawsByClassDependOnTheClass) {
  for (const DrawOrder order : kOrders)
    EXPECT_EQ(draw(rule_of(order), 3, {}, 1) != draw(rule_of(order), 3, {}, 2), order == DrawOrder::kByClass);
}

TEST(DrawTest, NodeOrderFallsFromNodeToNode) {
  for (std::uint32_t node = 0; node < 1000; ++node)
    EXPECT_GT(draw(rule_of(DrawOrder::kNodeOrder), node, {}), draw(rule_of(DrawOrder::kNodeOrder), node + 1, kOffered));
  EXPECT_GT(kHighestDraw - UINT32_MAX, 0u);
}

TEST(DrawTest, SeedsNamesAndPodCountsChangeTheHash) {
  std::set<Draw> hashes;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint32_t node = 0; node < 10; ++node)
      for (std::int64_t pods = 0; pods < 10; ++pods)
        hashes.insert(draw(rule_of(DrawOrder::kEmptierFirst, seed), node, {0, 0, pods}) & 0xffffffff);
  EXPECT_EQ(hashes.size(), 1000u);
}

/// How often the best of `nodes` equal, empty nodes lies in each tenth of the node order.
std::array<int, 10> wins_by_tenth(DrawOrder order, std::uint32_t nodes, std::uint64_t seeds) {
  std::array<int, 10> wins{};
  std::vector<std::uint64_t> names;
  for (std::uint32_t node = 0; node < nodes; ++node) names.push_back(node_name_hash("node-" + std::to_string(node)));
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const DrawRule rule = rule_of(order, seed);
    const std::uint32_t class_seed = class_draw_seed(seed, 4711);
    Draw best = 0;
    std::uint32_t winner = 0;
    for (std::uint32_t node = 0; node < nodes; ++node) {
      const Draw drawn = draw_of_class(order, NodeDraws(rule, names[node], node, kOffered).with({}), class_seed);
      if (drawn > best) best = drawn, winner = node;
    }
    ++wins[std::uint64_t{winner} * 10 / nodes];
  }
  return wins;
}

TEST(DrawTest, EachTenthOfTheNodeOrderWinsAsOften) {
  for (const DrawOrder order : {DrawOrder::kEmptierFirst, DrawOrder::kFullerFirst, DrawOrder::kByClass})
    for (const int wins : wins_by_tenth(order, 500, 4000)) EXPECT_NEAR(wins, 400, 95);  // five standard deviations
}

// The rule of a profile

Profile profile_of(ScoringStrategyType strategy, std::vector<ShapePoint> shape = {}) {
  Profile profile = default_scheduler_config(FeatureGates()).profiles.front();
  profile.args.node_resources_fit.strategy = strategy;
  profile.args.node_resources_fit.shape = std::move(shape);
  return profile;
}

TEST(DrawRuleTest, MostAllocatedAndShapesThatRisePack) {
  EXPECT_FALSE(packs_nodes(profile_of(ScoringStrategyType::kLeastAllocated)));
  EXPECT_TRUE(packs_nodes(profile_of(ScoringStrategyType::kMostAllocated)));
  constexpr auto kRatio = ScoringStrategyType::kRequestedToCapacityRatio;
  EXPECT_TRUE(packs_nodes(profile_of(kRatio, {{0, 0}, {100, 10}})));
  EXPECT_FALSE(packs_nodes(profile_of(kRatio, {{0, 10}, {100, 0}})));
  EXPECT_TRUE(packs_nodes(profile_of(kRatio, {{10, 2}, {50, 0}, {90, 3}}))) << "the ends decide";
  EXPECT_FALSE(packs_nodes(profile_of(kRatio, {{0, 5}, {50, 10}, {100, 5}})));
  EXPECT_FALSE(packs_nodes(profile_of(kRatio, {{40, 5}})));
  EXPECT_FALSE(packs_nodes(profile_of(kRatio)));
  EXPECT_FALSE(packs_nodes(profile_of(ScoringStrategyType::kLeastAllocated, {{0, 0}, {100, 10}})))
      << "the shape belongs to another strategy";
}

TEST(DrawRuleTest, AStrategyThatDoesNotScoreDoesNotPack) {
  Profile profile = profile_of(ScoringStrategyType::kMostAllocated);
  std::erase_if(profile.plugins[static_cast<std::size_t>(ExtensionPoint::kScore)],
                [](const EnabledPlugin& plugin) { return plugin.name == "NodeResourcesFit"; });
  EXPECT_FALSE(packs_nodes(profile));
}

TEST(DrawRuleTest, TheTieBreakAndTheProfileGiveTheOrder) {
  const Profile spreads = profile_of(ScoringStrategyType::kLeastAllocated);
  const Profile packs = profile_of(ScoringStrategyType::kMostAllocated);
  EXPECT_EQ(draw_rule(spreads, TieBreak::kLoad, 1).order, DrawOrder::kEmptierFirst);
  EXPECT_EQ(draw_rule(packs, TieBreak::kLoad, 1).order, DrawOrder::kFullerFirst);
  EXPECT_EQ(draw_rule(packs, TieBreak::kRandom, 1).order, DrawOrder::kByClass);
  EXPECT_EQ(draw_rule(packs, TieBreak::kFirst, 1).order, DrawOrder::kNodeOrder);
  EXPECT_NE(draw_rule(packs, TieBreak::kLoad, 1).seed, draw_rule(packs, TieBreak::kLoad, 2).seed);
}

}  // namespace
}  // namespace berth
