// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/victim_bounds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "host/objects/pod_requests.h"
#include "tests/unit/preemption/preemption_builders.h"

namespace berth {
namespace {

/// Few values, so that ties are frequent.
struct Drawn {
  std::vector<PodPtr> pods;
  std::vector<Victim> list;
  VictimRanks ranks;
  NodeRoom room;
  WantedRoom wanted;
};

Drawn draw(std::mt19937_64& dice) {
  const auto upto = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(dice); };
  Drawn drawn;
  for (std::int64_t count = upto(10); count > 0; --count) {
    const auto priority = static_cast<std::int32_t>(upto(6) - 3);
    drawn.pods.push_back(make_pod("v", priority, upto(4), "n", upto(5) * 100));
  }
  for (const PodPtr& pod : drawn.pods) {
    drawn.list.push_back({pod.get(), false});
    drawn.ranks.add(*pod);
  }
  drawn.room = {upto(6) * 100 - 300, 0, upto(3) - 1, true};
  drawn.wanted = {upto(12) * 100, 0, 1};
  return drawn;
}

/// Of all sets of victims after which the preemptor fits, the least cost.
std::optional<CandidateCost> least_of_all(const Drawn& drawn) {
  std::optional<CandidateCost> least;
  for (std::uint32_t set = 1; set < (1U << drawn.list.size()); ++set) {
    CandidateCost cost(0);
    std::int64_t milli_cpu = drawn.room.milli_cpu;
    std::int64_t pods = drawn.room.pods;
    for (std::size_t v = 0; v < drawn.list.size(); ++v) {
      if ((set >> v & 1) == 0) continue;
      cost.add_victim(drawn.ranks, v);
      milli_cpu += requested_on_node(*drawn.pods[v]).milli_cpu;
      ++pods;
    }
    const bool fits = pods >= 1 && (drawn.wanted.milli_cpu == 0 || milli_cpu >= drawn.wanted.milli_cpu);
    if (fits && (!least || cost < *least)) least = cost;
  }
  return least;
}

TEST(VictimBounds, NoSetOfVictimsCostsLessThanTheBound) {
  std::mt19937_64 dice(1);
  int exact = 0;
  int candidates = 0;
  for (int i = 0; i < 4000; ++i) {
    const Drawn drawn = draw(dice);
    FootprintMemo footprints;
    const std::optional<CandidateCost> bound =
        VictimBounds(drawn.list, drawn.ranks, footprints).least_cost(drawn.wanted, drawn.room);
    const std::optional<CandidateCost> least = least_of_all(drawn);
    ASSERT_TRUE(!least || bound) << i;
    if (!least) continue;
    ASSERT_LE(*bound, *least) << i;
    ++candidates;
    exact += *bound == *least ? 1 : 0;
  }
  EXPECT_GT(candidates, 2000);
  EXPECT_GT(exact, candidates / 2) << "bounds that are seldom met let too many nodes be tried";
}

TEST(VictimBounds, ThereIsNoneWithoutVictims) {
  EXPECT_EQ(VictimBounds().least_cost({}, {1000, 0, 10, true}), std::nullopt);
}

TEST(VictimBounds, AmountsThatMayWrapAroundBoundNothing) {
  const PodPtr pod = make_pod("v", 5, 1, "n", std::numeric_limits<std::int64_t>::max() / 2);
  const std::vector<Victim> list{{pod.get(), false}};
  VictimRanks ranks;
  ranks.add(*pod);
  FootprintMemo footprints;
  const VictimBounds bounds(list, ranks, footprints);
  EXPECT_EQ(bounds.least_cost({1000, 0, 1}, {0, 0, 10, true}), CandidateCost());
}

TEST(VictimBounds, ReservedRoomIsNotThere) {
  const PodPtr pod = make_pod("v", 5, 1, "n", 500);
  const std::vector<Victim> list{{pod.get(), false}};
  VictimRanks ranks;
  ranks.add(*pod);
  FootprintMemo footprints;
  const VictimBounds bounds(list, ranks, footprints);
  const NodeRoom room{500, 0, 10, true};
  EXPECT_NE(bounds.least_cost({1000, 0, 1}, room), std::nullopt);
  EXPECT_EQ(bounds.least_cost({1000, 0, 1}, room.without({{0}, 100, 0, 1})), std::nullopt);
  EXPECT_EQ(bounds.least_cost({1000, 0, 1}, room.without({{0}, std::numeric_limits<std::int64_t>::max(), 0, 1})),
            CandidateCost());
}

}  // namespace
}  // namespace berth
