// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_snapshot.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "batching/device/device_errors.h"
#include "batching/node_draw.h"
#include "plugins/node_ports/compile.h"
#include "tests/unit/engine_device/device_cluster.h"

namespace berth {
namespace {

using test::DeviceCluster;

std::string nodes(int count) {
  return "node n*" + std::to_string(count) + " cpu=64 memory=64Gi zone=1 host res:example.com/x=9 label:rack=r\n";
}
constexpr const char* kPods =
    "pod p cpu=1 memory=1Gi label:app=x\npod web cpu=2 port=80\npod dns cpu=1 port=UDP/53\n"
    "pod spread label:app=x spread=zone match=app=x\npod apart label:app=y pod-anti-affinity=host match=app=x\n";

template <class T, class Read>
void expect_column(const T* device, const Snapshot& snapshot, Read read, const char* what) {
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) ASSERT_EQ(device[i], read(i)) << what << " of node " << i;
}

/// The device equals the snapshot; the memory of the emulated one can be read.
void expect_mirrors(const DeviceSnapshot& device, const Snapshot& snapshot,
                    const std::vector<std::vector<HostPort>>& port_sets = {}) {
  const DeviceColumns columns = device.columns();
  const DeviceCounts counts = device.counts();
  ASSERT_EQ(columns.node_count, snapshot.slot_count());
  for (std::int32_t r = 0; r < snapshot.resource_count(); ++r) {
    const std::int64_t first = r * columns.stride;
    expect_column(
        columns.allocatable + first, snapshot, [&](std::int32_t i) { return snapshot.allocatable(r, i); },
        "allocatable");
    expect_column(
        columns.requested + first, snapshot, [&](std::int32_t i) { return snapshot.requested(r, i); }, "requested");
  }
  expect_column(columns.allowed_pods, snapshot, [&](std::int32_t i) { return snapshot.allowed_pods(i); }, "pod limit");
  expect_column(columns.name_hash, snapshot, [&](std::int32_t i) { return snapshot.node_hash(i); }, "hash");
  expect_column(columns.rank, snapshot, [&](std::int32_t i) { return node_rank(snapshot, i); }, "rank");
  for (std::size_t i = 0; i < snapshot.in_order().size(); ++i)
    EXPECT_EQ(columns.in_order[i], snapshot.in_order()[i]) << "place " << i << " in node order";
  expect_column(
      columns.non_zero_milli_cpu, snapshot, [&](std::int32_t i) { return snapshot.non_zero_milli_cpu(i); }, "cpu");
  expect_column(
      columns.non_zero_memory_bytes, snapshot, [&](std::int32_t i) { return snapshot.non_zero_memory_bytes(i); },
      "memory");
  expect_column(columns.pod_count, snapshot, [&](std::int32_t i) { return snapshot.pod_count(i); }, "pods");
  for (std::size_t s = 0; s < port_sets.size(); ++s) {
    const auto taken = [&](std::int32_t i) { return ports_conflict(port_sets[s], snapshot.used_ports(i)) ? 1 : 0; };
    expect_column(columns.port_taken + static_cast<std::int64_t>(s) * columns.stride, snapshot, taken, "ports");
    for (std::size_t other = 0; other < port_sets.size(); ++other)
      ASSERT_EQ(device.port_conflicts()[s * port_sets.size() + other],
                ports_conflict(port_sets[other], port_sets[s]) ? 1 : 0);
  }
  const TopologyCounts& topology = snapshot.topology();
  for (std::int32_t c = 0; c < topology.column_count(); ++c)
    expect_column(
        counts.domain_of + c * counts.stride, snapshot, [&](std::int32_t i) { return topology.column(c)[i]; },
        "domain");
  ASSERT_EQ(device.table_count(), static_cast<std::uint64_t>(topology.table_count()));
  for (std::int32_t t = 0; t < topology.table_count(); ++t) {
    const DeviceTable& table = counts.tables[t];
    ASSERT_EQ(table.column, topology.column_of(t));
    ASSERT_EQ(table.domain_count, topology.column(table.column).domain_count);
    ASSERT_EQ(table.existing_domains, topology.existing_domains(t));
    ASSERT_EQ(counts.totals[t], topology.total(t));
    for (std::int32_t d = 1; d <= table.domain_count; ++d) {
      ASSERT_EQ(counts.counts[table.first + d], topology.count(t, d));
      if (topology.tracks_minimum(t)) {
        ASSERT_EQ(counts.exists[table.first + d], topology.exists(t, d) ? 1 : 0);
      }
    }
    ASSERT_EQ(table.mask < 0, topology.mask_of(t) == nullptr);
    for (std::int32_t i = 0; table.mask >= 0 && i < snapshot.slot_count(); ++i)
      ASSERT_EQ(counts.masks[table.mask * counts.stride + i], (*topology.mask_of(t))[static_cast<std::size_t>(i)]);
  }
}

struct Traffic {
  std::uint64_t bytes = 0;
  std::int64_t transfers = 0;
};

/// The transfers of one update().
Traffic traffic_of_update(DeviceCluster& cluster) {
  const std::uint64_t bytes = cluster.accelerator.uploaded_bytes();
  const std::int64_t transfers = cluster.accelerator.uploads();
  cluster.columns.update(cluster.snapshot, cluster.log);
  return {cluster.accelerator.uploaded_bytes() - bytes, cluster.accelerator.uploads() - transfers};
}

std::vector<std::vector<HostPort>> port_sets_of(DeviceCluster& cluster) {
  std::vector<std::vector<HostPort>> sets;
  for (std::int32_t c = 0; c < cluster.table.size(); ++c)
    if (!cluster.table[c].ports.empty()) sets.push_back(cluster.table[c].ports);
  for (std::size_t s = 0; s < sets.size(); ++s)
    EXPECT_EQ(cluster.columns.port_set(sets[s]), static_cast<std::int32_t>(s));
  return sets;
}

/// Of a delta of k nodes: a node brings its index, 3 figures, each resource, a flag a port set and, for each table, a
/// position and a count; then come all totals. Nine arrays are rounded up to 16 bytes.
std::uint64_t delta_bytes_max(const DeviceCluster& cluster, std::uint64_t k) {
  const auto resources = static_cast<std::uint64_t>(cluster.snapshot.resource_count());
  const auto port_sets = static_cast<std::uint64_t>(cluster.columns.port_set_count());
  const auto tables = static_cast<std::uint64_t>(cluster.snapshot.topology().table_count());
  return k * (4 + 8 * (3 + resources) + port_sets + 16 * tables) + 8 * tables + 9 * 16;
}

TEST(DeviceSnapshotTest, AnUpdateSendsAllChangedNodesInOneTransfer) {
  std::vector<std::vector<std::uint64_t>> bytes_by_size;
  for (const int node_count : {40, 3000}) {
    DeviceCluster cluster(nodes(node_count) + kPods);
    const auto port_sets = port_sets_of(cluster);
    ASSERT_GT(cluster.snapshot.topology().table_count(), 1);
    EXPECT_GT(traffic_of_update(cluster).bytes, static_cast<std::uint64_t>(node_count) * 8 * 10);
    expect_mirrors(cluster.columns, cluster.snapshot, port_sets);
    std::vector<std::uint64_t>& bytes = bytes_by_size.emplace_back();
    for (const std::int32_t k : {1, 2, 5, 20}) {
      for (const bool back : {false, true}) {
        for (std::int32_t node = 0; node < k; ++node) {
          const PodToPlace& pod = cluster.pods[static_cast<std::size_t>(node) % cluster.pods.size()];
          back ? cluster.take_back(pod, node + k) : cluster.place(pod, node + k);
        }
        const Traffic traffic = traffic_of_update(cluster);
        EXPECT_EQ(traffic.transfers, 1);
        EXPECT_LE(traffic.bytes, delta_bytes_max(cluster, static_cast<std::uint64_t>(k)));
        bytes.push_back(traffic.bytes);
        expect_mirrors(cluster.columns, cluster.snapshot, port_sets);
      }
    }
  }
  EXPECT_EQ(bytes_by_size[0], bytes_by_size[1]) << "the number of nodes is not in it";
}

TEST(DeviceSnapshotTest, ANodeThatChangedOftenIsSentOnce) {
  DeviceCluster cluster(nodes(10) + kPods);
  cluster.columns.update(cluster.snapshot, cluster.log);
  for (int i = 0; i < 50; ++i) cluster.place(cluster.pods[0], 3);
  EXPECT_LE(traffic_of_update(cluster).bytes, delta_bytes_max(cluster, 1));
  expect_mirrors(cluster.columns, cluster.snapshot);
}

TEST(DeviceSnapshotTest, NothingIsSentWithoutAChange) {
  DeviceCluster cluster(nodes(10) + kPods);
  cluster.columns.update(cluster.snapshot, cluster.log);
  EXPECT_EQ(traffic_of_update(cluster).transfers, 0);
  cluster.place(cluster.pods[0], 3);
  cluster.columns.skip_to(cluster.log.position());
  EXPECT_EQ(traffic_of_update(cluster).transfers, 0) << "the device made the change itself";
}

TEST(DeviceSnapshotTest, ALaterResourceIsAppended) {
  DeviceCluster cluster(nodes(100) + "pod p cpu=1\npod running on=n7 res:example.com/x=2");
  cluster.columns.update(cluster.snapshot, cluster.log);
  const std::int32_t before = cluster.snapshot.resource_count();
  const std::vector<PodToPlace> more = cluster.compile_more("pod q cpu=1 res:example.com/x=1");
  ASSERT_EQ(cluster.snapshot.resource_count(), before + 1);
  cluster.place(cluster.pods[0], 3);
  cluster.place(more[0], 7);
  const Traffic traffic = traffic_of_update(cluster);
  EXPECT_EQ(traffic.transfers, 3) << "two columns and a delta";
  EXPECT_LE(traffic.bytes, 2 * 8 * 100u + delta_bytes_max(cluster, 2));
  expect_mirrors(cluster.columns, cluster.snapshot);
}

TEST(DeviceSnapshotTest, LaterLabelKeysAndTablesAreAdded) {
  DeviceCluster cluster(nodes(100) + "pod p cpu=1 label:app=x");
  cluster.columns.update(cluster.snapshot, cluster.log);
  cluster.place(cluster.pods[0], 5);
  cluster.columns.update(cluster.snapshot, cluster.log);
  std::int32_t tables = cluster.snapshot.topology().table_count();
  for (const char* later :
       {"pod q spread=zone match=app=x", "pod r soft-spread=rack match=app=x soft-spread=host match=app=x",
        "pod s pod-affinity=host match=app=x", "pod t spread=zone match=app=x select:rack=r"}) {
    const std::vector<PodToPlace> more = cluster.compile_more(later);
    ASSERT_GT(cluster.snapshot.topology().table_count(), tables) << later;
    tables = cluster.snapshot.topology().table_count();
    cluster.place(more[0], 9);
    cluster.columns.update(cluster.snapshot, cluster.log);
    expect_mirrors(cluster.columns, cluster.snapshot);
    EXPECT_EQ(traffic_of_update(cluster).transfers, 0);
  }
}

TEST(DeviceSnapshotTest, LaterPortSetsAreAdded) {
  DeviceCluster cluster(nodes(30) + "pod web port=80\npod all port=80 port=443\npod local port=10.0.0.1/443");
  std::vector<std::vector<HostPort>> sets;
  for (std::int32_t c = 0; c < 3; ++c) {
    const std::vector<HostPort>& ports = cluster.table[c].ports;
    EXPECT_EQ(cluster.columns.port_set(ports), c);
    EXPECT_EQ(cluster.columns.port_set(ports), c) << "equal sets share one";
    sets.push_back(ports);
    cluster.columns.update(cluster.snapshot, cluster.log);
    cluster.place(cluster.pods[static_cast<std::size_t>(c)], c * 2);
    cluster.columns.update(cluster.snapshot, cluster.log);
    expect_mirrors(cluster.columns, cluster.snapshot, sets);
  }
}

TEST(DeviceSnapshotTest, ChangedNodeObjectsUploadEverythingAgain) {
  DeviceCluster cluster(nodes(50) + kPods);
  const auto port_sets = port_sets_of(cluster);
  const std::uint64_t first = traffic_of_update(cluster).bytes;
  const std::int32_t removed = cluster.snapshot.find_node("n7");
  cluster.cluster.apply(NodeRemoval{"n7"});
  cluster.snapshot.remove_node(removed, cluster.cluster.cache());
  const auto relabelled = std::make_shared<Node>(*cluster.scenario.objects.nodes[3]);
  relabelled->labels = {};
  const std::int32_t changed = cluster.snapshot.find_node(relabelled->name);
  const ClusterEffect effect = cluster.cluster.apply(NodeUpsert(relabelled));
  cluster.snapshot.change_node(changed, *cluster.cluster.cache().find_node(relabelled->name), effect.parts,
                               cluster.cluster.cache());
  for (const std::int32_t slot : {removed, changed}) cluster.table.topology().move_node(slot);
  cluster.table.topology().change_pods(removed);
  cluster.table.recompile();
  cluster.columns.clear();
  EXPECT_GT(traffic_of_update(cluster).bytes, first * 49 / 50 - 200);
  expect_mirrors(cluster.columns, cluster.snapshot, port_sets);
  cluster.place(cluster.pods[1], 48);
  EXPECT_EQ(traffic_of_update(cluster).transfers, 1);
  expect_mirrors(cluster.columns, cluster.snapshot, port_sets);
}

/// Takes in the event of a node, as an engine does, for the columns and the tables.
void apply(DeviceCluster& cluster, const ClusterChange& change, std::map<std::int32_t, NodeParts>& changed) {
  const auto* upsert = std::get_if<NodeUpsert>(&change);
  const std::string& name = upsert != nullptr ? upsert->node->name : std::get<NodeRemoval>(change).name;
  std::int32_t slot = cluster.snapshot.find_node(name);
  const ClusterEffect effect = cluster.cluster.apply(change);
  const ClusterCache& cache = cluster.cluster.cache();
  NodeParts parts = effect.parts;
  if (effect.node == ClusterEffect::Node::kRemoved) {
    cluster.snapshot.remove_node(slot, cache);
    parts = NodeParts::all();
  } else if (effect.node == ClusterEffect::Node::kAdded) {
    slot = cluster.snapshot.add_node(*cache.find_node(name), cache);
    parts = NodeParts::all();
  } else {
    cluster.snapshot.change_node(slot, *cache.find_node(name), parts, cache);
  }
  cluster.table.topology().move_node(slot);
  if (parts == NodeParts::all()) cluster.table.topology().change_pods(slot);
  cluster.snapshot.update_order(cache);
  cluster.log.append({slot, -1, 0});
  changed[slot].insert(parts);
}

TEST(DeviceSnapshotTest, NodeEventsAreSentInOneTransfer) {
  std::vector<std::vector<std::uint64_t>> bytes_by_size;
  for (const int node_count : {40, 3000}) {
    // A node that some table leaves out: the first one of a table costs a column.
    DeviceCluster cluster(nodes(node_count) + "node odd cpu=1 memory=1Gi\n" + kPods +
                          "pod eligible label:app=x spread=zone match=app=x select:rack=r\n"
                          "pod here on=n2 label:app=x cpu=1\n");
    const auto port_sets = port_sets_of(cluster);
    cluster.columns.update(cluster.snapshot, cluster.log);
    std::vector<std::uint64_t>& bytes = bytes_by_size.emplace_back();
    const auto upsert = [](const std::string& line) {
      return NodeUpsert(test::parse_scenario(line).objects.nodes.front());
    };
    const std::string rest = " memory=64Gi zone=1 host res:example.com/x=9 label:rack=r";
    const std::vector<std::vector<ClusterChange>> events = {
        {upsert("node n3 cpu=8" + rest)},
        {upsert("node n2 cpu=64 memory=64Gi zone=2 host label:rack=r")},
        {upsert("node n2 cpu=64 memory=64Gi zone=3 host label:rack=s"),
         upsert("node n5 cpu=64 memory=64Gi label:rack=s")},
        {NodeRemoval{"n7"}},
        {NodeRemoval{"n2"}, upsert("node n7 cpu=1" + rest)},
        {upsert("node n2 cpu=64" + rest), upsert("node n5 cpu=64" + rest)},
    };
    for (const std::vector<ClusterChange>& changes : events) {
      std::map<std::int32_t, NodeParts> changed;
      const std::uint64_t order = cluster.snapshot.order_version();
      for (const ClusterChange& change : changes) apply(cluster, change, changed);
      const bool changes_order = cluster.snapshot.order_version() != order;
      cluster.place(cluster.pods[0], 11);
      ASSERT_TRUE(cluster.columns.has_room_for(cluster.snapshot.topology()));
      NodeEventDelta delta(changed);
      const std::uint64_t before = cluster.accelerator.uploaded_bytes();
      const std::int64_t transfers = cluster.accelerator.uploads();
      cluster.columns.update(cluster.snapshot, cluster.log, delta);
      const auto order_bytes = static_cast<std::uint64_t>(changes_order ? 8 * cluster.snapshot.slot_count() : 0);
      bytes.push_back(cluster.accelerator.uploaded_bytes() - before - order_bytes);
      EXPECT_EQ(cluster.accelerator.uploads() - transfers, changes_order ? 3 : 1);
      cluster.columns.update(cluster.snapshot, cluster.log);
      expect_mirrors(cluster.columns, cluster.snapshot, port_sets);
      if (testing::Test::HasFatalFailure()) FAIL() << "after event " << bytes.size();
    }
    EXPECT_EQ(cluster.columns.full_uploads(), 1);
  }
  EXPECT_EQ(bytes_by_size[0], bytes_by_size[1]) << "the number of nodes is not in it";
}

TEST(DeviceSnapshotTest, ThereIsRoomForSomeNewDomains) {
  DeviceCluster cluster(nodes(60) + kPods);
  cluster.columns.update(cluster.snapshot, cluster.log);
  std::map<std::int32_t, NodeParts> changed;
  int followed = 0;
  for (; followed < 60 && cluster.columns.has_room_for(cluster.snapshot.topology()); ++followed) {
    const std::string n = std::to_string(followed);
    apply(cluster,
          NodeUpsert(test::parse_scenario("node n" + n + " cpu=64 zone=new" + n + " host").objects.nodes.front()),
          changed);
  }
  EXPECT_GT(followed, 10);
  EXPECT_LT(followed, 30);
}

TEST(DeviceSnapshotTest, AClusterWithoutNodesHasEmptyColumns) {
  DeviceCluster cluster("pod p port=80 label:app=x spread=zone match=app=x");
  const auto port_sets = port_sets_of(cluster);
  cluster.columns.update(cluster.snapshot, cluster.log);
  expect_mirrors(cluster.columns, cluster.snapshot, port_sets);
}

TEST(DeviceSnapshotTest, AnUpdateCanBeRetriedAfterARefusedAllocation) {
  for (std::int64_t n = 0;; ++n) {
    DeviceCluster cluster(nodes(20) + "pod p cpu=1 label:app=x\npod web port=80");
    std::vector<std::vector<HostPort>> port_sets = port_sets_of(cluster);
    cluster.accelerator.emulation().refuses_after = n;
    int refused = 0;
    const auto update = [&] {
      try {
        cluster.columns.update(cluster.snapshot, cluster.log);
      } catch (const DeviceOutOfMemory& error) {
        ++refused;
        EXPECT_GT(error.needed_bytes(), 0u);
        EXPECT_TRUE(error.free_bytes().has_value());
        cluster.accelerator.emulation().refuses_after = -1;
        cluster.columns.update(cluster.snapshot, cluster.log);
      }
      expect_mirrors(cluster.columns, cluster.snapshot, port_sets);
    };
    update();
    const std::vector<PodToPlace> more = cluster.compile_more(
        "pod q cpu=1 res:example.com/x=1 port=443\npod r label:app=x spread=zone match=app=x select:rack=r\n"
        "pod s label:app=x soft-spread=host match=app=x");
    port_sets.push_back(cluster.table[more[0].class_index].ports);
    cluster.columns.port_set(port_sets.back());
    cluster.place(cluster.pods[0], 4);
    cluster.place(more[0], 5);
    update();
    if (testing::Test::HasFailure()) FAIL() << "allocation " << n;
    if (refused == 0) {
      EXPECT_GE(n, 15) << "so many allocations were refused in turn";
      return;
    }
  }
}

}  // namespace
}  // namespace berth
