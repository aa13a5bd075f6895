// SPDX-License-Identifier: Apache-2.0
#include "batching/device/delta_body.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/unit/batching_device/hand_made_row.h"

namespace berth {
namespace {

using Longs = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

/// Four nodes, two resources, two port sets, six counters, two tables; the stride leaves a gap after each column.
struct Columns {
  Longs requested = Longs(10, 1), milli_cpu = Longs(4, 2), memory = Longs(4, 3), pods = Longs(4, 4);
  Bytes ports = Bytes(10, 5);
  Longs counts = Longs(6, 6), totals = Longs(2, 7);

  DeviceState state() {
    DeviceState state;
    state.columns.node_count = 4;
    state.columns.stride = 5;
    state.columns.requested = requested.data();
    state.columns.non_zero_milli_cpu = milli_cpu.data();
    state.columns.non_zero_memory_bytes = memory.data();
    state.columns.pod_count = pods.data();
    state.columns.port_taken = ports.data();
    state.counts.counts = counts.data();
    state.counts.totals = totals.data();
    return state;
  }
};

constexpr std::array<std::int32_t, 2> kNodes{3, 0};
constexpr std::array<std::int64_t, 4> kRequested{30, 31, 32, INT64_MAX};
constexpr std::array<std::int64_t, 2> kMilliCpu{40, 41}, kMemory{50, 51}, kPods{60, 61};
constexpr std::array<std::uint8_t, 4> kPorts{1, 0, 0, 1};
constexpr std::array<std::int64_t, 3> kCountAt{5, 0, 2}, kCounts{70, 71, INT64_MIN};
constexpr std::array<std::int64_t, 2> kTotals{80, 81};

DeviceDelta whole_delta() {
  DeviceDelta delta;
  delta.nodes = kNodes.data();
  delta.requested = kRequested.data();
  delta.non_zero_milli_cpu = kMilliCpu.data();
  delta.non_zero_memory_bytes = kMemory.data();
  delta.pod_count = kPods.data();
  delta.port_taken = kPorts.data();
  delta.count_at = kCountAt.data();
  delta.counts = kCounts.data();
  delta.totals = kTotals.data();
  delta.node_count = 2;
  delta.resource_count = 2;
  delta.port_set_count = 2;
  delta.count_count = 3;
  delta.table_count = 2;
  return delta;
}

void expect_written(const Columns& columns) {
  EXPECT_EQ(columns.requested, (Longs{31, 1, 1, 30, 1, INT64_MAX, 1, 1, 32, 1}));
  EXPECT_EQ(columns.milli_cpu, (Longs{41, 2, 2, 40}));
  EXPECT_EQ(columns.memory, (Longs{51, 3, 3, 50}));
  EXPECT_EQ(columns.pods, (Longs{61, 4, 4, 60}));
  EXPECT_EQ(columns.ports, (Bytes{0, 5, 5, 1, 5, 1, 5, 5, 0, 5}));
  EXPECT_EQ(columns.counts, (Longs{71, 6, INT64_MIN, 6, 6, 70}));
  EXPECT_EQ(columns.totals, (Longs{80, 81}));
}

TEST(DeltaBodyTest, EachItemWritesOnlyItsTarget) {
  Columns columns;
  const DeviceDelta delta = whole_delta();
  ASSERT_EQ(delta_items(delta), 7);
  for (std::int32_t item = 0; item < delta_items(delta); ++item) apply_delta_item(columns.state(), delta, item);
  expect_written(columns);
}

TEST(DeltaBodyTest, TheOrderOfItemsDoesNotMatter) {
  Columns columns;
  const DeviceDelta delta = whole_delta();
  for (std::int32_t item = delta_items(delta); item-- > 0;) apply_delta_item(columns.state(), delta, item);
  expect_written(columns);
}

TEST(DeltaBodyTest, ADeltaWithoutNodesOrCountersHasTotalsOnly) {
  Columns columns;
  DeviceDelta delta = whole_delta();
  delta.node_count = delta.count_count = 0;
  ASSERT_EQ(delta_items(delta), 2);
  for (std::int32_t item = 0; item < 2; ++item) apply_delta_item(columns.state(), delta, item);
  EXPECT_EQ(columns.totals, (Longs{80, 81}));
  EXPECT_EQ(columns.requested, Longs(10, 1));
  EXPECT_EQ(columns.counts, Longs(6, 6));
}

TEST(DeltaBodyTest, PatchesWriteSingleValuesOfAnySize) {
  Columns columns;
  std::vector<std::int32_t> words(3, 9);
  const std::array<DevicePatch, 4> patches{{{&columns.pods[1], static_cast<std::uint64_t>(INT64_MIN + 5), 8},
                                            {&words[1], static_cast<std::uint32_t>(-1), 4},
                                            {&columns.ports[2], 1, 1},
                                            {&columns.counts[0], 77, 8}}};
  DeviceDelta delta;
  delta.patches = patches.data();
  delta.patch_count = 4;
  ASSERT_EQ(delta_items(delta), 4);
  for (std::int32_t item = 4; item-- > 0;) apply_delta_item(columns.state(), delta, item);
  EXPECT_EQ(columns.pods, (Longs{4, INT64_MIN + 5, 4, 4}));
  EXPECT_EQ(words, (std::vector<std::int32_t>{9, -1, 9}));
  EXPECT_EQ(columns.ports, (Bytes{5, 5, 1, 5, 5, 5, 5, 5, 5, 5}));
  EXPECT_EQ(columns.counts, (Longs{77, 6, 6, 6, 6, 6}));
}

TEST(DeltaBodyTest, AVacatedPositionIsNotFeasibleAnyMore) {
  test::HandMadeRow row({9, 65});
  for (std::int32_t node = 0; node < row.node_count(); ++node) row.set_worth(node, node);
  row.build();
  const std::int32_t best = row.plain_best(1);
  const std::array<std::int32_t, 2> positions{row.view().position_of(best), row.view().position_of(0)};
  const DeviceVacancy vacancy{row.row(), 0, 2};
  DeviceDelta delta;
  delta.vacancies = &vacancy;
  delta.vacated = positions.data();
  delta.vacancy_count = 1;
  ASSERT_EQ(delta_items(delta), 1);
  apply_delta_item(row.state(), delta, 0);
  const std::vector<NodeKey> keys = row.keys();
  const std::vector<std::int32_t> live = row.live();
  EXPECT_EQ(live, (std::vector<std::int32_t>{8, 64}));
  row.set_worth(best, -1);
  row.set_worth(0, -1);
  row.build();
  EXPECT_EQ(keys, row.keys()) << "as if the nodes refused";
}

}  // namespace
}  // namespace berth
