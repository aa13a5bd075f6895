// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_rows.h"

#include <gtest/gtest.h>

#include "batching/device/device_errors.h"
#include "tests/unit/engine_device/device_cluster.h"

namespace berth {
namespace {

using test::DeviceCluster;
using Indexes = std::vector<std::int32_t>;

constexpr const char* kText = "node n*64 cpu=64\npod a cpu=1\npod b cpu=2\npod c cpu=3\npod d cpu=4";
/// 64 + 8 + 1 keys, 9 positions, one count, 64 bits.
constexpr std::uint64_t kRowBytes = 73 * 8 + 9 * 4 + 4 + 8;

struct Store : DeviceCluster {
  explicit Store(std::uint64_t rows_max, const DeviceTuning& device_tuning = {})
      : DeviceCluster(kText, device_tuning), store(accelerator, rows_max * kRowBytes, tuning) {
    add_classes({0, 1, 2, 3});
  }
  DeviceRowStore::Work prepare(const Indexes& pod_classes) {
    LaunchPlan plan;
    for (const std::int32_t c : pod_classes) plan.add_class(c);
    return store.prepare(plan, classes, log, snapshot.node_count());
  }
  /// Of one class, whose row leaves out the nodes.
  DeviceRowStore::Work prepare_without(std::int32_t pod_class, const Indexes& nodes, std::uint64_t version) {
    LaunchPlan plan;
    plan.add_class(pod_class);
    plan.left_out.front() = {version, nodes};
    return store.prepare(plan, classes, log, snapshot.node_count());
  }
  Indexes left_out(std::int32_t pod_class) const {
    Indexes nodes;
    for (std::int32_t node = 0; node < snapshot.node_count(); ++node)
      if (is_in_node_set(store.row(pod_class).left_out, node)) nodes.push_back(node);
    return nodes;
  }
  DeviceRowStore store;
};

TEST(DeviceRowsTest, ARowIsBuiltOnceAndThenKept) {
  Store rows(4);
  EXPECT_EQ(rows.prepare({0, 1}).build, (Indexes{0, 1}));
  EXPECT_EQ(rows.prepare({1, 2, 0}).build, Indexes{1});
  const DeviceRowStore::Work work = rows.prepare({0, 1, 2});
  EXPECT_TRUE(work.build.empty());
  EXPECT_TRUE(work.refresh.rows.empty());
  EXPECT_EQ(rows.store.bytes(), 3 * kRowBytes);
  EXPECT_EQ(rows.store.rows_built(), 3);
}

TEST(DeviceRowsTest, TheLeastRecentlyUsedRowIsDroppedFirst) {
  Store rows(2);
  rows.prepare({0});
  rows.prepare({1});
  rows.prepare({0});
  EXPECT_EQ(rows.prepare({2}).build, Indexes{0});
  EXPECT_TRUE(rows.prepare({0}).build.empty());
  EXPECT_EQ(rows.prepare({1}).build, Indexes{0});
  EXPECT_LE(rows.store.bytes(), 2 * kRowBytes);
}

TEST(DeviceRowsTest, RowsOfTheBatchDoNotDropOneAnother) {
  Store rows(2);
  rows.prepare({0, 1});
  const DeviceRowStore::Work work = rows.prepare({2, 1});
  EXPECT_EQ(work.build, Indexes{0}) << "the row of class 1 was there and stayed";
  EXPECT_NE(rows.store.row(2).keys, rows.store.row(1).keys);
}

TEST(DeviceRowsTest, TheLimitSetsTheNumberOfRows) {
  Store rows(3);
  const Indexes all{0, 1, 2, 3};
  EXPECT_EQ(rows.store.fitting(all, rows.classes), 3u);
  EXPECT_EQ(rows.store.fitting(std::span(all).first(2), rows.classes), 2u);
  EXPECT_EQ(rows.store.fitting({}, rows.classes), 0u);
  EXPECT_EQ(Store(0).store.fitting(all, rows.classes), 1u) << "one has to";
}

TEST(DeviceRowsTest, ARowThatDoesNotFitIsRefusedWithItsSize) {
  Store rows(0);
  try {
    rows.prepare({0});
    FAIL() << "there is no room for any row";
  } catch (const DeviceOutOfMemory& error) {
    EXPECT_EQ(error.needed_bytes(), kRowBytes);
    EXPECT_EQ(error.free_bytes(), 0u);
    EXPECT_NE(std::string(error.what()).find("64 nodes"), std::string::npos) << error.what();
    EXPECT_NE(error.lower_this().find("device.memoryBytesMax"), std::string::npos);
  }
}

TEST(DeviceRowsTest, OtherRowsAreDroppedWhenTheDeviceRefusesMemory) {
  Store rows(4);
  rows.prepare({0, 1});
  rows.accelerator.emulation().memory_bytes = rows.accelerator.allocated_bytes() + kRowBytes / 2;
  EXPECT_EQ(rows.prepare({2}).build, Indexes{0});
  EXPECT_EQ(rows.store.bytes(), 2 * kRowBytes);
  EXPECT_THROW(rows.prepare({0, 1, 2}), DeviceOutOfMemory) << "three do not fit, and the batch needs them all";
}

TEST(DeviceRowsTest, ARowIsRefreshedFromItsLogPosition) {
  Store rows(4);
  rows.prepare({0, 1});
  rows.place(rows.pods[0], 7);
  rows.prepare({1});
  rows.place(rows.pods[0], 9);
  const DeviceRowStore::Work work = rows.prepare({0, 1, 2});
  EXPECT_EQ(work.build, Indexes{2});
  EXPECT_EQ(work.refresh.rows, (Indexes{0, 1}));
  EXPECT_EQ(work.refresh.nodes, (Indexes{7, 9}));
  EXPECT_EQ(work.refresh.first_node, (Indexes{0, 1}));
  EXPECT_EQ(work.refresh.end_node, (Indexes{2, 2}));
}

TEST(DeviceRowsTest, ARowIsRefreshedOnTheNodesThatItLeavesOutOrLeftOut) {
  Store rows(4);
  EXPECT_EQ(rows.prepare_without(0, {3, 40}, 1).build, Indexes{0}) << "a new row is evaluated with them left out";
  EXPECT_EQ(rows.left_out(0), (Indexes{3, 40}));
  EXPECT_TRUE(rows.prepare_without(0, {3, 40}, 1).left_out.rows.empty()) << "of a known version";
  const DeviceRowStore::Work work = rows.prepare_without(0, {40, 63}, 2);
  EXPECT_TRUE(work.build.empty());
  EXPECT_EQ(work.left_out.rows, Indexes{0});
  EXPECT_EQ(work.left_out.nodes, (Indexes{3, 40, 40, 63}));
  EXPECT_EQ(rows.left_out(0), (Indexes{40, 63}));
  EXPECT_EQ(rows.prepare({0}).left_out.nodes, (Indexes{40, 63}));
  EXPECT_EQ(rows.left_out(0), Indexes());
}

TEST(DeviceRowsTest, ARowThatMissedTooMuchIsRebuilt) {
  DeviceTuning tuning;
  tuning.refresh_entries_max = 2;
  Store rows(4, tuning);
  rows.prepare({0});
  for (int i = 0; i < 2; ++i) rows.place(rows.pods[0], i);
  EXPECT_TRUE(rows.prepare({0}).build.empty());
  for (int i = 0; i < 3; ++i) rows.place(rows.pods[0], i);
  EXPECT_EQ(rows.prepare({0}).build, Indexes{0});
  EXPECT_TRUE(rows.prepare({0}).build.empty());
}

}  // namespace
}  // namespace berth
