// SPDX-License-Identifier: Apache-2.0
#pragma once

// A cluster of which calls count copies, place groups and reserve room.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/capi/answers.h"

namespace berth::test {

inline constexpr const char* kZone = "topology.kubernetes.io/zone";
inline constexpr const char* kHostname = "kubernetes.io/hostname";

class CountingWorld {
 public:
  CountingWorld(const char* backend, std::uint64_t seed) : cluster(make_cluster(backend, seed)) {}

  void upsert(const std::string& text) {
    ASSERT_EQ(berth_cluster_upsert(cluster.get(), text.data(), text.size(), nullptr), BERTH_OK) << text;
  }
  OwnedPod pod(const PodShape& shape) {
    const std::string text = pod_json(shape);
    berth_pod* made = nullptr;
    EXPECT_EQ(berth_pod_create(cluster.get(), text.data(), text.size(), nullptr, &made, nullptr), BERTH_OK) << text;
    return OwnedPod(made);
  }
  OwnedSnapshot snapshot() {
    berth_snapshot* made = nullptr;
    EXPECT_EQ(berth_snapshot_create(cluster.get(), &made, nullptr), BERTH_OK);
    return OwnedSnapshot(made);
  }

  OwnedCluster cluster;
};

template <class T>
std::vector<T> column_of(const berth_result& result, std::uint32_t id) {
  berth_column view{};
  EXPECT_EQ(berth_result_column(&result, id, &view, nullptr), BERTH_OK) << id;
  EXPECT_EQ(view.stride, sizeof(T));
  const T* const data = static_cast<const T*>(view.data);
  return {data, data + view.length};
}

struct Asked {
  std::vector<PodShape> shapes;
  std::vector<std::uint32_t> set;  ///< empty: all nodes
  std::uint32_t flags = 0;
};

/// Null where the list is empty.
OwnedNodeSet node_set(CountingWorld& world, const std::vector<std::uint32_t>& nodes);
/// @param fork  null: on the snapshot
/// @param per_node  and per value of zone, hostname and a key that no node has
OwnedResult max_replicas(CountingWorld& world, berth_fork* fork, const berth_snapshot* snapshot, const Asked& asked,
                         bool per_node);

}  // namespace berth::test
