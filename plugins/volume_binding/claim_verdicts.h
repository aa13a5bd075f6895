// SPDX-License-Identifier: Apache-2.0
#pragma once

// What VolumeBinding says of each claim of a pod, for people: a plugin's status has one reason for all of them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/cluster/cache.h"
#include "host/config/feature_gates.h"
#include "host/objects/node.h"
#include "host/objects/pod.h"

namespace berth {

struct ClaimVerdict {
  enum class Kind : std::uint8_t {
    kBound,        ///< `detail` is its volume
    kMatched,      ///< `detail` is the volume that it would take
    kProvisioned,  ///< `detail` is the class that would make its volume
    kUnbound,      ///< it should be bound already; `detail` is its class, or empty
    kRefused,      ///< `detail` is the reason
    kNotReached,   ///< the search ended at another claim
  };
  std::string claim;  ///< its name; claims of a pod are of its namespace
  Kind kind = Kind::kNotReached;
  std::string detail = {};
  friend bool operator==(const ClaimVerdict&, const ClaimVerdict&) = default;
};

/// [node] of every claim that the pod has, in the order of its volumes. Empty where PreFilter names a claim itself,
/// because it is not there or cannot be used.
std::vector<std::vector<ClaimVerdict>> claim_verdicts(const Pod& pod, const ClusterCache& cluster,
                                                      std::span<const Node* const> nodes, const FeatureGates& gates);

}  // namespace berth
