// SPDX-License-Identifier: Apache-2.0
#include "batching/copy_interplay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "batching/node_topology.h"

namespace berth {
namespace {

/// Domains of two nodes each; the last node has none.
DomainColumn column_of(std::int32_t domains) {
  DomainColumn column;
  column.key = "zone";
  for (std::int32_t d = 1; d <= domains; ++d) column.domain_of.insert(column.domain_of.end(), {d, d});
  column.domain_of.push_back(0);
  column.domain_count = domains;
  index_domains(column);
  return column;
}

/// Places copies in any domain that accepts one, drawn, until none does.
std::vector<std::int64_t> placed_one_by_one(const HardSpread& spread, std::int64_t amount,
                                            std::vector<std::int64_t> room, TopologyCounts counts,
                                            std::mt19937_64& dice) {
  std::vector<std::int64_t> placed(room.size());
  while (true) {
    std::vector<std::size_t> open;
    const std::int64_t minimum = global_minimum(spread, counts);
    for (std::size_t d = 1; d < room.size(); ++d)
      if (room[d] > 0 && !PodTopologySpread::exceeds_skew(counts.count(spread.table, static_cast<std::int32_t>(d)),
                                                          spread.self, minimum, spread.max_skew))
        open.push_back(d);
    if (open.empty()) return placed;
    const std::size_t d = open[dice() % open.size()];
    --room[d];
    ++placed[d];
    counts.add(spread.table, static_cast<std::int32_t>(2 * (d - 1)), amount);
  }
}

TEST(CopyInterplayTest, CopiesUnderASkewDoNotDependOnTheOrder) {
  std::mt19937_64 dice(1);
  const auto below = [&](std::uint64_t limit) { return static_cast<std::int32_t>(dice() % limit); };
  for (int round = 0; round < 3000; ++round) {
    const std::int32_t domains = 1 + below(5);
    TopologyCounts counts;
    const std::int32_t column = counts.add_column(column_of(domains));
    // A domain exists where a node of it counts.
    std::vector<std::uint8_t> mask(2 * static_cast<std::size_t>(domains) + 1, 1);
    for (std::size_t d = 0; d < static_cast<std::size_t>(domains); ++d)
      if (below(6) == 0) mask[2 * d] = mask[2 * d + 1] = 0;
    const HardSpread spread{
        .table = counts.add_table(column, 0, std::make_shared<const std::vector<std::uint8_t>>(mask), true),
        .max_skew = 1 + below(3),
        .min_domains = 1 + below(4),
        .self = below(4) == 0 ? 0 : 1};
    const std::int64_t amount = below(5) == 0 ? 2 : 1;
    std::vector<std::int64_t> room(static_cast<std::size_t>(domains) + 1);
    for (std::int32_t d = 1; d <= domains; ++d) {
      const std::size_t node = 2 * static_cast<std::size_t>(d - 1);
      counts.add(spread.table, static_cast<std::int32_t>(node), below(5));
      if (mask[node] != 0 && below(4) != 0) room[static_cast<std::size_t>(d)] = below(12);
    }
    const std::vector<std::int64_t> expected = placed_one_by_one(spread, amount, room, counts, dice);
    std::vector<std::int64_t> placed = room;
    EXPECT_EQ(copies_under_skew(spread, amount, placed, counts),
              std::accumulate(expected.begin(), expected.end(), std::int64_t{0}));
    EXPECT_EQ(placed, expected) << "round " << round;
  }
}

TEST(CopyInterplayTest, TellsWhatAPlacedCopyChanges) {
  using Kind = CopyInterplay::Kind;
  TopologyCounts counts;
  const std::int32_t zone = counts.add_column(column_of(3));
  DomainColumn names;
  names.key = "name";
  for (std::int32_t d = 1; d <= 7; ++d) names.domain_of.push_back(d);
  names.domain_count = 7;
  index_domains(names);
  names.one_node_each = true;
  const std::int32_t host = counts.add_column(names);
  const auto table = [&](std::int32_t column) { return counts.add_table(column, -1, nullptr, true); };
  const std::int32_t spread = table(zone), apart = table(host), apart_in_zone = table(zone), near = table(zone);
  TopologyProgram program;
  program.hard = {{.table = spread, .self = 1}};
  program.anti = {{.table = apart}};
  program.affinity = {near};
  const auto kind = [&](std::vector<CountMove> moves) { return interplay_of(program, moves, counts).kind; };
  EXPECT_EQ(kind({}), Kind::kNone);
  EXPECT_EQ(kind({{99, 1}}), Kind::kNone) << "a table that the class does not filter by";
  EXPECT_EQ(kind({{spread, 1}}), Kind::kSpread);
  EXPECT_EQ(kind({{apart, 1}}), Kind::kApart);
  EXPECT_EQ(kind({{spread, 1}, {apart, 1}}), Kind::kSpread);
  EXPECT_EQ(kind({{near, 1}}), Kind::kAfterFirst);
  EXPECT_EQ(kind({{near, 1}, {apart, 1}}), Kind::kAny);
  counts.add(near, 0, 1);
  EXPECT_EQ(kind({{near, 1}}), Kind::kNone) << "pods match already";
  program.existing_anti = {apart_in_zone};
  EXPECT_EQ(kind({{apart_in_zone, 1}}), Kind::kApart);
  EXPECT_EQ(kind({{apart, 1}, {apart_in_zone, 1}}), Kind::kAny);
  EXPECT_EQ(kind({{spread, 1}, {apart_in_zone, 1}}), Kind::kAny) << "it closes more than its node";
  program.hard.push_back({.table = table(host), .self = 1});
  EXPECT_EQ(kind({{spread, 1}}), Kind::kAny) << "two constraints";
}

}  // namespace
}  // namespace berth
