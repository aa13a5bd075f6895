// SPDX-License-Identifier: Apache-2.0
#pragma once

// A cluster from text, compiled as a backend compiles it. docs/testing.md lists the words.

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth::test {

struct CompiledCluster {
  explicit CompiledCluster(std::string_view text) : CompiledCluster(parse_scenario(text)) {}
  explicit CompiledCluster(Scenario of)
      : scenario(std::move(of)),
        cluster(fill_cache(scenario.objects), scenario.objects),
        snapshot(cluster.cache()),
        table(cluster, scenario.config, scenario.engine, snapshot) {
    for (const PodPtr& pod : scenario.pending()) pods.push_back({pod, 0, -1});
    table.compile(pods);
  }

  const PodClass& class_of(std::size_t pod) const { return table[pods[pod].class_index]; }
  const CompiledProfile& profile() const { return table.profile(0); }
  const NodeSideRow& row_of(std::size_t pod) { return table.node_side(pods[pod].class_index); }

  Scenario scenario;
  EngineCluster cluster;
  Snapshot snapshot;
  ClassTable table;
  std::vector<PodToPlace> pods;  ///< the pending ones, compiled, in the order of the text
};

}  // namespace berth::test
