// SPDX-License-Identifier: Apache-2.0
// Row layouts of classes.
#include "host/engine/device/device_classes.h"

#include <gtest/gtest.h>

#include "tests/unit/engine_device/device_cluster.h"

namespace berth {
namespace {

using test::DeviceCluster;

const DeviceLayout& layout_of(DeviceCluster& cluster, std::size_t pod) {
  const std::int32_t c = cluster.pods[pod].class_index;
  cluster.add_classes({c});
  return cluster.classes.layout(cluster.classes.layout_of(c));
}

std::int32_t begin(const DeviceLayout& layout, std::int32_t level, std::int32_t cell) {
  return layout.level_begin[level * (layout.cell_count + 1) + cell];
}

/// Levels are stored one after another, each an eighth of the one below, and the top has one entry per cell.
void expect_levels(const DeviceLayout& layout, std::vector<std::int32_t> sizes) {
  ASSERT_EQ(layout.cell_count, static_cast<std::int32_t>(sizes.size()));
  ASSERT_EQ(layout.level_offset[0], 0);
  for (std::int32_t level = 0; level < layout.level_count; ++level) {
    for (std::int32_t cell = 0; cell < layout.cell_count; ++cell) {
      std::int32_t& size = sizes[static_cast<std::size_t>(cell)];
      ASSERT_EQ(begin(layout, level, cell + 1) - begin(layout, level, cell), size) << "level " << level;
      if (level + 1 == layout.level_count) {
        EXPECT_EQ(size, 1);
      }
      size = (size + 7) / 8;
    }
    EXPECT_EQ(begin(layout, level, 0), 0);
    EXPECT_EQ(layout.level_offset[level + 1] - layout.level_offset[level], begin(layout, level, layout.cell_count));
  }
}

TEST(DeviceClassesTest, EveryCellHasATournament) {
  DeviceTuning tuning;
  tuning.nodes_per_cell_min = 1;
  tuning.spare_cells = tuning.spare_places_min = 0;
  tuning.spare_places_share = 1000;
  std::string text;
  const std::vector<std::int32_t> sizes{1, 7, 8, 9, 63, 64, 65, 513};
  for (std::size_t z = 0; z < sizes.size(); ++z)
    text += "node z" + std::to_string(z) + "-*" + std::to_string(sizes[z]) + " cpu=4 zone=z" + std::to_string(z) + "\n";
  DeviceCluster cluster(text + "pod p label:app=x soft-spread=zone match=app=x", tuning);
  const DeviceLayout& layout = layout_of(cluster, 0);
  ASSERT_FALSE(layout.by_node);
  ASSERT_EQ(layout.cell_count, 8);
  std::vector<std::int32_t> sizes_of_cells(8, 0);
  std::vector<std::int32_t> last(8, -1);
  for (std::int32_t node = 0; node < cluster.snapshot.node_count(); ++node) {
    const std::int32_t cell = layout.cell_of[node];
    ASSERT_GE(cell, 0);
    ++sizes_of_cells[static_cast<std::size_t>(cell)];
    EXPECT_EQ(layout.node_at[layout.position_of[node]], node);
    EXPECT_GE(layout.position_of[node], begin(layout, 0, cell));
    EXPECT_LT(layout.position_of[node], begin(layout, 0, cell + 1));
    EXPECT_GT(layout.position_of[node], last[static_cast<std::size_t>(cell)]) << "in snapshot order";
    last[static_cast<std::size_t>(cell)] = layout.position_of[node];
  }
  expect_levels(layout, sizes_of_cells);
  std::sort(sizes_of_cells.begin(), sizes_of_cells.end());
  EXPECT_EQ(sizes_of_cells, sizes);
}

TEST(DeviceClassesTest, AClassWithEqualNodesIsOneCellInOrder) {
  for (const std::int32_t nodes : {1, 7, 8, 9, 63, 64, 65, 513}) {
    DeviceCluster cluster("node n*" + std::to_string(nodes) + " cpu=4\npod p cpu=1");
    const DeviceLayout& layout = layout_of(cluster, 0);
    EXPECT_TRUE(layout.in_order);
    EXPECT_FALSE(layout.by_node);
    expect_levels(layout, {nodes});
  }
}

TEST(DeviceClassesTest, InfeasibleNodesKeepTheirPlaceInTheSingleCell) {
  DeviceCluster cluster("node a*5 cpu=4\nnode b*4 cpu=4 unschedulable\npod p cpu=1\npod q cpu=1 select:no=where");
  const DeviceLayout& layout = layout_of(cluster, 0);
  EXPECT_TRUE(layout.in_order);
  expect_levels(layout, {9});
  for (std::int32_t node = 0; node < 9; ++node)
    EXPECT_EQ(layout.base[node] < 0, cluster.snapshot.unschedulable(node)) << node;
  const DeviceLayout& nowhere = layout_of(cluster, 1);
  EXPECT_EQ(nowhere.cell_count, 1);
  for (std::int32_t node = 0; node < 9; ++node) EXPECT_LT(nowhere.base[node], 0);
}

TEST(DeviceClassesTest, AClassWithManyDomainsIsLaidOutByNode) {
  DeviceTuning tuning;
  tuning.coarse_domains_max = 4;
  DeviceCluster cluster(
      "node n*9 cpu=4 host\npod p label:app=x spread=host match=app=x\n"
      "pod q label:app=x pod-anti-affinity=host match=app=x",
      tuning);
  const DeviceLayout& layout = layout_of(cluster, 0);
  EXPECT_TRUE(layout.by_node);
  EXPECT_EQ(layout.cell_count, 9);
  EXPECT_EQ(layout.level_count, 1);
  EXPECT_EQ(layout.level_offset[1], 9);
  EXPECT_FALSE(layout_of(cluster, 1).by_node) << "terms on single nodes are part of the key";
}

TEST(DeviceClassesTest, LaterClassesDoNotChangeEarlierOnes) {
  DeviceCluster cluster(
      "node n*3 cpu=4 memory=4Gi zone=1 res:example.com/x=1\npod p cpu=1\npod q cpu=2 memory=1Gi\n"
      "pod r port=80\npod s label:app=x spread=zone match=app=x pod-affinity=zone:3 match=app=x");
  const auto shown = [](const DeviceClasses& classes, std::int32_t c) {
    const DeviceClass& pod_class = classes.classes[c];
    std::vector<std::int64_t> all{pod_class.draw_seed, pod_class.port_set, pod_class.delta_milli_cpu,
                                  pod_class.has_topology};
    for (const DeviceList& list : {pod_class.filter, pod_class.fit, pod_class.balanced, pod_class.delta})
      for (std::int32_t r = list.first; r < list.first + list.count; ++r)
        all.insert(all.end(), {classes.requests[r].column, classes.requests[r].amount, classes.requests[r].weight});
    for (const DeviceList& list : {pod_class.hard, pod_class.soft, pod_class.affinity, pod_class.preferred})
      for (std::int32_t r = list.first; r < list.first + list.count; ++r)
        all.insert(all.end(), {classes.reads[r].table, classes.reads[r].attribute, classes.reads[r].multiplier});
    for (std::int32_t m = pod_class.moves.first; m < pod_class.moves.first + pod_class.moves.count; ++m)
      all.insert(all.end(), {classes.moves[m].table, classes.moves[m].amount});
    return all;
  };
  std::vector<std::vector<std::int64_t>> expected(4);
  for (const std::int32_t c : {2, 0, 3, 1}) {  // not in order: the table has gaps meanwhile
    const DeviceState state = cluster.bring_up({c});
    expected[static_cast<std::size_t>(c)] = shown(state.classes, c);
    EXPECT_GT(expected[static_cast<std::size_t>(c)].size(), 4u);
  }
  const DeviceState state = cluster.bring_up({});
  for (std::int32_t c = 0; c < 4; ++c) EXPECT_EQ(shown(state.classes, c), expected[static_cast<std::size_t>(c)]);
}

}  // namespace
}  // namespace berth
