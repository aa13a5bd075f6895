// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/counting_world.h"

namespace berth::test {

OwnedNodeSet node_set(CountingWorld& world, const std::vector<std::uint32_t>& nodes) {
  berth_node_set* set = nullptr;
  if (nodes.empty()) return OwnedNodeSet(nullptr);
  EXPECT_EQ(berth_node_set_create(world.cluster.get(), nodes.data(), nodes.size(), &set, nullptr), BERTH_OK);
  return OwnedNodeSet(set);
}

OwnedResult max_replicas(CountingWorld& world, berth_fork* fork, const berth_snapshot* snapshot, const Asked& asked,
                         bool per_node) {
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> shapes;
  for (const PodShape& shape : asked.shapes) shapes.push_back(pods.emplace_back(world.pod(shape)).get());
  const OwnedNodeSet set = node_set(world, asked.set);
  const char* const keys[] = {kZone, kHostname, "nobody/has-it"};
  berth_max_replicas_options options = BERTH_MAX_REPLICAS_OPTIONS_INIT;
  options.flags = asked.flags;
  options.nodes = set.get();
  options.per_node = per_node ? 1 : 0;
  options.keys = per_node ? keys : nullptr;
  options.key_count = per_node ? 3 : 0;
  berth_result* made = nullptr;
  berth_error error = BERTH_ERROR_INIT;
  if (fork != nullptr) {
    EXPECT_EQ(berth_fork_max_replicas(fork, shapes.data(), shapes.size(), &options, &made, &error), BERTH_OK)
        << error.text;
  } else {
    EXPECT_EQ(berth_snapshot_max_replicas(snapshot, shapes.data(), shapes.size(), &options, &made, &error), BERTH_OK)
        << error.text;
  }
  return OwnedResult(made);
}

}  // namespace berth::test
