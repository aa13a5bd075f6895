// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/capi/world.h"
#include "tests/property/dice.h"

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
  OwnedQueue queue;  ///< null: not made yet
  OwnedCancel idle = make_cancel();
  OwnedCancel triggered = make_cancel();
};

/// The flag, or nothing.
inline std::uint32_t flag_if(bool condition, std::uint32_t flag) { return condition ? flag : 0; }
inline std::uint64_t below(Dice& dice, std::int64_t limit) { return static_cast<std::uint64_t>(dice.upto(limit - 1)); }

inline std::string said(berth_status status, const berth_error& error) {
  std::string text = berth_status_name(status);
  if (status < 0) text += std::string(" ") + error.object + ": " + error.text;
  return text;
}

}  // namespace berth::test
