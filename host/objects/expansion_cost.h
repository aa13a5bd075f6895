// SPDX-License-Identifier: Apache-2.0
#pragma once

// What made pods and claims cost in memory, estimated before they are made (docs/objects.md).

#include <cstdint>
#include <vector>

#include "host/objects/decode.h"

namespace berth {

/// What the pods of one workload have each for themselves.
struct OwnParts {
  std::int64_t name_bytes = 0;  ///< of the longest name
  bool labels = false;          ///< StatefulSet: its number and name are labels
  bool spec = false;            ///< DaemonSet: it names a node; label keys: they stand for values of own labels
  const std::vector<VolumeClaim>* claims = nullptr;  ///< templates of the claims that are made with it; null: none
};

/// Bytes that one pod and its claims take in a run, not less than what was measured (docs/objects.md has figures).
std::int64_t pod_cost_bytes(const PodTemplate& pod_template, const OwnParts& own);

}  // namespace berth
