// SPDX-License-Identifier: Apache-2.0
#include "tests/support/open_backend.h"

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"

namespace berth::test {

std::span<const char* const> backend_names() {
  static constexpr const char* kNames[] = {"reference", "cpu", "cuda"};
  return kNames;
}

std::unique_ptr<Backend> open_backend(std::string_view name, const ClusterCache& cache, const ClusterObjects& objects,
                                      const SchedulerConfig& config, const EngineConfig& engine) {
  if (name == "reference") return std::make_unique<ReferenceBackend>(cache, objects, config, engine);
  if (name == "cpu") return std::make_unique<CpuBackend>(cache, objects, config, engine);
  return nullptr;
}

std::unique_ptr<ClusterCache> fill_cache(const ClusterObjects& objects) {
  auto cache = std::make_unique<ClusterCache>();
  for (const NodePtr& node : objects.nodes) cache->add_node(node);
  for (const PodPtr& pod : objects.pods) {
    const bool terminal = pod->phase == PodPhase::kSucceeded || pod->phase == PodPhase::kFailed;
    if (!pod->node_name.empty() && !terminal) cache->add_pod(pod);
  }
  return cache;
}

}  // namespace berth::test
