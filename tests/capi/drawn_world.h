// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tests/capi/world.h"

namespace berth::test {

/// Handles of one cluster. A call is drawn once and made in each world; what it answers comes back as text.
struct World {
  explicit World(const char* backend, std::uint64_t seed) : cluster(make_cluster(backend, seed)) {
    berth_cancel_trigger(triggered.get());
  }

  // Before the cluster, which may be freed while they live.
  OwnedCluster cluster;
  std::vector<OwnedPod> pods;
  std::vector<OwnedSnapshot> snapshots;
  std::vector<OwnedFork> forks;
  std::vector<OwnedNodeSet> sets;
  OwnedCancel idle = make_cancel();
  OwnedCancel triggered = make_cancel();
};

}  // namespace berth::test
