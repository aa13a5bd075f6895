// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/guest_nodes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "host/cluster/snapshot.h"
#include "tests/unit/cluster/cluster_builders.h"

namespace berth {
namespace {

std::vector<std::string> names_in_order(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const std::int32_t slot : snapshot.in_order()) names.emplace_back(snapshot.node_name(slot));
  return names;
}

TEST(GuestNodesTest, ANameKeepsItsSlot) {
  ClusterCache cache;
  cache.add_node(make_node("a"));
  const Snapshot engine(cache);
  Snapshot fork = engine.borrowed();
  const std::int32_t slot = fork.set_guest(make_node("g"));
  EXPECT_EQ(slot, 1);
  fork.remove_guest(slot);
  EXPECT_EQ(fork.find_node("g"), -1);
  EXPECT_EQ(fork.set_guest(make_node("h")), 2);
  EXPECT_EQ(fork.set_guest(make_node("g")), slot);
  fork.remove_guest(0);
  EXPECT_EQ(fork.node_count(), 2);
  EXPECT_EQ(fork.set_guest(make_node("a")), 0) << "the engine's node of that name";
  EXPECT_EQ(engine.node_count(), 1);
  EXPECT_EQ(engine.slot_count(), 1);
}

TEST(GuestNodesTest, AGuestOffersWhatItsObjectSays) {
  ClusterCache cache;
  cache.add_node(make_node("a"));
  const Snapshot engine(cache);
  Snapshot fork = engine.borrowed();
  Node node = *make_node("a");
  node.allocatable.milli_cpu = 7000;
  node.allowed_pod_number = 3;
  fork.set_guest(std::make_shared<const Node>(node));
  EXPECT_EQ(fork.allocatable(kCpuColumn, 0), 7000);
  EXPECT_EQ(fork.allowed_pods(0), 3);
  fork.remove_guest(0);
  EXPECT_EQ(fork.allocatable(kCpuColumn, 0), 0);
  EXPECT_FALSE(fork.has_node(0));
}

/// The order of a what-if is that of a cache in which the same happens.
RC_GTEST_PROP(GuestNodesTest, NodeOrderIsThatOfACache, ()) {
  const auto zone = [] { return "z" + std::to_string(*rc::gen::inRange(0, 4)); };
  ClusterCache cache;
  const int before = *rc::gen::inRange(1, 12);
  for (int i = 0; i < before; ++i) cache.add_node(make_node("n" + std::to_string(i), zone()));
  cache.nodes_in_order();
  if (*rc::gen::inRange(0, 2) == 0) cache.update_node(make_node("n0", zone()));
  const Snapshot engine(cache);
  ClusterCache changed(cache);
  Snapshot fork = engine.borrowed();
  const int lists = *rc::gen::inRange(1, 6);
  for (int list = 0; list < lists; ++list) {
    const int events = *rc::gen::inRange(1, 4);
    for (int i = 0; i < events; ++i) {
      const std::string name = "n" + std::to_string(*rc::gen::inRange(0, 15));
      const std::int32_t slot = fork.find_node(name);
      if (slot >= 0 && *rc::gen::inRange(0, 2) == 0) {
        changed.remove_node(name);
        fork.remove_guest(slot);
      } else {
        const NodePtr node = make_node(name, zone());
        changed.update_node(node);
        fork.set_guest(node);
      }
    }
    changed.nodes_in_order();
    fork.end_guest_events();
    if (*rc::gen::inRange(0, 2) == 0) fork.update_guest_order(cache);
  }
  fork.update_guest_order(cache);
  RC_ASSERT(names_in_order(fork) == berth::names_in_order(changed));
  for (std::size_t rank = 0; rank < fork.in_order().size(); ++rank)
    RC_ASSERT(fork.rank(fork.in_order()[rank]) == static_cast<std::int32_t>(rank));
}

}  // namespace
}  // namespace berth
