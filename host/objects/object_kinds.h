// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace berth {

/// The kinds that Berth reads whose objects have no namespace.
inline constexpr auto kClusterWideKinds =
    std::to_array<std::string_view>({"Node", "Namespace", "PriorityClass", "RuntimeClass", "PersistentVolume",
                                     "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment"});

constexpr bool is_cluster_wide(std::string_view kind) {
  return std::find(kClusterWideKinds.begin(), kClusterWideKinds.end(), kind) != kClusterWideKinds.end();
}

}  // namespace berth
