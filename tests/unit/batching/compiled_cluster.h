// SPDX-License-Identifier: Apache-2.0
#pragma once

// A cluster from text, compiled as a backend compiles it. docs/testing.md lists the words.

#include <memory>
#include <string_view>
#include <vector>

#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth::test {

struct CompiledCluster {
  explicit CompiledCluster(std::string_view text)
      : scenario(parse_scenario(text)),
        cache(fill_cache(scenario.objects)),
        snapshot(*cache),
        table(scenario.objects, scenario.config, scenario.engine, snapshot, *cache) {
    for (const PodPtr& pod : scenario.pending()) pods.push_back({pod, 0, -1});
    table.compile(pods);
  }

  const PodClass& class_of(std::size_t pod) const { return table[pods[pod].class_index]; }
  const CompiledProfile& profile() const { return table.profile(0); }
  const NodeSideRow& row_of(std::size_t pod) { return table.node_side(pods[pod].class_index); }

  Scenario scenario;
  std::unique_ptr<ClusterCache> cache;
  Snapshot snapshot;
  ClassTable table;
  std::vector<PodToPlace> pods;  ///< the pending ones, compiled, in the order of the text
};

}  // namespace berth::test
