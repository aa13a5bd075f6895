// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "host/cluster/name_hash.h"
#include "tests/unit/cluster/cluster_builders.h"

namespace berth {
namespace {

constexpr const char* kGpu = "nvidia.com/gpu";

Node big_node(const std::string& name, const std::string& zone = "") {
  Node node = *make_node(name, zone);
  node.allocatable = to_amounts({{"cpu", units(64)}, {std::string(kMemory), units(1 << 30)}, {kGpu, units(8)}});
  node.allowed_pod_number = 110;
  return node;
}
NodePtr share(Node node) { return std::make_shared<const Node>(std::move(node)); }

PodPtr gpu_pod(const std::string& name, const std::string& on, std::int64_t gpus) {
  return make_pod(name, on,
                  make_spec({{"cpu", millis(250)}, {std::string(kMemory), units(1000)}, {kGpu, units(gpus)}}));
}

/// Compares every column of `snapshot` with a new snapshot, node by node: slots differ.
void expect_as_new(Snapshot& snapshot, const ClusterCache& cache) {
  Snapshot fresh(cache);
  ASSERT_EQ(snapshot.node_count(), fresh.node_count());
  for (std::int32_t i = 0; i < fresh.node_count(); ++i) {
    const std::int32_t slot = snapshot.find_node(fresh.node(i).name);
    ASSERT_GE(slot, 0) << fresh.node(i).name;
    EXPECT_EQ(snapshot.node(slot).name, fresh.node(i).name);
    for (std::int32_t r = 0; r < snapshot.resource_count(); ++r) {
      const std::int32_t same = fresh.ensure_resource(snapshot.resource_name(r), cache);
      EXPECT_EQ(snapshot.allocatable(r, slot), same == kNoColumn ? 0 : fresh.allocatable(same, i));
      EXPECT_EQ(snapshot.requested(r, slot), same == kNoColumn ? 0 : fresh.requested(same, i));
    }
    EXPECT_EQ(snapshot.non_zero_milli_cpu(slot), fresh.non_zero_milli_cpu(i));
    EXPECT_EQ(snapshot.non_zero_memory_bytes(slot), fresh.non_zero_memory_bytes(i));
    EXPECT_EQ(snapshot.pod_count(slot), fresh.pod_count(i));
    EXPECT_EQ(snapshot.allowed_pods(slot), fresh.allowed_pods(i));
    EXPECT_EQ(snapshot.unschedulable(slot), fresh.unschedulable(i));
    EXPECT_EQ(snapshot.used_ports(slot), fresh.used_ports(i));
    EXPECT_EQ(snapshot.node_hash(slot), fresh.node_hash(i));
    EXPECT_EQ(snapshot.taint_sets()[static_cast<std::size_t>(snapshot.taint_set(slot))], fresh.node(i).taints);
    const auto zone = [&](Snapshot& of, std::int32_t at) {
      const LabelColumn& column = of.label_column("topology.kubernetes.io/zone");
      return column.values.value(column.value_id[static_cast<std::size_t>(at)]);
    };
    EXPECT_EQ(zone(snapshot, slot), zone(fresh, i));
  }
}

/// A cache and a snapshot that follows each of its changes.
struct Followed {
  ClusterCache cache;
  std::optional<Snapshot> snapshot;

  void open() { snapshot.emplace(cache); }
  void upsert(const NodePtr& node) {
    const NodeInfo* known = cache.find_node(node->name);
    const bool exists = known != nullptr && known->node != nullptr;
    const NodePtr before = exists ? known->node : nullptr;
    cache.update_node(node);
    const NodeInfo& info = *cache.find_node(node->name);
    if (exists) {
      snapshot->change_node(snapshot->find_node(node->name), info,
                            differing_parts(fingerprint_of(*before), fingerprint_of(*node)), cache);
    } else if (snapshot->add_node(info, cache) < 0) {
      snapshot->add_slots(2);
      ASSERT_GE(snapshot->add_node(info, cache), 0);
    }
    snapshot->update_order(cache);
  }
  void remove(const std::string& name) {
    if (cache.remove_node(name) != CacheResult::kOk) return;
    snapshot->remove_node(snapshot->find_node(name), cache);
    snapshot->update_order(cache);
  }
  void pods_changed(const std::string& name) {
    if (const std::int32_t slot = snapshot->find_node(name); slot >= 0)
      snapshot->change_pods(slot, *cache.find_node(name));
  }
};

TEST(SnapshotTest, ColumnsEqualTheCache) {
  ClusterCache cache;
  cache.add_node(share(big_node("a")));
  cache.add_node(share(big_node("b")));
  cache.add_pod(gpu_pod("p", "b", 2));
  cache.add_pod(make_pod("q", "b", make_spec({}, {ContainerPort{80, 80, "", ""}})));
  Snapshot snapshot(cache);
  const std::int32_t gpu = snapshot.ensure_resource(kGpu, cache);
  const std::int32_t b = snapshot.find_node("b");
  EXPECT_EQ(snapshot.allocatable(kCpuColumn, b), 64000);
  EXPECT_EQ(snapshot.requested(kCpuColumn, b), 250);
  EXPECT_EQ(snapshot.requested(kMemoryColumn, b), 1000);
  EXPECT_EQ(snapshot.allocatable(gpu, b), 8);
  EXPECT_EQ(snapshot.requested(gpu, b), 2);
  EXPECT_EQ(snapshot.non_zero_milli_cpu(b), 350);
  EXPECT_EQ(snapshot.non_zero_memory_bytes(b), 1000 + 200 * 1024 * 1024);
  EXPECT_EQ(snapshot.pod_count(b), 2);
  EXPECT_EQ(snapshot.used_ports(b), (std::vector<HostPort>{{"0.0.0.0", "TCP", 80}}));
  EXPECT_EQ(snapshot.pod_count(snapshot.find_node("a")), 0);
  EXPECT_EQ(snapshot.node_hash(b), node_name_hash("b"));
}

TEST(SnapshotTest, NodesKeepTheCachesOrder) {
  ClusterCache cache;
  for (const auto& [name, zone] : {std::pair{"a1", "a"}, {"a2", "a"}, {"b1", "b"}})
    cache.add_node(make_node(name, zone));
  const Snapshot snapshot(cache);
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < snapshot.node_count(); ++i) names.push_back(snapshot.node(i).name);
  EXPECT_EQ(names, names_in_order(cache));
  EXPECT_EQ(names, (std::vector<std::string>{"a1", "b1", "a2"}));
}

TEST(SnapshotTest, AnUnknownNameIsNotFound) {
  ClusterCache cache;
  cache.add_node(make_node("a"));
  cache.add_pod(make_pod("p", "ghost"));
  const Snapshot snapshot(cache);
  EXPECT_EQ(snapshot.find_node("b"), -1);
  EXPECT_EQ(snapshot.find_node("ghost"), -1);
}

TEST(SnapshotTest, AnEmptyClusterHasNoNodes) {
  ClusterCache cache;
  Snapshot snapshot(cache);
  EXPECT_EQ(snapshot.node_count(), 0);
  EXPECT_EQ(snapshot.ensure_resource(kGpu, cache), kNoColumn);
  EXPECT_TRUE(snapshot.in_order().empty());
}

TEST(SnapshotTest, AnAddedNodeGetsASlotAndItsPlaceInTheOrder) {
  Followed both;
  both.cache.add_node(make_node("a1", "a"));
  both.cache.add_node(make_node("a2", "a"));
  both.open();
  both.upsert(make_node("b1", "b"));
  EXPECT_EQ(both.snapshot->find_node("a2"), 1) << "it keeps its slot";
  EXPECT_EQ(both.snapshot->rank(both.snapshot->find_node("b1")), 1);
  EXPECT_EQ(both.snapshot->rank(both.snapshot->find_node("a2")), 2);
  expect_as_new(*both.snapshot, both.cache);
}

TEST(SnapshotTest, ARemovedNodeLeavesAFreeSlotOfZeroes) {
  Followed both;
  for (const char* name : {"a", "b", "c"}) both.cache.add_node(share(big_node(name)));
  both.cache.add_pod(gpu_pod("p", "b", 1));
  both.open();
  const std::int32_t slot = both.snapshot->find_node("b");
  both.remove("b");
  EXPECT_EQ(both.snapshot->node_count(), 2);
  EXPECT_EQ(both.snapshot->slot_count(), 3);
  EXPECT_EQ(both.snapshot->find_node("b"), -1);
  EXPECT_FALSE(both.snapshot->has_node(slot));
  EXPECT_EQ(both.snapshot->allocatable(kCpuColumn, slot), 0);
  EXPECT_EQ(both.snapshot->pod_count(slot), 0);
  EXPECT_TRUE(both.snapshot->node_name(slot).empty());
  expect_as_new(*both.snapshot, both.cache);
  both.upsert(share(big_node("d")));
  EXPECT_EQ(both.snapshot->find_node("d"), slot) << "the next node gets the slot";
}

TEST(SnapshotTest, AChangedNodeObjectIsTakenOver) {
  Followed both;
  both.cache.add_node(share(big_node("a")));
  both.open();
  Node smaller = big_node("a");
  smaller.allocatable.milli_cpu = 1000;
  smaller.unschedulable = true;
  both.upsert(share(smaller));
  EXPECT_EQ(both.snapshot->allocatable(kCpuColumn, 0), 1000);
  EXPECT_TRUE(both.snapshot->unschedulable(0));
}

TEST(SnapshotTest, AResourceLacksItsColumnOnceANodeOffersIt) {
  Followed both;
  both.cache.add_node(make_node("a", "z"));
  both.open();
  EXPECT_EQ(both.snapshot->ensure_resource(kGpu, both.cache), kNoColumn);
  EXPECT_FALSE(both.snapshot->lacks_column());
  both.upsert(share(big_node("b")));
  EXPECT_TRUE(both.snapshot->lacks_column());
  EXPECT_NE(both.snapshot->ensure_resource(kGpu, both.cache), kNoColumn);
  EXPECT_FALSE(both.snapshot->lacks_column());
}

TEST(SnapshotTest, AResourceThatNoNodeOffersHasNoColumn) {
  ClusterCache cache;
  cache.add_node(share(big_node("a")));
  Snapshot snapshot(cache);
  const std::int32_t count = snapshot.resource_count();
  EXPECT_EQ(snapshot.ensure_resource("example.com/none", cache), kNoColumn);
  EXPECT_EQ(snapshot.resource_count(), count);
}

TEST(SnapshotTest, AResourceHasOneColumnForAllRequests) {
  ClusterCache cache;
  cache.add_node(share(big_node("a")));
  Snapshot snapshot(cache);
  const std::int32_t gpu = snapshot.ensure_resource(kGpu, cache);
  EXPECT_EQ(snapshot.ensure_resource(kGpu, cache), gpu);
  EXPECT_EQ(snapshot.ensure_resource("cpu", cache), kCpuColumn);
  EXPECT_EQ(snapshot.resource_name(gpu), kGpu);
}

TEST(SnapshotTest, ALateColumnIsKeptUpToDate) {
  Followed both;
  both.cache.add_node(share(big_node("a")));
  both.open();
  const std::int32_t gpu = both.snapshot->ensure_resource(kGpu, both.cache);
  both.cache.add_pod(gpu_pod("p", "a", 3));
  both.pods_changed("a");
  EXPECT_EQ(both.snapshot->requested(gpu, 0), 3);
}

ResourceDelta some_delta(std::int64_t cpu, std::int64_t memory) {
  return {{{kCpuColumn, cpu}, {kMemoryColumn, memory}}, cpu, memory};
}

TEST(SnapshotTest, RemovingIsTheInverseOfAdding) {
  ClusterCache cache;
  cache.add_node(share(big_node("a")));
  cache.add_pod(gpu_pod("p", "a", 1));
  Snapshot snapshot(cache);
  snapshot.apply(0, some_delta(100, 5000), 1);
  EXPECT_EQ(snapshot.requested(kCpuColumn, 0), 350);
  EXPECT_EQ(snapshot.non_zero_memory_bytes(0), 6000);
  EXPECT_EQ(snapshot.pod_count(0), 2);
  snapshot.apply(0, some_delta(100, 5000), -1);
  expect_as_new(snapshot, cache);
}

TEST(SnapshotTest, RemovingIsTheInverseOfAddingBeyondInt64) {
  ClusterCache cache;
  cache.add_node(share(big_node("a")));
  cache.add_pod(gpu_pod("p", "a", 1));
  Snapshot snapshot(cache);
  snapshot.apply(0, some_delta(INT64_MAX - 5, INT64_MAX), 1);
  snapshot.apply(0, some_delta(INT64_MAX - 5, INT64_MAX), -1);
  expect_as_new(snapshot, cache);
}

TEST(SnapshotTest, CopiesAddWhatTheyAddOneByOne) {
  ClusterCache cache;
  cache.add_node(share(big_node("a")));
  for (const std::int64_t amount : {std::int64_t{100}, std::int64_t{0}, INT64_MAX - 5, INT64_MIN + 3}) {
    Snapshot at_once(cache);
    Snapshot one_by_one(cache);
    at_once.apply(0, some_delta(amount, 7), 5);
    for (int copy = 0; copy < 5; ++copy) one_by_one.apply(0, some_delta(amount, 7), 1);
    EXPECT_EQ(at_once.requested(kCpuColumn, 0), one_by_one.requested(kCpuColumn, 0)) << amount;
    EXPECT_EQ(at_once.non_zero_milli_cpu(0), one_by_one.non_zero_milli_cpu(0)) << amount;
    EXPECT_EQ(at_once.non_zero_memory_bytes(0), 35) << amount;
    EXPECT_EQ(at_once.pod_count(0), 5) << amount;
    EXPECT_EQ(at_once.scores_may_wrap(), one_by_one.scores_may_wrap()) << amount;
  }
}

TEST(SnapshotTest, ReportsWhetherScoresMayWrap) {
  Followed both;
  both.cache.add_node(share(big_node("a")));
  both.open();
  EXPECT_FALSE(both.snapshot->scores_may_wrap());
  Node large = big_node("b");
  large.allocatable.scalars.front().second = kMayWrapAbove + 1;  // no column holds it yet
  both.upsert(share(std::move(large)));
  EXPECT_TRUE(both.snapshot->scores_may_wrap());
  both.remove("b");
  EXPECT_FALSE(both.snapshot->scores_may_wrap());
  both.cache.add_pod(make_pod("p", "a", make_spec({{std::string(kMemory), units(INT64_MAX)}})));
  both.pods_changed("a");
  EXPECT_TRUE(both.snapshot->scores_may_wrap());

  ClusterCache cache;
  cache.add_node(share(big_node("a")));
  Snapshot placed(cache);
  placed.apply(0, some_delta(0, kMayWrapAbove), 1);
  EXPECT_FALSE(placed.scores_may_wrap());
  placed.apply(0, some_delta(0, 1), 1);
  EXPECT_TRUE(placed.scores_may_wrap());
}

TEST(SnapshotTest, ACopyIsIndependent) {
  ClusterCache cache;
  cache.add_node(share(big_node("a")));
  Snapshot snapshot(cache);
  Snapshot fork = snapshot;
  fork.apply(0, some_delta(100, 100), 1);
  fork.write_used_ports(0).push_back({"0.0.0.0", "TCP", 80});
  EXPECT_EQ(snapshot.requested(kCpuColumn, 0), 0);
  EXPECT_EQ(snapshot.pod_count(0), 0);
  EXPECT_TRUE(snapshot.used_ports(0).empty());
  EXPECT_EQ(fork.requested(kCpuColumn, 0), 100);
}

TEST(SnapshotTest, ALabelColumnDistinguishesValuesAndAbsence) {
  ClusterCache cache;
  const std::vector<std::pair<std::string, LabelMap>> nodes = {{"a", LabelMap{{"disk", "ssd"}}},
                                                               {"b", LabelMap{{"disk", "hdd"}}},
                                                               {"c", LabelMap{{"disk", "ssd"}}},
                                                               {"d", LabelMap{{"disk", ""}}},
                                                               {"e", LabelMap{{"disks", "ssd"}}}};
  for (const auto& [name, labels] : nodes) {
    Node node = big_node(name);
    node.labels = labels;
    cache.add_node(share(node));
  }
  Snapshot snapshot(cache);
  const LabelColumn& column = snapshot.label_column("disk");
  const auto id = [&](std::string_view name) {
    return column.value_id[static_cast<std::size_t>(snapshot.find_node(name))];
  };
  EXPECT_EQ(id("a"), id("c"));
  EXPECT_NE(id("a"), id("b"));
  EXPECT_EQ(column.values.value(id("a")), "ssd");
  EXPECT_NE(id("d"), 0);
  EXPECT_EQ(column.values.value(id("d")), "");
  EXPECT_EQ(id("e"), 0);
  EXPECT_EQ(&snapshot.label_column("disk"), &column);
}

TEST(SnapshotTest, ALabelColumnOfAnUnknownKeyIsAbsentEverywhere) {
  ClusterCache cache;
  cache.add_node(make_node("a"));
  Snapshot snapshot(cache);
  EXPECT_EQ(snapshot.label_column("none").value_id, (std::vector<std::int32_t>{0}));
}

TEST(SnapshotTest, EqualTaintSetsShareAnId) {
  ClusterCache cache;
  const Taint hard{"a", "1", TaintEffect::kNoSchedule};
  const Taint soft{"a", "1", TaintEffect::kPreferNoSchedule};
  const std::vector<std::vector<Taint>> sets = {{}, {hard}, {soft}, {hard}, {hard, soft}};
  for (std::size_t i = 0; i < sets.size(); ++i) {
    Node node = big_node("n" + std::to_string(i));
    node.taints = sets[i];
    cache.add_node(share(node));
  }
  const Snapshot snapshot(cache);
  EXPECT_EQ(snapshot.taint_set(0), 0);
  EXPECT_EQ(snapshot.taint_set(1), snapshot.taint_set(3));
  EXPECT_NE(snapshot.taint_set(1), snapshot.taint_set(2));
  for (std::int32_t i = 0; i < snapshot.node_count(); ++i)
    EXPECT_EQ(snapshot.taint_sets()[static_cast<std::size_t>(snapshot.taint_set(i))], snapshot.node(i).taints);
}

TEST(SnapshotTest, AnImageListsItsNodesOnceEach) {
  ClusterCache cache;
  cache.add_node(make_node("a", "", {{{"app:1", "app@x"}, 500}, {{"app:1"}, 700}}));
  cache.add_node(make_node("b"));
  cache.add_node(make_node("c", "", {{{"app:1"}, 900}}));
  const Snapshot snapshot(cache);
  ASSERT_NE(snapshot.image("app:1"), nullptr);
  EXPECT_EQ(snapshot.image("app:1")->nodes, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(snapshot.image("app:1")->size_bytes, 500);
  EXPECT_EQ(snapshot.image("app@x")->nodes, (std::vector<std::int32_t>{0}));
  EXPECT_EQ(snapshot.image("none"), nullptr);
}

/// After random changes the snapshot must equal a new one.
TEST(SnapshotTest, AFollowingSnapshotEqualsANewOneAfterAnyChanges) {
  std::mt19937 random(7);
  const auto upto = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Followed both;
  for (int n = 0; n < 12; ++n)
    both.cache.add_node(share(big_node("n" + std::to_string(n), "z" + std::to_string(n % 3))));
  both.open();
  both.snapshot->ensure_resource(kGpu, both.cache);
  int next_pod = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string node = "n" + std::to_string(upto(15));
    switch (upto(6)) {
      case 0: {
        const std::string uid = "uid-p" + std::to_string(upto(static_cast<std::uint32_t>(next_pod) + 1));
        const NodeInfo* at = both.cache.node_of_pod(uid);
        const std::string name = at == nullptr ? "" : at->name;
        both.cache.remove_pod(uid);
        both.pods_changed(name);
        break;
      }
      case 1:
        both.remove(node);
        break;
      case 2:
      case 3: {
        Node changed = big_node(node, "z" + std::to_string(upto(5)));
        changed.unschedulable = upto(2) == 0;
        if (upto(2) == 0) changed.taints = {{"t" + std::to_string(upto(4)), "", TaintEffect::kNoSchedule}};
        both.upsert(share(std::move(changed)));
        break;
      }
      default:
        both.cache.add_pod(gpu_pod("p" + std::to_string(next_pod++), node, upto(4)));
        both.pods_changed(node);
    }
    expect_as_new(*both.snapshot, both.cache);
    if (HasFailure()) FAIL() << "in round " << round;
  }
}

}  // namespace
}  // namespace berth
