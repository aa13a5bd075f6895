// SPDX-License-Identifier: Apache-2.0
// The Alibaba GPU trace "openb" (cluster-trace-gpu-v2023) as Kubernetes objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/objects/cluster_objects.h"

namespace berth {

/// How cards become extended resources, which the scheduler knows only as whole numbers of one node.
enum class GpuMode : std::uint8_t {
  kCard,   ///< nvidia.com/gpu: whole cards; a pod that shares a card takes all of it
  kMilli,  ///< alibabacloud.com/gpu-milli: thousandths, added up over cards, so placements are an upper bound
};

/// @throws InputError naming the accepted values; "per-card" is refused with the reason
GpuMode parse_gpu_mode(std::string_view text);

struct OpenbOptions {
  GpuMode gpu_mode = GpuMode::kCard;
  /// The trace has no priorities. When set, one is made of the qos column: Guaranteed and LS 1000, Burstable 500, BE 0.
  bool qos_priority = false;
  std::int64_t pods_per_node = 110;
};

/// Turns one node list and one pod list into objects, as docs/generate.md says. All pods are pending and lie in
/// namespace "openb"; pods with a creation time come in its order, equal ones in file order.
/// @param nodes_path, pods_path  CSV files, optionally gzip or zstd; columns are found by the names in the header, and
///        those beyond name, cpu_milli, memory_mib, num_gpu and gpu_milli may be missing
/// @throws InputError with file and line
ClusterObjects import_openb(const std::string& nodes_path, const std::string& pods_path, const OpenbOptions& options);

}  // namespace berth
