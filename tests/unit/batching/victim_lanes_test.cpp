// SPDX-License-Identifier: Apache-2.0
#include "batching/victim_lanes.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

constexpr const char* kLaneCluster =
    "node a cpu=8 memory=8Gi\n"
    "pod p cpu=1 memory=1Gi\n"
    "pod small cpu=1\n";

/// A list whose victims request these milli-cores.
PreparedList list_of(std::uint64_t version, const std::vector<std::int64_t>& milli_cpu) {
  PreparedList list;
  list.version = version;
  list.footprints.resize(milli_cpu.size());
  list.amounts = milli_cpu;
  std::int64_t sum = 0;
  for (const std::int64_t amount : milli_cpu) sum += amount;
  if (!milli_cpu.empty()) list.all.delta.requested = {{kCpuColumn, sum}};
  list.is_exact_in_lanes = true;
  return list;
}

class VictimLanes : public testing::Test {
 protected:
  VictimLanes() {
    columns_.begin(cluster_.snapshot.resource_count());
    EXPECT_TRUE(columns_.add(cluster_.class_of(0)));
    EXPECT_FALSE(columns_.add(cluster_.class_of(1))) << "its resources have rows";
    table_.resize(3 * kListLanes);
  }
  void put(std::size_t position, const PreparedList& list) { table_.put(position, 0, list, columns_); }
  /// What the victims of a lane request of cpu, as far as there are some.
  std::vector<double> cpu_in(const ListBlock& block, std::size_t lane) const {
    std::vector<double> amounts;
    for (std::size_t v = 0; v < block.victims && !std::isinf(block.amounts[v * block.rows][lane]); ++v)
      amounts.push_back(block.amounts[v * block.rows + columns_.row_of(kCpuColumn)][lane]);
    return amounts;
  }

  test::CompiledCluster cluster_{kLaneCluster};
  LaneColumns columns_;
  LaneTable table_;
  LaneNodes nodes_;
};

using Amounts = std::vector<double>;

TEST_F(VictimLanes, AListTakesThePlaceOfTheOneBefore) {
  const PreparedList first = list_of(1, {100, 200, 300});
  const PreparedList second = list_of(2, {400});
  put(5, first);
  EXPECT_TRUE(table_.has(5, 1));
  EXPECT_FALSE(table_.has(4, 1));
  put(5, second);
  EXPECT_TRUE(table_.has(5, 2));
  EXPECT_EQ(cpu_in(table_.block(0, columns_, nodes_), 5), Amounts{400});
}

TEST_F(VictimLanes, ListsOfSeveralBlocksAreGatheredInOrder) {
  const PreparedList one = list_of(1, {100});
  const PreparedList three = list_of(2, {200, 300, 400});
  const PreparedList none = list_of(3, {});
  put(0, three);
  put(kListLanes + 1, one);
  put(kListLanes + 2, three);
  put(2 * kListLanes, none);
  GatheredLanes gathered;
  const std::array<std::size_t, 3> positions{kListLanes + 1, 2 * kListLanes, 0};
  table_.gather(positions, columns_, gathered);
  const ListBlock block{nullptr, nullptr, gathered.amounts.data(), columns_.rows(), gathered.victims};
  EXPECT_EQ(gathered.victims, 3u);
  EXPECT_EQ(cpu_in(block, 0), Amounts{100});
  EXPECT_EQ(cpu_in(block, 1), Amounts());
  EXPECT_EQ(cpu_in(block, 2), (Amounts{200, 300, 400}));
}

TEST_F(VictimLanes, ANodeIsReadAsItIsWithoutItsVictims) {
  put(3, list_of(1, {1000, 500}));
  table_.read_node(3, columns_, cluster_.snapshot, 6, nodes_);
  EXPECT_TRUE(nodes_.is_exact[6]);
  EXPECT_EQ(nodes_.free[columns_.row_of(kCpuColumn)][6], 8000 + 1500);
  EXPECT_EQ(nodes_.allocatable[columns_.row_of(kCpuColumn)][6], 8000);
  table_.read_node(4, columns_, cluster_.snapshot, 7, nodes_);
  EXPECT_FALSE(nodes_.is_exact[7]) << "there is no list";
  PreparedList large = list_of(2, {1000});
  large.is_exact_in_lanes = false;
  put(3, large);
  table_.read_node(3, columns_, cluster_.snapshot, 6, nodes_);
  EXPECT_FALSE(nodes_.is_exact[6]);
}

}  // namespace
}  // namespace berth
